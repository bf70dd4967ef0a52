"""The columns of a dataset, each in the form in which a level of nodes is searched.

Categories and few numbers are counted (`CountedColumn`). Many numbers are sorted once
(`SortedColumn`); in a large dataset they are first counted by bins (`NumberColumn`).
For ID3 a column of categories splits into all of them at once (`MultiwayColumn`).
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

# Rows of a whole column, in half the memory of positions, which are faster to use.
StoredRows = NDArray[np.int32]
FEW_VALUES = 64  # at most so many distinct numbers are counted rather than sorted


def make_column(
    feature: Feature,
    values: Array,
    *,
    is_multiway: bool = False,
    is_binned: bool = False,
    gap: float | None = None,
) -> SplitColumn:
    """The column in the form that suits it.

    Categories split in two, or multiway into all of them. Many numbers are sorted, or
    counted by bins as long as nodes have many rows. With a gap, bins are further apart.
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
    if order.distinct > FEW_VALUES or not len(order.rows):  # in a fold, none is known
        return SortedColumn.of(feature, values, order)
    ranks = order.ranks(len(values))
    ranks[np.isnan(values)] = order.distinct
    firsts = np.flatnonzero(order.steps)
    low, high = order.values[firsts], order.values[np.append(firsts[1:], 0) - 1]
    return CountedColumn(feature, ranks, order.distinct, (low, high))


# --- many numbers ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class NumberOrder:
    """The rows of a column whose value is known, by value."""

    rows: StoredRows
    values: Floats  # in this order
    steps: Mask  # which values differ from the one before; the first does

    @classmethod
    def of(cls, values: Floats, among: Positions | None = None) -> NumberOrder:
        """The order of all rows, or of some."""
        own = values if among is None else values.take(among)
        order = np.argsort(own)  # equal values in any order: sums are exact
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
        """The rank of each row among the distinct values, by row number."""
        ranks = np.empty(size, np.int32)
        ranks[self.rows] = np.cumsum(self.steps, dtype=np.int32) - 1
        return ranks


class NumberColumn:
    """A column of many numbers: counted by bins, then sorted.

    Bins cost little at nodes of many rows. From the first level whose nodes have few
    rows, the rows that are left are sorted.
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
        """The rows of the level by node, then by value."""
        order = NumberOrder.of(self.values, level.rows)
        made = SortedColumn.of(self.feature, self.values, order, len(level.rows))
        nodes = level.of_row.take(made.rows)
        made.rows = made.rows.take(order_of_nodes(nodes, level.nodes))
        return made


def sort_by_node(values: Floats, node: Array, nodes: Segments) -> StoredRows:
    """The positions of known values: node by node, then by value."""
    order = np.argsort(values)[: len(values) - np.count_nonzero(np.isnan(values))]
    order = order.take(order_of_nodes(node.take(order), nodes))
    return order.astype(np.int32)


def order_of_nodes(node: Array, nodes: Segments) -> Positions:
    """The order by node; else the order is kept."""
    if len(nodes.lengths) <= 1 << 16:
        node = node.astype(np.uint16)  # these are sorted in linear time
    return np.argsort(node, kind="stable")


class SortedColumn:
    """A column of many numbers, or of the ranks of an ordinal feature.

    At every level its rows are sorted by node, and within a node by value: a stable
    partition by side keeps that order. The sums to the left of every cut
    of every node are then one running sum. Rows with a missing value are left out.
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
        self.rows = rows  # node by node, then by value
        self.ranks = ranks  # of the values; None where no two are equal
        self.is_complete = is_complete  # no row of an open node has a missing value
        self.nodes = np.zeros(0, np.intp)  # those with a known value
        self.segments = Segments.of(self.nodes)  # the rows of each such node

    @classmethod
    def of(
        cls,
        feature: Feature,
        values: Floats,
        order: NumberOrder,
        count: int | None = None,  # of the rows that are sorted, if not all
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
            equal[self.segments.ends[:-1]] = False  # of two nodes
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
        """Keep the rows of open nodes, in the order of the level."""
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
        rows, nodes, codes = self._known(level, some)
        if self.values is None:
            is_left, divided = divide_categories(level, found, some)
            # Each row goes to the side of the bar that counts it.
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
        """The rows of some nodes whose value is known, their nodes and codes.

        The others are sent nowhere.
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
        rows, _, codes = self._known(level, some)
        level.side[rows] = codes + LEFT
        return divide_branches(level, self.size, found, some)
