"""The columns of a dataset, each in the form in which a level of nodes is searched.

Categories and few numbers are counted (`CountedColumn`). Many numbers are sorted once
(`SortedColumn`). For ID3 a column of categories splits into all of them at once
(`MultiwayColumn`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from treecompile.learning.grow.cuts import Sides, too_few
from treecompile.learning.grow.histogram import Histogram, count_values
from treecompile.learning.grow.histogram_splits import (
    divide_branches,
    divide_categories,
    search_branches,
    search_histogram,
)
from treecompile.learning.grow.responses import Rows
from treecompile.learning.grow.search import (
    LARGEST,
    LEFT,
    RIGHT,
    BestCuts,
    CandidateSplits,
    FeatureSplits,
    RowLevel,
    SplitColumn,
    by_side,
    in_two,
    thresholds_between,
)
from treecompile.learning.grow.segments import Segments, nodes_of
from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.ir import Feature, Kind

FEW_VALUES = 64  # at most so many distinct numbers are counted rather than sorted


def make_column(
    feature: Feature, values: Array, *, is_multiway: bool = False
) -> SplitColumn:
    """The column in the form that suits it; categories split in two, or in all."""
    size = len(feature.categories)
    if feature.kind is Kind.CATEGORICAL:
        form = MultiwayColumn if is_multiway else CountedColumn
        return form(feature, np.where(values < 0, size, values), size)
    if feature.kind is Kind.ORDINAL:
        if size <= FEW_VALUES:
            codes = np.arange(float(size))
            own = np.where(values < 0, size, values)
            return CountedColumn(feature, own, size, (codes, codes))
        values = np.where(values < 0, np.nan, values.astype(np.float64))
    order = np.argsort(values)  # equal values in any order: sums are exact
    known = len(values) - np.count_nonzero(np.isnan(values))
    rows: Rows = order[:known].astype(np.int32)
    ordered = values.take(rows)
    steps = ordered[1:] != ordered[:-1]
    # No finite threshold divides these two: let them count as one value.
    steps &= (ordered[1:] != -LARGEST) | (ordered[:-1] != -np.inf)
    distinct = 1 + int(np.count_nonzero(steps))
    if distinct == len(rows) or not known:  # in a fold, all may be missing
        return SortedColumn(feature, values, rows, None)
    ranks = np.empty(len(values), np.int32)
    ranks[rows] = np.concatenate(([0], np.cumsum(steps, dtype=np.int32)))
    if distinct > FEW_VALUES:
        return SortedColumn(feature, values, rows, ranks)
    ranks[np.isnan(values)] = distinct
    firsts = np.concatenate(([0], np.flatnonzero(steps) + 1, [len(rows)]))
    low, high = ordered[firsts[:-1]], ordered[firsts[1:] - 1]
    return CountedColumn(feature, ranks, distinct, (low, high))


# --- many numbers ---------------------------------------------------------------------


class SortedColumn:
    """A column of many numbers, or of the ranks of an ordinal feature.

    At every level its rows are sorted by node, and within a node by value: a stable
    partition by side keeps that order. The sums to the left of every cut
    of every node are then one running sum. Rows with a missing value are left out.
    """

    branches = 2

    def __init__(
        self, feature: Feature, values: Array, rows: Rows, ranks: Rows | None
    ) -> None:
        self.feature = feature
        self.values = values
        self.rows = rows  # node by node, then by value
        self.ranks = ranks  # of the values; None where no two are equal
        self.is_complete = len(rows) == len(values)
        self.nodes = np.zeros(0, np.intp)  # those with a known value
        self.segments = Segments.of(self.nodes)  # the rows of each such node

    def search(self, level: RowLevel) -> CandidateSplits:
        self._follow(level)
        found = CandidateSplits.none(len(level.nodes.lengths))
        if not len(self.nodes):
            return found
        sides = level.sides if self.is_complete else None
        if sides is None:
            sides = self._sides(level)
        totals = sides.totals

        def lefts() -> map[Array]:
            return map(self.segments.run, level.response.along(self.rows), totals)

        scores = level.measure.cuts(lefts(), sides)
        if self.ranks is not None:
            ranks = self.ranks.take(self.rows)
            np.copyto(scores[:-1], -np.inf, where=ranks[1:] == ranks[:-1])
        best = sides.best(scores, level.opened.tie[self.nodes])
        BestCuts.of(level, self.nodes, sides, lefts, best).improve(found)
        return found

    def _follow(self, level: RowLevel) -> None:
        """Keep the rows of open nodes, in the order of the level."""
        self.rows = by_side(level.side.take(self.rows), self.rows)
        count = len(level.nodes.lengths)
        if self.is_complete:
            self.nodes, self.segments = np.arange(count), level.nodes
            return
        self.nodes, self.segments = nodes_of(level.of_row.take(self.rows), count)

    def _sides(self, level: RowLevel) -> Sides:
        totals = [self.segments.sums(each) for each in level.response.along(self.rows)]
        units = level.response.units
        weights = units.of_rows.take(self.rows) if units else None
        return single_sides(self.segments, totals, level.min_leaf, weights)

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        position = found.position[some]
        mine = np.searchsorted(self.nodes, some)
        places = self.segments.within(mine)
        goes_left = places <= np.repeat(position, self.segments.lengths[mine])
        level.side[self.rows.take(places)] = np.where(goes_left, LEFT, RIGHT)
        low = self.values.take(self.rows.take(position))
        high = self.values.take(self.rows.take(position + 1))
        thresholds = thresholds_between(self.feature, low, high)
        return in_two(level, found.left[some], found.right[some], thresholds)


def single_sides(
    segments: Segments,
    totals: Sequence[Array],
    min_leaf: int,
    weights: Array | None = None,
) -> Sides:
    """The sides of the cuts after every single row."""
    counts = segments.lengths.astype(np.float64)
    left = segments.counting(np.float64)
    barred = too_few(segments, left, min_leaf)
    if weights is not None:
        counts = segments.sums(weights)
        left = segments.run(weights, counts)
    return Sides.of(segments, left, counts, totals, barred)


# --- few values -----------------------------------------------------------------------


class CountedColumn:
    """A column of codes: categories, the ranks of an ordinal feature, few numbers."""

    def __init__(
        self,
        feature: Feature,
        codes: Array,
        size: int,
        values: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.feature = feature
        self.codes = codes.astype(np.int32)  # `size` where the value is missing
        self.size, self.branches = size, 2
        # The least and the greatest number with each code; None for categories.
        self.values = values

    def count(self, level: RowLevel) -> Histogram:
        """Count the values at the nodes of a level."""
        response, codes = level.response, self.codes.take(level.rows)
        sums = partial(response.sum_by_key, level.rows)
        return count_values(codes, self.size, level.nodes, response.summands, sums)

    def search(self, level: RowLevel) -> CandidateSplits:
        return search_histogram(level, self.count(level), self.values is not None)

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        histogram = found.histogram
        assert histogram is not None
        rows, codes = self._known(level, some)
        nodes = level.of_row.take(rows)
        if self.values is None:
            is_left, divided = divide_categories(level, found, some)
            # Each row goes to the side of the bar that counts it.
            width = self.size + 1
            keys = histogram.node * width + histogram.code
            bar = np.searchsorted(keys, nodes.astype(np.intp) * width + codes)
            level.side[rows] = np.where(is_left.take(bar), LEFT, RIGHT)
            return divided
        code, position = histogram.code, found.position[some]
        most = np.zeros(len(level.nodes.lengths), np.int32)
        most[some] = code[position]
        level.side[rows] = np.where(codes <= most.take(nodes), LEFT, RIGHT)
        lowest, greatest = self.values
        low, high = greatest[code[position]], lowest[code[position + 1]]
        thresholds = thresholds_between(self.feature, low, high)
        return in_two(level, found.left[some], found.right[some], thresholds)

    def _known(self, level: RowLevel, some: Positions) -> tuple[Rows, Array]:
        """The rows of some nodes whose value is known, and their codes."""
        rows = level.rows.take(level.nodes.within(some))
        codes = self.codes.take(rows)
        is_known = codes < self.size
        return rows[is_known], codes[is_known]


class MultiwayColumn(CountedColumn):
    """A column of categories for ID3: a branch for each.

    A missing value counts as the most common category at the node. A category that no
    case of a node has gets a branch without cases.
    """

    def __init__(self, feature: Feature, codes: Array, size: int) -> None:
        super().__init__(feature, codes, size)
        self.branches = size

    def search(self, level: RowLevel) -> CandidateSplits:
        return search_branches(level, self.count(level))

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        rows, codes = self._known(level, some)
        level.side[rows] = codes + LEFT
        return divide_branches(level, self.size, found, some)
