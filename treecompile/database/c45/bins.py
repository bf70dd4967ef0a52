"""Features with many numbers at the open nodes of C4.5, by their bins.

C4.5 takes the cut with the greatest gain of each feature, then compares features by
ratio. So a bin is of interest as long as a cut in it may gain as much as the best known
cut of that feature. C4.5 corrects the gain by the number of possible cuts, so these
have to be counted.

To find the best cut, and to count the possible cuts, costs queries. Bins bound the gain
from both sides, and that is often enough: a feature whose gain is surely below the
average is not chosen, however much below. So only what may change the choice is asked
for (`needed`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.database.c45.table import CaseTable
from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.refine import (
    bounds_inside,
    histogram_of,
    join_bins,
    open_bins,
)
from treecompile.learning.c45.gain_ratio import (
    EPSILON,
    FeatureChoice,
    GainCandidates,
    GainSearch,
)
from treecompile.learning.c45.thresholds import PossibleCuts, RunningSums, are_apart
from treecompile.learning.grow.bounds import SLACK
from treecompile.learning.pruning import TIE
from treecompile.model.arrays import Array, Floats, Mask, Positions

SAFE = 1e-9  # more than rounding may shift an average or a ratio


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
        self.candidates = GainCandidates.none(size)  # with lower bounds of the gains
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
        bounds = self._bounds(bins)
        # There may be a cut after each row of a bin. The number of divided rows is not
        # known, but they have no more distinct numbers than the table has rows.
        more = np.zeros(len(self.raw))
        inside = bins.some(bounds > -np.inf)
        np.add.at(more, inside.node, inside.sums.sum(axis=1) * search.scale.unit)
        if self.table.target.is_divided:
            more[more > 0] = self.table.schema.rows
        self.most = self.fewest + more
        best = self.raw.copy()
        np.maximum.at(best, bins.node, bounds)
        self._note(np.full(len(best), True), self.raw, best)

    def _bounds(self, bins: BinHistogram) -> Floats:
        """The most that a cut in each bin gains, without the correction."""
        sizes = self.search.totals / self.search.scale.unit
        can_be_cut, slack = Spans(bins, self.search).is_open, np.full(len(sizes), SLACK)
        return bounds_inside(self.table.target, bins, can_be_cut, sizes, slack)

    def _note(self, some: Mask, low: Floats, high: Floats) -> None:
        """Note bounds of the gain at some nodes, given without the correction."""
        total = self.search.totals
        low = low - np.log2(self.most) / total
        high = high - np.log2(self.fewest) / total
        low = np.where(low > TIE + SLACK, low, -np.inf)
        self.candidates.gains[some] = low[some]
        self.high[some] = np.where(high > TIE, high, -np.inf)[some]

    def join(self, bins: BinHistogram) -> tuple[BinHistogram, Mask]:
        """Join bins while they are opened; see `refine`."""
        cuts = cuts_between(self.table, bins, self.search)
        gain = np.full(len(bins.node), -np.inf)
        gain[cuts.places] = cuts.gains
        least = np.log2(self.fewest) / self.search.totals
        tie = np.full(len(least), TIE)
        target = self.table.target
        return join_bins(target, bins, gain, self._bounds(bins), least, tie)

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
        counts = self._count_cuts(some)[some]
        self.is_exact |= some
        gains = self.raw[some] - np.log2(counts) / self.search.totals[some]
        gains = np.where(gains > TIE, gains, -np.inf)
        self.candidates.gains[some] = self.high[some] = gains
        self.candidates.cut_counts[some] = counts

    def _count_cuts(self, some: Mask) -> Positions:
        """How many cuts are possible at each of some nodes."""
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
            keys = bins.node * width + bins.code  # which are in order
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
    """The weight before each bin and in it, and whether a cut in it is possible."""

    def __init__(self, bins: BinHistogram, search: GainSearch) -> None:
        before = bins.before()
        self.from_: Array = before.sums.sum(axis=1)
        self.upto: Array = self.from_ + bins.sums.sum(axis=1)
        limits = search.limits(before.totals.sum(axis=1))
        self.least, self.most = (each[before.segment] for each in limits)
        # A cut inside has the first value of the bin below it and the last above it.
        self.is_open: Mask = are_apart(bins.low, bins.high)
        self.is_open &= (self.upto > self.least) & (self.from_ < self.most)


# --- what may change the choice -------------------------------------------------------


def decide(
    binned: Mapping[int, BinnedFeature],
    candidates: Sequence[GainCandidates],  # of all features
    choice: FeatureChoice,
    *,
    is_tested: bool,  # by chi-square, so that any feature may be chosen in the end
) -> None:
    """Ask about features with many numbers as far as it may change the choice.

    Otherwise they keep the lower bound of their gain.
    """
    while True:
        known = KnownGains.of(candidates, binned)
        if is_tested:
            count = ~known.is_exact & (known.high > -np.inf)
            find = count & ~known.has_cut
        else:
            find, count = needed(choice, known)
        if not (find | count).any():
            return
        _find_cuts(binned, find)
        for index, each in binned.items():
            some = count[:, index] & each.has_cut & ~each.is_exact
            if some.any():
                each.count(some)


def _find_cuts(binned: Mapping[int, BinnedFeature], where: Mask) -> None:
    """Find the best cuts of features at some nodes; `where` is nodes x features."""
    some = {i: each for i, each in binned.items() if where[:, i].any()}
    if not some:
        return
    first = next(iter(some.values()))
    opened = open_bins(
        first.table,
        {i: each.bins.some(where[each.bins.node, i]) for i, each in some.items()},
        {i: each.join for i, each in some.items()},
        first.search.scale.unit,
    )
    for index, bins in opened.items():
        some[index].opened(where[:, index], bins)


@dataclass(frozen=True, slots=True, eq=False)
class KnownGains:
    """Bounds of the gains; arrays are nodes x features."""

    low: Floats  # -inf where there may be no split
    high: Floats  # -inf where there surely is none
    split_info: Floats  # where the cut is known
    has_cut: Mask
    is_exact: Mask  # low and high are the same

    @classmethod
    def of(
        cls, candidates: Sequence[GainCandidates], binned: Mapping[int, BinnedFeature]
    ) -> KnownGains:
        low = np.stack([each.gains for each in candidates], axis=1)
        split_info = np.stack([each.split_info for each in candidates], axis=1)
        high, is_exact = low.copy(), np.full(low.shape, True)
        has_cut = is_exact.copy()
        for index, each in binned.items():
            high[:, index] = each.high
            has_cut[:, index] = each.has_cut
            is_exact[:, index] = each.is_exact
        return cls(low, high, split_info, has_cut, is_exact)


def needed(choice: FeatureChoice, known: KnownGains) -> tuple[Mask, Mask]:
    """Where to find cuts, and where to count them, before the choice is sure.

    To be called again with what was found, until nothing is needed. Then the gain of
    the chosen feature is known exactly.
    """
    inexact = ~known.is_exact & (known.high > -np.inf)
    if choice.measure is None and choice.is_ratio:
        return _by_ratio(choice, known, inexact)
    if choice.measure is None:
        inexact &= known.high >= known.low.max(axis=1, keepdims=True) - SAFE
    return inexact & ~known.has_cut, inexact


def _by_ratio(
    choice: FeatureChoice, known: KnownGains, inexact: Mask
) -> tuple[Mask, Mask]:
    """As in `FeatureChoice.worth`: by ratio, among gains of at least the average."""
    low, high = known.low, known.high
    sure = (low > -EPSILON) & choice.counted
    maybe = ~sure & (high > -EPSILON) & choice.counted
    least, most = _average(low, high, sure, maybe)
    contends = (high > -EPSILON) & (high >= least[:, None] - EPSILON - SAFE)
    find = contends & inexact & ~known.has_cut
    # Where the cuts of all contenders are known, so are bounds of their ratios.
    can_win = contends & known.has_cut & (known.split_info > EPSILON)
    can_win &= high >= choice.min_gain - TIE
    is_allowed = can_win & (low >= most[:, None] - EPSILON + SAFE)
    is_allowed &= low >= choice.min_gain - TIE
    surely, perhaps = (np.full(high.shape, -np.inf) for _ in range(2))
    np.divide(low, known.split_info, out=surely, where=is_allowed)
    np.divide(high, known.split_info, out=perhaps, where=can_win)
    rivals = can_win & (perhaps >= surely.max(axis=1, keepdims=True) - SAFE)
    count = rivals & inexact
    count[find.any(axis=1)] = False
    # An exact gain may be at the average itself: then the average must be exact.
    is_doubtful = (rivals & ~is_allowed).any(axis=1)
    is_doubtful &= ~(find | count).any(axis=1)
    count[is_doubtful] = (inexact & choice.counted)[is_doubtful]
    return find | (count & ~known.has_cut), count


def _average(
    low: Floats, high: Floats, sure: Mask, maybe: Mask
) -> tuple[Floats, Floats]:
    """Bounds of the average gain of each node."""
    count = sure.sum(axis=1)
    more = maybe.sum(axis=1)
    total = np.where(sure, low, 0.0).sum(axis=1)
    # At the least, a split that may not exist gains nothing.
    least = np.full(len(count), -np.inf)
    fewest, most = np.maximum(count, 1), np.maximum(count + more, 1)
    np.copyto(least, np.minimum(total / fewest, total / most), where=count > 0)
    highest = np.where(sure, high, 0.0).sum(axis=1) / fewest
    highest[count == 0] = -np.inf
    return least, np.maximum(highest, np.where(maybe, high, -np.inf).max(axis=1))
