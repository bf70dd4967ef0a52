"""The columns of a dataset in memory, each in the form in which C4.5 searches a level.

    ManyNumbers          sorted once, then following the cases from level to level;
                         in a large dataset first counted by bins (`binned_gains`)
    FewNumbers           counted in a histogram, by CART's `CountedColumn`
    Categories           counted likewise; a split has a branch for each category
    GroupedCategories    a split has a branch for each group of categories

`CaseSource` holds columns and cases for `CaseGrowth`, and searches in threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import numpy as np

from treecompile.learning.c45.binned_gains import BinnedGains
from treecompile.learning.c45.bounded_gains import decide
from treecompile.learning.c45.case_growth import node_stats
from treecompile.learning.c45.case_level import CaseLevel
from treecompile.learning.c45.category_groups import search_groups
from treecompile.learning.c45.fractional_cases import (
    CaseDescent,
    DividedCases,
    NodeCases,
    Order,
    Sample,
)
from treecompile.learning.c45.gain_ratio import (
    FeatureChoice,
    GainCandidates,
    gains_of_values,
)
from treecompile.learning.c45.thresholds import (
    GAP,
    Neighbours,
    PossibleCuts,
    RunningSums,
)
from treecompile.learning.grow.bin_counts import (
    LevelBins,
    worth_bins,
)
from treecompile.learning.grow.binned import BinnedColumn
from treecompile.learning.grow.columns import (
    CountedColumn,
    NumberColumn,
    SortedColumn,
    make_column,
    sort_by_node,
)
from treecompile.learning.grow.draft import Splits
from treecompile.learning.grow.growth import Division, NodeStats
from treecompile.learning.grow.histogram import Histogram, count_values
from treecompile.learning.grow.responses import count_classes
from treecompile.learning.grow.rows import WORTH_THREADS
from treecompile.learning.grow.search import Run
from treecompile.learning.grow.segments import nodes_of
from treecompile.learning.options import GrowthLimits
from treecompile.model.arrays import Array, Floats, Mask, Positions

MOST_CELLS = 4_000_000  # of the contingency tables that are counted at once


class CaseColumn(Protocol):
    def search(
        self, level: CaseLevel, usable: Positions
    ) -> GainCandidates | BinnedGains:
        """Find the best split, or its bounds, at each node with a usable feature."""


def make_case_column(
    sample: Sample,
    index: int,
    *,
    is_grouping: bool,
    is_ratio: bool,
    is_binned: bool = False,
) -> CaseColumn:
    """Make the column in the form that suits its values."""
    made = make_column(
        sample.data.features[index],
        sample.data.columns[index],
        is_binned=is_binned,
        gap=GAP,
    )
    if isinstance(made, NumberColumn):
        return ManyNumbers(sample.columns[index], None, made.binned)
    if isinstance(made, SortedColumn):
        return ManyNumbers(sample.columns[index], made.rows)
    assert isinstance(made, CountedColumn)
    if made.values is not None:
        return FewNumbers(made, made.values)
    if is_grouping and made.size > 2:
        return GroupedCategories(made, is_ratio)
    return Categories(made)


class ManyNumbers:
    """A column of many numbers, sorted at the start, or once it has no more bins."""

    def __init__(
        self, values: Array, order: Order | None, binned: BinnedColumn | None = None
    ) -> None:
        self.values, self.binned = values, binned
        # Positions in the level: node by node, then by value.
        self.order = np.zeros(0, np.int32) if order is None else order
        self.is_complete = len(self.order) == len(values)

    def search(
        self, level: CaseLevel, usable: Positions
    ) -> GainCandidates | BinnedGains:
        if self.binned is not None and level.counter is not None:
            return BinnedGains(self.binned, level)
        if self.binned is not None:
            self.binned, rows = None, level.rows
            self.order = sort_by_node(self.values.take(rows), level.node, level.nodes)
            self.is_complete = len(self.order) == len(rows)
        elif level.descent is not None:
            self.order = level.descent.follow(self.order)
        if not len(self.order):
            return GainCandidates.none(len(level.totals))
        return PossibleCuts(level, self._running_sums(level)).candidates()

    def _neighbours(self, level: CaseLevel) -> Neighbours:
        order, rows = self.order, level.cases.rows

        def neighbours(places: Positions) -> tuple[Floats, Floats]:
            if not len(places):
                return self.values[:0], self.values[:0]
            start, end = int(places[0]), int(places[-1]) + 2
            if end - start > 4 * len(places):  # scattered places, such as the best cuts
                near = order.take(places), order.take(places + 1)
                low, high = (self.values.take(rows.take(each)) for each in near)
                return low, high
            values = self.values.take(rows.take(order[start:end]))
            places = places - start
            return values.take(places), values[1:].take(places)

        return neighbours

    def _running_sums(self, level: CaseLevel) -> RunningSums:
        y, units, labels = level.y.take(self.order), None, range(1, level.classes)
        if level.units is not None:
            units = level.units.take(self.order)
        is_whole = self.is_complete and units is None
        nodes, segments = np.arange(len(level.totals)), level.cases.nodes
        if not is_whole:
            nodes, segments = nodes_of(level.node.take(self.order), len(nodes))

        def along(label: int) -> Array:
            if units is not None:
                return np.where(y == label, units, 0)
            ones: Array = (y == label).astype(np.int32)
            return ones

        if is_whole:
            totals: list[Array] = list(level.counts.astype(np.intp).T[1:])
            below = level.below
        else:
            totals = [segments.sums(along(label)) for label in labels]
            below = segments.counting(np.int32)
        sizes = segments.lengths
        if units is not None:
            sizes = segments.sums(units)
            below = segments.run(units.copy(), sizes)
        return RunningSums(
            segments,
            nodes,
            below,
            map(segments.run, map(along, labels), totals),
            sizes,
            totals,
            self._neighbours(level),
            level.possible if is_whole else None,
        )


def histogram_of(
    column: CountedColumn, level: CaseLevel, *, is_exact: bool
) -> Histogram:
    """Count the values at the nodes of a level."""
    codes, nodes = column.codes.take(level.cases.rows), level.cases.nodes
    sums = partial(level.sum_by_key, is_exact=is_exact)
    return count_values(codes, column.size, nodes, level.classes, sums)


@dataclass(frozen=True, slots=True, eq=False)
class FewNumbers:
    """A column of few numbers, or of the ranks of an ordinal feature."""

    column: CountedColumn
    values: tuple[Floats, Floats]  # for each code: the least and the greatest number

    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
        histogram = histogram_of(self.column, level, is_exact=True)
        if not len(histogram.nodes):
            return GainCandidates.none(len(level.totals))
        low, high = self.values

        def neighbours(places: Positions) -> tuple[Floats, Floats]:
            code = histogram.code
            return high.take(code.take(places)), low.take(code.take(places + 1))

        runs = RunningSums.of_histogram(histogram, neighbours)
        return PossibleCuts(level, runs).candidates()


@dataclass(frozen=True, slots=True, eq=False)
class Categories:
    """A column of categories with a branch for each."""

    column: CountedColumn

    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
        candidates = GainCandidates.none(len(level.totals))
        if not len(usable):
            return candidates
        level = level.some(usable)
        histogram = histogram_of(self.column, level, is_exact=False)
        if not len(histogram.nodes):
            return candidates
        table = np.array(histogram.sums, np.float64).T
        found = gains_of_values(level, histogram.segments, histogram.nodes, table)
        where = usable[histogram.nodes]
        candidates.gains[where], candidates.split_info[where] = found
        return candidates


@dataclass(frozen=True, slots=True, eq=False)
class GroupedCategories:
    """A column of categories with a branch for each group (see `category_groups`)."""

    column: CountedColumn
    is_ratio: bool

    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
        return search_groups(level, self._tables(level, usable), is_ratio=self.is_ratio)

    def _tables(
        self, level: CaseLevel, usable: Positions
    ) -> Iterator[tuple[int, Floats, Floats]]:
        width, classes = self.column.size + 1, level.classes
        most = max(1, MOST_CELLS // (width * classes))
        for start in range(0, len(usable), most):
            some = usable[start : start + most]
            here = level.some(some)
            keys = here.node.astype(np.intp) * width
            keys += self.column.codes.take(here.cases.rows)
            weights, count = here.cases.weights, len(some) * width
            table = count_classes(keys, here.y, weights, count, classes)
            tables = table.reshape(-1, width, classes).astype(np.float64)
            for node, each in zip(some.tolist(), tables, strict=True):
                yield node, each[:-1], each[-1]


# --- the source -----------------------------------------------------------------------


class CaseSource:
    """Holds the cases of the current nodes, and the columns of the dataset."""

    def __init__(
        self,
        sample: Sample,
        pool: ThreadPoolExecutor,
        choice: FeatureChoice,
        limits: GrowthLimits,
        *,
        is_grouping: bool,
    ) -> None:
        self.sample, self.pool, self.choice = sample, pool, choice
        self.min_leaf = float(limits.min_leaf)
        self.features = sample.data.features
        size, weights = len(sample.y), sample.data.weights
        self.rows_by_weight = 1.0 if weights is None else size / float(weights.sum())
        is_binned = worth_bins(size) and weights is None and limits.chi2 is None
        make = partial(
            make_case_column,
            sample,
            is_grouping=is_grouping,
            is_ratio=choice.is_ratio,
            is_binned=is_binned,
        )
        places = range(len(self.features))
        self.is_large = size * len(places) >= WORTH_THREADS
        self.columns: list[CaseColumn] = list(self.run(make, places))
        self.bins = LevelBins(sample.response, limits.max_depth)
        self.cases = sample.everything()
        # Cases of each node of the level before, and the parent of each current node.
        self.lengths, self.parents = self.cases.nodes.lengths, np.zeros(1, np.intp)
        # How the cases came to their nodes; see `DividedCases.descent`.
        self.divided: DividedCases | None = None
        self.before, self.size = np.zeros(0, np.intp), 0
        self.descent: CaseDescent | None = None

    def measure(self) -> NodeStats:
        return node_stats(self.sample.counts(self.cases), self.rows_by_weight)

    def keep(self, is_open: Mask) -> None:
        if not is_open.any():
            return
        if self.divided is not None and self._is_any(sorted_too=True):
            self.descent = self.divided.descent(is_open, self.before, self.size)
        self.divided = None
        self.cases = self.cases.some(np.flatnonzero(is_open))
        self.parents = self.parents[is_open]

    def _is_any(self, *, sorted_too: bool) -> bool:
        """Return whether any numbers are sorted (`sorted_too`), or else have bins."""
        return any(
            isinstance(each, ManyNumbers) and (each.binned is None) is sorted_too
            for each in self.columns
        )

    def search(self, counts: Floats, usable: Mask) -> Sequence[GainCandidates]:
        cases, counter = self.cases, None
        if cases.weights is None and self._is_any(sorted_too=False):
            rows = cases.rows.astype(np.intp)
            cases = NodeCases(rows, None, cases.nodes)
            counter = self.bins.counter(rows, cases.nodes, self.parents, self.lengths)
        level = CaseLevel.of(
            self.sample,
            cases,
            counts,
            self.min_leaf,
            self.descent,
            counter,
            is_any_sorted=counter is None or self._is_any(sorted_too=True),
        )

        def search(column: CaseColumn, usable: Mask) -> GainCandidates | BinnedGains:
            return column.search(level, np.flatnonzero(usable))

        is_large = len(self.cases.rows) * len(self.columns) >= WORTH_THREADS
        run = self.pool.map if is_large else map
        return self._decided(list(run(search, self.columns, usable.T)), run)

    @property
    def run(self) -> Run:
        return self.pool.map if self.is_large else map

    def _decided(
        self, found: Sequence[GainCandidates | BinnedGains], run: Run
    ) -> Sequence[GainCandidates]:
        """Determine gains of binned columns as far as the choice depends on them."""
        binned = {
            i: each for i, each in enumerate(found) if isinstance(each, BinnedGains)
        }
        candidates = [
            each.candidates if isinstance(each, BinnedGains) else each for each in found
        ]

        def find(where: Mask) -> None:
            some = np.flatnonzero(where.any(axis=0))
            features = [binned[index] for index in some.tolist()]
            list(run(BinnedGains.find, features, where.T[some]))

        if binned:
            decide(binned, candidates, self.choice, find, run)
        return candidates

    def table(self, splits: Splits) -> Floats:
        cases, splits = self.cases.some(splits.nodes), splits.some(splits.nodes)
        return self.sample.table(splits, cases, self.sample.places(splits, cases))

    def divide(self, splits: Splits) -> Division:
        cases = self.cases.some(splits.nodes)
        self.size, split_nodes = len(self.cases.rows), splits.nodes
        self.before = self.cases.nodes.within(split_nodes)
        splits = splits.some(split_nodes)
        divided = self.sample.divide(splits, cases)
        self.lengths = self.cases.nodes.lengths
        parent = np.searchsorted(splits.starts, divided.branches, side="right") - 1
        self.parents = split_nodes[parent]
        self.divided, self.cases = divided, divided.cases
        table = self.sample.table(splits, cases, divided.places)
        return Division(divided.branches, divided.known, table)

    def greatest(self, index: int, bounds: Floats) -> Floats:
        values, edges = self.sample.columns[index], np.unique(bounds)
        column = self.columns[index]
        if isinstance(column, ManyNumbers) and column.binned is not None:
            values = values.take(column.binned.beside(edges))
        most = np.full(len(edges) + 1, -np.inf)
        with np.errstate(invalid="ignore"):  # NaN comes after all edges
            np.maximum.at(most, np.searchsorted(edges, values), values)
        found: Floats = np.maximum.accumulate(most)[np.searchsorted(edges, bounds)]
        return found
