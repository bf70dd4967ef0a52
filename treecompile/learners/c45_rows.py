"""The cases of open nodes in memory, which C4.5 judges by whole columns.

The features are shared out among threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from treecompile.learners.c45_columns import Column, make_column_of
from treecompile.learners.c45_cuts import Judged
from treecompile.learners.c45_draft import SplitTests
from treecompile.learners.c45_grow import Parted
from treecompile.learners.c45_level import Level, bits
from treecompile.learners.c45_sample import Divided, Sample
from treecompile.learners.levels import WORTH_THREADS
from treecompile.learners.passage import Passage
from treecompile.learners.stretches import Floats, Mask, Positions


class RowSource:
    """The newest nodes, and the columns of the dataset in the order of their cases."""

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
            make_column_of, sample, is_grouping=is_grouping, is_ratio=is_ratio
        )
        places = range(len(self.features))
        is_large = size * len(places) >= WORTH_THREADS
        self.columns: list[Column] = list((pool.map if is_large else map)(make, places))
        self.log_table = bits(np.arange(size + 1.0))  # n log2 n of whole cases
        self.cases = sample.everything()
        # How they came about.
        self.divided: Divided | None = None
        self.before, self.size = np.zeros(0, np.intp), 0
        self.passage: Passage | None = None

    def counts(self) -> Floats:
        return self.sample.counts(self.cases)

    def keep(self, is_open: Mask) -> None:
        if not is_open.any():
            return
        if self.divided is not None:
            self.passage = self.divided.passage(is_open, self.before, self.size)
            self.divided = None
        self.cases = self.cases.some(np.flatnonzero(is_open))

    def judge(self, counts: Floats, usable: Mask) -> Sequence[Judged]:
        level = Level.of(self.sample, self.cases, counts, self.min_leaf, self.log_table)
        is_large = len(self.cases.rows) * len(self.columns) >= WORTH_THREADS
        judge = partial(_judge, level, self.passage)
        run = self.pool.map if is_large else map
        return list(run(judge, self.columns, map(np.flatnonzero, usable.T)))

    def table(self, tests: SplitTests, some: Positions) -> Floats:
        cases = self.cases.some(some)
        return self.sample.table(tests, cases, self.sample.places(tests, cases))

    def divide(self, tests: SplitTests, some: Positions) -> Parted:
        cases = self.cases.some(some)
        self.size = len(self.cases.rows)
        self.before = self.cases.nodes.within(some)
        divided = self.sample.divide(tests, cases)
        self.divided, self.cases = divided, divided.cases
        table = self.sample.table(tests, cases, divided.places)
        return Parted(divided.branches, divided.known, table)

    def greatest(self, feature: int, bounds: Floats) -> Floats:
        ordered = np.sort(self.sample.columns[feature])  # missing ones come last
        found: Floats = ordered[np.searchsorted(ordered, bounds, side="right") - 1]
        return found


def _judge(
    level: Level, passage: Passage | None, column: Column, usable: Positions
) -> Judged:
    if passage is not None:
        column.follow(passage)
    return column.judge(level, usable)
