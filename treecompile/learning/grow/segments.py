"""Arrays that hold one segment for each node, and operations on all segments at once.

A level of a tree is an array of cases in which the cases of a node are contiguous.
Every function here runs over the whole array, so its cost does not depend on the number
of nodes.

No sum depends on the order of what is added: `exact_sums` and `exact_means` round each
sum of doubles once, as `math.fsum` does, and `Units` writes weights as whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, floor, fsum, log10

import numpy as np
from numpy.typing import DTypeLike

from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.tables.dataset import Dataset

# Gains that differ by less, relative to the impurity at the node, are equal: which one
# is larger is an accident of rounding.
TIE = 1e-12
FOLDS = 3
FEW_NUMBERS = 1 << 15  # of which two folds leave out next to nothing
LARGEST, SMALLEST = 2.0**900, 2.0**-700  # outside this range, steps may not be exact
MANTISSA = 53  # bits of a double
BLOCK = 1 << 15  # numbers that fit the processor's cache
PART = 1 << 16  # rows: for several nodes with so many, arrays fit the cache
BITS = 53  # of a sum of weights
DIGITS = 15  # of a weight; a sum of n weights loses half as many digits as n has
MOST_DECIMALS = 300  # to which numpy can round


@dataclass(frozen=True, slots=True, eq=False)
class Segments:
    """Consecutive segments of an array, none of them empty."""

    starts: Positions
    lengths: Positions

    @classmethod
    def of(cls, lengths: Positions) -> Segments:
        return cls(np.cumsum(lengths) - lengths, lengths)

    @property
    def size(self) -> int:
        return int(self.starts[-1] + self.lengths[-1]) if len(self.starts) else 0

    @property
    def ends(self) -> Positions:
        """The last position of each segment."""
        return self.starts + self.lengths - 1

    def counting(self, dtype: DTypeLike) -> Array:
        """1, 2, 3, ... in each segment."""
        result: Array = np.arange(1, self.size + 1, dtype=dtype)
        result -= self.spread(self.starts.astype(dtype))
        return result

    def spread(self, each: Array) -> Array:
        """One value for each segment, repeated along the segment."""
        return np.repeat(each, self.lengths)

    def sums(self, values: Array) -> Array:
        """The sum of each segment."""
        result: Array = np.add.reduceat(values, self.starts)
        return result

    def run(self, values: Array, totals: Array) -> Array:
        """Running sums within each segment, written over the values.

        One running sum over the whole array, from which each start subtracts the total
        of the segment before it. It is exact for integers only.
        """
        values[..., self.starts[1:]] -= totals[..., :-1].astype(values.dtype)
        return np.cumsum(values, axis=-1, out=values)

    def pick(self, scores: Floats, tie: Floats) -> tuple[Floats, Positions]:
        """The first of the greatest scores of each segment, and its position.

        A segment without any score has -inf.
        """
        if not len(self.starts):
            return np.zeros(0), np.zeros(0, np.intp)
        limit = np.maximum.reduceat(scores, self.starts) - tie
        near = np.flatnonzero(scores >= self.spread(limit))
        if len(near) > len(self.starts):  # some segments have several
            near = near.take(np.searchsorted(near, self.starts))
        return scores.take(near), near

    def parts(self, size: int) -> list[slice]:
        """Runs of neighbouring segments that have about so many values in all."""
        block = self.ends // size
        starts = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
        return [slice(*each) for each in pairwise([*starts, len(block)])]

    def within(self, some: Positions) -> Positions:
        """The positions within some of the segments, one segment after the other."""
        lengths = self.lengths[some]
        shift = self.starts[some] - (np.cumsum(lengths) - lengths)
        return np.repeat(shift, lengths) + np.arange(lengths.sum())

    def span(self, some: Positions) -> slice | Positions:
        """Where the values of some segments are: a slice if these are neighbours."""
        if len(some) and (np.diff(some) == 1).all():
            return slice(self.starts[some[0]], self.ends[some[-1]] + 1)
        return self.within(some)

    def take(self, values: Array, some: Positions) -> Array:
        """The values of some segments, not copied if these are neighbours."""
        return values[self.span(some)]


def nodes_of(node: Array, count: int) -> tuple[Positions, Segments]:
    """The nodes that have values, and their segments; `node` is the node of each."""
    sizes = np.bincount(node, minlength=count)
    nodes = np.flatnonzero(sizes)
    return nodes, Segments.of(sizes[nodes])


# --- sums of doubles ------------------------------------------------------------------


def exact_means(
    numbers: Floats, segments: Segments, most: Floats | None = None
) -> Floats:
    """The mean of each segment, rounded from the exact mean.

    `most` is the greatest absolute value of each, if that is known.
    """
    partial = PartialSums.of(numbers, segments, most)
    size = segments.lengths.astype(np.float64)
    rough = partial.total() / size
    # What rounding left out. `size` times the mean is subtracted in two parts of few
    # digits, whose products are exact.
    fraction, exponent = np.frexp(rough)
    head = np.ldexp(np.rint(fraction * 2.0**26), exponent - 26)
    rest = partial.total(-size * head, -size * (rough - head))
    result: Floats = rough + rest / size + 0.0
    return result


def exact_sums(
    numbers: Floats, segments: Segments, most: Floats | None = None
) -> Floats:
    """The sum of each segment, rounded once."""
    is_short = len(numbers) and segments.lengths.max() <= FEW_NUMBERS
    return PartialSums.of(numbers, segments, most, FOLDS - is_short).total()


@dataclass(frozen=True, slots=True, eq=False)
class PartialSums:
    """The sum of each segment as a few exact numbers, and a bound of what is left out.

    The leading bits of all numbers of a segment, as many as can be added without
    rounding, are cut off and added, then the next ones. Three times are enough for all
    but odd cases, which `fsum` decides.
    """

    numbers: Floats
    segments: Segments
    sums: Sequence[Floats]
    left_out: Floats  # at most

    @classmethod
    def of(
        cls,
        numbers: Floats,
        segments: Segments,
        most: Floats | None,
        folds: int = FOLDS,
    ) -> PartialSums:
        starts, lengths = segments.starts, segments.lengths
        if most is None:
            most = np.maximum.reduceat(numbers, starts)
            np.maximum(most, -np.minimum.reduceat(numbers, starts), out=most)
        is_odd = (most > LARGEST) | ((most < SMALLEST) & (most > 0))
        _, room = np.frexp(lengths.astype(np.float64))
        _, exponent = np.frexp(most)
        steps = []
        for _ in range(folds):
            # Numbers this large have no bits that a sum of so many would lose.
            steps.append(np.ldexp(1.0, np.minimum(exponent + room + 1, 1000)))
            exponent = exponent + room + 1 - MANTISSA  # of what is left then
        sums = [np.zeros(len(starts)) for _ in steps]
        left_out = np.zeros(len(starts))
        ends = starts + lengths
        for start in range(0, len(numbers), BLOCK):
            end = min(start + BLOCK, len(numbers))
            first, last = np.searchsorted(ends, [start, end - 1], side="right")
            mine = slice(first, last + 1)
            inside = np.maximum(starts[mine], start)
            count = np.minimum(ends[mine], end) - inside
            inside -= start
            rest = numbers[start:end]
            for step, total in zip(steps, sums, strict=True):
                large = np.repeat(step[mine], count)
                leading = rest + large
                leading -= large
                total[mine] += np.add.reduceat(leading, inside)
                rest = rest - leading
                if not rest.any():
                    break
            else:
                np.abs(rest, out=rest)
                left = np.maximum.reduceat(rest, inside)
                np.maximum(left_out[mine], left, out=left_out[mine])
        left_out *= lengths
        return cls(numbers, segments, sums, np.where(is_odd, np.inf, left_out))

    def total(self, *more: Floats) -> Floats:
        """The sums, with a few more numbers added to each, rounded once."""
        total, is_sure = _rounded([*self.sums, *more], self.left_out)
        for place in np.flatnonzero(~is_sure).tolist():
            start = self.segments.starts[place]
            end = start + self.segments.lengths[place]
            extra = [float(each[place]) for each in more]
            total[place] = math.fsum([*self.numbers[start:end].tolist(), *extra])
        return total


def _rounded(terms: Sequence[Floats], left_out: Floats) -> tuple[Floats, Mask]:
    """The sums of the terms, and which of them are surely rounded right."""
    total = terms[0]
    second, third = np.zeros_like(total), np.zeros_like(total)
    lost = left_out.copy()
    with np.errstate(invalid="ignore", over="ignore"):
        for term in terms[1:]:
            total, error = _two_sum(total, term)
            second, error = _two_sum(second, error)
            third, error = _two_sum(third, error)
            lost += np.abs(error)
        # Then each part is what rounding left of its sum with the parts after it.
        for _ in range(2):
            second, third = _two_sum(second, third)
            total, second = _two_sum(total, second)
        # A sum is surely right if it is far from where rounding turns, or if it has
        # two parts alone, which have just been added with one rounding.
        unit = np.spacing(np.abs(total))
        share = np.abs(second) / unit
        doubt = (np.abs(third) + lost) / unit
        far = (np.abs(share - 0.5) > 2 * doubt) & (np.abs(share - 0.25) > 2 * doubt)
        is_sure = np.isfinite(total) & (far | (doubt == 0.0)) & (doubt < 0.1)
    return total + 0.0, is_sure


def _two_sum(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """The rounded sum, and what rounding left out."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


# --- weights --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Weights of rows as whole numbers of a unit, a power of two.

    Sums of whole numbers below 2^53 are exact in doubles. Weights that are whole
    numbers have the unit 1: a row of weight 2 is then two rows to the last bit.
    """

    of_rows: Floats  # whole numbers
    exponent: int  # of the unit
    decimals: int | None  # of sums; None: all of them

    @classmethod
    def of_data(cls, data: Dataset) -> Units | None:
        """The units of a dataset; None if its rows have no weights."""
        return None if data.weights is None else cls.of(data.weights)

    @classmethod
    def of(cls, weights: Array) -> Units:
        """The units of positive weights."""
        is_whole = bool((np.rint(weights) == weights).all())
        units = cls.of_total(fsum(weights), len(weights), is_whole=is_whole)
        parts = np.rint(np.ldexp(weights, -units.exponent))
        return replace(units, of_rows=np.maximum(parts, 1.0))

    @classmethod
    def of_total(cls, total: float, rows: int, *, is_whole: bool) -> Units:
        """The units of positive weights, from their sum alone."""
        none = np.zeros(0)
        if total < 2.0**BITS and is_whole:
            return cls(none, 0, None)
        _, exponent = np.frexp(total)
        exponent = int(exponent) - BITS + 1
        digits = DIGITS - ceil(log10(rows) / 2)
        decimals = digits - 1 - floor(log10(total))
        return cls(none, exponent, decimals if decimals < MOST_DECIMALS else None)

    def real(self, sums: Array) -> Floats:
        """Sums of units as sums of weights, without the digits that rounding left."""
        weights: Floats = np.ldexp(sums.astype(np.float64), self.exponent)
        if self.decimals is None:
            return weights
        rounded = np.round(weights, self.decimals)
        return np.where(rounded > 0, rounded, weights)  # never round a weight to 0
