"""The features of a dataset, each in the form in which C4.5 searches a level.

Many numbers are sorted once and follow the cases from level to level. Few numbers and
categories are counted, by CART's columns. `CaseSource` shares the features out among
threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from treecompile.learning.c45.case_growth import node_stats
from treecompile.learning.c45.category_groups import group_values
from treecompile.learning.c45.fractional_cases import (
    CaseDescent,
    CaseLevel,
    DividedCases,
    Order,
    Sample,
)
from treecompile.learning.c45.gain_ratio import (
    GainCandidates,
    bits,
    counting,
    gains_of_values,
)
from treecompile.learning.c45.thresholds import Neighbours, PossibleCuts, RunningSums
from treecompile.learning.grow.columns import CountedColumn, SortedColumn, make_column
from treecompile.learning.grow.draft import Groups, Splits
from treecompile.learning.grow.growth import Division, NodeStats
from treecompile.learning.grow.histogram import Histogram, count_values
from treecompile.learning.grow.responses import KeySums
from treecompile.learning.grow.rows import WORTH_THREADS
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions

MOST_CELLS = 4_000_000  # of a contingency table that is counted at once
HALF = 26  # bits of a weight that are summed at once


class CaseColumn(Protocol):
    def follow(self, descent: CaseDescent) -> None:
        """Go with the cases to the next level."""

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
    if made.is_ordered:
        return FewNumbers(made)
    if is_grouping and made.size > 2:
        return GroupedCategories(made, is_ratio)
    return Categories(made)


class ManyNumbers:
    """A column of many numbers, sorted once."""

    def __init__(self, values: Array, order: Order) -> None:
        self.values = values
        self.order = order  # positions in the level: node by node, then by value
        self.is_complete = len(order) == len(values)

    def follow(self, descent: CaseDescent) -> None:
        self.order = descent.follow(self.order)

    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
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
            sizes = np.bincount(level.node.take(self.order), minlength=len(nodes))
            nodes = np.flatnonzero(sizes)
            segments = Segments.of(sizes[nodes])

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
            below = counting(segments)
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
            level.inside if is_whole else None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CaseSums:
    """Counts the cases of a level by the values of a column."""

    level: CaseLevel
    is_exact: bool  # whether weights are counted as integers

    @property
    def summands(self) -> int:
        return self.level.classes

    def sum_by_key(self, keys: Array, rows: Array, count: int) -> KeySums:
        """How many cases have each key, and the weight of each class among them."""
        level, classes = self.level, self.level.classes
        cell = keys * classes
        cell += level.y
        size = count * classes
        cases = np.bincount(keys, minlength=count)
        if level.units is None:
            sums = np.bincount(cell, minlength=size)
        elif self.is_exact:
            # Either half is short enough to be exact in doubles.
            high, low = level.units >> HALF, level.units & (2**HALF - 1)
            sums = np.bincount(cell, high, size).astype(np.int64) << HALF
            sums += np.bincount(cell, low, size).astype(np.int64)
        else:
            sums = np.bincount(cell, level.cases.weights, size)
        table = sums.reshape(count, classes)
        return KeySums(cases, table.sum(axis=1), list(table.T))


def histogram_of(
    column: CountedColumn, level: CaseLevel, *, is_exact: bool
) -> Histogram:
    cases, sums = level.cases, CaseSums(level, is_exact)
    return count_values(column.codes, column.size, cases.rows, cases.nodes, sums)


class FewNumbers:
    """A column of few numbers, or of the ranks of an ordinal feature."""

    def __init__(self, column: CountedColumn) -> None:
        self.column = column

    def follow(self, descent: CaseDescent) -> None:
        pass  # the values are counted again

    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
        histogram = histogram_of(self.column, level, is_exact=True)
        if not len(histogram.nodes):
            return GainCandidates.none(len(level.totals))
        low, high = self._values()

        def neighbours(places: Positions) -> tuple[Floats, Floats]:
            code = histogram.code
            return high.take(code.take(places)), low.take(code.take(places + 1))

        runs = RunningSums.of_histogram(histogram, neighbours)
        return PossibleCuts(level, runs).candidates()

    def _values(self) -> tuple[Floats, Floats]:
        """The least and the greatest value that each code stands for."""
        if self.column.values is not None:
            return self.column.values
        codes = np.arange(float(self.column.size))
        return codes, codes


class Categories:
    """A column of categories: a branch for each."""

    def __init__(self, column: CountedColumn) -> None:
        self.column = column

    def follow(self, descent: CaseDescent) -> None:
        pass

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


class GroupedCategories:
    """A column of categories: a branch for each group of them, found by a search."""

    def __init__(self, column: CountedColumn, is_ratio: bool) -> None:
        self.column, self.is_ratio = column, is_ratio

    def follow(self, descent: CaseDescent) -> None:
        pass

    def search(self, level: CaseLevel, usable: Positions) -> GainCandidates:
        groups: dict[int, Groups] = {}
        candidates = replace(GainCandidates.none(len(level.totals)), groups=groups)
        width, classes = self.column.size + 1, level.classes
        most = max(1, MOST_CELLS // (width * classes))
        for start in range(0, len(usable), most):
            some = usable[start : start + most]
            here = level.some(some)
            cells = here.node.astype(np.intp) * width
            cells += self.column.codes.take(here.cases.rows)
            cells *= classes
            cells += here.y
            size = len(some) * width * classes
            table = np.bincount(cells, here.cases.weights, size)
            tables = table.reshape(-1, width, classes).astype(np.float64)
            for node, each in zip(some.tolist(), tables, strict=True):
                found = group_values(
                    each[:-1], each[-1], level.min_leaf, is_ratio=self.is_ratio
                )
                candidates.gains[node] = found.gain
                candidates.split_info[node] = found.split_info
                groups[node] = found.groups
        return candidates


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
        self.log_table = bits(np.arange(size + 1.0))  # n log2 n of whole cases
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
            self.sample, self.cases, counts, self.min_leaf, self.log_table
        )
        is_large = len(self.cases.rows) * len(self.columns) >= WORTH_THREADS
        search = partial(_search, level, self.descent)
        run = self.pool.map if is_large else map
        return list(run(search, self.columns, map(np.flatnonzero, usable.T)))

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
        ordered = np.sort(self.sample.columns[index])  # missing values come last
        found: Floats = ordered[np.searchsorted(ordered, bounds, side="right") - 1]
        return found


def _search(
    level: CaseLevel, descent: CaseDescent | None, column: CaseColumn, usable: Positions
) -> GainCandidates:
    if descent is not None:
        column.follow(descent)
    return column.search(level, usable)
