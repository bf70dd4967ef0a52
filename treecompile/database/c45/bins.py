"""The best cut of a numeric feature with many values at open nodes, for C4.5.

C4.5 takes the cut with the greatest gain of each feature, then compares features by
ratio. So a bin is of interest as long as a cut in it may gain as much as the best known
cut of that feature. C4.5 corrects the gain by the number of possible cuts, so these
have to be counted.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treecompile.database.c45.table import CaseTable
from treecompile.database.grow import refine
from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.refine import SLACK, JoinedBins, histogram_of, join_bins
from treecompile.learning.c45.gain_ratio import GainCandidates, GainSearch
from treecompile.learning.c45.thresholds import PossibleCuts, RunningSums, are_apart
from treecompile.learning.grow.segments import TIE
from treecompile.model.arrays import Array, Floats, Mask, Positions


def cuts_between(
    table: CaseTable, bins: BinHistogram, search: GainSearch
) -> PossibleCuts:
    """The possible cuts between bins."""

    def neighbours(places: Positions) -> tuple[Floats, Floats]:
        return bins.high[places], bins.low[places + 1]

    histogram = histogram_of(table.target, bins)
    return PossibleCuts(search, RunningSums.of_histogram(histogram, neighbours))


class BinnedFeature:
    """What is known so far of a feature with many numbers at the open nodes.

    At first these are bounds of its gain, from the bins.
    """

    def __init__(
        self, table: CaseTable, index: int, bins: BinHistogram, search: GainSearch
    ) -> None:
        self.table, self.index, self.search = table, index, search
        self.bins = self.opened_bins = bins
        size = len(search.totals)
        self.candidates = GainCandidates.none(
            size
        )  # with the lower bounds of the gains
        self.high = np.full(size, -np.inf)  # upper bounds of the gains
        self.has_cut, self.is_exact = (np.zeros(size, np.bool_) for _ in range(2))
        # The gain without the correction, and bounds of the number of cuts.
        self.raw = np.full(size, -np.inf)
        self.fewest, self.most = np.ones(size), np.ones(size)
        if len(bins.node):
            self._look()

    def _look(self) -> None:
        """Find the bounds that need no query."""
        bins, search = self.bins, self.search
        cuts = cuts_between(self.table, bins, search)
        self.fewest[cuts.nodes] = cuts.counts
        self.raw[cuts.nodes], _ = cuts.best()
        open_, bounds = _bounds(self.table, bins, search)
        # There may be a cut after each row of a bin. The number of divided rows is not
        # known, but they have no more distinct numbers than the table has rows.
        more = np.zeros(len(self.raw))
        inside = bins.sums[open_].sum(axis=1) * search.scale.unit
        np.add.at(more, bins.node[open_], inside)
        if self.table.target.is_divided:
            more[more > 0] = self.table.schema.rows
        self.most = self.fewest + more
        best = self.raw.copy()
        np.maximum.at(best, bins.node[open_], bounds)
        self._note(np.full(len(best), True), self.raw, best)

    def _note(self, some: Mask, low: Floats, high: Floats) -> None:
        """Note bounds of the gain at some nodes, given without the correction."""
        total = self.search.totals
        low = low - np.log2(self.most) / total
        high = high - np.log2(self.fewest) / total
        low = np.where(low > TIE + SLACK, low, -np.inf)
        self.candidates.gains[some] = low[some]
        self.high[some] = np.where(high > TIE, high, -np.inf)[some]

    def to_open(self, some: Mask) -> tuple[BinHistogram, refine.Join]:
        """The bins of some nodes, and how they are joined while they are opened."""
        search = self.search
        least = np.log2(self.fewest) / search.totals
        tie = np.full(len(least), TIE)

        def join(bins: BinHistogram) -> JoinedBins:
            cuts = cuts_between(self.table, bins, search)
            gain = np.full(len(bins.node), -np.inf)
            gain[cuts.places] = cuts.gains
            bounds = np.full(len(bins.node), -np.inf)
            within, most = _bounds(self.table, bins, search)
            bounds[within] = most
            return join_bins(self.table.target, bins, gain, bounds, least, tie)

        return self.bins.some(some[self.bins.node]), join

    def opened(self, some: Mask, bins: BinHistogram) -> None:
        """Note the opened bins of some nodes; no cut inside them is of interest."""
        self.opened_bins = self.opened_bins.opened(some[self.opened_bins.node], bins)
        cuts = cuts_between(self.table, bins, self.search)
        best = cuts.candidates(is_corrected=False)
        self.raw[some] = best.gains[some]
        self.candidates.split_info[some] = best.split_info[some]
        self.candidates.thresholds[some] = best.thresholds[some]
        self.has_cut |= some
        self._note(some, self.raw, self.raw)
        self.is_exact |= some & (self.high == -np.inf)

    def count(self, some: Mask) -> None:
        """Count the possible cuts at some nodes, so that the gain is exact."""
        counts = count_cuts(self.table, self.index, self.bins, self.search, some)
        self.is_exact |= some
        nodes = np.flatnonzero(some)
        gains = self.raw[nodes] - np.log2(counts[nodes]) / self.search.totals[nodes]
        gains = np.where(gains > TIE, gains, -np.inf)
        self.candidates.gains[nodes] = self.high[nodes] = gains
        self.candidates.cut_counts[nodes] = counts[nodes]


def find_cuts_in(columns: Mapping[int, BinnedFeature], where: Mask) -> None:
    """Find the best cuts of features at some nodes; `where` is nodes x features."""
    some = {index: where[:, index] for index in columns if where[:, index].any()}
    if not some:
        return
    asked = {index: columns[index].to_open(some[index]) for index in some}
    first = columns[next(iter(some))]
    opened = refine.open_bins(
        first.table,
        {index: bins for index, (bins, _) in asked.items()},
        {index: join for index, (_, join) in asked.items()},
        first.search.scale.unit,
    )
    for index, bins in opened.items():
        columns[index].opened(some[index], bins)


def _bounds(
    table: CaseTable, bins: BinHistogram, search: GainSearch
) -> tuple[Positions, Floats]:
    """The bins that may have cuts inside, and the most that a cut in each gains."""
    spans = Spans(bins, search)
    some = np.flatnonzero(spans.is_open)
    if not len(some):
        return some, np.zeros(0)
    totals = spans.totals[spans.segment[some]]
    most = table.target.bound(spans.before[some], bins.some(some), totals)
    known = totals.sum(axis=1) * search.scale.unit
    share = known / search.totals[bins.node[some]]
    return some, most * share * (1 + SLACK) + SLACK


class Spans:
    """The weight before each bin and in it, and whether a cut in it is possible."""

    def __init__(self, bins: BinHistogram, search: GainSearch) -> None:
        before = bins.before()
        self.before, self.totals = before.sums, before.totals
        self.segment = before.segment
        self.from_: Array = self.before.sum(axis=1)
        self.upto: Array = self.from_ + bins.sums.sum(axis=1)
        room = search.room(self.totals.sum(axis=1))
        self.least, self.most = room.least[self.segment], room.most[self.segment]
        # A cut inside has the first value of the bin below it and the last above it.
        self.is_open: Mask = are_apart(bins.low, bins.high)
        self.is_open &= (self.upto > self.least) & (self.from_ < self.most)


def count_cuts(
    table: CaseTable, index: int, bins: BinHistogram, search: GainSearch, wanted: Mask
) -> Positions:
    """How many cuts are possible at each node that is asked for."""
    counts = np.zeros(len(wanted), np.intp)
    if not wanted.any():
        return counts
    spans = Spans(bins, search)
    # The cuts between bins; there is none after the last bin of a node.
    inner = np.flatnonzero(np.diff(bins.node, append=-1) == 0)
    upto = spans.upto[inner]
    has_room = (upto >= spans.least[inner]) & (upto <= spans.most[inner])
    has_room &= are_apart(bins.high[inner], bins.low[inner + 1])
    np.add.at(counts, bins.node[inner[has_room]], 1)
    is_open = spans.is_open & wanted[bins.node]
    is_inside = is_open & (spans.from_ >= spans.least) & (spans.upto <= spans.most)
    if is_inside.any():
        asked = np.zeros(len(wanted), np.bool_)
        asked[bins.node[is_inside]] = True
        node, code, count = table.gaps(index, asked)
        width = table.sizes[index] + 1
        keys = bins.node * width + bins.code  # which are in order
        place = np.searchsorted(keys, node * width + code)
        mine = is_inside[place]
        np.add.at(counts, node[mine], count[mine])
    edge = np.flatnonzero(is_open & ~is_inside)
    if len(edge):
        mask = np.zeros(len(bins.node), np.bool_)
        mask[edge] = True
        least = spans.least[edge] - spans.from_[edge]
        most = spans.most[edge] - spans.from_[edge]
        count = table.gaps_between(index, bins.ranges(mask), least, most)
        np.add.at(counts, bins.node[edge], count)
    return counts
