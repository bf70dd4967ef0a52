"""Impurity and the measures built on it, over whole arrays of class counts.

Counts have the classes on the last axis and, where a split is judged, its branches on
the one before: shape (..., branches, classes). Any leading axes are candidates that are
judged at once.

The second half judges every cut of every node of a level, for growth by levels: the
same gains, from sums to the left of each cut that come one class after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecompile.learners.stretches import Array, Mask, Positions, Stretches

Floats = NDArray[np.float64]
Impurity = Callable[[Floats], Floats]


def shares(counts: Floats) -> Floats:
    """Counts as shares of their sum along the last axis; zeros where the sum is 0."""
    total = counts.sum(axis=-1, keepdims=True)
    result: Floats = np.divide(
        counts, total, out=np.zeros_like(counts), where=total > 0
    )
    return result


def entropy(counts: Floats) -> Floats:
    """Information in bits; 0 log 0 counts as 0."""
    p = shares(counts)
    bits: Floats = -(p * np.log2(p, out=np.zeros_like(p), where=p > 0)).sum(axis=-1)
    return bits


def gini(counts: Floats) -> Floats:
    """The chance that two cases drawn with replacement differ in class."""
    p = shares(counts)
    result: Floats = 1.0 - (p * p).sum(axis=-1)
    return result


def remaining(impurity: Impurity, counts: Floats) -> Floats:
    """The impurity after a split: that of the branches, weighted by their cases.

    With entropy this is the conditional entropy, with gini the total Gini impurity.
    """
    weights = shares(counts.sum(axis=-1))
    result: Floats = (weights * impurity(counts)).sum(axis=-1)
    return result


def gain(impurity: Impurity, counts: Floats) -> Floats:
    """The decrease of impurity by a split; with entropy the information gain."""
    result: Floats = impurity(counts.sum(axis=-2)) - remaining(impurity, counts)
    return result


# --- a whole level at once ------------------------------------------------------------

# What is summed is one number for each case (regression), or for each class but the
# first whether it is that class: the first is what remains.
FEW = 3  # as many products of totals are kept for all features of a level


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """How many cases lie on each side of every cut; a cut is behind its position."""

    stretches: Stretches
    counts: Floats  # cases of each node whose value is known
    totals: Sequence[Array]  # of each summand: its sum at each node
    left: Floats
    right: Floats
    whole: Floats  # cases of the node, at every cut
    scale: Floats  # 1 / (left x right x whole^2)
    barred: Mask  # cuts that leave too few cases on a side
    products: Sequence[Floats]

    @classmethod
    def of(
        cls,
        stretches: Stretches,
        left: Floats,
        counts: Floats,
        totals: Sequence[Array],
        min_leaf: int,
    ) -> Sides:
        whole = stretches.spread(counts)
        right = whole - left
        barred = (left < min_leaf) | (right < min_leaf)
        scale = left * right
        scale[stretches.ends] = 1.0  # instead of 0; these are barred
        scale *= whole
        scale *= whole
        np.reciprocal(scale, out=scale)
        few = totals if len(totals) <= FEW else ()
        products = [stretches.spread(total.astype(np.float64)) * left for total in few]
        return cls(
            stretches, counts, totals, left, right, whole, scale, barred, products
        )

    def expected(self, summand: int) -> Floats:
        """The sum at the node times the cases on the left."""
        if self.products:
            return self.products[summand]
        total = self.totals[summand].astype(np.float64)
        product: Floats = self.stretches.spread(total) * self.left
        return product

    def best(self, scores: Floats, tie: Floats) -> tuple[Floats, Positions]:
        """The gain of the best cut of each node, and which it is."""
        np.copyto(scores, -np.inf, where=self.barred)
        return self.stretches.pick(scores, tie)


# From the sums to the left of each cut, to be used up in order, and the sides.
LevelGain = Callable[[Iterable[Array], Sides], Floats]


def squares(lefts: Iterable[Array], sides: Sides) -> Floats:
    """The decrease of the variance.

    With D = (sum on the left) x cases - (sum at the node) x (cases on the left), it is
    D^2 / (cases^2 x left x right): no difference of large numbers but D, which is exact
    for counts, so that equal splits have equal gains.
    """
    (left,) = lefts
    squared = _distance(left, sides, 0)
    squared *= squared
    squared *= sides.scale
    return squared


def gini_gain(lefts: Iterable[Array], sides: Sides) -> Floats:
    """The decrease of Gini impurity: the variances of all the indicators, added up."""
    if len(sides.totals) == 1:  # of two classes, both vary alike
        gain = squares(lefts, sides)
        gain *= 2.0
        return gain
    rest = np.zeros_like(sides.left)
    squared = np.zeros_like(sides.left)
    for summand, left in enumerate(lefts):
        distance = _distance(left, sides, summand)
        rest += distance
        distance *= distance
        squared += distance
    rest *= rest  # of the first class, whose distance balances all others
    squared += rest
    squared *= sides.scale
    return squared


def entropy_gain(lefts: Iterable[Array], sides: Sides) -> Floats:
    """The information gain in bits: counts times their logarithms, added up."""
    rest = sides.left.copy()
    spread = sides.stretches.spread
    first = sides.counts - sum(sides.totals)
    whole = _bits(sides.counts) - sum(map(_bits, (first, *sides.totals)))
    gain = spread(whole) - _bits(sides.left) - _bits(sides.right)
    for summand, left in enumerate(lefts):
        gain += _bits(left)
        gain += _bits(spread(sides.totals[summand]) - left)
        rest -= left
    gain += _bits(rest)
    gain += _bits(spread(first) - rest)
    gain /= sides.whole
    return gain


def _distance(left: Array, sides: Sides, summand: int) -> Floats:
    distance: Floats = left * sides.whole
    distance -= sides.expected(summand)
    return distance


def _bits(counts: Array) -> Floats:
    # 0 log 0 counts as 0, and no other count is below 1.
    result: Floats = counts * np.log2(np.maximum(counts, 1))
    return result


# By the name of the option; explicit, so that what can be chosen is seen here.
CRITERIA: dict[str, LevelGain] = {"gini": gini_gain, "entropy": entropy_gain}
