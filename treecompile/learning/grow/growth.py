"""Grows a tree level by level, with the training cases in memory or in a database.

One loop grows every tree. It treats all open nodes of a level at once:

    settle    measure the new nodes; those that need no split are done, others are open
    search    find the candidate splits of the open nodes, feature by feature
    choose    choose one candidate split for each open node, or none
    divide    divide the cases of the split nodes among the branches
    descend   go on with the branches, which are the new nodes

`Growth` is that loop. Its subclasses for ID3 and CART (`impurity.ImpurityGrowth`) and
for C4.5 (`c45.case_growth.CaseGrowth`) decide which nodes are open and which candidate
is chosen. A source holds the cases and does the counting:

    ID3, CART    grow.rows.RowSource; in a database, database.grow.source
    C4.5         c45.case_columns.CaseSource

The two kinds of growth count differently. In ID3 and CART a row is at exactly one node,
so columns are indexed by row number. C4.5 divides a case with a missing value among
several branches, so a level consists of weighted cases, and a row may occur twice.

A level costs what its open nodes hold, and thousands of levels are no problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from treecompile.learning.grow.draft import DraftLevel, Splits
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.arrays import Array, Floats, Mask, Positions

Candidates = TypeVar("Candidates")
ROUNDING = 1e-9  # by so much a sum of fractional rows may fall short of a whole number


@dataclass(frozen=True, slots=True, eq=False)
class NodeStats:
    """Statistics of the new nodes; only nodes that have cases are listed."""

    # Nodes x classes: class weights; or nodes x 3: weight, mean and squared error.
    stats: Floats
    weights: Floats
    rows: Array  # the number of rows; C4.5 may have fractions
    varies: Mask  # whether the cases of the node differ in their target

    @classmethod
    def joined(cls, parts: Sequence[NodeStats]) -> NodeStats:
        if len(parts) == 1:
            return parts[0]
        return cls(
            np.concatenate([part.stats for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.varies for part in parts]),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """The result of dividing the cases of the open nodes among the branches."""

    branches: Positions  # the branches that have cases, in the order of the new nodes
    known: Floats  # for each branch: the weight of the cases with a known value
    table: Floats | None = None  # C4.5 only: `known` by class, branches x classes


class Source(Protocol):
    """Holds the cases of the new nodes and, after `keep`, of the open nodes only."""

    def measure(self) -> NodeStats:
        """Return the statistics of the new nodes."""

    def keep(self, is_open: Mask) -> None:
        """Drop the cases of the new nodes that are not open."""

    def divide(self, splits: Splits) -> Division:
        """Divide the cases of the open nodes; their branches become the new nodes.

        `splits` has an entry for each open node.
        """


class Growth(ABC, Generic[Candidates]):
    """The loop: keeps all levels so far, and which nodes of the last one are open."""

    def __init__(
        self, source: Source, limits: GrowthLimits, progress: Progress
    ) -> None:
        self.source, self.limits = source, limits
        self.progress = progress
        self.settled, self.reported = 0.0, 0
        self.levels: list[DraftLevel] = []
        # `size` is the number of nodes of the new level. `nodes` are those that have
        # cases, and `rows` their numbers of rows; after `settle`, only of open nodes.
        self.size = 1
        self.nodes: Positions = np.zeros(1, np.intp)
        self.rows: Array = np.zeros(0)

    @property
    def depth(self) -> int:
        """The depth of the open nodes; the root has depth 0."""
        return len(self.levels) - 1

    @property
    def stats(self) -> Floats:
        """The statistics of the open nodes; see `NodeStats.stats`."""
        return self.levels[-1].stats[self.nodes]

    def run(
        self, watch: Callable[[Growth[Candidates]], None] = lambda growth: None
    ) -> list[DraftLevel]:
        """Grow until no node is open; `watch` is called before each level is split."""
        self.settle()
        while len(self.nodes):
            watch(self)
            self.split()
            self.settle()
        return self.levels

    def settle(self) -> None:
        """Measure the new nodes, add them as a level, and keep the open ones."""
        held = self.source.measure()
        self.levels.append(
            DraftLevel.of(self.size, self.nodes, held.stats, held.weights)
        )
        is_open = self.is_open(held)
        if self.depth == self.limits.max_depth:
            is_open[:] = False
        self._report(held.rows[~is_open])
        self.rows = held.rows
        self.source.keep(is_open)
        self.keep(is_open)

    def keep(self, is_open: Mask) -> None:
        self.nodes, self.rows = self.nodes[is_open], self.rows[is_open]

    def split(self) -> None:
        """Split the open nodes; a node for which no split is chosen is a leaf."""
        candidates = self.search()
        splits = self.choose(candidates)
        self._report(self.rows[splits.feature < 0])
        division = self.source.divide(splits)
        self.descend(candidates, splits, division)

    def descend(
        self, candidates: Candidates, splits: Splits, division: Division
    ) -> None:
        """Store the splits in the last level, and make their branches the new nodes."""
        self.levels[-1].split(self.nodes, splits, division.known)
        self.nodes, self.size = division.branches, len(division.known)

    def _report(self, rows: Array) -> None:
        """Add the rows of finished nodes to the progress, which counts whole rows."""
        self.settled += float(rows.sum())
        whole = int(self.settled + ROUNDING)
        self.progress(whole - self.reported)
        self.reported = whole

    # ------------------------------------------------------------ kinds of growth

    @abstractmethod
    def is_open(self, held: NodeStats) -> Mask:
        """Return which of the new nodes may be split."""

    @abstractmethod
    def search(self) -> Candidates:
        """Find the candidate splits of the open nodes."""

    @abstractmethod
    def choose(self, candidates: Candidates) -> Splits:
        """Choose the split of each open node, or none."""
