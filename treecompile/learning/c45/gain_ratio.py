"""Information gain and gain ratio, and which feature C4.5 chooses by them.

Among the features whose gain is at least average, C4.5 takes the one with the best gain
ratio (`gain_ratios`).

Information is kept as weight * bits, n log n - sum of the parts' n log n, so that
nothing is divided before the end. Running sums along a column are sums of integers: of
whole cases, or of weights in a unit that is a small power of two. So they are exact and
do not depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import frexp

import numpy as np

from treecompile.learning.grow.draft import Groups
from treecompile.learning.grow.segments import TIE, Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import Feature, Kind

# Sums of fractional weights are compared with whole numbers of cases: what differs by
# less than this differs by rounding only.
SLACK = 1e-9
EPSILON = 1e-3  # a gain, or a number of errors, that is so near to a bound is at it
MOST_PER_SIDE = 25.0  # no more cases than these are required on each side of a cut
LEAST = 1e-300  # a weight whose logarithm is finite, below all weights of cases
SPARE_BITS = 61  # of a sum of weights, in a signed 64-bit integer
MANY = 0.3  # a feature with values for this share of the cases is many-valued


def bits(weights: Floats) -> Floats:
    """n log2 n, and 0 for nothing."""
    weights = np.maximum(weights, 0.0)
    result: Floats = weights * np.log2(np.maximum(weights, LEAST))
    return result


def information(counts: Floats) -> Floats:
    """The information of class counts (on the last axis), times their weight."""
    result: Floats = bits(counts.sum(axis=-1)) - bits(counts).sum(axis=-1)
    return result


def information_gain(table: Floats, segments: Segments) -> Floats:
    """The gain of a branch for each line of a contingency table, times the weight.

    The lines of each segment are the branches of one split.
    """
    whole = np.add.reduceat(table, segments.starts, axis=0)
    result: Floats = information(whole) - segments.sums(information(table))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """What the integers mean that are summed along a column: cases, or small units."""

    unit: float  # 1 where all cases are whole
    table: Floats  # n log2 n of whole cases; empty: compute it

    @classmethod
    def of(cls, most: float, table: Floats, *, is_divided: bool) -> Scale:
        """For exact sums of weights below `most`."""
        if not is_divided:
            return cls(1.0, table)
        _, exponent = frexp(most)
        return cls(2.0 ** (exponent - SPARE_BITS), table[:0])

    def bits(self, sums: Array) -> Floats:
        return self.table.take(sums) if len(self.table) else bits(sums * self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class GainSearch:
    """What is needed to score splits of the open nodes, wherever the cases are."""

    scale: Scale
    classes: int
    min_leaf: float
    counts: Floats  # of each class at each node
    totals: Floats  # the weight of each node

    def limits(self, sizes: Array) -> tuple[Array, Array]:
        """The least and the most that a cut may have below it, at each node.

        It leaves enough cases on both sides. `sizes` are the sums of the known cases.
        """
        unit = self.scale.unit
        known = sizes * unit
        side = np.minimum(0.1 * known / self.classes, MOST_PER_SIDE)
        side = np.maximum(side, self.min_leaf) - SLACK
        least, most = np.ceil(side / unit), np.floor((known - side) / unit)
        most[known < 2 * self.min_leaf - SLACK] = -1.0
        return least.astype(np.int64), most.astype(np.int64)

    def inside(self, segments: Segments, sizes: Array, below: Array) -> Positions:
        """Where a cut is within these limits; `below` are the sums up to each place."""
        least, most = self.limits(sizes)
        enough: Mask = below >= segments.spread(least.astype(below.dtype))
        enough &= below <= segments.spread(most.astype(below.dtype))
        return np.flatnonzero(enough)


@dataclass(frozen=True, slots=True, eq=False)
class GainCandidates:
    """The best split by one feature at every open node."""

    gains: Floats  # -inf: no split
    split_info: Floats
    thresholds: Floats
    cut_counts: Positions  # how many cuts were possible
    groups: dict[int, Groups] | None = None  # of categories, where they are grouped

    @classmethod
    def none(cls, nodes: int) -> GainCandidates:
        return cls(
            np.full(nodes, -np.inf),
            np.zeros(nodes),
            np.full(nodes, np.nan),
            np.zeros(nodes, np.intp),
        )


def gains_of_values(
    search: GainSearch, segments: Segments, nodes: Positions, table: Floats
) -> tuple[Floats, Floats]:
    """Gain and split information of a branch for each known value.

    `table` has a line of class weights for each value; `segments` are the lines of each
    node.
    """
    sizes = table.sum(axis=1)
    total = search.totals[nodes]
    large = segments.sums((sizes >= search.min_leaf - SLACK).astype(np.intp)) >= 2
    gains = information_gain(table, segments) / total
    branches = segments.sums(bits(sizes)) + bits(total - segments.sums(sizes))
    return np.where(large, gains, -np.inf), (bits(total) - branches) / total


# --- the choice of a feature ----------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class FeatureChoice:
    """How features are compared; arrays are nodes x features."""

    counted: Mask  # features whose gain counts in the average
    min_gain: float
    measure: Callable[[Floats], Floats] | None  # by costs
    is_ratio: bool

    def best(self, gains: Floats, split_info: Floats, barred: Mask) -> Positions:
        """The feature to be tested at each node, the first at a tie; -1 for none."""
        worth = self.worth(gains, split_info)
        worth[barred] = -np.inf
        worth[gains < self.min_gain - TIE] = -np.inf
        chosen = np.full(len(worth), -1)
        bar = np.full(len(worth), -EPSILON)
        for index in range(worth.shape[1]):
            mine = worth[:, index]
            better = (mine > -EPSILON) & (mine > bar + TIE)
            chosen[better], bar[better] = index, mine[better]
        return chosen

    def worth(self, gains: Floats, split_info: Floats) -> Floats:
        """What features are compared by; at most -EPSILON for those barred."""
        if self.measure is None and self.is_ratio:
            return gain_ratios(gains, split_info, self.counted)
        worth = gains if self.measure is None else self.measure(gains)
        return np.where((gains > -EPSILON) & (split_info > 0), worth, -1.0)


def gain_ratios(gains: Floats, split_info: Floats, counted: Mask) -> Floats:
    """Gain / split information where the gain is at least average; -1 elsewhere.

    Arrays are nodes x features; `counted` are the features that the average is of.
    """
    possible = gains > -EPSILON
    averaged = possible & counted
    number = averaged.sum(axis=-1, keepdims=True)
    total = np.where(averaged, gains, 0.0).sum(axis=-1, keepdims=True)
    average = total / np.maximum(number, 1)
    allowed = possible & (gains >= average - EPSILON) & (split_info > EPSILON)
    allowed &= number > 0
    ratios: Floats = np.full(gains.shape, -1.0)
    np.divide(gains, split_info, out=ratios, where=allowed)
    return ratios


def counted_features(
    features: Sequence[Feature], rows: int, *, is_grouping: bool
) -> Mask:
    """All features but many-valued ones, unless all are many-valued."""
    many = np.array(
        [
            feature.kind is Kind.CATEGORICAL and len(feature.categories) >= MANY * rows
            for feature in features
        ]
    )
    return np.full(len(many), True) if many.all() or is_grouping else ~many
