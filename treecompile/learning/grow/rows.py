"""The growth of ID3 and CART trees from a dataset in memory, over whole columns.

A row whose value is missing goes down the heaviest branch of a split. Rows of finished
nodes are dropped. The features are shared out among threads, since numpy releases the
interpreter in its loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import methodcaller

import numpy as np

from treecompile.learning.grow.columns import make_column, single_sides
from treecompile.learning.grow.criteria import Measure
from treecompile.learning.grow.draft import Draft, Splits
from treecompile.learning.grow.growth import Division, NodeStats
from treecompile.learning.grow.impurity import Found, ImpurityGrowth, finish_tree
from treecompile.learning.grow.responses import Response, Rows
from treecompile.learning.grow.search import (
    LEFT,
    NOWHERE,
    RIGHT,
    CandidateSplits,
    FeatureSplits,
    RowLevel,
    SplitColumn,
    by_side,
    divide_features,
)
from treecompile.learning.grow.segments import Segments
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.collector import paused
from treecompile.model.ir import Tree
from treecompile.tables.dataset import Dataset

THREADS = 2  # more gain little: the loops are bound by memory
WORTH_THREADS = 50_000  # values in a level: below, handing out work costs more


def grow_tree(
    data: Dataset,
    response: Response,
    measure: Measure,
    limits: GrowthLimits,
    progress: Progress,
    *,
    is_multiway: bool = False,
) -> Tree:
    """Grow a tree; categories split in two, or multiway into all of them."""
    with ThreadPoolExecutor(THREADS) as pool, paused(lasting=True):
        make = partial(make_column, is_multiway=is_multiway)
        columns = list(pool.map(make, data.features, data.columns))
        source = RowSource(columns, len(data.y), response, measure, limits, pool)
        draft = Draft.of(ImpurityGrowth(source, limits, progress).run())
        return finish_tree(draft, response, data.features, data.labels)


class RowSource:
    """The rows of the nodes; the rows of a node are contiguous."""

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
        self.rows: Rows = np.arange(size, dtype=np.int32)
        self.nodes = Segments.of(np.array([size]))  # of the rows
        # Of all rows of the dataset: the node, and where the last split sent them.
        self.of_row = np.zeros(size, np.int32)
        self.branches = np.array([column.branches for column in columns])
        is_binary = self.branches.max() <= RIGHT
        self.side: Array = np.full(size, LEFT, np.int8 if is_binary else np.int16)
        self.level: RowLevel | None = None
        self.found: list[CandidateSplits] = []

    def measure(self) -> NodeStats:
        return self.response.measure(self.rows, self.nodes)

    def keep(self, is_open: Mask) -> None:
        if is_open.all():
            return
        stays = self.nodes.spread(is_open)
        self.side[self.rows[~stays]] = NOWHERE
        self.rows = self.rows[stays]
        self.nodes = Segments.of(self.nodes.lengths[is_open])

    def search(self, stats: Floats) -> Found:
        level = self.level = self._level(stats)
        many = len(self.rows) * len(self.columns) >= WORTH_THREADS
        run = self.pool.map if many else map
        self.found = list(run(methodcaller("search", level), self.columns))
        self.side[self.rows] = NOWHERE
        return level.opened, self.found

    def _level(self, stats: Floats) -> RowLevel:
        """What the columns need to know of the open nodes."""
        opened = self.response.open(self.rows, self.nodes, stats)
        opened.tie[:] *= self.criterion.slack
        self.of_row[self.rows] = self.nodes.spread(np.arange(len(stats)))
        sides = None
        if self.response.units is None:
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
        )

    def divide(self, splits: Splits) -> Division:
        known, heaviest = divide_features(splits, self._divide)
        side = self._send_missing_to_heaviest(heaviest)
        # The new order of the rows: by branch, then by parent.
        nodes = self.nodes.spread(np.arange(len(self.nodes.lengths), dtype=np.int32))
        node, self.rows = by_side(side, nodes), by_side(side, self.rows)
        side = self.side.take(self.rows)
        starts = np.flatnonzero(
            (np.diff(side, prepend=NOWHERE) != 0) | (np.diff(node, prepend=-1) != 0)
        )
        self.nodes = Segments(starts, np.diff(starts, append=len(node)))
        branches = splits.starts[node[starts]] + side[starts] - LEFT
        return Division(branches, known)

    def _divide(self, index: int, some: Positions) -> FeatureSplits:
        assert self.level is not None
        return self.columns[index].divide(self.level, self.found[index], some)

    def _send_missing_to_heaviest(self, heaviest: Array) -> Array:
        """A row with a missing value goes down the heaviest branch: the side of each.

        A row whose node is not split goes nowhere.
        """
        side = self.side.take(self.rows)
        missing = np.flatnonzero(side == NOWHERE)
        side[missing] = self.nodes.spread(heaviest.astype(side.dtype))[missing]
        self.side[self.rows] = side
        return side
