"""Candidate splits of ID3 and CART: what a search is given, and what it returns.

Each column finds its best split at all open nodes of a level at once
(`SplitColumn.search`). Later it divides the rows of those nodes for which its feature
was chosen (`SplitColumn.divide`).

A cut (see `cuts`) is a candidate threshold, named by the position that it follows. The
side of a row is the branch that it takes, as a number: `NOWHERE`, `LEFT`, `RIGHT`, ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.learning.grow.bin_counts import BinCounter
from treecompile.learning.grow.criteria import Measure, critical_values
from treecompile.learning.grow.cuts import Sides, chi_square_cuts
from treecompile.learning.grow.draft import Groups, Splits
from treecompile.learning.grow.histogram import Histogram
from treecompile.learning.grow.responses import OpenNodes, Response
from treecompile.learning.grow.segments import Segments, Units
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import Feature, Kind

LARGEST = sys.float_info.max
DIGITS = 15
MOST_TENS = 22  # the greatest power of ten that is exact in a double
TENS = np.array([float(10**power) for power in range(MOST_TENS + 1)])
# Sides: a row goes to no open node, or to a branch; the third branch is 3, and so on.
NOWHERE, LEFT, RIGHT = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class SplitSearch:
    """What scoring splits requires, with the cases in memory or in a database."""

    opened: OpenNodes
    measure: Measure
    min_leaf: int
    chi2: float | None
    units: Units | None  # the units of the case weights; None: each case counts 1

    def real(self, sums: Array) -> Floats:
        """Convert sums of weights from `units` to the unit of the dataset."""
        return self.units.real(sums) if self.units else sums.astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class RowLevel(SplitSearch):
    """The open nodes of a level with their rows, for a dataset in memory."""

    rows: Positions  # the rows of a node are contiguous
    nodes: Segments  # the segment of `rows` of each node
    response: Response
    # The cuts of any sorted column without missing values; None if rows have weights or
    # are counted by bins.
    sides: Sides | None
    of_row: NDArray[np.int32]  # for each row of the dataset: its open node
    side: Array  # for each row of the dataset: the branch it took at the last split
    counter: BinCounter | None  # counts rows by bins; None: numbers are sorted


@dataclass(frozen=True, slots=True, eq=False)
class CandidateSplits:
    """The best split by one feature at every open node."""

    gain: Floats  # -inf: no split
    position: Positions  # the row or value that the cut follows, or a subset's number
    left: Floats  # the weight of known cases on the left
    right: Floats
    order: Positions  # the label by whose share categories are ordered, or SUBSET
    histogram: Histogram | None = None  # the counted values; None for sorted columns

    @classmethod
    def none(cls, nodes: int, histogram: Histogram | None = None) -> CandidateSplits:
        """Make candidates without any split, to be filled in."""
        zeros = np.zeros(nodes, np.intp)
        return cls(
            np.full(nodes, -np.inf),
            zeros,
            np.zeros(nodes),
            np.zeros(nodes),
            zeros.copy(),
            histogram,
        )


Ends = tuple[Array, Array]
SUBSET = -1  # instead of an order: the split was found among all subsets


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSplits:
    """The splits of some nodes by one feature: at thresholds, or by categories."""

    known: Floats  # nodes x branches: the weight of the cases with a known value
    ends: Ends | None = None  # the values just below and above each threshold
    # None at thresholds, or if each category has a branch.
    groups: list[Groups] | None = None


class SplitColumn(Protocol):
    """A feature of a dataset in memory."""

    branches: int  # the number of branches of a split

    def search(self, level: RowLevel) -> CandidateSplits:
        """Follow the rows to this level, and find the best split at each open node."""

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        """Send the rows of some nodes to the sides of their best split.

        Writes `level.side`; rows with a missing value get `NOWHERE`.
        """


Run = Callable[..., Iterator[Any]]  # `map`, or the `map` of a pool of threads


def divide_features(
    splits: Splits,
    divide: Callable[[int, Positions], FeatureSplits],
    run: Run = map,
) -> tuple[Floats, Array]:
    """Divide the rows of nodes whose feature is chosen, and complete the splits.

    Returns the weight of known cases of each branch, and each node's heaviest side.
    """
    starts = splits.starts
    known = np.zeros(int(splits.size.sum()))
    heaviest = np.zeros(len(starts), np.intp)
    features = splits.features()
    nodes = [np.flatnonzero(splits.feature == index) for index in features]
    low, high = np.zeros(len(starts)), np.zeros(len(starts))
    for some, divided in zip(nodes, run(divide, features, nodes), strict=True):
        known[starts[some, None] + np.arange(divided.known.shape[1])] = divided.known
        heaviest[some] = LEFT + divided.known.argmax(axis=1)
        if divided.ends is not None:
            low[some], high[some] = divided.ends
        elif divided.groups is not None:
            splits.groups.update(zip(some.tolist(), divided.groups, strict=True))
    splits.threshold[:] = thresholds_between(low, high)
    return known, heaviest


def in_two(
    search: SplitSearch,
    left: Floats,
    right: Floats,
    ends: Ends | None = None,
    groups: list[Groups] | None = None,
) -> FeatureSplits:
    """Make binary splits from the weights of the known cases on either side."""
    known = search.real(np.stack([left, right], axis=1))
    return FeatureSplits(known, ends, groups)


def by_side(side: Array, values: Array) -> Array:
    """Partition values stably by side, the first side first; drop those NOWHERE."""
    if side.dtype == np.int8:  # two sides
        parts = [values.take(np.flatnonzero(side == each)) for each in (LEFT, RIGHT)]
        return np.concatenate(parts)
    order = np.argsort(side, kind="stable")
    return values.take(order[np.count_nonzero(side == NOWHERE) :])


def is_chance(
    search: SplitSearch, lefts: Iterable[Array], sides: Sides, cuts: Positions
) -> Mask:
    """Return which of the best cuts, one for each node, are not significant."""
    assert search.chi2 is not None
    statistic = chi_square_cuts(lefts, sides).take(cuts) * search.real(sides.counts)
    classes = np.stack([sides.first(), *sides.totals]) > 0
    freedom = classes.sum(axis=0) - 1
    chance: Mask = statistic < critical_values(search.chi2, freedom)
    return chance


@dataclass(frozen=True, slots=True, eq=False)
class BestCuts:
    """The best cut of each of some nodes."""

    nodes: Positions
    gain: Floats
    cut: Positions
    left: Floats  # the weight of known cases on the left
    right: Floats
    tie: Floats  # gains that differ by less are equal

    @classmethod
    def of(
        cls,
        search: SplitSearch,
        nodes: Positions,
        sides: Sides,
        lefts: Callable[[], Iterable[Array]],  # the sums to the left of each cut
        best: tuple[Floats, Positions],  # the score and the cut of each node
    ) -> BestCuts:
        """Scale the scores to gains; cuts that are not significant gain -inf."""
        scores, cut = best
        if search.chi2 is not None:
            scores[is_chance(search, lefts(), sides, cut)] = -np.inf
        gain = scores * (sides.counts / search.opened.sizes[nodes])
        left = sides.left.take(cut)
        tie = search.opened.tie[nodes]
        return cls(nodes, gain, cut, left, sides.counts - left, tie)

    def as_found(self) -> CandidateSplits:
        """Return the cuts as candidates, if `nodes` are all open nodes."""
        order = np.zeros(len(self.cut), np.intp)
        return CandidateSplits(self.gain, self.cut, self.left, self.right, order)

    def improve(
        self,
        found: CandidateSplits,
        order: int = 0,
        position: Positions | None = None,  # of the cuts in `found`, if not `self.cut`
        some: slice = slice(None),  # the cuts to use, if a node has several
    ) -> None:
        """Write the cuts that gain more than those found before into `found`."""
        nodes, gain = self.nodes[some], self.gain[some]
        better = np.flatnonzero(gain > found.gain[nodes] + self.tie[some])
        if not len(better):
            return
        here = nodes[better]
        found.gain[here], found.order[here] = gain[better], order
        found.position[here] = (self.cut if position is None else position)[some][
            better
        ]
        found.left[here] = self.left[some][better]
        found.right[here] = self.right[some][better]


def differ(ordered: Floats) -> Mask:
    """Return which neighbours among sorted numbers a threshold can divide."""
    apart: Mask = ordered[1:] != ordered[:-1]
    # No finite threshold divides these two, so they count as one value.
    apart &= (ordered[1:] != -LARGEST) | (ordered[:-1] != -np.inf)
    return apart


# --- thresholds -----------------------------------------------------------------------


def ends_of(feature: Feature, low: Array, high: Array) -> Ends:
    """Return the values beside thresholds; an ordinal threshold is the lower code."""
    return low, low if feature.kind is Kind.ORDINAL else high


def thresholds_between(low: Floats, high: Floats) -> Floats:
    """Return a threshold for each pair of neighbours, or their value if equal."""
    thresholds, some = low.copy(), np.flatnonzero(low < high)
    low, high = low[some], high[some]
    thresholds[some] = readable(midpoints(low, high), low, high)
    return thresholds


def midpoints(low: Floats, high: Floats) -> Floats:
    """Return finite thresholds with low <= threshold < high; NaN where none exists."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low + (high - low) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
        middle = np.where(np.isnan(middle), 0.0, middle)  # between the infinities
    middle = np.clip(middle, -LARGEST, LARGEST)
    middle = np.where(middle < high, middle, low)  # neighbouring doubles
    result: Floats = np.where((low <= middle) & np.isfinite(middle), middle, np.nan)
    return result + 0.0  # never -0.0


def readable(thresholds: Floats, low: Floats, high: Floats) -> Floats:
    """Round thresholds to 15 digits, where they still divide the same two values.

    The midpoint of 43.1 and 43.2 is 43.150000000000006 in doubles; people expect 43.15.
    """
    rounded = _rounded(thresholds)
    divides = np.isfinite(rounded) & (low <= rounded) & (rounded < high)
    return np.where(divides, rounded, thresholds)


def _rounded(numbers: Floats) -> Floats:
    """Return the doubles nearest to the numbers when written with 15 digits."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        decimals = DIGITS - 1 - np.floor(np.log10(np.abs(numbers)))
        power = TENS.take(
            np.clip(np.nan_to_num(decimals), 0, MOST_TENS).astype(np.intp)
        )
        scaled = numbers * power
        whole = np.rint(scaled)
        # Dividing two exact whole numbers rounds in the same way as parsing the digits.
        # The result is doubtful if the power is not exact, if the logarithm may be off
        # by one, or if the product is so near to a half that its own rounding (by at
        # most a sixteenth, since it is less than 2^50) may decide the direction.
        size = np.abs(whole)
        is_sure = (decimals >= 0) & (decimals <= MOST_TENS)
        is_sure &= (size > 10.0 ** (DIGITS - 1)) & (size < 10.0**DIGITS)
        is_sure &= np.abs(np.abs(scaled - whole) - 0.5) > 0.07
        result: Floats = whole / power
    doubtful = np.flatnonzero(~is_sure)
    result[doubtful] = [float(f"{n:.{DIGITS}g}") for n in numbers[doubtful].tolist()]
    return result
