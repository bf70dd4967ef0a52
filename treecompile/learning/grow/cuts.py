"""Measures of binary splits: score every cut of every node of a level at once.

A cut is a candidate threshold between two neighbouring values, or a place in an order
of categories; cut n comes after position n. A measure takes the sums to the left of
each cut, one summand of the target after the other. In regression the only summand is
the target's number. In classification there is a summand for each class but the first,
1 for the cases of that class; the first class is what remains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Positions

FEW = 3  # up to so many products of totals are kept for all features of a level


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The weight of the cases on each side of every cut."""

    segments: Segments  # the cuts of each node
    counts: Floats  # for each node: the cases with a known value
    totals: Sequence[Array]  # for each summand: its sum at each node
    left: Floats  # for each cut: the cases on its left
    right: Floats
    whole: Floats  # `counts` of the node, repeated for each cut
    scale: Floats  # 1 / (left * right * whole^2)
    barred: Positions  # cuts that leave too few rows on a side
    products: Sequence[Floats]  # for each summand: `expected`; empty if there are many

    @classmethod
    def of(
        cls,
        segments: Segments,
        left: Floats,
        counts: Floats,
        totals: Sequence[Array],
        barred: Positions,
    ) -> Sides:
        """Make the sides of cuts; the last of each segment has nothing on its right."""
        whole = segments.spread(counts)
        right = whole - left
        scale = left * right
        scale[segments.ends] = 1.0  # instead of 0; these cuts are barred
        scale *= whole
        scale *= whole
        np.reciprocal(scale, out=scale)
        few = totals if len(totals) <= FEW else ()
        products = [segments.spread(total.astype(np.float64)) * left for total in few]
        return cls(
            segments, counts, totals, left, right, whole, scale, barred, products
        )

    def expected(self, summand: int) -> Floats:
        """Return the sum at the node times the cases on the left, for each cut."""
        if self.products:
            return self.products[summand]
        total = self.totals[summand].astype(np.float64)
        product: Floats = self.segments.spread(total) * self.left
        return product

    def first(self) -> Floats:
        """Return the cases of the first class at each node."""
        rest: Floats = self.counts - sum(self.totals)
        return rest

    def best(self, scores: Floats, tie: Floats) -> tuple[Floats, Positions]:
        """Return the score of the best cut of each node, and its position."""
        scores[self.barred] = -np.inf
        return self.segments.pick(scores, tie)


# Takes the sums to the left of each cut, one summand after the other, and the sides;
# returns the score of each cut.
CutMeasure = Callable[[Iterable[Array], Sides], Floats]


def too_few(segments: Segments, left: Array, min_leaf: int) -> Positions:
    """Find the cuts with too few rows on a side; `left` are the rows on the left."""
    if min_leaf <= 1:
        return segments.ends
    right = segments.spread(left[segments.ends]) - left
    return np.flatnonzero((left < min_leaf) | (right < min_leaf))


def squares(lefts: Iterable[Array], sides: Sides) -> Floats:
    """Compute the decrease of the variance.

    With D = (sum on the left) * cases - (sum at the node) * (cases on the left), it is
    D^2 / (cases^2 * left * right). D is the only difference of large numbers, and it is
    exact for counts, so equal splits have equal gains.
    """
    (left,) = lefts
    squared = _distance(left, sides, 0)
    squared *= squared
    squared *= sides.scale
    return squared


def gini_cuts(lefts: Iterable[Array], sides: Sides) -> Floats:
    """Compute the decrease of Gini impurity: summed variances of class indicators."""
    if len(sides.totals) == 1:  # two classes, whose indicators have the same variance
        gain = squares(lefts, sides)
        gain *= 2.0
        return gain
    return _squared_distances(lefts, sides)


def chi_square_cuts(lefts: Iterable[Array], sides: Sides) -> Floats:
    """Compute chi-square / cases: as for Gini, but each class divided by its size."""
    classes = (sides.first(), *sides.totals)
    squared = _squared_distances(lefts, sides, [_reciprocal(each) for each in classes])
    squared *= sides.whole
    return squared


def entropy_cuts(lefts: Iterable[Array], sides: Sides) -> Floats:
    """Compute the information gain in bits: a sum of counts times their logarithms."""
    spread = sides.segments.spread
    first = sides.first()
    whole = _bits(sides.counts) - sum(map(_bits, (first, *sides.totals)))
    gain = spread(whole) - _bits(sides.left) - _bits(sides.right)
    _add_cells(gain, lefts, sides, first)
    gain /= sides.whole
    return gain


def ratio_cuts(lefts: Iterable[Array], sides: Sides) -> Floats:
    """Divide the information gain by the split information of the cut."""
    information = sides.segments.spread(_bits(sides.counts))
    information -= _bits(sides.left)
    information -= _bits(sides.right)
    information /= sides.whole
    return share_of(entropy_cuts(lefts, sides), information)


def distance_cuts(lefts: Iterable[Array], sides: Sides) -> Floats:
    """Divide the information gain by the joint information of cut and class.

    It is 1 minus the distance of Lopez de Mantaras between the two partitions.
    """
    first = sides.first()
    cells = np.zeros_like(sides.left)
    _add_cells(cells, lefts, sides, first)
    spread, counts = sides.segments.spread, _bits(sides.counts)
    whole = counts - sum(map(_bits, (first, *sides.totals)))
    gain = spread(whole) - _bits(sides.left) - _bits(sides.right)
    gain += cells
    return share_of(gain, spread(counts) - cells)


def _add_cells(
    bits: Floats, lefts: Iterable[Array], sides: Sides, first: Floats
) -> None:
    """Add n log2 n for the count n of every class on either side to `bits`."""
    spread = sides.segments.spread
    rest = sides.left.copy()
    for summand, left in enumerate(lefts):
        bits += _bits(left)
        bits += _bits(spread(sides.totals[summand]) - left)
        rest -= left
    bits += _bits(rest)
    bits += _bits(spread(first) - rest)


def _squared_distances(
    lefts: Iterable[Array], sides: Sides, factors: Sequence[Floats] | None = None
) -> Floats:
    """Sum D^2 (see `squares`) over all classes, times `sides.scale`.

    Each D^2 may be multiplied by a factor of its class at the node.
    """

    if factors is None and isinstance(lefts, np.ndarray):
        return _squared_at_once(lefts, sides)

    def squared(distance: Floats, label: int) -> Floats:
        distance *= distance
        if factors is not None:
            distance *= sides.segments.spread(factors[label])
        return distance

    first = np.zeros_like(sides.left)  # D of the first class, up to its sign
    total = np.zeros_like(sides.left)
    for summand, left in enumerate(lefts):
        distance = _distance(left, sides, summand)
        first += distance
        total += squared(distance, summand + 1)
    total += squared(first, 0)
    total *= sides.scale
    return total


def _squared_at_once(lefts: Array, sides: Sides) -> Floats:
    """Compute `_squared_distances` for all classes at once, if cuts are few."""
    totals = np.stack(sides.totals).astype(np.float64)
    distances = lefts * sides.whole
    distances -= np.repeat(totals, sides.segments.lengths, axis=1) * sides.left
    first = distances.sum(axis=0)
    distances *= distances
    total: Floats = distances.sum(axis=0)
    total += first * first
    total *= sides.scale
    return total


def _distance(left: Array, sides: Sides, summand: int) -> Floats:
    distance: Floats = left * sides.whole
    distance -= sides.expected(summand)
    return distance


def _bits(counts: Array) -> Floats:
    # n log2 n; 0 log 0 counts as 0, and every other count is at least 1.
    result: Floats = counts * np.log2(np.maximum(counts, 1))
    return result


def _reciprocal(counts: Array) -> Floats:
    """Return 1 / counts, or 0 for a class without cases."""
    result: Floats = np.divide(1.0, counts, out=np.zeros(len(counts)), where=counts > 0)
    return result


def share_of(part: Floats, whole: Floats) -> Floats:
    """Return part / whole; 0 where the whole is not positive: nothing is divided."""
    result: Floats = np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)
    return result
