"""Upper bounds of what a cut inside a bin can gain, from the counts before and in it.

They decide which bins are opened, in memory (`bars`) and in a database.

A cut inside a bin has between `before` and `before` + `inside` cases of each class on
its left. The measures are convex in these counts, so the maximum is at a corner of that
box. This also holds for an information gain divided by an information: the first is
convex, the second concave, and neither is negative, so the counts with at most a given
ratio form a convex set. With many classes there are too many corners; then every class
is taken at its own maximum, and no cut exceeds that either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import numpy as np

from treecompile.learning.grow.criteria import MEASURES
from treecompile.learning.grow.cuts import CutMeasure, Sides
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Floats

SLACK = 1e-9  # rounding may make a bound too small by this share of it,
TIES = 1e3  # and by this many times the difference that counts as a tie
CORNERS = 4  # up to so many classes, all corners are tried: 2^4
EDGES = 16  # of the polygon around an ellipse, which is 2 % larger
NOTHING = 1e-15  # bits; less is due to rounding: the cut divides no cases
ROUNDED = 1e-9  # share of a square that is not subtracted, to be safe from rounding


def label_bound(
    criterion: str, before: Floats, inside: Floats, totals: Floats
) -> Floats:
    """Return the most that a cut in each bin gains; arrays are bins x classes."""
    if before.shape[1] > CORNERS:
        return MANY_CLASSES[criterion](before, inside, totals)
    measure = MEASURES[criterion].cuts
    best = _best(measure, totals, _corners(before, inside))
    if criterion == "gain-ratio":
        near = _near_empty_sides(before, inside)
        best = np.minimum(np.maximum(best, _best(measure, totals, near)), 1.0)
    return best


# --- few classes ----------------------------------------------------------------------


def _corners(before: Floats, inside: Floats) -> Iterator[Floats]:
    """Yield the cases on the left of a cut for each corner of the box."""
    for corner in product((0.0, 1.0), repeat=before.shape[1]):
        yield before + inside * np.array(corner)


def _near_empty_sides(before: Floats, inside: Floats) -> Iterator[Floats]:
    """Yield the points next to the first and the last corner of the box.

    A cut has at least one case on either side. Where one of these corners has none, the
    next points of the box have one case of one class there.
    """
    for label in range(before.shape[1]):
        one = np.zeros_like(inside)
        one[:, label] = np.minimum(inside[:, label], 1.0)
        yield before + one
        yield before + inside - one


def _best(measure: CutMeasure, totals: Floats, lefts: Iterable[Floats]) -> Floats:
    """Return the greatest score of each bin over the given cases on the left."""
    whole = totals.sum(axis=1)
    segments = Segments.of(np.ones(len(totals), np.intp))
    nothing = np.zeros(0, np.intp)
    best = np.full(len(totals), -np.inf)
    for each in lefts:
        left = each.sum(axis=1)
        right = whole - left
        scale = left * right * whole**2
        scale = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale > 0)
        sides = Sides(
            segments, whole, [*totals.T[1:]], left, right, whole, scale, nothing, ()
        )
        np.maximum(best, measure(each.T[1:], sides), out=best)
    return best


# --- many classes ---------------------------------------------------------------------


def _gini(before: Floats, inside: Floats, totals: Floats) -> Floats:
    whole = totals.sum(axis=1)
    farthest, slowest = _distances(before, inside, totals)
    impurity: Floats = 1.0 - ((totals / whole[:, None]) ** 2).sum(axis=1)
    result: Floats = np.minimum(farthest.sum(axis=1) / (whole**2 * slowest), impurity)
    return result


def _chi_square(before: Floats, inside: Floats, totals: Floats) -> Floats:
    farthest, slowest = _distances(before, inside, totals)
    each = np.divide(farthest, totals, out=np.zeros_like(totals), where=totals > 0)
    result: Floats = each.sum(axis=1) / (totals.sum(axis=1) * slowest)
    return np.minimum(result, 1.0)


def _distances(before: Floats, inside: Floats, totals: Floats) -> tuple[Floats, Floats]:
    """Return each class's greatest D^2 (see `cuts`), and the least left * right."""
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


def _entropy(before: Floats, inside: Floats, totals: Floats) -> Floats:
    whole = totals.sum(axis=1)
    low, high = _sizes(before, inside, whole)
    middle = np.clip(whole / 2, low, high)
    sides = _bits(middle) + _bits(whole - middle)
    entropy = _bits(whole) - _bits(totals).sum(axis=1)
    gain = entropy - sides + _most_cells(before, inside, totals)
    result: Floats = np.minimum(gain, entropy) / whole
    return result


def _ratio(before: Floats, inside: Floats, totals: Floats) -> Floats:
    """Divide the greatest gain by the least split information of a cut."""
    whole = totals.sum(axis=1)
    least = np.minimum(
        *(
            (_bits(whole) - _bits(size) - _bits(whole - size)) / whole
            for size in _sizes(before, inside, whole)
        )
    )
    return _at_most(_entropy(before, inside, totals), least)


def _distance(before: Floats, inside: Floats, totals: Floats) -> Floats:
    """Divide the greatest gain by the least joint information of cut and class."""
    whole = totals.sum(axis=1)
    least = (_bits(whole) - _most_cells(before, inside, totals)) / whole
    return _at_most(_entropy(before, inside, totals), least)


def _most_cells(before: Floats, inside: Floats, totals: Floats) -> Floats:
    left = [before, before + inside]
    cells = np.maximum(*(_bits(each) + _bits(totals - each) for each in left))
    most: Floats = cells.sum(axis=1)
    return most


def _at_most(gain: Floats, least: Floats) -> Floats:
    """Divide a gain by the least divisor; no ratio is above 1."""
    ratio = np.divide(gain, least, out=np.ones_like(gain), where=least > NOTHING)
    return np.minimum(ratio, 1.0)


def _sizes(before: Floats, inside: Floats, whole: Floats) -> tuple[Floats, Floats]:
    """Return the fewest and the most cases on the left; no side is empty."""
    low = np.maximum(before.sum(axis=1), 1.0)
    high = np.minimum(before.sum(axis=1) + inside.sum(axis=1), whole - 1.0)
    return low, np.maximum(low, high)


def _bits(counts: Floats) -> Floats:
    result: Floats = counts * np.log2(np.maximum(counts, 1.0))
    return result


MANY_CLASSES: dict[str, Callable[[Floats, Floats, Floats], Floats]] = {
    "gini": _gini,
    "entropy": _entropy,
    "chi-square": _chi_square,
    "gain-ratio": _ratio,
    "distance": _distance,
}


# --- numbers --------------------------------------------------------------------------


def squares_bound(
    before: Floats, bins: Floats, spread: Floats, totals: Floats
) -> Floats:
    """Return the most that a cut in each bin decreases the variance.

    `before`, `bins` and `totals` are bins x 2: a number of cases and their sum.
    `spread` is bins x 3: the least and the greatest number, and the sum of squares.

    Let k of the n cases of a bin have the sum s. These k and the other n - k cases lie
    between the least and the greatest number, so (k, s) lies in a parallelogram. The
    decrease is convex in k and s, so its maximum is at a corner.
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
    return np.minimum(outer, deviation_bound(before, bins, squared, totals))


def deviation_bound(
    before: Floats, bins: Floats, squared: Floats, totals: Floats
) -> Floats:
    """Bound the decrease of the variance from the sum of squares of each bin alone.

    The sum s of k cases differs from k times the mean by at most the deviation times
    the root of k (n - k). So (k, s) lies in an ellipse; the bound is the maximum over
    the corners of a polygon around it.
    """
    size, total = bins.T
    mean = total / size
    deviation = np.sqrt(np.maximum(squared / size - mean**2 * (1 - ROUNDED), 0.0))
    polygon = []
    for corner in range(EDGES):
        angle = (2 * corner + 1) * np.pi / EDGES
        along, across = np.cos(angle), np.sin(angle)
        some = np.clip(size / 2 * (1 + along / np.cos(np.pi / EDGES)), 0.0, size)
        off = size / 2 * deviation * across / np.cos(np.pi / EDGES)
        polygon.append((some, some * mean + off))
    most = _most_squares(before, polygon, totals)
    return np.minimum(most, _at_ends(before, bins, squared, totals))


def rough_squares_bound(
    before: Floats, bins: Floats, squared: Floats, totals: Floats
) -> Floats:
    """Return a bound up to twice as large as `deviation_bound`, but much faster."""
    size, total = bins.T
    whole, mean = totals[:, 0], totals[:, 1] / totals[:, 0]
    left, start = before[:, 0], before[:, 1] - mean * before[:, 0]
    right, end = left + size, start + (total - mean * size)
    spread = np.sqrt(np.maximum(size * squared - total**2 * (1 - ROUNDED), 0.0))
    most = np.maximum(np.abs(start), np.abs(end)) + spread / 2
    least = np.minimum(left * (whole - left), right * (whole - right))
    bound: Floats = np.full(len(size), np.inf)
    np.divide(most**2, least, out=bound, where=least > 0)
    return bound


def _at_ends(before: Floats, bins: Floats, squared: Floats, totals: Floats) -> Floats:
    """Bound the decrease in a node's first and last bin, where the polygon does not.

    There, one side of a cut has only cases of the bin. The square of their sum divided
    by their number is at most the sum of the squares of all cases of the bin.
    """
    size, total = bins.T
    whole, mean = totals[:, 0], totals[:, 1] / totals[:, 0]
    rest = whole - size
    is_end = ((before[:, 0] == 0) | (before[:, 0] == rest)) & (rest > 0)
    centred = squared - 2 * mean * total + mean**2 * size
    bound: Floats = np.full(len(size), np.inf)
    np.divide(centred, rest, out=bound, where=is_end)
    return bound


def _most_squares(
    before: Floats, corners: Sequence[tuple[Floats, Floats]], totals: Floats
) -> Floats:
    whole, total = totals.T
    most = np.zeros(len(whole))
    for cases, value in corners:
        size, left = before[:, 0] + cases, before[:, 1] + value
        squared = (left * whole - total * size) ** 2
        scale = whole**2 * size * (whole - size)
        # A side without cases has the sum 0 and gains nothing; else there is no bound.
        beyond = np.where(squared > 0, np.inf, 0.0)
        gain = np.divide(squared, scale, out=beyond, where=scale > 0)
        np.maximum(most, gain, out=most)
    return most
