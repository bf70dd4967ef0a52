"""What C4.5 works on: cases with weights, tests, and nodes that can still change.

A case whose value is missing goes down several branches at once, each with a part of
its weight. So a node has cases and weights, never just rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.data import Dataset
from treecompile.ir import Kind

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

# Sums of fractional weights are compared with whole numbers of cases: what differs by
# less than this differs by rounding only.
SLACK = 1e-9
EPSILON = 1e-3  # a gain, or a number of errors, this little beside a bound is at it


def sums(places: Integers, weights: Floats, size: int) -> Floats:
    """The weight at each place."""
    return np.asarray(np.bincount(places, weights, minlength=size), np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Some rows of the training set, each with the weight that it has here."""

    rows: Integers
    weights: Floats


@dataclass(frozen=True, slots=True)
class SplitTest:
    """A split of one feature, before it becomes conditions.

    Numbers and the codes of an ordinal feature have a cut: up to it the first branch,
    above it the second. A categorical feature has the codes of each branch.
    """

    feature: int
    gain: float
    cut: float = 0.0
    groups: tuple[tuple[int, ...], ...] = ()
    is_grouped: bool = False  # by the search for groups of values

    @property
    def size(self) -> int:
        """The number of branches."""
        return len(self.groups) or 2


@dataclass(slots=True, eq=False)
class Draft:
    """A node: a leaf as long as it has no test."""

    counts: Floats  # training weight of each class
    label: int  # the class it would answer as a leaf
    test: SplitTest | None = None
    branches: list[Draft] = field(default_factory=list, repr=False)
    known: Floats = field(default_factory=lambda: np.zeros(0))  # weight of each branch
    errors: float = 0.0  # as last counted or estimated, of all that is below

    @property
    def weight(self) -> float:
        return float(self.counts.sum())

    def become_leaf(self) -> None:
        self.test, self.branches, self.known = None, [], np.zeros(0)


class Sample:
    """The training set, and how its cases pass a test."""

    def __init__(self, data: Dataset, *, is_fractional: bool) -> None:
        self.data = data
        self.y = data.y.astype(np.intp)
        self.classes = len(data.labels)
        self.is_fractional = is_fractional
        self.columns: list[NDArray[Any]] = [
            _as_numbers(column) if feature.kind is Kind.ORDINAL else column
            for feature, column in zip(data.features, data.columns, strict=True)
        ]

    def everything(self) -> Cases:
        return Cases(np.arange(len(self.y)), np.ones(len(self.y)))

    def counts(self, cases: Cases) -> Floats:
        """The weight of each class."""
        return sums(self.y[cases.rows], cases.weights, self.classes)

    def divide(self, test: SplitTest, cases: Cases) -> tuple[list[Cases], Floats]:
        """The cases of each branch, and the weight of those whose value is known.

        Cases with a missing value go to the branches in proportion to these weights,
        or all of them to the heaviest; none go where no known case goes.
        """
        places = self._places(test, cases.rows)
        is_known = places >= 0
        known = sums(places[is_known], cases.weights[is_known], test.size)
        order = np.argsort(places, kind="stable")
        ends = np.searchsorted(places[order], np.arange(test.size + 1))
        missing = order[: ends[0]]
        parts = []
        for place, share in enumerate(self._shares(known)):
            chosen = order[ends[place] : ends[place + 1]]
            rows, weights = cases.rows[chosen], cases.weights[chosen]
            if share and len(missing):
                rows = np.concatenate([rows, cases.rows[missing]])
                weights = np.concatenate([weights, cases.weights[missing] * share])
            parts.append(Cases(rows, weights))
        return parts, known

    def _places(self, test: SplitTest, rows: Integers) -> Integers:
        """The branch of each row; -1 where its value is missing."""
        column = self.columns[test.feature][rows]
        if test.groups:
            size = len(self.data.features[test.feature].categories)
            lookup = np.full(size + 1, -1)  # the last is what code -1 finds
            for place, group in enumerate(test.groups):
                lookup[list(group)] = place
            found: Integers = lookup[column]
        else:
            found = np.where(np.isnan(column), -1, column > test.cut).astype(np.intp)
        return found

    def _shares(self, known: Floats) -> Floats:
        """The part of a missing case that each branch gets."""
        if self.is_fractional:
            total = known.sum()
            return known / total if total else known
        shares = np.zeros(len(known))
        shares[known.argmax()] = 1.0
        return shares


def _as_numbers(codes: NDArray[Any]) -> Floats:
    """The codes of an ordinal feature, NaN for missing."""
    return np.where(codes < 0, np.nan, codes)
