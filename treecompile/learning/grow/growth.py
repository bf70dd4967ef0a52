"""The growth of a tree, level by level, wherever the training cases are.

One loop grows every tree. All open nodes of a level are treated at once:

    settle    measure the new nodes; those that need no split are done, others are open
    search    find the candidate splits of the open nodes, feature by feature
    choose    choose one candidate split for each open node, or none
    divide    divide the cases of the split nodes among the branches
    descend   go on with the branches, which are the new nodes

`Growth` is that loop. ID3 and CART (`impurity.ImpurityGrowth`) and C4.5
(`c45.case_growth.CaseGrowth`) say when a node is open and which candidate they choose.
A source knows the cases and does the counting:

                 in memory                     in a database
    ID3, CART    grow.rows.RowSource           database.grow.source.ImpurityTableSource
    C4.5         c45.case_columns.CaseSource   database.c45.source.CaseTableSource

The two kinds of growth stay apart where they count. ID3 and CART have whole rows: a row
is at one node, so columns are followed by row number. C4.5 divides cases with a missing
value among branches, so a level has cases with weights, and a row may occur twice.

A level costs what its open nodes hold, and thousands of levels are no problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from treecompile.learning.grow.draft import DraftLevel, Splits
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.arrays import Array, Floats, Mask, Positions

Candidates = TypeVar("Candidates")
ROUNDING = 1e-9  # a sum of parts of rows may miss a whole number by this much


@dataclass(frozen=True, slots=True, eq=False)
class NodeStats:
    """What the new nodes hold; only nodes that have cases are listed."""

    stats: Floats  # a line for each: class weights, or weight, mean and squared error
    weights: Floats
    rows: Array
    varies: Mask  # whether the targets of the cases differ

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
    """What dividing the cases of the open nodes has led to."""

    branches: Positions  # those that have cases, in the order of the new nodes
    known: Floats  # of each branch: the weight of the cases whose value is known
    table: Floats | None = None  # C4.5: the same by class


class Source(Protocol):
    """The cases of the new nodes, later of the open nodes among them."""

    def measure(self) -> NodeStats:
        """What the new nodes hold."""

    def keep(self, is_open: Mask) -> None:
        """Drop the cases of new nodes that are not open."""

    def divide(self, splits: Splits) -> Division:
        """Divide the cases of the open nodes; the branches are the new nodes then.

        `splits` has an entry for each open node.
        """


@dataclass(frozen=True, slots=True, eq=False)
class GrowthState:
    """How far a growth has come: enough to continue with the open nodes."""

    levels: list[DraftLevel]
    nodes: Positions  # the open nodes, by their number in the last level
    rows: Array  # of each open node
    settled: float  # rows that need no more splits
    more: Mapping[str, Array]  # what only one kind of growth knows


class Growth(ABC, Generic[Candidates]):
    """All levels so far, and which nodes of the last one are open."""

    def __init__(
        self, source: Source, limits: GrowthLimits, progress: Progress
    ) -> None:
        self.source, self.limits = source, limits
        self.progress = progress
        self.settled, self.reported = 0.0, 0
        self.levels: list[DraftLevel] = []
        # Of the new level: how many nodes, and which of them have cases; then of the
        # open nodes: which they are, and their rows.
        self.size = 1
        self.nodes: Positions = np.zeros(1, np.intp)
        self.rows: Array = np.zeros(0)
        self.is_measured = False

    @property
    def depth(self) -> int:
        """The depth of the open nodes; of the root it is 0."""
        return len(self.levels) - 1

    @property
    def stats(self) -> Floats:
        """The statistics of the open nodes."""
        return self.levels[-1].stats[self.nodes]

    def run(
        self, watch: Callable[[Growth[Candidates]], None] = lambda growth: None
    ) -> list[DraftLevel]:
        """Grow until no node is open; `watch` is called before each level is split."""
        if not self.is_measured:
            self.settle()
        while len(self.nodes):
            watch(self)
            self.split()
            self.settle()
        return self.levels

    def settle(self) -> None:
        """Measure the new nodes and keep the open ones."""
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
        self.is_measured = True

    def keep(self, is_open: Mask) -> None:
        self.nodes, self.rows = self.nodes[is_open], self.rows[is_open]

    def split(self) -> None:
        """Split the open nodes; those without a split are leaves."""
        candidates = self.search()
        splits = self.choose(candidates)
        self._report(self.rows[splits.feature < 0])
        division = self.source.divide(splits)
        self.descend(candidates, splits, division)

    def descend(
        self, candidates: Candidates, splits: Splits, division: Division
    ) -> None:
        """Note the splits, and go on with their branches."""
        self.levels[-1].split(self.nodes, splits, division.known)
        self.nodes, self.size = division.branches, len(division.known)

    def _report(self, rows: Array) -> None:
        """Tell the progress, in whole rows."""
        self.settled += float(rows.sum())
        whole = int(self.settled + ROUNDING)
        self.progress(whole - self.reported)
        self.reported = whole

    # ------------------------------------------------------------ kinds of growth

    @abstractmethod
    def is_open(self, held: NodeStats) -> Mask:
        """Which of the new nodes may be split."""

    @abstractmethod
    def search(self) -> Candidates:
        """The candidate splits of the open nodes."""

    @abstractmethod
    def choose(self, candidates: Candidates) -> Splits:
        """The split of each open node."""

    # ------------------------------------------------------------ interrupted runs

    def state(self) -> GrowthState:
        return GrowthState(self.levels, self.nodes, self.rows, self.settled, {})

    def resume(self, state: GrowthState) -> None:
        """Continue with the open nodes of another growth, where the source is."""
        self.levels, self.nodes, self.rows = state.levels, state.nodes, state.rows
        self._report(np.array([state.settled]))
        self.is_measured = True


AnyGrowth = Growth[Any]
