"""Segments: arrays with a contiguous part for each node, and operations on all parts.

A level of a tree is an array of cases with a segment for each node. Every function runs
over the whole array at once, so its cost does not depend on the number of nodes.

No sum depends on the order of its terms: `exact_sums` and `exact_means` round each sum
of doubles once, as `math.fsum` does, and `Units` writes weights as whole numbers.
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

# Gains that differ by less, relative to the impurity at the node, count as equal: which
# of them is larger is an accident of rounding.
TIE = 1e-12
FOLDS = 3  # how many times leading bits are cut off; see `PartialSums`
FEW_NUMBERS = 1 << 15  # in a segment; of so few, two folds leave out next to nothing
LARGEST, SMALLEST = 2.0**900, 2.0**-700  # outside this range, steps may not be exact
MANTISSA = 53  # bits of a double
BLOCK = 1 << 15  # numbers that fit the processor's cache
PART = 1 << 16  # rows of several nodes whose arrays fit the cache
BITS = 53  # that a sum of weights may have
DIGITS = 15  # of a weight; a sum of n weights loses half as many digits as n has
MOST_DECIMALS = 300  # numpy cannot round to more


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
        """Return 1, 2, 3, ... in each segment."""
        result: Array = np.arange(1, self.size + 1, dtype=dtype)
        result -= self.spread(self.starts.astype(dtype))
        return result

    def spread(self, each: Array) -> Array:
        """Repeat the value of each segment along the segment."""
        return np.repeat(each, self.lengths)

    def sums(self, values: Array) -> Array:
        """Return the sum of each segment."""
        result: Array = np.add.reduceat(values, self.starts)
        return result

    def run(self, values: Array, totals: Array) -> Array:
        """Return running sums within each segment, written over the values.

        It is one running sum over the whole array, in which each segment's start first
        subtracts the total of the segment before. This is exact for integers only.
        """
        values[..., self.starts[1:]] -= totals[..., :-1].astype(values.dtype)
        return np.cumsum(values, axis=-1, out=values)

    def pick(self, scores: Floats, tie: Floats) -> tuple[Floats, Positions]:
        """Return the greatest score of each segment and its position; first at a tie.

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
        """Return runs of neighbouring segments of about `size` values in all."""
        block = self.ends // size
        starts = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
        return [slice(*each) for each in pairwise([*starts, len(block)])]

    def within(self, some: Positions) -> Positions:
        """Return all positions in some segments, one segment after the other."""
        lengths = self.lengths[some]
        shift = self.starts[some] - (np.cumsum(lengths) - lengths)
        return np.repeat(shift, lengths) + np.arange(lengths.sum())

    def span(self, some: Positions) -> slice | Positions:
        """Return an index of the values of some segments: a slice for neighbours."""
        if len(some) and (np.diff(some) == 1).all():
            return slice(self.starts[some[0]], self.ends[some[-1]] + 1)
        return self.within(some)

    def take(self, values: Array, some: Positions) -> Array:
        """Return the values of some segments, without a copy if they are neighbours."""
        return values[self.span(some)]


def nodes_of(node: Array, count: int) -> tuple[Positions, Segments]:
    """Return the nodes that have values, and their segments, from each value's node."""
    sizes = np.bincount(node, minlength=count)
    nodes = np.flatnonzero(sizes)
    return nodes, Segments.of(sizes[nodes])


# --- sums of doubles ------------------------------------------------------------------


def exact_means(
    numbers: Floats, segments: Segments, most: Floats | None = None
) -> Floats:
    """Return the mean of each segment, rounded from the exact mean.

    `most` is the greatest absolute value of each segment, if that is known.
    """
    partial = PartialSums.of(numbers, segments, most)
    size = segments.lengths.astype(np.float64)
    rough = partial.total() / size
    # `rest` is what rounding left out. `size` times the mean is subtracted in two parts
    # of so few digits that their products are exact.
    fraction, exponent = np.frexp(rough)
    head = np.ldexp(np.rint(fraction * 2.0**26), exponent - 26)
    rest = partial.total(-size * head, -size * (rough - head))
    result: Floats = rough + rest / size + 0.0
    return result


def exact_sums(
    numbers: Floats, segments: Segments, most: Floats | None = None
) -> Floats:
    """Return the sum of each segment, rounded once; `most` as in `exact_means`."""
    is_short = len(numbers) and segments.lengths.max() <= FEW_NUMBERS
    return PartialSums.of(numbers, segments, most, FOLDS - is_short).total()


@dataclass(frozen=True, slots=True, eq=False)
class PartialSums:
    """The sum of each segment as a few exact numbers, and a bound of what is left out.

    The leading bits of all numbers of a segment, as many as can be added without
    rounding, are cut off and added up; then the next bits, and so on. Three such folds
    are enough except in rare cases, for which `fsum` is called.
    """

    numbers: Floats
    segments: Segments
    sums: Sequence[Floats]  # for each fold: the exact sum of the bits cut off
    left_out: Floats  # an upper bound of what the sums leave out

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
            # Adding a step and subtracting it leaves bits that can be summed exactly.
            steps.append(np.ldexp(1.0, np.minimum(exponent + room + 1, 1000)))
            exponent = exponent + room + 1 - MANTISSA  # of the rest
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
        """Return the sums, each with a few more numbers added, rounded once."""
        total, is_sure = _rounded([*self.sums, *more], self.left_out)
        for place in np.flatnonzero(~is_sure).tolist():
            start = self.segments.starts[place]
            end = start + self.segments.lengths[place]
            extra = [float(each[place]) for each in more]
            total[place] = math.fsum([*self.numbers[start:end].tolist(), *extra])
        return total


def _rounded(terms: Sequence[Floats], left_out: Floats) -> tuple[Floats, Mask]:
    """Return the sums of the terms, and which of them are surely rounded right."""
    total = terms[0]
    second, third = np.zeros_like(total), np.zeros_like(total)
    lost = left_out.copy()
    with np.errstate(invalid="ignore", over="ignore"):
        for term in terms[1:]:
            total, error = _two_sum(total, term)
            second, error = _two_sum(second, error)
            third, error = _two_sum(third, error)
            lost += np.abs(error)
        # Renormalise, so that each part is what rounding left out of those before it.
        for _ in range(2):
            second, third = _two_sum(second, third)
            total, second = _two_sum(total, second)
        # A sum is surely right if it is far from where rounding changes direction, or
        # if it has only two parts, which have just been added with one rounding.
        unit = np.spacing(np.abs(total))
        share = np.abs(second) / unit
        doubt = (np.abs(third) + lost) / unit
        far = (np.abs(share - 0.5) > 2 * doubt) & (np.abs(share - 0.25) > 2 * doubt)
        is_sure = np.isfinite(total) & (far | (doubt == 0.0)) & (doubt < 0.1)
    return total + 0.0, is_sure


def _two_sum(one: Floats, other: Floats) -> tuple[Floats, Floats]:
    """Return the rounded sum, and what rounding left out."""
    total = one + other
    back = total - one
    return total, (one - (total - back)) + (other - back)


# --- weights --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    """Weights of rows as whole multiples of a unit, which is a power of two.

    Sums of whole numbers below 2^53 are exact in doubles. If all weights are whole
    numbers, the unit is 1: a row of weight 2 then counts exactly as two rows.
    """

    of_rows: Floats  # the weight of each row, a whole number of units
    exponent: int  # the unit is 2^exponent
    decimals: int | None  # to which sums are rounded; None: they are not

    @classmethod
    def of_data(cls, data: Dataset) -> Units | None:
        """Return the units of a dataset, or None if its rows have no weights."""
        return None if data.weights is None else cls.of(data.weights)

    @classmethod
    def of(cls, weights: Array) -> Units:
        """Choose the unit of positive weights, and write them in it."""
        is_whole = bool((np.rint(weights) == weights).all())
        units = cls.of_total(fsum(weights), len(weights), is_whole=is_whole)
        parts = np.rint(np.ldexp(weights, -units.exponent))
        return replace(units, of_rows=np.maximum(parts, 1.0))

    @classmethod
    def of_total(cls, total: float, rows: int, *, is_whole: bool) -> Units:
        """Choose the unit from the sum of the weights alone; `of_rows` stays empty."""
        none = np.zeros(0)
        if total < 2.0**BITS and is_whole:
            return cls(none, 0, None)
        _, exponent = np.frexp(total)
        exponent = int(exponent) - BITS + 1
        digits = DIGITS - ceil(log10(rows) / 2)
        decimals = digits - 1 - floor(log10(total))
        return cls(none, exponent, decimals if decimals < MOST_DECIMALS else None)

    def real(self, sums: Array) -> Floats:
        """Convert sums of units to weights, without digits that are due to rounding."""
        weights: Floats = np.ldexp(sums.astype(np.float64), self.exponent)
        if self.decimals is None:
            return weights
        rounded = np.round(weights, self.decimals)
        return np.where(rounded > 0, rounded, weights)  # never round a weight to 0
