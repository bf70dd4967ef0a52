"""How fast generated SQL runs, compared with SQL by hand and by other tools.

    python benchmarks/sql.py [--quick] [--rows N] [--engine NAME ...]

Queries run on one thread and sum their answers, so that fetching does not count. A
database that loads or runs slowly gets fewer rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from common import (
    duration,
    edge_rows,
    nested_case,
    numbers,
    numeric_tree,
    orders,
    print_machine,
    print_table,
    race,
)
from databases import ENGINES, Engine
from peers import TABLE, make
from sklearn.tree import DecisionTreeClassifier

import treecompile
from treecompile.emit.literals import DOUBLES, STRINGS
from treecompile.emit.sql.text import ConditionWriter, Quoting, column_names
from treecompile.model.ir import Condition, Kind, Tree, ValueType
from treecompile.model.semantics import membership

# ---------------------------------------------------------------- hand-written


def hand_written(tree: Tree, engine: Engine, checked: bool) -> str:
    """Nested CASE with the same conditions as ours; or without checks of missing
    values, types and collations."""
    dialect = engine.dialect
    double = DOUBLES[dialect.literals.double]
    string = STRINGS[dialect.literals.string]
    columns = column_names(tree, Quoting(dialect), {})

    def unchecked(when: Condition) -> str:
        feature = tree.features[when.feature]
        column = columns[when.feature]
        if feature.kind is Kind.NUMERIC:
            assert isinstance(when.value, float)
            return f"{column} {when.op} {double(when.value)}"
        inside, chosen, _ = membership(when, feature)
        values = ", ".join(string(str(value)) for value in chosen)
        return f"{column} {'IN' if inside else 'NOT IN'} ({values})"

    ours = ConditionWriter(dialect, tree, columns, ValueType.INT)
    return nested_case(tree, ours.text if checked else unchecked)


# ---------------------------------------------------------------- the race

PEERS = ("duckdb", "sqlite", "postgres")  # for which the other tools write SQL


def over_table(expression: str) -> str:
    return f"SELECT {expression} AS y FROM {TABLE}"


def queries(
    model: treecompile.Model, engine: Engine, estimator: DecisionTreeClassifier | None
) -> dict[str, str]:
    """The query of each contestant, ours first; each selects `y`."""
    body = model.program.body
    assert isinstance(body, Tree)
    query = model.emit("sql", dialect=engine.name, form="select", table=TABLE)
    inner = query.strip().removesuffix(";")
    found = {
        "generated": over_table(model.emit("sql", dialect=engine.name)),
        "generated, --as select": f"SELECT prediction AS y FROM ({inner}) AS answers",
        "hand-written, checked": over_table(hand_written(body, engine, True)),
        "hand-written, unchecked": over_table(hand_written(body, engine, False)),
    }
    if estimator is not None and engine.name in PEERS:
        for tool in ("SKompiler", "orbital"):
            made = make(tool, engine.name, estimator)
            if made.problem:
                print(f"{tool} for {engine.name}: left out: {made.problem}")
            else:
                found[tool] = made.text
    return found


def column(engine: Engine, query: str) -> list[Any]:
    return [row[0] for row in engine.fetch(query)]


def run(
    title: str,
    model: treecompile.Model,
    engine: Engine,
    samples: dict[str, tuple[pd.DataFrame, Sequence[int]]],
    rounds: int,
    estimator: DecisionTreeClassifier | None = None,
) -> None:
    """Check all contestants on every sample, and time them on the last one.

    Not every contestant can return a row number. But all scan the same table on one
    thread, hence in the same order, which need not be the order of insertion
    (PostgreSQL fills gaps). A scan of the row numbers tells which answer belongs to
    which row.
    """
    texts = queries(model, engine, estimator)
    counts: dict[str, list[str]] = {name: [] for name in texts}
    samples = {
        kind: (frame.head(engine.rows), expected)
        for kind, (frame, expected) in samples.items()
    }
    for frame, expected in samples.values():
        engine.load(frame.assign(row_id=np.arange(len(frame))))
        order = column(engine, f"SELECT row_id FROM {TABLE}")
        ordered = [expected[number] for number in order]
        for name, text in list(texts.items()):
            try:
                found = column(engine, text)
            except Exception as error:
                print(f"{name} on {engine.name}: {str(error).splitlines()[0][:100]}")
                del texts[name], counts[name]
                continue
            wrong = sum(a != b for a, b in zip(found, ordered, strict=True))
            counts[name].append(str(wrong))

    def timed(text: str) -> Callable[[], object]:
        query = f"SELECT sum(y) FROM ({text}) AS timed"
        return lambda: engine.fetch(query)

    times = race({name: timed(text) for name, text in texts.items()}, rounds)
    lines = [
        (name, duration(timing.seconds), f"{1 / timing.ratio:.2f}", *counts[name])
        for name, timing in times.items()
    ]
    sizes = [f"wrong of {len(frame)} {name}" for name, (frame, _) in samples.items()]
    print_table(
        f"{engine.name}: {title}", ("", "time", "generated takes", *sizes), lines
    )


# ---------------------------------------------------------------- several outputs

OUTPUTS = {"prediction": "label", "probability": "probability", "rule": "rule"}


def run_query(
    title: str, model: treecompile.Model, engine: Engine, rounds: int
) -> None:
    """A query with three outputs beside three expressions, on the rows of `run`."""
    wanted = {"dialect": engine.name, "comments": False}
    expressions = ", ".join(
        f"{model.emit('sql', output=output, **wanted)} AS {name}"
        for name, output in OUTPUTS.items()
    )
    several = ",".join(OUTPUTS.values())
    query = model.emit("sql", form="select", table=TABLE, output=several, **wanted)
    texts = {
        "--as select": query.strip().removesuffix(";"),
        "three expressions": f"SELECT {expressions} FROM {TABLE}",
    }
    answers = f"SELECT {', '.join(OUTPUTS)} FROM ({{}}) AS timed"
    first, second = (engine.fetch(answers.format(text)) for text in texts.values())
    wrong = sum(a != b for a, b in zip(first, second, strict=True))
    sums = "SELECT sum(prediction), sum(probability), max(rule) FROM ({}) AS timed"

    def timed(text: str) -> Callable[[], object]:
        return lambda: engine.fetch(sums.format(text))

    times = race({name: timed(text) for name, text in texts.items()}, rounds)
    lines = [
        (name, duration(timing.seconds), f"{1 / timing.ratio:.2f}", str(wrong))
        for name, timing in times.items()
    ]
    heads = ("", "time", "--as select takes", "rows that differ")
    print_table(f"{engine.name}: {title}, three outputs", heads, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run of seconds")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--engine", action="append", choices=ENGINES)
    options = parser.parse_args()
    rows = min(options.rows, 5_000) if options.quick else options.rows
    rounds = 3 if options.quick else 9
    print_machine(
        "treecompile",
        "scikit-learn",
        "duckdb",
        "psycopg",
        "chdb",
        "datafusion",
        "pyspark",
        "SKompiler",
    )
    names = [f"x{position}" for position in range(10)]
    tree = numeric_tree(10, 256)
    numeric = treecompile.from_sklearn(tree, feature_names=names)
    known = numbers(rows, seed=2)
    holes = known.copy()
    holes[np.random.default_rng(3).random(known.shape) < 0.02] = np.nan
    edges, missing = edge_rows(tree, known[:20_000])
    numeric_samples = {
        kind: (pd.DataFrame(data, columns=names), tree.predict(data).tolist())
        for kind, data in {"edges": edges, "missing": missing, "rows": holes}.items()
    }
    mixed = treecompile.learn(
        orders(20_000),
        target="ok",
        task="classify",
        algorithm="cart",
        max_depth=10,
        min_leaf=20,
        prune="none",
    )
    table = orders(rows, seed=1).drop(columns="ok")
    mixed_samples = {"rows": (table, mixed.predict(table).tolist())}
    for name in options.engine or ENGINES:
        try:
            engine = ENGINES[name]()
        except Exception as error:
            print(f"{name}: left out: {error}")
            continue
        title = f"10 numbers, {numeric.n_leaves} leaves, depth {numeric.depth}"
        run(title, numeric, engine, numeric_samples, rounds, tree)
        run_query(title, numeric, engine, rounds)
        title = f"3 categories and 3 numbers, {mixed.n_leaves} leaves"
        run(title, mixed, engine, mixed_samples, rounds)
        run_query(title, mixed, engine, rounds)


if __name__ == "__main__":
    main()
