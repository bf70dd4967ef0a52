"""Finds C4.5's cuts of features with many numbers, from bins counted in a database.

C4.5 takes the cut with the greatest gain of each feature, then compares features by
gain ratio. So a bin is of interest as long as a cut in it may gain as much as the best
known cut of that feature. C4.5 corrects the gain by the number of possible cuts, so
these have to be counted as well.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from treecompile.database.c45.table import CaseTable
from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.refine import (
    bounds_inside,
    histogram_of,
    join_bins,
    open_bins,
)
from treecompile.learning.c45.bounded_gains import BoundedGains
from treecompile.learning.c45.gain_ratio import GainSearch
from treecompile.learning.c45.thresholds import PossibleCuts, RunningSums, are_apart
from treecompile.learning.grow.bounds import SLACK
from treecompile.learning.grow.segments import TIE
from treecompile.model.arrays import Array, Floats, Mask, Positions


def cuts_between(
    table: CaseTable, bins: BinHistogram, search: GainSearch
) -> PossibleCuts:
    """Return the possible cuts between bins."""

    def neighbours(places: Positions) -> tuple[Floats, Floats]:
        return bins.high[places], bins.low[places + 1]

    histogram = histogram_of(table.target, bins)
    return PossibleCuts(search, RunningSums.of_histogram(histogram, neighbours))


class BinnedFeature(BoundedGains):
    """A feature with many numbers, whose bins the database has counted."""

    def __init__(
        self, table: CaseTable, index: int, bins: BinHistogram, search: GainSearch
    ) -> None:
        super().__init__(search)
        self.table, self.index = table, index
        self.bins = self.opened_bins = bins
        if not len(bins.node):
            return
        bounds = self._bounds(bins)
        # There may be a cut after each row of a bin. The number of divided rows is not
        # known, but they have no more distinct numbers than the table has rows.
        more, inside = np.zeros(len(self.raw)), np.full(len(self.raw), -np.inf)
        some = bins.some(bounds > -np.inf)
        np.add.at(more, some.node, some.sums.sum(axis=1) * search.scale.unit)
        if table.target.is_divided:
            more[more > 0] = table.schema.rows
        np.maximum.at(inside, bins.node, bounds)
        self.begin(cuts_between(table, bins, search), inside, more)

    def _bounds(self, bins: BinHistogram) -> Floats:
        """Return the most that a cut in each bin gains, without the correction."""
        sizes = self.search.totals / self.search.scale.unit
        can_be_cut, slack = Spans(bins, self.search).is_open, np.full(len(sizes), SLACK)
        return bounds_inside(self.table.target, bins, can_be_cut, sizes, slack)

    def join(self, bins: BinHistogram) -> tuple[BinHistogram, Mask]:
        """Join bins between the rounds in which they are opened; see `refine.Join`."""
        cuts = cuts_between(self.table, bins, self.search)
        gain = np.full(len(bins.node), -np.inf)
        gain[cuts.places] = cuts.gains
        least = np.log2(self.fewest) / self.search.totals
        tie = np.full(len(least), TIE)
        target = self.table.target
        return join_bins(target, bins, gain, self._bounds(bins), least, tie)

    def opened(self, some: Mask, bins: BinHistogram) -> None:
        """Take over opened bins of some nodes; no cut inside them is of interest."""
        self.opened_bins = self.opened_bins.opened(some[self.opened_bins.node], bins)
        self.found(some, cuts_between(self.table, bins, self.search))

    def _count_cuts(self, some: Mask) -> Positions:
        table, bins, spans = self.table, self.bins, Spans(self.bins, self.search)
        counts = np.zeros(len(some), np.intp)
        # The cuts between bins; there is none after the last bin of a node.
        inner = np.flatnonzero(np.diff(bins.node, append=-1) == 0)
        upto = spans.upto[inner]
        has_room = (upto >= spans.least[inner]) & (upto <= spans.most[inner])
        has_room &= are_apart(bins.high[inner], bins.low[inner + 1])
        np.add.at(counts, bins.node[inner[has_room]], 1)
        is_open = spans.is_open & some[bins.node]
        is_inside = is_open & (spans.from_ >= spans.least) & (spans.upto <= spans.most)
        if is_inside.any():
            asked = np.zeros(len(some), np.bool_)
            asked[bins.node[is_inside]] = True
            node, code, count = table.gaps(self.index, asked)
            width = table.sizes[self.index] + 1
            keys = bins.node * width + bins.code  # the bins are sorted by these keys
            place = np.searchsorted(keys, node * width + code)
            mine = is_inside[place]
            np.add.at(counts, node[mine], count[mine])
        is_edge = is_open & ~is_inside
        if is_edge.any():
            least, most = (
                (each - spans.from_)[is_edge] for each in (spans.least, spans.most)
            )
            count = table.gaps_between(self.index, bins.ranges(is_edge), least, most)
            np.add.at(counts, bins.node[is_edge], count)
        return counts


class Spans:
    """The weight before and up to the end of each bin, and if a cut fits inside."""

    def __init__(self, bins: BinHistogram, search: GainSearch) -> None:
        before = bins.before()
        self.from_: Array = before.sums.sum(axis=1)
        self.upto: Array = self.from_ + bins.sums.sum(axis=1)
        limits = search.limits(before.totals.sum(axis=1))
        self.least, self.most = (each[before.segment] for each in limits)
        # A cut inside a bin has the bin's first value below it and the last above it.
        self.is_open: Mask = are_apart(bins.low, bins.high)
        self.is_open &= (self.upto > self.least) & (self.from_ < self.most)


def find_cuts(binned: Mapping[int, BinnedFeature], where: Mask) -> None:
    """Find the best cuts of features at nodes; `where` masks nodes x features."""
    some = {i: each for i, each in binned.items() if where[:, i].any()}
    first = next(iter(some.values()))
    opened = open_bins(
        first.table,
        {i: each.bins.some(where[each.bins.node, i]) for i, each in some.items()},
        {i: each.join for i, each in some.items()},
        first.search.scale.unit,
    )
    for index, bins in opened.items():
        some[index].opened(where[:, index], bins)
