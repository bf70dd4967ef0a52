"""The candidate splits of each feature at the open nodes of C4.5, in a database.

Categories and few numbers are scored by their counts. To find the best cut of a feature
with many numbers, and to count its possible cuts, costs queries. Bins bound its gain
from both sides, and that is often enough: a feature whose gain is surely below the
average is not chosen, however much below. So only what may change the choice is asked
for (`needed`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from treecompile.database.c45.bins import (
    BinnedFeature,
    cuts_between,
    find_cuts_in,
)
from treecompile.database.c45.table import CaseTable
from treecompile.database.grow.bins import BinHistogram
from treecompile.learning.c45.category_groups import group_values
from treecompile.learning.c45.gain_ratio import (
    EPSILON,
    FeatureChoice,
    GainCandidates,
    GainSearch,
    gains_of_values,
)
from treecompile.learning.c45.learner import C45Options
from treecompile.learning.grow.draft import Groups
from treecompile.learning.grow.segments import TIE
from treecompile.learning.options import GrowthLimits
from treecompile.model.arrays import Array, Floats, Mask
from treecompile.model.ir import Kind

SAFE = 1e-9  # more than rounding may shift an average or a ratio


@dataclass(frozen=True, slots=True, eq=False)
class FeatureCounts:
    """The values or bins of a feature at the open nodes."""

    known: BinHistogram
    missing: Array  # of each node: the weight of each class, in units


class GainSearcher:
    def __init__(
        self,
        work: CaseTable,
        choice: FeatureChoice,
        limits: GrowthLimits,
        options: C45Options,
    ) -> None:
        self.work, self.choice = work, choice
        self.limits, self.options = limits, options
        self.features = work.schema.features

    def search(
        self, counts: list[FeatureCounts], search: GainSearch, usable: Mask
    ) -> list[GainCandidates]:
        """The candidates of all features; bins that are opened replace `counts`."""
        candidates = [
            self._search(index, each, search, usable[:, index])
            for index, each in enumerate(counts)
        ]
        self._search_bins(counts, search, candidates)
        return candidates

    def _search(
        self, index: int, counts: FeatureCounts, search: GainSearch, usable: Mask
    ) -> GainCandidates:
        feature, bins = self.features[index], counts.known
        if feature.kind is Kind.CATEGORICAL:
            if self.options.is_grouping and len(feature.categories) > 2:
                return self._search_groups(counts, search, len(feature.categories))
            return _search_values(bins.some(usable[bins.node]), search)
        if self.work.is_binned(index) or not len(bins.node):
            return GainCandidates.none(len(search.totals))
        values = self.work.numbers(index)[bins.code]
        exact = replace(bins, low=values, high=values)
        return cuts_between(self.work, exact, search).candidates()

    def _search_groups(
        self, counts: FeatureCounts, search: GainSearch, size: int
    ) -> GainCandidates:
        groups: dict[int, Groups] = {}
        candidates = replace(GainCandidates.none(len(search.totals)), groups=groups)
        unit, bins = search.scale.unit, counts.known
        for node in range(len(search.totals)):
            mine = bins.of_node(node)
            table = np.zeros((size, search.classes))
            table[bins.code[mine]] = bins.sums[mine] * unit
            found = group_values(
                table,
                counts.missing[node] * unit,
                search.min_leaf,
                is_ratio=self.options.is_ratio,
            )
            candidates.gains[node] = found.gain
            candidates.split_info[node] = found.split_info
            groups[node] = found.groups
        return candidates

    def _search_bins(
        self,
        counts: list[FeatureCounts],
        search: GainSearch,
        candidates: list[GainCandidates],
    ) -> None:
        """Ask about features with many numbers as far as it may change the choice.

        Otherwise they get the lower bound of their gain.
        """
        binned = {
            index: BinnedFeature(self.work, index, each.known, search)
            for index, each in enumerate(counts)
            if self.work.is_binned(index)
        }
        for index, each in binned.items():
            candidates[index] = each.candidates
        while True:
            find, count = self._needed(candidates, binned)
            if not (find | count).any():
                break
            find_cuts_in(binned, find)
            for index, each in binned.items():
                some = count[:, index] & each.has_cut & ~each.is_exact
                if some.any():
                    each.count(some)
        for index, each in binned.items():
            counts[index] = replace(counts[index], known=each.opened_bins)

    def _needed(
        self, candidates: list[GainCandidates], binned: Mapping[int, BinnedFeature]
    ) -> tuple[Mask, Mask]:
        low, split_info = (
            np.stack([getattr(each, name) for each in candidates], axis=1)
            for name in ("gains", "split_info")
        )
        high, has_cut = low.copy(), np.full(low.shape, True)
        is_exact = has_cut.copy()
        for index, each in binned.items():
            high[:, index] = each.high
            has_cut[:, index] = each.has_cut
            is_exact[:, index] = each.is_exact
        if self.limits.chi2 is not None:  # any of them may be chosen in the end
            every = ~is_exact & (high > -np.inf)
            return every & ~has_cut, every
        return needed(self.choice, KnownGains(low, high, split_info, has_cut, is_exact))


def _search_values(bins: BinHistogram, search: GainSearch) -> GainCandidates:
    """The candidates of a feature with a branch for each category."""
    candidates = GainCandidates.none(len(search.totals))
    if len(bins.node):
        segments = bins.segments()
        nodes = bins.node[segments.starts]
        table = bins.sums * search.scale.unit
        found = gains_of_values(search, segments, nodes, table)
        candidates.gains[nodes], candidates.split_info[nodes] = found
    return candidates


# --- what may change the choice -------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class KnownGains:
    """Bounds of the gains; arrays are nodes x features."""

    low: Floats  # -inf where there may be no split
    high: Floats  # -inf where there surely is none
    split_info: Floats  # where the cut is known
    has_cut: Mask
    is_exact: Mask  # low and high are the same


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
