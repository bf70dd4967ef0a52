"""The most that a cut inside a bin can gain, from the counts before and in the bin.

A cut inside a bin has between `before` and `before` + `inside` cases of each class on
its left. The measures are convex in these counts, so the maximum is at a corner of that
box. This also holds for an information gain divided by an information: the one is
convex, the other concave, and neither is negative, so the counts with at most a given
ratio form a convex set. With many classes there are too many corners; then every class
is taken at its own maximum, which no cut exceeds either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np

from treecompile.model.arrays import Floats

CORNERS = 4  # classes whose corners are all tried: 2^4
EDGES = 16  # of the polygon around an ellipse, which is 2 % larger
NOTHING = 1e-15  # bits: less is rounding, of a cut that divides no cases
ROUNDED = 1e-12  # share of a square that is not subtracted, to be safe from rounding

Bound = Callable[[Floats, Floats, Floats], Floats]


def gini_bound(before: Floats, inside: Floats, totals: Floats) -> Floats:
    """The most that Gini impurity decreases; arrays are bins x classes."""
    if before.shape[1] <= CORNERS:
        return _corners(_gini, before, inside, totals)
    whole = totals.sum(axis=1)
    farthest, slowest = _distances(before, inside, totals)
    share = totals / whole[:, None]
    impurity: Floats = 1.0 - (share**2).sum(axis=1)
    result: Floats = np.minimum(farthest.sum(axis=1) / (whole**2 * slowest), impurity)
    return result


def chi_square_bound(before: Floats, inside: Floats, totals: Floats) -> Floats:
    """The most that chi-square divided by the cases can be; bins x classes."""
    if before.shape[1] <= CORNERS:
        return _corners(_chi_square, before, inside, totals)
    farthest, slowest = _distances(before, inside, totals)
    each = farthest * _reciprocal(totals)
    most = each.sum(axis=1) / (totals.sum(axis=1) * slowest)
    result: Floats = np.minimum(most, 1.0)
    return result


def _distances(before: Floats, inside: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """For each class the greatest D^2, and the least left * right; see `cuts`."""
    whole = totals.sum(axis=1)
    left_low, left_high = before, before + inside
    others_low = before.sum(axis=1, keepdims=True) - before
    others_high = others_low + inside.sum(axis=1, keepdims=True) - inside
    rest = whole[:, None] - totals
    # D = (class on the left) * rest - class * (others on the left)
    most = left_high * rest - totals * others_low
    least = left_low * rest - totals * others_high
    low, high = _sizes(before, inside, whole)
    slowest = np.minimum(low * (whole - low), high * (whole - high))
    return np.maximum(most**2, least**2), slowest


def entropy_bound(before: Floats, inside: Floats, totals: Floats) -> Floats:
    """The most information in bits that a cut gains; bins x classes."""
    if before.shape[1] <= CORNERS:
        return _corners(_entropy, before, inside, totals)
    whole = totals.sum(axis=1)
    left = [before, before + inside]
    cells = np.maximum(*(_bits(each) + _bits(totals - each) for each in left))
    low, high = _sizes(before, inside, whole)
    middle = np.clip(whole / 2, low, high)
    sides = _bits(middle) + _bits(whole - middle)
    entropy = _bits(whole) - _bits(totals).sum(axis=1)
    gain = entropy - sides + cells.sum(axis=1)
    result: Floats = np.minimum(gain, entropy) / whole
    return result


def ratio_bound(before: Floats, inside: Floats, totals: Floats) -> Floats:
    """The most that the gain divided by the information of the cut can be."""
    whole = totals.sum(axis=1)
    if before.shape[1] <= CORNERS:
        best = _corners(_ratio, before, inside, totals)
        # A cut has a case on either side. Where a corner of the box has none, the next
        # points of the box have one case of one class.
        for label in range(before.shape[1]):
            one = np.minimum(inside[:, label], 1.0)
            for left in (before, before + inside):
                some = left.copy()
                some[:, label] += one if left is before else -one
                np.maximum(best, _ratio(some, totals), out=best)
        return np.minimum(best, 1.0)
    sizes = _sizes(before, inside, whole)
    least = np.minimum(*(_information(size, whole) for size in sizes))
    return _at_most(entropy_bound(before, inside, totals), least)


def distance_bound(before: Floats, inside: Floats, totals: Floats) -> Floats:
    """The most that the gain divided by the joint information can be."""
    if before.shape[1] <= CORNERS:
        return _corners(_distance, before, inside, totals)
    whole = totals.sum(axis=1)
    left = [before, before + inside]
    cells = np.maximum(*(_bits(each) + _bits(totals - each) for each in left))
    least = (_bits(whole) - cells.sum(axis=1)) / whole
    return _at_most(entropy_bound(before, inside, totals), least)


def _ratio(left: Floats, totals: Floats) -> Floats:
    whole, size = totals.sum(axis=1), left.sum(axis=1)
    return _share(_entropy(left, totals), _information(size, whole))


def _distance(left: Floats, totals: Floats) -> Floats:
    whole = totals.sum(axis=1)
    cells = (_bits(left) + _bits(totals - left)).sum(axis=1)
    return _share(_entropy(left, totals), (_bits(whole) - cells) / whole)


def _information(size: Floats, whole: Floats) -> Floats:
    bits: Floats = (_bits(whole) - _bits(size) - _bits(whole - size)) / whole
    return bits


def _share(part: Floats, whole: Floats) -> Floats:
    result: Floats = np.divide(
        part, whole, out=np.zeros_like(part), where=whole > NOTHING
    )
    return result


def _at_most(gain: Floats, least: Floats) -> Floats:
    """A gain divided by the least divisor; the ratio is never above 1."""
    ratio = np.divide(gain, least, out=np.ones_like(gain), where=least > NOTHING)
    return np.minimum(ratio, 1.0)


def _corners(
    gain: Callable[[Floats, Floats], Floats],
    before: Floats,
    inside: Floats,
    totals: Floats,
) -> Floats:
    best = np.full(len(before), -np.inf)
    for corner in product((0.0, 1.0), repeat=before.shape[1]):
        np.maximum(best, gain(before + inside * np.array(corner), totals), out=best)
    return best


def _gini(left: Floats, totals: Floats) -> Floats:
    whole, size = totals.sum(axis=1), left.sum(axis=1)
    distance = left * whole[:, None] - totals * size[:, None]
    scale = whole**2 * size * (whole - size)
    result: Floats = np.divide(
        (distance**2).sum(axis=1), scale, out=np.zeros(len(left)), where=scale > 0
    )
    return result


def _chi_square(left: Floats, totals: Floats) -> Floats:
    whole, size = totals.sum(axis=1), left.sum(axis=1)
    distance = left * whole[:, None] - totals * size[:, None]
    scale = whole * size * (whole - size)
    squared = (distance**2 * _reciprocal(totals)).sum(axis=1)
    result: Floats = np.divide(squared, scale, out=np.zeros(len(left)), where=scale > 0)
    return result


def _reciprocal(counts: Floats) -> Floats:
    result: Floats = np.divide(1.0, counts, out=np.zeros_like(counts), where=counts > 0)
    return result


def _entropy(left: Floats, totals: Floats) -> Floats:
    whole, size = totals.sum(axis=1), left.sum(axis=1)
    entropy = _bits(whole) - _bits(totals).sum(axis=1)
    sides = _bits(size) + _bits(whole - size)
    cells = (_bits(left) + _bits(totals - left)).sum(axis=1)
    result: Floats = (entropy - sides + cells) / whole
    return result


def _sizes(before: Floats, inside: Floats, whole: Floats) -> tuple[Floats, Floats]:
    """The fewest and the most cases on the left; each side has one at least."""
    low = np.maximum(before.sum(axis=1), 1.0)
    high = np.minimum(before.sum(axis=1) + inside.sum(axis=1), whole - 1.0)
    return low, np.maximum(low, high)


def _bits(counts: Floats) -> Floats:
    result: Floats = counts * np.log2(np.maximum(counts, 1.0))
    return result


def squares_bound(
    before: Floats, bins: Floats, spread: Floats, totals: Floats
) -> Floats:
    """The most that the variance decreases.

    `before`, `bins` and `totals` have a number of cases and their sum; `spread` has the
    least and the greatest case of a bin, and the sum of squares.

    Let k of the n cases of a bin have the sum s. Each lies between the least and the
    greatest, and so do the others: (k, s) lies in a parallelogram. Also, s differs from
    k means by at most the deviation times the root of k (n - k): that is an ellipse,
    here replaced by a polygon around it. The decrease is convex in k and s, so its
    maximum is at a corner.
    """
    size, total = bins.T
    least, greatest, squared = spread.T
    width = np.maximum(greatest - least, np.finfo(float).tiny)
    upper = np.clip((total - size * least) / width, 0.0, size)
    lower = np.clip((size * greatest - total) / width, 0.0, size)
    corners = (
        (np.zeros_like(size), np.zeros_like(size)),
        (size, total),
        (upper, upper * greatest),
        (lower, lower * least),
    )
    outer = _most_squares(before, corners, totals)
    mean = total / size
    deviation = np.sqrt(np.maximum(squared / size - mean**2 * (1 - ROUNDED), 0.0))
    polygon = []
    for corner in range(EDGES):
        angle = (2 * corner + 1) * np.pi / EDGES
        along, across = np.cos(angle), np.sin(angle)
        some = np.clip(size / 2 * (1 + along / np.cos(np.pi / EDGES)), 0.0, size)
        off = size / 2 * deviation * across / np.cos(np.pi / EDGES)
        polygon.append((some, some * mean + off))
    return np.minimum(outer, _most_squares(before, polygon, totals))


def _most_squares(
    before: Floats, corners: Sequence[tuple[Floats, Floats]], totals: Floats
) -> Floats:
    whole, total = totals.T
    most = np.zeros(len(whole))
    for cases, value in corners:
        size, left = before[:, 0] + cases, before[:, 1] + value
        squared = (left * whole - total * size) ** 2
        scale = whole**2 * size * (whole - size)
        # Without cases the sum is 0 and nothing decreases; else there is no bound.
        beyond = np.where(squared > 0, np.inf, 0.0)
        gain = np.divide(squared, scale, out=beyond, where=scale > 0)
        np.maximum(most, gain, out=most)
    return most


# By the name of the criterion.
BOUNDS: dict[str, Bound] = {
    "gini": gini_bound,
    "entropy": entropy_bound,
    "chi-square": chi_square_bound,
    "gain-ratio": ratio_bound,
    "distance": distance_bound,
}
