"""Decides which feature gains must be known exactly; for the others, bounds are enough.

Bins of numbers bound the gain of a feature's best cut from both sides. That is often
enough: a feature whose gain is surely below average is not chosen, whatever the gain
is. Finding the best cut, and counting the possible cuts for C4.5's correction of the
gain, takes time. So this is done only where it may change the choice (`needed`). The
loop is `decide`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learning.c45.gain_ratio import (
    EPSILON,
    FeatureChoice,
    GainCandidates,
    GainSearch,
)
from treecompile.learning.c45.thresholds import PossibleCuts
from treecompile.learning.grow.bounds import SLACK
from treecompile.learning.grow.search import Run
from treecompile.learning.grow.segments import TIE
from treecompile.model.arrays import Floats, Mask, Positions

SAFE = 1e-9  # rounding shifts an average or a ratio by less


class BoundedGains(ABC):
    """What is known so far about a feature with many numbers at each open node."""

    def __init__(self, search: GainSearch) -> None:
        self.search = search
        size = len(search.totals)
        self.candidates = GainCandidates.none(size)  # with lower bounds of the gains
        self.high = np.full(size, -np.inf)  # upper bounds of the gains
        self.has_cut, self.is_exact = (np.zeros(size, np.bool_) for _ in range(2))
        # The best gain so far without the correction; bounds of the number of cuts.
        self.raw = np.full(size, -np.inf)
        self.fewest, self.most = np.ones(size), np.ones(size)

    def begin(self, cuts: PossibleCuts, inside: Floats, more: Floats) -> None:
        """Bound the gains by the cuts between bins.

        For each node, `inside` is the most that a cut inside a bin gains, and `more` is
        the greatest possible number of such cuts.
        """
        self.fewest[cuts.nodes] = cuts.counts
        self.raw[cuts.nodes], _ = cuts.best()
        self.most = self.fewest + more
        everywhere = np.full(len(self.raw), True)
        self._note(everywhere, self.raw, np.maximum(self.raw, inside))

    @property
    def least(self) -> Floats:
        """The least gain, without the correction, of a cut that is of interest."""
        least: Floats = np.maximum(self.raw, np.log2(self.fewest) / self.search.totals)
        return least

    def _note(self, some: Mask, low: Floats, high: Floats) -> None:
        """Correct and store bounds of the gain at some nodes."""
        total = self.search.totals
        low = low - np.log2(self.most) / total
        high = high - np.log2(self.fewest) / total
        low = np.where(low > TIE + SLACK, low, -np.inf)
        self.candidates.gains[some] = low[some]
        self.high[some] = np.where(high > TIE, high, -np.inf)[some]

    def found(self, some: Mask, cuts: PossibleCuts) -> None:
        """Store the best cuts at some nodes; `cuts` include all those of interest."""
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

    @abstractmethod
    def _count_cuts(self, some: Mask) -> Positions:
        """Return the number of possible cuts at each of some nodes, 0 elsewhere."""


def decide(
    bounded: Mapping[int, BoundedGains],
    candidates: Sequence[GainCandidates],  # of all features
    choice: FeatureChoice,
    find: Callable[[Mask], None],  # finds the best cuts at a mask of nodes x features
    run: Run = map,
    *,
    is_tested: bool = False,  # by chi-square, so that any feature may be chosen
) -> None:
    """Find and count cuts of the bounded features until the choice is certain.

    Gains that cannot change the choice keep their lower bound.
    """
    while True:
        known = KnownGains.of(candidates, bounded)
        if is_tested:
            counted = ~known.is_exact & (known.high > -np.inf)
            wanted = counted & ~known.has_cut
        else:
            wanted, counted = needed(choice, known)
        if not (wanted | counted).any():
            return
        if wanted.any():
            find(wanted)
        for index, each in bounded.items():
            counted[:, index] &= each.has_cut & ~each.is_exact
        some = np.flatnonzero(counted.any(axis=0))
        features = [bounded[index] for index in some.tolist()]
        list(run(BoundedGains.count, features, counted.T[some]))


@dataclass(frozen=True, slots=True, eq=False)
class KnownGains:
    """Bounds of the gains; arrays are nodes x features."""

    low: Floats  # -inf: there may be no split
    high: Floats  # -inf: there surely is no split
    split_info: Floats  # only where `has_cut`
    has_cut: Mask  # where the best cut is known
    is_exact: Mask  # where low and high are the same

    @classmethod
    def of(
        cls, candidates: Sequence[GainCandidates], bounded: Mapping[int, BoundedGains]
    ) -> KnownGains:
        low = np.stack([each.gains for each in candidates], axis=1)
        split_info = np.stack([each.split_info for each in candidates], axis=1)
        high, is_exact = low.copy(), np.full(low.shape, True)
        has_cut = is_exact.copy()
        for index, each in bounded.items():
            high[:, index] = each.high
            has_cut[:, index] = each.has_cut
            is_exact[:, index] = each.is_exact
        return cls(low, high, split_info, has_cut, is_exact)


def needed(choice: FeatureChoice, known: KnownGains) -> tuple[Mask, Mask]:
    """Return where cuts must be found, and where counted, to make the choice certain.

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
    """Answer `needed` for the choice by ratio, among gains of at least the average."""
    low, high = known.low, known.high
    sure = (low > -EPSILON) & choice.counted
    maybe = ~sure & (high > -EPSILON) & choice.counted
    least, most = _average(low, high, sure, maybe)
    contends = (high > -EPSILON) & (high >= least[:, None] - EPSILON - SAFE)
    find = contends & inexact & ~known.has_cut
    # Where the cuts of all contenders are known, their ratios can be bounded.
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
    # An exact gain may equal the average; then the average must be exact.
    is_doubtful = (rivals & ~is_allowed).any(axis=1)
    is_doubtful &= ~(find | count).any(axis=1)
    count[is_doubtful] = (inexact & choice.counted)[is_doubtful]
    return find | (count & ~known.has_cut), count


def _average(
    low: Floats, high: Floats, sure: Mask, maybe: Mask
) -> tuple[Floats, Floats]:
    """Return a lower and an upper bound of the average gain of each node."""
    count = sure.sum(axis=1)
    more = maybe.sum(axis=1)
    total = np.where(sure, low, 0.0).sum(axis=1)
    # For the lower bound, a split that may not exist gains nothing.
    least = np.full(len(count), -np.inf)
    fewest, most = np.maximum(count, 1), np.maximum(count + more, 1)
    np.copyto(least, np.minimum(total / fewest, total / most), where=count > 0)
    highest = np.where(sure, high, 0.0).sum(axis=1) / fewest
    highest[count == 0] = -np.inf
    return least, np.maximum(highest, np.where(maybe, high, -np.inf).max(axis=1))
