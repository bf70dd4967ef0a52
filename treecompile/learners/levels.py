"""The growth of trees from a dataset in memory, over whole columns.

The features are shared out among threads, since numpy lets go of the interpreter in its
loops. Rows of finished nodes are left behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import methodcaller

import numpy as np

from treecompile.collector import paused
from treecompile.data import Dataset
from treecompile.ir import Tree
from treecompile.learners.columns import make_column
from treecompile.learners.criteria import Measure
from treecompile.learners.drafts import finish
from treecompile.learners.growth import Newest, grow
from treecompile.learners.level import (
    LEFT,
    NOWHERE,
    RIGHT,
    Column,
    Divided,
    Found,
    Level,
    by_side,
)
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.responses import Opened, Response, Rows
from treecompile.learners.sorted_column import single_sides
from treecompile.learners.stretches import (
    Array,
    Floats,
    Mask,
    Positions,
    Stretches,
)

THREADS = 2  # more gain little: the loops are bound by memory
WORTH_THREADS = 50_000  # values in a level: below, handing out work costs more


def grow_levels(
    data: Dataset,
    response: Response,
    measure: Measure,
    limits: Limits,
    progress: Progress,
    *,
    is_multiway: bool = False,
) -> Tree:
    """Grow a tree; categories split in two, or multiway into all of them."""
    with ThreadPoolExecutor(THREADS) as pool, paused(lasting=True):
        make = partial(make_column, is_multiway=is_multiway)
        columns = list(pool.map(make, data.features, data.columns))
        source = RowSource(columns, len(data.y), response, measure, limits, pool)
        drafts = grow(source, limits, progress)
        return finish(data.features, data.labels, drafts, response)


class RowSource:
    """The rows of the nodes, which stand together."""

    def __init__(
        self,
        columns: Sequence[Column],
        size: int,
        response: Response,
        measure: Measure,
        limits: Limits,
        pool: ThreadPoolExecutor,
    ) -> None:
        self.columns, self.response = columns, response
        self.criterion, self.limits, self.pool = measure, limits, pool
        self.rows: Rows = np.arange(size, dtype=np.int32)
        self.nodes = Stretches.of(np.array([size]))  # parts of the rows
        # Of all rows of the dataset: the node, and where the last split sent them.
        self.of_row = np.zeros(size, np.int32)
        self.branches = np.array([column.branches for column in columns])
        is_binary = self.branches.max() <= RIGHT
        self.side: Array = np.full(size, LEFT, np.int8 if is_binary else np.int16)
        self.level: Level | None = None
        self.found: list[Found] = []

    def measure(self) -> Newest:
        held = self.response.measure(self.rows, self.nodes)
        units = self.response.units
        weights = units.real(held.sizes) if units else held.sizes
        return Newest(held.stats, weights, self.nodes.lengths, held.varies)

    def keep(self, is_open: Mask) -> None:
        if is_open.all():
            return
        stays = self.nodes.spread(is_open)
        self.side[self.rows[~stays]] = NOWHERE
        self.rows = self.rows[stays]
        self.nodes = Stretches.of(self.nodes.lengths[is_open])

    def search(self, stats: Floats) -> tuple[Opened, Sequence[Found]]:
        level = self.level = self._level(stats)
        many = len(self.rows) * len(self.columns) >= WORTH_THREADS
        run = self.pool.map if many else map
        self.found = list(run(methodcaller("search", level), self.columns))
        self.side[self.rows] = NOWHERE
        return level.opened, self.found

    def _level(self, stats: Floats) -> Level:
        """What the columns need to know of the open nodes."""
        opened = self.response.open(self.rows, self.nodes, stats)
        opened.tie[:] *= self.criterion.slack
        self.of_row[self.rows] = self.nodes.spread(np.arange(len(stats)))
        sides = None
        if self.response.units is None:
            sides = single_sides(self.nodes, opened.totals, self.limits.min_leaf)
        return Level(
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

    def divide(self, feature: int, some: Positions) -> Divided:
        assert self.level is not None
        return self.columns[feature].divide(self.level, self.found[feature], some)

    def descend(self, heaviest: Array) -> tuple[Positions, Array]:
        """Put the rows in the order of the children: by branch, then by parent."""
        side = self.side.take(self.rows)
        lost = np.flatnonzero(side == NOWHERE)  # their value is missing, or no split
        side[lost] = self.nodes.spread(heaviest.astype(side.dtype))[lost]
        self.side[self.rows] = side
        nodes = self.nodes.spread(np.arange(len(self.nodes.lengths), dtype=np.int32))
        node, self.rows = by_side(side, nodes), by_side(side, self.rows)
        side = self.side.take(self.rows)
        starts = np.flatnonzero(
            (np.diff(side, prepend=NOWHERE) != 0) | (np.diff(node, prepend=-1) != 0)
        )
        self.nodes = Stretches(starts, np.diff(starts, append=len(node)))
        return node[starts], side[starts] - LEFT
