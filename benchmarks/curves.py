"""How the time to learn a tree grows: with features, depth, classes and categories.

    python benchmarks/curves.py [--quick]

Prints Markdown. Every table changes one thing and keeps the others. For the number of
rows see scale.py and learn.py.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from learn import C45, CART, LABELS, NONE, dataset, numbers, ours, race

from treecompile.tables.dataset import Dataset

ROWS, QUICK = 100_000, 2_000
Make = Callable[[int], tuple[Dataset, int | None]]  # the data, and the depth


def of_labels(rows: int, columns: int, classes: int = 2) -> Dataset:
    """Numeric columns; the classes are equally frequent."""
    x, signal = numbers(rows, columns)
    cuts = np.quantile(signal, np.arange(1, classes) / classes)
    y = np.searchsorted(cuts, signal).astype(np.int32)
    names = (
        LABELS if classes == 2 else tuple(f"l{label:03}" for label in range(classes))
    )
    return dataset(NONE, x, y, names)


def of_categories(rows: int, categories: int) -> Dataset:
    """One column with so many categories, each with an effect of its own."""
    random = np.random.default_rng(categories)
    codes = random.integers(0, categories, rows)
    codes[:categories] = np.arange(categories)[:rows]
    x, noise = numbers(rows, 4)
    signal = random.normal(size=categories)[codes] + x[:, 0] + noise / 3
    return dataset(codes[:, None], x, (signal > 0).astype(np.int32), LABELS)


def curve(title: str, sizes: Iterable[int], make: Make) -> None:
    print(f"\n| {title} | CART | to the line before | C4.5 | to the line before |")
    print("|---|---|---|---|---|")
    before: list[float] = []
    for size in sizes:
        data, depth = make(size)
        runs = [partial(ours, data, algorithm, depth) for algorithm in (CART, C45)]
        taken = [spent for spent, _ in race(3, *runs)]
        cells = [f"{size:,}" if size else "full"]
        for place, spent in enumerate(taken):
            cells.append(f"{spent:.3f} s")
            cells.append(f"{spent / before[place]:.1f}" if before else "")
        before = taken
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    rows = QUICK if parser.parse_args().quick else ROWS
    print(f"{rows:,} rows; load at the start {os.getloadavg()[0]:.1f}")
    curve(
        "features, depth 8",
        (5, 50, 500),
        lambda size: (of_labels(rows, size), 8),
    )
    ten = of_labels(rows, 10)
    curve("depth, 10 features", (2, 4, 8, 16, 0), lambda size: (ten, size or None))
    curve(
        "classes, 10 features, depth 8",
        (2, 5, 20, 100),
        lambda size: (of_labels(rows, 10, size), 8),
    )
    curve(
        "categories of one of 5 features, depth 8",
        (10, 100, 1_000, 10_000)[: 3 if rows < ROWS else 4],
        lambda size: (of_categories(rows, size), 8),
    )
    print(f"\nLoad at the end: {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
