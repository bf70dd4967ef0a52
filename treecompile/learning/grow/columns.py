"""The columns of a dataset in memory, each in the form in which it is searched.

`make_column` chooses the form:

    CountedColumn     categories, or few distinct numbers: counted in a histogram
    MultiwayColumn    categories in ID3: a split has a branch for each category
    SortedColumn      many distinct numbers: sorted once, and kept in order
    NumberColumn      many numbers in a large dataset: counted by bins, later sorted
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from treecompile.learning.grow.binned import BinnedColumn
from treecompile.learning.grow.binning import Codes, make_codes
from treecompile.learning.grow.cuts import Sides, too_few
from treecompile.learning.grow.histogram import Histogram, count_values
from treecompile.learning.grow.histogram_splits import (
    divide_branches,
    divide_categories,
    search_branches,
    search_histogram,
)
from treecompile.learning.grow.search import (
    LEFT,
    NOWHERE,
    RIGHT,
    BestCuts,
    CandidateSplits,
    FeatureSplits,
    RowLevel,
    SplitColumn,
    by_side,
    differ,
    ends_of,
    in_two,
)
from treecompile.learning.grow.segments import Segments, nodes_of
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import Feature, Kind

# Row numbers of a whole column: half the memory of `Positions`, but slower to index by.
StoredRows = NDArray[np.int32]
FEW_VALUES = 64  # up to so many distinct numbers are counted rather than sorted


def make_column(
    feature: Feature,
    values: Array,
    *,
    is_multiway: bool = False,
    is_binned: bool = False,
    gap: float | None = None,
) -> SplitColumn:
    """Make the column in the form that suits its values.

    With `is_multiway`, each category has a branch. With `is_binned`, many numbers are
    counted by bins; with a gap, numbers in different bins are further apart than that.
    """
    size = len(feature.categories)
    if feature.kind is Kind.CATEGORICAL:
        form = MultiwayColumn if is_multiway else CountedColumn
        return form(feature, np.where(values < 0, size, values), size)
    if feature.kind is Kind.ORDINAL:
        if size <= FEW_VALUES:
            ranks = np.arange(float(size))
            own = np.where(values < 0, size, values)
            return CountedColumn(feature, own, size, (ranks, ranks))
        values = np.where(values < 0, np.nan, values.astype(np.float64))
    codes = make_codes(values, FEW_VALUES, gap) if is_binned else None
    if codes is not None:
        return NumberColumn(feature, values, codes)
    order = NumberOrder.of(values)
    # A fold may have no known value at all.
    if order.distinct > FEW_VALUES or not len(order.rows):
        return SortedColumn.of(feature, values, order)
    ranks = order.ranks(len(values))
    ranks[np.isnan(values)] = order.distinct
    firsts = np.flatnonzero(order.steps)
    low, high = order.values[firsts], order.values[np.append(firsts[1:], 0) - 1]
    return CountedColumn(feature, ranks, order.distinct, (low, high))


# --- many numbers ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class NumberOrder:
    """The rows of a column with a known value, sorted by value."""

    rows: StoredRows
    values: Floats  # the values of these rows, ascending
    steps: Mask  # which values differ from the one before; the first counts as one

    @classmethod
    def of(cls, values: Floats, among: Positions | None = None) -> NumberOrder:
        """Sort all rows, or the rows `among`."""
        own = values if among is None else values.take(among)
        order = np.argsort(own)  # equal values may come in any order: sums are exact
        order = order[: len(own) - np.count_nonzero(np.isnan(own))]
        rows = order if among is None else among.take(order)
        own = own.take(order)
        steps = np.ones(len(own), np.bool_)
        steps[1:] = differ(own)
        return cls(rows.astype(np.int32), own, steps)

    @property
    def distinct(self) -> int:
        return int(np.count_nonzero(self.steps))

    def ranks(self, size: int) -> StoredRows:
        """Return for each row number the rank of its value among the distinct ones."""
        ranks = np.empty(size, np.int32)
        ranks[self.rows] = np.cumsum(self.steps, dtype=np.int32) - 1
        return ranks


class NumberColumn:
    """A column of many numbers that is first counted by bins, and later sorted.

    The remaining rows are sorted at the first level whose nodes have few rows.
    """

    branches = 2

    def __init__(self, feature: Feature, values: Floats, codes: Codes) -> None:
        self.feature, self.values = feature, values
        self.binned: BinnedColumn | None = BinnedColumn(feature, values, codes)
        self.sorted: SortedColumn | None = None

    @property
    def _now(self) -> BinnedColumn | SortedColumn:
        now = self.sorted or self.binned
        assert now is not None
        return now

    def search(self, level: RowLevel) -> CandidateSplits:
        if level.counter is None and self.sorted is None:
            self.sorted, self.binned = self._sort(level), None
        return self._now.search(level)

    def refine(
        self, level: RowLevel, found: CandidateSplits, least: Floats
    ) -> CandidateSplits:
        return self.binned.refine(level, found, least) if self.binned else found

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        return self._now.divide(level, found, some)

    def _sort(self, level: RowLevel) -> SortedColumn:
        """Make a sorted column of the rows of the level: by node, then by value."""
        order = NumberOrder.of(self.values, level.rows)
        made = SortedColumn.of(self.feature, self.values, order, len(level.rows))
        nodes = level.of_row.take(made.rows)
        made.rows = made.rows.take(order_of_nodes(nodes, level.nodes))
        return made


def sort_by_node(values: Floats, node: Array, nodes: Segments) -> StoredRows:
    """Return the positions of known values, sorted by node, then by value."""
    order = np.argsort(values)[: len(values) - np.count_nonzero(np.isnan(values))]
    order = order.take(order_of_nodes(node.take(order), nodes))
    return order.astype(np.int32)


def order_of_nodes(node: Array, nodes: Segments) -> Positions:
    """Return the positions sorted stably by node."""
    if len(nodes.lengths) <= 1 << 16:
        node = node.astype(np.uint16)  # numpy sorts 16-bit integers in linear time
    return np.argsort(node, kind="stable")


class SortedColumn:
    """A column of many numbers, or of the ranks of an ordinal feature.

    At every level its rows are sorted by node, and within a node by value; a stable
    partition by side keeps that order. So one running sum gives the sums to the left of
    every cut of every node. Rows with a missing value are left out.
    """

    branches = 2

    def __init__(
        self,
        feature: Feature,
        values: Array,
        rows: StoredRows,
        ranks: StoredRows | None,
        *,
        is_complete: bool,
    ) -> None:
        self.feature = feature
        self.values = values
        self.rows = rows  # sorted by node, then by value
        self.ranks = ranks  # for each row: the rank of its value; None: all differ
        self.is_complete = is_complete  # no row of an open node has a missing value
        self.nodes = np.zeros(0, np.intp)  # the open nodes that have a known value
        self.segments = Segments.of(self.nodes)  # the rows of each of these

    @classmethod
    def of(
        cls,
        feature: Feature,
        values: Floats,
        order: NumberOrder,
        count: int | None = None,  # how many rows were to be sorted, if not all
    ) -> SortedColumn:
        is_complete = len(order.rows) == (len(values) if count is None else count)
        ranks = None if order.steps.all() else order.ranks(len(values))
        return cls(feature, values, order.rows, ranks, is_complete=is_complete)

    def search(self, level: RowLevel) -> CandidateSplits:
        self._follow(level)
        found = CandidateSplits.none(len(level.nodes.lengths))
        if not len(self.nodes):
            return found
        sides = level.sides if self.is_complete else None
        if sides is None:
            sides = self._sides(level)
        totals = sides.totals

        rows = self.rows.astype(np.intp)

        def lefts() -> map[Array]:
            return map(self.segments.run, level.response.along(rows), totals)

        scores = level.measure.cuts(lefts(), sides)
        if self.ranks is not None:
            ranks = self.ranks.take(rows)
            equal = ranks[1:] == ranks[:-1]
            equal[self.segments.ends[:-1]] = False  # neighbours in different nodes
            np.copyto(scores[:-1], -np.inf, where=equal)
            if not equal.any():
                self.ranks = None  # no node below has equal values either
        best = sides.best(scores, level.opened.tie[self.nodes])
        cuts = BestCuts.of(level, self.nodes, sides, lefts, best)
        if self.is_complete:
            return cuts.as_found()
        cuts.improve(found)
        return found

    def _follow(self, level: RowLevel) -> None:
        """Drop rows of finished nodes, and bring the others into the level's order."""
        self.rows = by_side(level.side.take(self.rows), self.rows)
        count = len(level.nodes.lengths)
        if self.is_complete:
            self.nodes, self.segments = np.arange(count), level.nodes
            return
        self.nodes, self.segments = nodes_of(level.of_row.take(self.rows), count)

    def _sides(self, level: RowLevel) -> Sides:
        totals = [
            self.segments.sums(each)
            for each in level.response.along(self.rows.astype(np.intp))
        ]
        units = level.response.units
        weights = units.of_rows.take(self.rows) if units else None
        return single_sides(self.segments, totals, level.min_leaf, weights)

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        if not self.is_complete:
            missing = level.nodes.take(level.rows, some)
            level.side[missing] = NOWHERE
        position = found.position[some]
        mine = np.searchsorted(self.nodes, some)
        places = self.segments.within(mine)
        goes_left = places <= np.repeat(position, self.segments.lengths[mine])
        level.side[self.rows.take(places)] = RIGHT - goes_left.astype(np.int8)
        low = self.values.take(self.rows.take(position))
        high = self.values.take(self.rows.take(position + 1))
        ends = ends_of(self.feature, low, high)
        return in_two(level, found.left[some], found.right[some], ends)


def single_sides(
    segments: Segments,
    totals: Sequence[Array],
    min_leaf: int,
    weights: Array | None = None,
) -> Sides:
    """Make the sides of cuts that may follow any row."""
    counts = segments.lengths.astype(np.float64)
    left = segments.counting(np.float64)
    barred = too_few(segments, left, min_leaf)
    if weights is not None:
        counts = segments.sums(weights)
        left = segments.run(weights, counts)
    return Sides.of(segments, left, counts, totals, barred)


# --- few values -----------------------------------------------------------------------


class CountedColumn:
    """A column of codes for categories, ordinal ranks, or few distinct numbers."""

    def __init__(
        self,
        feature: Feature,
        codes: Array,
        size: int,
        values: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.feature = feature
        self.codes = codes.astype(np.int32)  # `size` stands for a missing value
        self.size, self.branches = size, 2
        # For each code: the least and the greatest number; None for categories.
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
        rows, nodes, codes = self._known(level, some)
        if self.values is None:
            is_left, divided = divide_categories(level, found, some)
            # Each row goes to the side of its bar: the bin of its node and code.
            width = self.size + 1
            keys = histogram.node * width + histogram.code
            bar = np.searchsorted(keys, nodes * width + codes)
            level.side[rows] = np.where(is_left.take(bar), LEFT, RIGHT)
            return divided
        code, position = histogram.code, found.position[some]
        most = np.zeros(len(level.nodes.lengths), np.int32)
        most[some] = code[position]
        level.side[rows] = np.where(codes <= most.take(nodes), LEFT, RIGHT)
        lowest, greatest = self.values
        low, high = greatest[code[position]], lowest[code[position + 1]]
        ends = ends_of(self.feature, low, high)
        return in_two(level, found.left[some], found.right[some], ends)

    def _known(
        self, level: RowLevel, some: Positions
    ) -> tuple[Positions, Array, Array]:
        """Return the rows of some nodes with a known value, their nodes and codes.

        Rows with a missing value get the side `NOWHERE`.
        """
        rows = level.nodes.take(level.rows, some)
        nodes = np.repeat(some, level.nodes.lengths[some])
        codes = self.codes.take(rows)
        is_known = codes < self.size
        if not is_known.all():
            level.side[rows[~is_known]] = NOWHERE
            rows, nodes, codes = rows[is_known], nodes[is_known], codes[is_known]
        return rows, nodes, codes


class MultiwayColumn(CountedColumn):
    """A column of categories for ID3: a split has a branch for each category.

    A missing value counts as the most common category at the node. A category that does
    not occur at a node gets a branch without cases.
    """

    def __init__(self, feature: Feature, codes: Array, size: int) -> None:
        super().__init__(feature, codes, size)
        self.branches = size

    def search(self, level: RowLevel) -> CandidateSplits:
        return search_branches(level, self.count(level))

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        rows, _, codes = self._known(level, some)
        level.side[rows] = codes + LEFT
        return divide_branches(level, self.size, found, some)
