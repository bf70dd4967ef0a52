"""How fast pruned, overlapping rules run: one after the other, or as one decision.

    python benchmarks/retree.py [--quick] [--rows N] [--engine NAME ...]

The rules come from a tree. Each is pruned condition by condition on other rows and
sorted by its accuracy there. They are compared with a tree that has as many leaves as
there are rules. All answers are checked against the semantics before anything is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from common import Timing, duration, load_module, print_machine, print_table, race
from numpy.typing import NDArray
from peers import TABLE
from sql import ENGINES

import treecompile
from treecompile.emit import steps
from treecompile.model.batch import Columns, holds
from treecompile.model.ir import Condition, Program, Rule, RuleSet
from treecompile.tables.dataset import encode_features
from treecompile.tables.read import read_table

Rows = NDArray[np.bool_]
ENGINE_NAMES = ("python", *ENGINES)
USUAL = ("python", "duckdb", "sqlite", "postgres")


def customers(rows: int, seed: int) -> pd.DataFrame:
    """Six numbers and a category, which decide the answer except in every tenth row."""
    dice = np.random.default_rng(seed)
    table = pd.DataFrame({f"x{i}": dice.random(rows).round(3) for i in range(6)})
    table["region"] = dice.choice(["north", "south", "east", "west"], rows)
    score = (table.x0 > 0.5) * 1 + (table.x1 + table.x2 > 1.1) + (table.x3 > 0.7)
    is_good = (score >= 2) ^ ((table.region == "south") & (table.x4 < 0.3))
    is_good ^= dice.random(rows) < 0.1
    table["good"] = np.where(is_good, "yes", "no")
    return table


def pruned(program: Program, validation: pd.DataFrame) -> Program:
    """Drop conditions that do not improve their rule; sort the rules, best first."""
    rules = program.body
    assert isinstance(rules, RuleSet)
    columns = encode_features(program, read_table(validation))
    actual = validation[program.target].to_numpy()
    scored: list[tuple[float, int, Rule]] = []
    for number, rule in enumerate(rules.rules):
        kept = list(rule.conditions)
        best = accuracy(kept, rule, rules, columns, actual)
        while kept:
            tries = [[c for c in kept if c is not gone] for gone in kept]
            found = [accuracy(one, rule, rules, columns, actual) for one in tries]
            place = int(np.argmax(found))
            if found[place] < best:
                break
            best, kept = found[place], tries[place]
        scored.append((-best, number, replace(rule, conditions=tuple(kept))))
    ordered = tuple(rule for _, _, rule in sorted(scored, key=lambda item: item[:2]))
    return replace(program, body=replace(rules, rules=ordered))


def accuracy(
    tests: list[Condition],
    rule: Rule,
    rules: RuleSet,
    columns: Columns,
    actual: NDArray[np.object_],
) -> float:
    covered: Rows = np.ones(len(actual), dtype=np.bool_)
    for test in tests:
        column = columns[test.feature]
        assert column is not None
        covered &= holds(test, rules.features[test.feature], column)
    right = np.count_nonzero(actual[covered] == rule.value)
    return (right + 1.0) / (np.count_nonzero(covered) + 2.0)


def one_after_the_other(emit: Callable[[], str]) -> str:
    """Emit rules without nesting them."""
    nest = steps.nest
    steps.nest = lambda rules: None  # type: ignore[assignment,misc]
    try:
        return emit()
    finally:
        steps.nest = nest


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--engine", action="append", choices=ENGINE_NAMES)
    arguments = parser.parse_args()
    rows = arguments.rows or (5_000 if arguments.quick else 100_000)
    rounds = 2 if arguments.quick else 15
    print_machine("treecompile", "duckdb", "psycopg")
    training, validation, table = (
        customers(n, s) for n, s in ((8000, 1), (8000, 2), (rows, 3))
    )
    for leaves in (12, 40):
        learned = {"target": "good", "algorithm": "cart", "prune": "none"}
        grown = treecompile.learn(training, max_leaves=leaves, **learned)  # type: ignore[arg-type]
        rules = treecompile.Model(pruned(grown.rules().program, validation))
        tree = treecompile.learn(training, max_leaves=rules.n_leaves, **learned)  # type: ignore[arg-type]
        title = f"{leaves} rules: {steps.note(rules.program.body)}"
        compare(title, rules, tree, table, arguments.engine or USUAL, rounds)


def compare(
    title: str,
    rules: treecompile.Model,
    tree: treecompile.Model,
    table: pd.DataFrame,
    engines: tuple[str, ...],
    rounds: int,
) -> None:
    lines = []
    for name in engines:
        for line, timing in timed(name, rules, tree, table, rounds).items():
            ratio = f"{timing.ratio:.2f}"
            lines.append([name, line, duration(timing.seconds), ratio])
    heads = ["engine", "how it runs", "time", "to the tree"]
    print_table(title, heads, lines)


def timed(
    name: str,
    rules: treecompile.Model,
    tree: treecompile.Model,
    table: pd.DataFrame,
    rounds: int,
) -> dict[str, Timing]:
    to = {"to": "python"} if name == "python" else {"to": "sql", "dialect": name}
    texts = {
        "a tree of as many leaves": tree.emit(**to),  # type: ignore[arg-type]
        "rules, one decision": rules.emit(**to),  # type: ignore[arg-type]
        "rules, one after the other": one_after_the_other(
            lambda: rules.emit(**to)  # type: ignore[arg-type]
        ),
    }
    inputs = table.drop(columns="good")
    expected = {
        what: int((model.predict(inputs) == "yes").sum())
        for what, model in zip(texts, (tree, rules, rules), strict=True)
    }
    contestants: dict[str, Callable[[], object]] = {}
    if name == "python":
        records = inputs.head(len(inputs) // 5).to_dict("records")
        said = rules.predict(inputs.head(len(records))).tolist()
        for what, text in texts.items():
            predict_many = load_module(text)["predict_many"]
            assert what.startswith("a tree") or predict_many(records) == said
            contestants[what] = lambda run=predict_many: run(records)  # type: ignore[misc]
        return race(contestants, rounds)
    engine = ENGINES[name]()
    engine.load(inputs)
    for what, text in texts.items():
        query = f"SELECT SUM(CASE WHEN ({text}) = 'yes' THEN 1 ELSE 0 END) FROM {TABLE}"
        assert engine.fetch(query)[0][0] == expected[what], what
        contestants[what] = lambda query=query: engine.fetch(query)  # type: ignore[misc]
    return race(contestants, rounds)


if __name__ == "__main__":
    main()
