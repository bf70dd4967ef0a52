"""Grows ID3 and CART trees from a dataset in memory.

`grow_tree`, called by `id3` and `cart`, prepares the columns, runs the growth over a
`RowSource`, and returns the finished tree.

A row whose value is missing goes down the heaviest branch of a split. Rows of finished
nodes are dropped. Features are searched in parallel threads, since numpy releases the
interpreter lock in its loops.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import methodcaller
from typing import TypeVar

import numpy as np

from treecompile.learning.grow.bin_counts import LevelBins, worth_bins
from treecompile.learning.grow.columns import (
    NumberColumn,
    SortedColumn,
    make_column,
    single_sides,
)
from treecompile.learning.grow.criteria import Measure
from treecompile.learning.grow.draft import Draft, Splits
from treecompile.learning.grow.growth import Division, NodeStats
from treecompile.learning.grow.impurity import Found, ImpurityGrowth, finish_tree
from treecompile.learning.grow.responses import OpenNodes, Response
from treecompile.learning.grow.search import (
    LEFT,
    NOWHERE,
    RIGHT,
    CandidateSplits,
    FeatureSplits,
    RowLevel,
    Run,
    SplitColumn,
    divide_features,
)
from treecompile.learning.grow.segments import PART, Segments
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.collector import paused
from treecompile.model.ir import Tree
from treecompile.tables.dataset import Dataset

T = TypeVar("T")
WORTH_THREADS = 50_000  # values in a level; with fewer, threads do not pay


def grow_tree(
    data: Dataset,
    response: Response,
    measure: Measure,
    limits: GrowthLimits,
    progress: Progress,
    *,
    is_multiway: bool = False,
) -> Tree:
    """Grow a tree; a categorical split is binary or has a branch for each category."""
    with threads(limits) as pool, paused(lasting=True):
        is_binned = worth_bins(len(data.y)) and limits.chi2 is None
        # Bins need a bound of what a cut gains. With weights of many digits, a ratio of
        # two small differences is dominated by rounding, for which there is no bound.
        is_binned &= measure.is_concave or response.units is None
        make = partial(make_column, is_multiway=is_multiway, is_binned=is_binned)
        columns = list(pool.map(make, data.features, data.columns))
        source = RowSource(columns, len(data.y), response, measure, limits, pool)
        draft = Draft.of(ImpurityGrowth(source, limits, progress).run())
        return finish_tree(draft, response, data.features, data.labels)


def threads(limits: GrowthLimits) -> ThreadPoolExecutor:
    """Make the pool of threads that search the features."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return ThreadPoolExecutor(limits.threads or cores or os.cpu_count() or 1)


class RowSource:
    """Holds the rows of the current nodes in memory; those of a node are contiguous."""

    def __init__(
        self,
        columns: Sequence[SplitColumn],
        size: int,
        response: Response,
        measure: Measure,
        limits: GrowthLimits,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.columns, self.response = columns, response
        self.criterion, self.limits, self.pool = measure, limits, pool
        self.rows: Positions = np.arange(size)
        self.nodes = Segments.of(np.array([size]))  # the segment of rows of each node
        # Rows of each node of the level before, and the parent of each current node.
        self.before, self.parents = self.nodes.lengths, np.zeros(1, np.intp)
        # For each row of the dataset: its node, and the side taken at the last split.
        self.of_row = np.zeros(size, np.int32)
        self.branches = np.array([column.branches for column in columns])
        is_binary = self.branches.max() <= RIGHT
        self.side: Array = np.full(size, LEFT, np.int8 if is_binary else np.int16)
        self.level: RowLevel | None = None
        self.found: list[CandidateSplits] = []
        self.is_any_sorted = any(isinstance(each, SortedColumn) for each in columns)
        self.bins = LevelBins(response, limits.max_depth)
        self.binned = [
            index
            for index, column in enumerate(columns)
            if isinstance(column, NumberColumn)
        ]

    def measure(self) -> NodeStats:
        return NodeStats.joined(self._in_parts(self.response.measure))

    def _in_parts(self, do: Callable[..., T], *of_nodes: Array) -> list[T]:
        """Call `do` on runs of neighbouring nodes; return the results in order.

        `of_nodes` are further arguments of it: arrays with an entry for each node.
        """

        def part_of(some: slice) -> T:
            start, lengths = self.nodes.starts[some.start], self.nodes.lengths[some]
            rows = self.rows[start : start + lengths.sum()]
            return do(rows, Segments.of(lengths), *(each[some] for each in of_nodes))

        parts = self.nodes.parts(PART)
        if not parts:
            return [do(self.rows, self.nodes, *of_nodes)]
        return list(self.pool.map(part_of, parts) if parts[1:] else map(part_of, parts))

    def keep(self, is_open: Mask) -> None:
        if is_open.all():
            return
        stays = self.nodes.spread(is_open)
        self.side[self.rows[~stays]] = NOWHERE
        self.rows = self.rows[stays]
        self.nodes = Segments.of(self.nodes.lengths[is_open])
        self.parents = self.parents[is_open]

    def search(self, stats: Floats) -> Found:
        level = self.level = self._level(stats)
        self.found = list(self._run(methodcaller("search", level), self.columns))
        if level.counter is not None:
            self._open_bins(level)
        return level.opened, self.found

    @property
    def _run(self) -> Run:
        """`map`, in threads if the level has enough values."""
        many = len(self.rows) * len(self.columns) >= WORTH_THREADS
        return self.pool.map if many else map

    def _open_bins(self, level: RowLevel) -> None:
        """Search inside the bins that may hold a better cut than all found so far."""
        opened = level.opened
        with np.errstate(over="ignore"):  # infinite is right: no gain is so large
            wanted = np.ldexp(self.limits.min_gain, -opened.unit)
        best = np.max([each.gain for each in self.found], axis=0)
        least = np.maximum(best, wanted) - opened.tie

        def refined(index: int) -> CandidateSplits:
            column = self.columns[index]
            assert isinstance(column, NumberColumn)
            return column.refine(level, self.found[index], least)

        better = self._run(refined, self.binned)
        for index, found in zip(self.binned, better, strict=True):
            self.found[index] = found

    def _level(self, stats: Floats) -> RowLevel:
        """Prepare what the columns need for searching the open nodes."""
        opened = OpenNodes.joined(self._in_parts(self.response.open, stats))
        opened.tie[:] *= self.criterion.slack
        sides = counter = None
        if self.binned:
            counter = self.bins.counter(
                self.rows, self.nodes, self.parents, self.before
            )
        if counter is None:
            self.binned = []  # from this level on, no column has bins
        if counter is None or self.is_any_sorted:
            self.of_row[self.rows] = self.nodes.spread(np.arange(len(stats)))
        if counter is None and self.response.units is None:
            sides = single_sides(self.nodes, opened.totals, self.limits.min_leaf)
        return RowLevel(
            opened,
            self.criterion,
            self.limits.min_leaf,
            self.limits.chi2,
            self.response.units,
            self.rows,
            self.nodes,
            self.response,
            sides,
            self.of_row,
            self.side,
            counter,
        )

    def divide(self, splits: Splits) -> Division:
        leaves = np.flatnonzero(splits.feature < 0)
        if len(leaves):
            self.side[self.nodes.take(self.rows, leaves)] = NOWHERE
        known, heaviest = divide_features(splits, self._divide, self._run)
        side = self._send_missing_to_heaviest(heaviest)
        # In the new order, rows are sorted by branch, then by parent.
        places = [
            np.flatnonzero(side == each)
            for each in range(LEFT, 1 + max(RIGHT, splits.size.max()))
        ]
        self.rows = self.rows.take(np.concatenate(places))
        ends = np.append(self.nodes.starts, len(side))
        sizes = np.array([np.diff(np.searchsorted(each, ends)) for each in places])
        branch, node = np.nonzero(sizes)
        self.before, self.parents = self.nodes.lengths, node
        self.nodes = Segments.of(sizes[branch, node])
        return Division(splits.starts[node] + branch, known)

    def _divide(self, index: int, some: Positions) -> FeatureSplits:
        assert self.level is not None
        return self.columns[index].divide(self.level, self.found[index], some)

    def _send_missing_to_heaviest(self, heaviest: Array) -> Array:
        """Return the side of each row, where missing values go to the heaviest one.

        Rows of nodes that are not split stay NOWHERE.
        """
        side = self.side.take(self.rows)
        missing = np.flatnonzero(side == NOWHERE)
        if len(missing):
            side[missing] = self.nodes.spread(heaviest.astype(side.dtype))[missing]
            self.side[self.rows.take(missing)] = side[missing]
        return side
