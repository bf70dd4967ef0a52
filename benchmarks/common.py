"""Shared by the benchmarks: timing, tables, models, edge rows, code as by hand."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from os import cpu_count
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from treecompile.model.ir import Condition, Leaf, Tree

Floats = NDArray[np.float64]


# ---------------------------------------------------------------- timing


@dataclass(frozen=True, slots=True)
class Timing:
    seconds: float  # of the best round
    ratio: float  # to the first contestant, the median over all rounds


def race(
    contestants: dict[str, Callable[[], object]], rounds: int
) -> dict[str, Timing]:
    """Run all in turn, round after round, so that noise affects them equally."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for number in range(rounds):
        names = list(contestants)
        for name in names if number % 2 else reversed(names):
            start = perf_counter()
            contestants[name]()
            times[name].append(perf_counter() - start)
    base = next(iter(times.values()))
    return {
        name: Timing(
            min(taken), median(t / b for t, b in zip(taken, base, strict=True))
        )
        for name, taken in times.items()
    }


# ---------------------------------------------------------------- tables


def print_table(
    title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]
) -> None:
    """Print a Markdown table."""
    print(f"\n### {title}\n")
    print(f"| {' | '.join(heads)} |")
    print(f"|{'---|' * len(heads)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def print_machine(*packages: str) -> None:
    known = []
    for package in packages:
        try:
            known.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            known.append(f"no {package}")
    print(
        f"{cpu_count()} cores, Python {platform.python_version()}, {', '.join(known)}"
    )


def duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.0f} ns"


# ---------------------------------------------------------------- models and rows


def numbers(rows: int, features: int = 10, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(rows, features))


def numeric_tree(depth: int, leaves: int | None = None) -> DecisionTreeClassifier:
    """A tree of ten numeric features; noise in the labels makes it large."""
    known = numbers(20_000)
    signal = (
        np.sin(known[:, 0] * 2) + known[:, 1] * known[:, 2] + known[:, 3:].sum(1) / 3
    )
    noise = np.random.default_rng(1).normal(size=len(known)) / 2
    tree = DecisionTreeClassifier(
        max_depth=depth, max_leaf_nodes=leaves, min_samples_leaf=5, random_state=0
    )
    return tree.fit(known, (signal + noise > 0).astype(int))


def large_tree(leaves: int) -> DecisionTreeClassifier:
    """A tree with about this many leaves, learned from noise with random splits."""
    known = numbers(leaves * 5 // 2)
    target = np.random.default_rng(1).integers(0, 2, len(known))
    tree = DecisionTreeClassifier(
        splitter="random", max_features=1, max_leaf_nodes=leaves, random_state=0
    )
    return tree.fit(known, target)


def edge_rows(tree: DecisionTreeClassifier, known: Floats) -> tuple[Floats, Floats]:
    """Rows at the edges of the splits, and rows with missing values.

    For each split, take a row that reaches it and set its value to the threshold, to
    the doubles next to it, and to values around the midpoints between 32-bit floats,
    where scikit-learn changes its answer.
    """
    inner = tree.tree_
    paths = tree.decision_path(known).tocsc()
    edges, missing = [], []
    for node in np.flatnonzero(inner.children_left >= 0):
        reached = paths.indices[paths.indptr[node] : paths.indptr[node + 1]]
        if not len(reached):
            continue
        row, limit = known[reached[0]], inner.threshold[node]
        single = np.float32(limit)
        beside = [np.nextafter(single, np.float32(sign * np.inf)) for sign in (-1, 1)]
        middles = [(float(single) + float(other)) / 2 for other in beside]
        values = [limit, float(single), *map(float, beside), *middles]
        values += [np.nextafter(v, s) for v in (limit, *middles) for s in (-9e9, 9e9)]
        for value in values:
            edges.append(row.copy())
            edges[-1][inner.feature[node]] = value
        missing.append(row.copy())
        missing[-1][inner.feature[node]] = np.nan
    return np.array(edges), np.array(missing)


def orders(rows: int, seed: int = 0) -> pd.DataFrame:
    """Numbers and categories with some values missing; the target is `ok`."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "region": random.choice(["north", "south", "east", "west", "centre"], rows),
            "product": random.choice([f"product {n}" for n in range(20)], rows),
            "tier": random.choice(["gold", "silver", "bronze"], rows),
            "amount": random.gamma(2, 50, rows),
            "age": random.integers(18, 90, rows).astype(float),
            "score": random.normal(size=rows),
        }
    )
    worth = (
        frame["region"].isin(["north", "east"]) * 1.0
        + frame["product"].str[-1].isin(["1", "3", "5"])
        + (frame["amount"] > 80)
        + (frame["age"] > 40) * (frame["tier"] == "gold") * 2
        + frame["score"]
        + random.normal(size=rows) * 0.3
    )
    frame["ok"] = (worth > 1.5).astype(int)
    frame.loc[random.random(rows) < 0.03, "amount"] = np.nan
    frame.loc[random.random(rows) < 0.03, "region"] = None
    return frame


# ---------------------------------------------------------------- code as by hand

Test = Callable[[Condition], str]


def nested_python(tree: Tree, test: Test, position: int = 0, depth: int = 1) -> str:
    """Nested if and else, as a person would write the tree."""
    node, margin = tree.nodes[position], "    " * depth
    if isinstance(node, Leaf):
        return f"{margin}return {node.value!r}\n"
    *first, last = node.branches
    text = ""
    for branch in first:
        text += f"{margin}{'elif' if text else 'if'} {test(branch.when)}:\n"
        text += nested_python(tree, test, branch.then, depth + 1)
    inner = nested_python(tree, test, last.then, depth + 1)
    return f"{text}{margin}else:\n{inner}"


def nested_case(tree: Tree, test: Test, position: int = 0) -> str:
    """Nested CASE WHEN ... ELSE ... END, as a person would write the tree."""
    node = tree.nodes[position]
    if isinstance(node, Leaf):
        assert isinstance(node.value, int)
        return str(node.value)
    *first, last = node.branches
    arms = [
        f"WHEN {test(branch.when)} THEN {nested_case(tree, test, branch.then)}"
        for branch in first
    ]
    return f"CASE {' '.join(arms)} ELSE {nested_case(tree, test, last.then)} END"


def load_module(text: str) -> dict[str, Any]:
    """Run a generated module and return its names."""
    names: dict[str, Any] = {"__name__": "generated"}
    exec(compile(text, "generated.py", "exec"), names)
    return names
