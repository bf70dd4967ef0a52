"""The measures of a split, written out from their textbook definitions."""

from __future__ import annotations

from itertools import product
from math import log2


def information(*weights: float) -> float:
    total = sum(weights)
    return -sum(w / total * log2(w / total) for w in weights if w)


def by_definition(name: str, table: list[list[int]]) -> float:
    """The measure of one split, written out."""
    total = sum(map(sum, table))
    rows = [sum(row) for row in table]
    columns = [sum(column) for column in zip(*table, strict=True)]
    if name == "gini":
        before = 1 - sum((c / total) ** 2 for c in columns)
        after = sum(
            r / total * (1 - sum((cell / r) ** 2 for cell in row))
            for r, row in zip(rows, table, strict=True)
            if r
        )
        return float(before - after)
    if name == "chi-square":
        statistic = 0.0
        for (r, row), j in product(zip(rows, table, strict=True), range(len(columns))):
            expected = r * columns[j] / total
            if expected:
                statistic += (row[j] - expected) ** 2 / expected
        return statistic / total
    gained = information(*columns) - sum(
        r / total * information(*row) for r, row in zip(rows, table, strict=True) if r
    )
    joint = information(*(cell for row in table for cell in row))
    below = {"entropy": 1.0, "gain-ratio": information(*rows), "distance": joint}[name]
    return gained / below if below else 0.0
