"""Weights of rows as whole numbers of a unit, a power of two.

Sums of whole numbers below 2^53 are exact in doubles, so no order of the rows changes a
digit of a split. Weights that are whole numbers themselves have the unit 1, and then a
row of weight 2 is two rows to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, floor, fsum, log10

import numpy as np

from treecompile.data import Dataset
from treecompile.learners.stretches import Array, Floats

BITS = 53  # of a sum of weights
DIGITS = 15  # of a weight; a sum of n weights has lost half as many as n has
MOST_DECIMALS = 300  # to which numpy can round


@dataclass(frozen=True, slots=True, eq=False)
class Units:
    of_rows: Floats  # whole numbers
    exponent: int  # of the unit
    decimals: int | None  # of sums; None: all of them

    @classmethod
    def of_data(cls, data: Dataset) -> Units | None:
        """The units of a dataset whose rows have weights."""
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
        """The units of positive weights of which the sum is known, without the rows."""
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
        return np.where(rounded > 0, rounded, weights)  # what is there is not nothing
