"""A column with many values, sorted once.

At every level its rows stand node by node, and within a node in the order of the
values: a stable partition by side keeps them so. The sums to the left of every cut of
every node are then one running sum. Rows whose value is missing are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treecompile.ir import Feature
from treecompile.learners.cuts import Sides, too_few
from treecompile.learners.level import (
    LEFT,
    RIGHT,
    Divided,
    Found,
    Level,
    by_side,
    chance_of_cuts,
    in_two,
    thresholds,
)
from treecompile.learners.responses import Rows
from treecompile.learners.stretches import Array, Positions, Stretches


class Sorted:
    """A column of many numbers, or of the ranks of an ordinal feature."""

    branches = 2

    def __init__(
        self, feature: Feature, values: Array, rows: Rows, ranks: Rows | None
    ) -> None:
        self.feature = feature
        self.values = values
        self.rows = rows  # node by node, then by value
        self.ranks = ranks  # of the values; None where no two are equal
        self.is_complete = len(rows) == len(values)
        self.known = np.zeros(0, np.intp)  # nodes with a known value
        self.parts = Stretches.of(self.known)  # of the rows: one for each such node

    def search(self, level: Level) -> Found:
        self._follow(level)
        found = Found.nothing(len(level.nodes.lengths))
        if not len(self.known):
            return found
        sides = level.sides if self.is_complete else None
        if sides is None:
            sides = self._sides(level)
        summands = level.response.along(self.rows)
        scores = level.measure.cuts(map(self.parts.run, summands, sides.totals), sides)
        if self.ranks is not None:
            ranks = self.ranks.take(self.rows)
            np.copyto(scores[:-1], -np.inf, where=ranks[1:] == ranks[:-1])
        gain, position = sides.best(scores, level.opened.tie[self.known])
        if level.chi2 is not None:
            summands = level.response.along(self.rows)
            lefts = map(self.parts.run, summands, sides.totals)
            gain[chance_of_cuts(level, lefts, sides, position)] = -np.inf
        left = sides.left.take(position)
        share = sides.counts / level.opened.sizes[self.known]
        found.gain[self.known] = gain * share
        found.position[self.known] = position
        found.left[self.known] = left
        found.right[self.known] = sides.counts - left
        return found

    def _follow(self, level: Level) -> None:
        """Keep the rows of open nodes, in the order of the level."""
        self.rows = by_side(level.side.take(self.rows), self.rows)
        nodes = len(level.nodes.lengths)
        if self.is_complete:
            self.known, self.parts = np.arange(nodes), level.nodes
            return
        sizes = np.bincount(level.of_row.take(self.rows), minlength=nodes)
        self.known = np.flatnonzero(sizes)
        self.parts = Stretches.of(sizes[self.known])

    def _sides(self, level: Level) -> Sides:
        totals = [self.parts.sums(each) for each in level.response.along(self.rows)]
        units = level.response.units
        weights = units.of_rows.take(self.rows) if units else None
        return single_sides(self.parts, totals, level.min_leaf, weights)

    def divide(self, level: Level, found: Found, some: Positions) -> Divided:
        position = found.position[some]
        parts = np.searchsorted(self.known, some)
        places = self.parts.within(parts)
        goes_left = places <= np.repeat(position, self.parts.lengths[parts])
        level.side[self.rows.take(places)] = np.where(goes_left, LEFT, RIGHT)
        low = self.values.take(self.rows.take(position))
        high = self.values.take(self.rows.take(position + 1))
        tests = thresholds(self.feature, low, high)
        return in_two(level, tests, found.left[some], found.right[some])


def single_sides(
    parts: Stretches,
    totals: Sequence[Array],
    min_leaf: int,
    weights: Array | None = None,
) -> Sides:
    """The sides of the cuts behind every single row."""
    counts = parts.lengths.astype(np.float64)
    left = np.arange(1.0, parts.size + 1.0)
    left -= parts.spread(parts.starts.astype(np.float64))
    barred = too_few(parts, left, min_leaf)
    if weights is not None:
        counts = parts.sums(weights)
        left = parts.run(weights, counts)
    return Sides.of(parts, left, counts, totals, barred)
