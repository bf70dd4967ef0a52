"""The features of a dataset, each in the form in which C4.5 searches a level.

Many numbers are sorted once and follow the cases from level to level. Few numbers and
categories are counted, by CART's columns. `CaseSource` shares the features out among
threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from treecompile.learning.c45.case_growth import node_stats
from treecompile.learning.c45.category_groups import search_groups
from treecompile.learning.c45.fractional_cases import (
    CaseDescent,
    DividedCases,
    NodeCases,
    Order,
    Sample,
)
from treecompile.learning.c45.gain_ratio import (
    GainCandidates,
    GainSearch,
    Scale,
    gains_of_values,
)
from treecompile.learning.c45.thresholds import Neighbours, PossibleCuts, RunningSums
from treecompile.learning.grow.bin_counts import KeySums
from treecompile.learning.grow.columns import CountedColumn, SortedColumn, make_column
from treecompile.learning.grow.draft import Splits
from treecompile.learning.grow.growth import Division, NodeStats
from treecompile.learning.grow.histogram import Histogram, count_values
from treecompile.learning.grow.responses import count_classes
from treecompile.learning.grow.rows import WORTH_THREADS
from treecompile.learning.grow.segments import nodes_of
from treecompile.model.arrays import Array, Floats, Mask, Positions

HALF = 26  # bits of a weight that are summed at once
MOST_CELLS = 4_000_000  # of a contingency table that is counted at once


@dataclass(frozen=True, slots=True, eq=False)
class CaseLevel(GainSearch):
    """The open nodes of a dataset in memory, with their cases."""

    cases: NodeCases
    y: Array
    units: Array | None  # the weights as integers; None where all cases are whole
    node: Array  # of each case
    # For columns without missing values, if all cases are whole: the number of cases up
    # to each case, and the cases after which a cut leaves enough on both sides.
    below: Array
    possible: Positions
    descent: CaseDescent | None  # how the cases came to these nodes

    @classmethod
    def of(
        cls,
        sample: Sample,
        cases: NodeCases,
        counts: Floats,
        min_leaf: float,
        descent: CaseDescent | None = None,
    ) -> CaseLevel:
        nodes, nothing = cases.nodes, np.zeros(0, np.intp)
        is_divided = cases.weights is not None
        level = cls(
            Scale.of(sample.most, sample.log_table, is_divided=is_divided),
            sample.classes,
            min_leaf,
            counts,
            counts.sum(axis=1),
            cases,
            sample.y.take(cases.rows),
            None,
            nodes.spread(np.arange(len(nodes.lengths), dtype=np.int32)),
            nothing,
            nothing,
            descent,
        )
        if cases.weights is not None:
            units = np.rint(cases.weights / level.scale.unit).astype(np.int64)
            return replace(level, units=units)
        below = nodes.counting(np.int32)
        possible = level.inside(nodes, nodes.lengths, below)
        return replace(level, below=below, possible=possible)

    def sum_by_key(self, keys: Array, count: int, *, is_exact: bool) -> KeySums:
        """How many cases have each key, and the weight of each class among them.

        If that is to be exact, weights are summed as integers. Overwrites the keys.
        """
        y, units, classes = self.y, self.units, self.classes
        sizes = None if units is None else np.bincount(keys, minlength=count)
        if units is None or not is_exact:
            table = count_classes(keys, y, self.cases.weights, count, classes)
        else:
            # Either half is short enough to be exact in doubles.
            high, low = units >> HALF, units & (2**HALF - 1)
            table = count_classes(keys.copy(), y, high, count, classes).astype(np.int64)
            table <<= HALF
            table += count_classes(keys, y, low, count, classes).astype(np.int64)
        sums = table.sum(axis=1)
        return KeySums(sums if sizes is None else sizes, sums, list(table.T))

    def some(self, chosen: Positions) -> CaseLevel:
        """Some of the nodes, for a column whose values are counted."""
        if len(chosen) == len(self.totals):
            return self
        places = self.cases.nodes.within(chosen)
        cases = self.cases.some(chosen)
        node = cases.nodes.spread(np.arange(len(chosen), dtype=np.int32))
        return replace(
            self,
            counts=self.counts[chosen],
            totals=self.totals[chosen],
            cases=cases,
            y=self.y.take(places),
            units=None if self.units is None else self.units.take(places),
            node=node,
            below=self.below[:0],
            possible=self.possible[:0],
        )


class CaseColumn(Protocol):
    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
        """The best split at each node where the feature may be used."""


def make_case_column(
    sample: Sample, index: int, *, is_grouping: bool, is_ratio: bool
) -> CaseColumn:
    """A feature in the form that suits it."""
    made = make_column(sample.data.features[index], sample.data.columns[index])
    if isinstance(made, SortedColumn):
        return ManyNumbers(sample.columns[index], made.rows)
    assert isinstance(made, CountedColumn)
    if made.values is not None:
        return FewNumbers(made, made.values)
    if is_grouping and made.size > 2:
        return GroupedCategories(made, is_ratio)
    return Categories(made)


class ManyNumbers:
    """A column of many numbers, sorted once."""

    def __init__(self, values: Array, order: Order) -> None:
        self.values = values
        self.order = order  # positions in the level: node by node, then by value
        self.is_complete = len(order) == len(values)

    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
        if level.descent is not None:
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
            if end - start > 4 * len(places):  # few places, such as the best cuts
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
    values: tuple[Floats, Floats]  # the least and the greatest with each code

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
    """A column of categories: a branch for each."""

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
    """A column of categories: a branch for each group of them, found by a search."""

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
    """The cases of the nodes, and the columns of the dataset in their order."""

    def __init__(
        self,
        sample: Sample,
        pool: ThreadPoolExecutor,
        min_leaf: float,
        *,
        is_grouping: bool,
        is_ratio: bool,
    ) -> None:
        self.sample, self.pool, self.min_leaf = sample, pool, min_leaf
        self.features = sample.data.features
        size, weights = len(sample.y), sample.data.weights
        self.rows_by_weight = 1.0 if weights is None else size / float(weights.sum())
        make = partial(
            make_case_column, sample, is_grouping=is_grouping, is_ratio=is_ratio
        )
        places = range(len(self.features))
        is_large = size * len(places) >= WORTH_THREADS
        self.columns: list[CaseColumn] = list(
            (pool.map if is_large else map)(make, places)
        )
        self.cases = sample.everything()
        # How the cases came to their nodes.
        self.divided: DividedCases | None = None
        self.before, self.size = np.zeros(0, np.intp), 0
        self.descent: CaseDescent | None = None

    def measure(self) -> NodeStats:
        return node_stats(self.sample.counts(self.cases), self.rows_by_weight)

    def keep(self, is_open: Mask) -> None:
        if not is_open.any():
            return
        if self.divided is not None:
            self.descent = self.divided.descent(is_open, self.before, self.size)
            self.divided = None
        self.cases = self.cases.some(np.flatnonzero(is_open))

    def search(self, counts: Floats, usable: Mask) -> Sequence[GainCandidates]:
        level = CaseLevel.of(
            self.sample, self.cases, counts, self.min_leaf, self.descent
        )

        def search(column: CaseColumn, usable: Mask) -> GainCandidates:
            return column.search(level, np.flatnonzero(usable))

        is_large = len(self.cases.rows) * len(self.columns) >= WORTH_THREADS
        run = self.pool.map if is_large else map
        return list(run(search, self.columns, usable.T))

    def table(self, splits: Splits) -> Floats:
        cases, splits = self.cases.some(splits.nodes), splits.some(splits.nodes)
        return self.sample.table(splits, cases, self.sample.places(splits, cases))

    def divide(self, splits: Splits) -> Division:
        cases = self.cases.some(splits.nodes)
        self.size = len(self.cases.rows)
        self.before = self.cases.nodes.within(splits.nodes)
        splits = splits.some(splits.nodes)
        divided = self.sample.divide(splits, cases)
        self.divided, self.cases = divided, divided.cases
        table = self.sample.table(splits, cases, divided.places)
        return Division(divided.branches, divided.known, table)

    def greatest(self, index: int, bounds: Floats) -> Floats:
        values, edges = self.sample.columns[index], np.unique(bounds)
        most = np.full(len(edges) + 1, -np.inf)
        with np.errstate(invalid="ignore"):  # NaN comes after all edges
            np.maximum.at(most, np.searchsorted(edges, values), values)
        found: Floats = np.maximum.accumulate(most)[np.searchsorted(edges, bounds)]
        return found
