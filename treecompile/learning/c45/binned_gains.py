"""Bounds the gains of columns with many numbers by bins, for C4.5 in memory.

The bins are those of CART (`grow.binned`), with one difference: numbers in different
bins are more than `GAP` apart, so that a cut between two bins is possible at every
node. Such cuts give a lower bound of the gain; the most that a cut inside a bin can
gain gives an upper bound. Where the choice of a feature depends on more
(`bounded_gains.decide`), bins are opened, and possible cuts are counted.
"""

from __future__ import annotations

import numpy as np

from treecompile.learning.c45.bounded_gains import BoundedGains
from treecompile.learning.c45.case_level import CaseLevel
from treecompile.learning.c45.thresholds import PossibleCuts, RunningSums, are_apart
from treecompile.learning.grow.bars import BinBars, bounds_of_labels
from treecompile.learning.grow.binned import BinnedColumn
from treecompile.learning.grow.bounds import SLACK, TIES
from treecompile.learning.grow.segments import TIE
from treecompile.model.arrays import Array, Floats, Mask, Positions


class BinnedGains(BoundedGains):
    """Bounds of the gains of a column that is counted by bins."""

    def __init__(self, column: BinnedColumn, level: CaseLevel) -> None:
        super().__init__(level)
        self.column, self.level = column, level
        self.bars = bars = column.count(level)
        self.sizes: Array = bars.segments.sums(bars.weights)  # known cases of each node
        self.bounds = self._bounds(bars, np.arange(len(bars.code)))
        if not len(bars.nodes):
            return

        def neighbours(places: Positions) -> tuple[Floats, Floats]:
            return np.zeros(len(places)), np.ones(len(places))  # all bins are apart

        runs = RunningSums.of_histogram(bars, neighbours)
        more, inside = np.zeros(len(self.raw)), np.full(len(self.raw), -np.inf)
        more[bars.nodes] = bars.segments.sums(
            np.where(self.bounds > -np.inf, bars.sizes, 0)
        )
        inside[bars.nodes] = np.maximum.reduceat(self.bounds, bars.segments.starts)
        self.begin(PossibleCuts(level, runs), inside, more)

    def _bounds(self, bars: BinBars, some: Positions) -> Floats:
        """Return the most that a cut inside or beside each of some bars can gain.

        It is -inf where every cut would leave too few cases on a side.
        """
        segments = bars.segments
        upto = segments.run(bars.weights.copy(), self.sizes)
        least, most = map(segments.spread, self.search.limits(self.sizes))
        is_possible = (upto >= least) & (upto - bars.weights <= most)
        bounds = np.full(len(some), -np.inf)
        asked = np.flatnonzero(is_possible[some])
        if len(asked):
            share = segments.spread(self.sizes / self.search.totals[bars.nodes])
            gains = bounds_of_labels("entropy", bars, some[asked])
            bounds[asked] = gains * share[some[asked]] * (1 + SLACK) + SLACK
        return bounds

    def find(self, some: Mask) -> None:
        """Find the best cuts at some nodes by opening bins."""
        wanted = np.where(some, self.least - TIES * TIE, np.inf)

        def to_open(bars: BinBars, among: Positions) -> Positions:
            among = among[some[bars.node[among]]]
            return among[self._bounds(bars, among) >= wanted[bars.node[among]]]

        bars = self.bars
        chosen = np.flatnonzero(self.bounds >= wanted[bars.node])
        if len(chosen):
            bars = self.column.opened(self.level, bars, chosen, to_open)
        number = bars.number  # NaN for bins that were not opened

        def neighbours(places: Positions) -> tuple[Floats, Floats]:
            return number.take(places), number.take(places + 1)

        runs = RunningSums.of_histogram(bars, neighbours)
        self.found(some, PossibleCuts(self.search, runs))

    def _count_cuts(self, some: Mask) -> Positions:
        counts = np.zeros(len(some), np.intp)
        level, values = self.level, self.column.values
        for place, (size, least, most) in enumerate(
            zip(self.sizes, *self.search.limits(self.sizes), strict=True)
        ):
            node = self.bars.nodes[place]
            if some[node]:
                start = level.nodes.starts[node]
                rows = level.rows[start : start + level.nodes.lengths[node]]
                ordered = np.sort(values.take(rows))[:size]
                ends = ordered[least - 1 : most], ordered[least : most + 1]
                counts[node] = np.count_nonzero(are_apart(*ends))
        return counts
