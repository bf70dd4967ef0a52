"""What the open nodes of a tree and its columns know of each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.ir import Category, Feature, Kind
from treecompile.learners.blocks import Blocks
from treecompile.learners.chi_square import critical_values
from treecompile.learners.criteria import Measure
from treecompile.learners.cuts import Sides, chi_square_cuts
from treecompile.learners.responses import Opened, Response, Rows
from treecompile.learners.stretches import (
    Array,
    Floats,
    Mask,
    Positions,
    Stretches,
)
from treecompile.learners.thresholds import midpoints, readable
from treecompile.learners.units import Units

# The value of a test `<=`, or the categories of each branch.
Test = float | Category | tuple[tuple[Category, ...], ...]
# Of a row: to no open node, or to one on that side; further branches count on.
NOWHERE, LEFT, RIGHT = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """By what the splits of the open nodes are judged, wherever their cases are."""

    opened: Opened
    measure: Measure
    min_leaf: int
    chi2: float | None
    units: Units | None  # of the weights of the cases; None: each counts 1

    def real(self, sums: Array) -> Floats:
        """Sums of weights as they were given."""
        return self.units.real(sums) if self.units else sums.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Level(Terms):
    """The open nodes of a dataset in memory: their rows, too."""

    rows: Rows  # those of a node stand together
    nodes: Stretches
    response: Response
    # Of the cuts of a sorted column where no value is missing; None: rows have weights.
    sides: Sides | None
    of_row: NDArray[np.int32]  # the node of a row of the dataset, if it is open
    side: Array  # where its last split sent a row of the dataset


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """The best split of one column at every node."""

    gain: Floats  # -inf where there is none
    position: Positions  # behind which row or which value the cut is, or which subset
    left: Floats  # known cases on either side
    right: Floats
    order: Positions  # which label put the categories in order, or SUBSET
    blocks: Blocks | None = None  # the values, where they were counted

    @classmethod
    def nothing(cls, nodes: int, blocks: Blocks | None = None) -> Found:
        """No cut anywhere, to be filled in."""
        zeros = np.zeros(nodes, np.intp)
        return cls(
            np.full(nodes, -np.inf),
            zeros,
            np.zeros(nodes),
            np.zeros(nodes),
            zeros.copy(),
            blocks,
        )


SUBSET = -1  # no order: found among all subsets


@dataclass(frozen=True, slots=True, eq=False)
class Divided:
    """The splits of some nodes."""

    tests: list[Test]
    known: list[list[float]]  # the weight of the known cases of each branch
    heaviest: Array  # the side to which missing values go


class Column(Protocol):
    branches: int  # of a split

    def search(self, level: Level) -> Found:
        """Follow the rows to a level, and find the best split of every node there."""

    def divide(self, level: Level, found: Found, some: Positions) -> Divided:
        """Send the cases of some nodes to the sides of their best split."""


def in_two(level: Terms, tests: list[Test], left: Floats, right: Floats) -> Divided:
    """What a column with two sides has divided."""
    known = level.real(np.stack([left, right], axis=1)).tolist()
    return Divided(tests, known, np.where(left >= right, LEFT, RIGHT))


def by_side(side: Array, values: Array) -> Array:
    """What goes somewhere: those on the first side first, else in the same order."""
    if side.dtype == np.int8:  # two sides
        parts = [values.take(np.flatnonzero(side == each)) for each in (LEFT, RIGHT)]
        return np.concatenate(parts)
    order = np.argsort(side, kind="stable")
    return values.take(order[np.count_nonzero(side == NOWHERE) :])


def chance_of_cuts(
    level: Terms, lefts: Iterable[Array], sides: Sides, cuts: Positions
) -> Mask:
    """Which of the best cuts, one for each node, are not significant."""
    assert level.chi2 is not None
    statistic = chi_square_cuts(lefts, sides).take(cuts) * level.real(sides.counts)
    classes = np.stack([sides.first(), *sides.totals]) > 0
    freedom = classes.sum(axis=0) - 1
    chance: Mask = statistic < critical_values(level.chi2, freedom)
    return chance


def thresholds(feature: Feature, low: Array, high: Array) -> list[Test]:
    """The values of tests that divide each pair of neighbouring values."""
    if feature.kind is Kind.ORDINAL:
        return [feature.categories[int(code)] for code in low]
    found: list[Test] = readable(midpoints(low, high), low, high).tolist()
    return found
