"""Information gain and gain ratio, and how C4.5 chooses a feature by them.

Of the features with at least average gain, C4.5 takes the one with the best gain ratio
(`gain_ratios`; `FeatureChoice` also has the other rules).

Information is kept as weight * bits, that is n log n minus the sum of n log n of the
parts, so that nothing is divided before the end. Running sums along a column are sums
of integers: of whole cases, or of weights in a unit that is a small power of two. So
they are exact and do not depend on the order of the rows.
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

# Sums of fractional weights are compared with whole numbers of cases: differences below
# this are due to rounding.
SLACK = 1e-9
EPSILON = 1e-3  # a gain, or number of errors, this close to a bound counts as equal
MOST_PER_SIDE = 25.0  # no more cases than these are required on each side of a cut
LEAST = 1e-300  # a weight below all weights of cases whose logarithm is still finite
SPARE_BITS = 61  # that a sum of weights may have, in a signed 64-bit integer
MANY = 0.3  # a feature is many-valued with this many categories per row


def bits(weights: Floats) -> Floats:
    """Return n log2 n, or 0 where n is 0."""
    weights = np.maximum(weights, 0.0)
    result: Floats = weights * np.log2(np.maximum(weights, LEAST))
    return result


def information(counts: Floats) -> Floats:
    """Return the entropy of class counts (on the last axis), times their weight."""
    result: Floats = bits(counts.sum(axis=-1)) - bits(counts).sum(axis=-1)
    return result


def information_gain(table: Floats, segments: Segments) -> Floats:
    """Return the gain of splits, times their weight.

    `table` is branches x classes; each segment has the branches of one split.
    """
    whole = np.add.reduceat(table, segments.starts, axis=0)
    result: Floats = information(whole) - segments.sums(information(table))
    return result


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The unit of the integers that are summed along a column."""

    unit: float  # 1 if all cases are whole
    table: Floats  # n log2 n for each number of whole cases; empty: it is computed

    @classmethod
    def of(cls, most: float, table: Floats, *, is_divided: bool) -> Scale:
        """Choose the unit so that sums of weights below `most` are exact."""
        if not is_divided:
            return cls(1.0, table)
        _, exponent = frexp(most)
        return cls(2.0 ** (exponent - SPARE_BITS), table[:0])

    def bits(self, sums: Array) -> Floats:
        return self.table.take(sums) if len(self.table) else bits(sums * self.unit)


@dataclass(frozen=True, slots=True, eq=False)
class GainSearch:
    """What scoring splits requires."""

    scale: Scale
    classes: int
    min_leaf: float
    counts: Floats  # nodes x classes
    totals: Floats  # the weight of each node

    def limits(self, sizes: Array) -> tuple[Array, Array]:
        """Return the least and the most that a cut may have below it, for each node.

        Within these limits both sides have enough cases. `sizes` are the sums of the
        cases with a known value.
        """
        unit = self.scale.unit
        known = sizes * unit
        side = np.minimum(0.1 * known / self.classes, MOST_PER_SIDE)
        side = np.maximum(side, self.min_leaf) - SLACK
        least, most = np.ceil(side / unit), np.floor((known - side) / unit)
        most[known < 2 * self.min_leaf - SLACK] = -1.0
        return least.astype(np.int64), most.astype(np.int64)

    def inside(self, segments: Segments, sizes: Array, below: Array) -> Positions:
        """Find the places where `below`, the sum up to each, is within `limits`."""
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
    groups: dict[int, Groups] | None = None  # by node; None: categories are not grouped

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
    """Return gain and split information of splits with a branch for each known value.

    `table` is values x classes; each segment has the values at one node.
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
    """The rule by which features are compared; gains are nodes x features."""

    counted: Mask  # for each feature: whether its gain counts in the average
    min_gain: float
    measure: Callable[[Floats], Floats] | None  # from gains to worth, with costs
    is_ratio: bool

    def best(self, gains: Floats, split_info: Floats, barred: Mask) -> Positions:
        """Choose the feature tested at each node, the first at a tie; -1 for none."""
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
        """Return the worth of each split; at most -EPSILON if it is not allowed."""
        if self.measure is None and self.is_ratio:
            return gain_ratios(gains, split_info, self.counted)
        worth = gains if self.measure is None else self.measure(gains)
        return np.where((gains > -EPSILON) & (split_info > 0), worth, -1.0)


def gain_ratios(gains: Floats, split_info: Floats, counted: Mask) -> Floats:
    """Return gain / split information where the gain is at least average, else -1.

    Arrays are nodes x features; the average is over the `counted` features.
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
    """Return which features are not many-valued; all of them if none would be left.

    With grouping, every feature counts.
    """
    many = np.array(
        [
            feature.kind is Kind.CATEGORICAL and len(feature.categories) >= MANY * rows
            for feature in features
        ]
    )
    return np.full(len(many), True) if many.all() or is_grouping else ~many
