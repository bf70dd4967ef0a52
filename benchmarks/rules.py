"""How long post-pruning takes, compared with plain code.

    python benchmarks/rules.py            # 5,000 rules, 100,000 rows
    python benchmarks/rules.py --quick

A tree is grown until it fits noisy labels. Its rules are pruned on as many new rows,
and as c4.5rules does, by the rows it was grown from. The plain code tries every
condition of a rule with a mask over all rows. It runs on some of the rules, to print a
ratio, and must keep the same conditions. Processor time is printed beside wall time,
which says little on a busy machine.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Callable
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

import treecompile
from treecompile.learning import cart
from treecompile.learning.options import GrowthLimits
from treecompile.measure.cases import Cases
from treecompile.model.batch import answers, holds
from treecompile.model.ir import Feature, Kind, Rule, RuleSet, ValueType
from treecompile.rules.extract import extract
from treecompile.rules.postprune.c45rules import c45rules
from treecompile.rules.postprune.drop import Dropping
from treecompile.rules.postprune.validation import choose_removal, prune_on_validation
from treecompile.tables.dataset import Dataset

NUMBERS, CATEGORIES = 10, 4
LABELS = ("no", "yes")


def dataset(rows: int, seed: int) -> Dataset:
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, NUMBERS))
    c = random.integers(0, 6, size=(rows, CATEGORIES)).astype(np.int32)
    signal = x[:, 0] + x[:, 1] * x[:, 2] + (c[:, 0] == 2) * x[:, 3]
    y = (signal + 0.7 * random.normal(size=rows) > 0).astype(np.int32)
    numeric = [Feature(f"x{j}", Kind.NUMERIC, ValueType.FLOAT) for j in range(NUMBERS)]
    texts = [
        Feature(f"c{j}", Kind.CATEGORICAL, ValueType.STR, tuple("abcdef"))
        for j in range(CATEGORIES)
    ]
    columns = (*x.T.copy(), *c.T.copy())
    return Dataset("y", (*numeric, *texts), columns, LABELS, y, (), "")


def grown(data: Dataset, leaves: int) -> RuleSet:
    limits = GrowthLimits(max_leaves=leaves)
    tree = cart.learn(data, limits, lambda done: None, "")
    return extract(tree)


def timed(work: Callable[[], RuleSet]) -> tuple[RuleSet, float, float]:
    clock, spent = perf_counter(), process_time()
    result = work()
    return result, perf_counter() - clock, process_time() - spent


def plain(rule: Rule, rules: RuleSet, cases: Cases) -> tuple[int, ...]:
    """The conditions that remain, found with a new mask for every attempt."""
    masks: list[NDArray[np.bool_]] = []
    for condition in rule.conditions:
        column = cases.columns[condition.feature]
        assert column is not None
        masks.append(holds(condition, rules.features[condition.feature], column))
    right = cases.y == rules.labels.index(rule.value)
    kept = list(range(len(masks)))

    def judged(places: list[int]) -> tuple[float, int]:
        met = np.ones(cases.rows, np.bool_)
        for place in places:
            met &= masks[place]
        count = int(met.sum())
        return (float((met & ~right).sum()) / count if count else 2.0), count

    error, count = judged(kept)
    while kept and count:
        tried = [judged([k for k in kept if k != place]) for place in kept]
        best = min(error for error, _ in tried)
        if best > error:
            break
        most = max(count for error, count in tried if error == best)
        last = max(i for i, found in enumerate(tried) if found == (best, most))
        error, count = best, most
        del kept[last]
    return tuple(kept)


def compare(rules: RuleSet, cases: Cases, sample: int) -> float:
    """How many times as long the plain code takes; both must agree."""
    step = max(1, len(rules.rules) // sample)
    chosen = rules.rules[::step][:sample]
    dropping = Dropping(rules, cases)
    slow = fast = 0.0
    for rule in chosen:
        start = process_time()
        expected = plain(rule, rules, cases)
        middle = process_time()
        found = dropping.drop(rule, choose_removal).kept
        slow, fast = slow + middle - start, fast + process_time() - middle
        assert found == expected
    return slow / fast


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--rules", type=int, default=5_000)
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    count, rows = (300, 5_000) if options.quick else (options.rules, options.rows)
    print(
        f"treecompile {treecompile.__version__}, numpy {np.__version__}, Python"
        f" {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}"
    )
    train, valid, test = (dataset(rows, seed) for seed in (1, 2, 3))
    rules = grown(train, count)
    tests = sum(len(rule.conditions) for rule in rules.rules) / len(rules.rules)
    print(f"\n{len(rules.rules):,} rules of {tests:.1f} conditions, {rows:,} rows\n")
    print("| pruned by | time | processor | rules | conditions | right on new rows |")
    print("|---|---|---|---|---|---|")

    def line(name: str, made: RuleSet, clock: str, spent: str) -> None:
        right = np.mean(answers(made, test.columns, rows) == test.y)
        width = sum(len(rule.conditions) for rule in made.rules)
        mean = width / max(1, len(made.rules))
        shown = f"{len(made.rules):,} | {mean:.1f} | {100 * right:.1f} %"
        print(f"| {name} | {clock} | {spent} | {shown} |")

    line("none", rules, "", "")
    held_out, own = Cases(valid.columns, valid.y), Cases(train.columns, train.y)
    ways: dict[str, Callable[[], RuleSet]] = {
        "validation rows": lambda: prune_on_validation(rules, held_out),
        "training rows (c4.5rules)": lambda: c45rules(rules, own),
    }
    for name, work in ways.items():
        made, clock, spent = timed(work)
        line(name, made, f"{clock:.1f} s", f"{spent:.1f} s")
    ratio = compare(rules, held_out, 10 if options.quick else 40)
    print(f"\nTo drop conditions, the plain code takes {ratio:.1f} times as long.")


if __name__ == "__main__":
    main()
