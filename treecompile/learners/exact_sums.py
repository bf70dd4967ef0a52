"""Sums of many stretches of numbers at once, each rounded once, as `math.fsum` does.

So no order of the numbers changes a digit. The leading bits of all numbers of a
stretch, as many as can be summed up without rounding, are taken off and summed, then
the next ones; three times are enough for all but odd cases, which `fsum` decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learners.stretches import Floats, Mask, Stretches

FOLDS = 3
LARGEST, SMALLEST = 2.0**900, 2.0**-700  # beyond these, the steps might not be exact


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The sum of each stretch as a few numbers that are exact, and what is left out."""

    numbers: Floats
    stretches: Stretches
    sums: Sequence[Floats]
    left_out: Floats  # at most so much

    @classmethod
    def of(cls, numbers: Floats, stretches: Stretches) -> Parts:
        starts, lengths = stretches.starts, stretches.lengths
        rest = numbers
        most = np.maximum.reduceat(np.abs(rest), starts)
        is_odd = (most > LARGEST) | ((most < SMALLEST) & (most > 0))
        _, room = np.frexp(lengths.astype(np.float64))
        sums = []
        for _ in range(FOLDS):
            _, exponent = np.frexp(most)
            # Numbers this large have no bits that a sum of so many would lose.
            large = np.ldexp(1.0, np.minimum(exponent + room + 1, 1000))
            steps = stretches.spread(large)
            leading = (rest + steps) - steps
            sums.append(np.add.reduceat(leading, starts))
            rest = rest - leading
            most = np.maximum.reduceat(np.abs(rest), starts)
            if not most.any():
                break
        left_out = np.where(is_odd, np.inf, most * lengths)
        return cls(numbers, stretches, sums, left_out)

    def total(self, *more: Floats) -> Floats:
        """The sums, with a few numbers more added to each, rounded once."""
        total, is_sure = _rounded([*self.sums, *more], self.left_out)
        for place in np.flatnonzero(~is_sure).tolist():
            start = self.stretches.starts[place]
            end = start + self.stretches.lengths[place]
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
        # So that each part is what rounding left of the sum with those behind it.
        for _ in range(2):
            second, third = _two_sum(second, third)
            total, second = _two_sum(total, second)
        # Surely right is a sum that is far from where rounding turns, or of two parts
        # alone, which have just been added with one rounding.
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


def means(numbers: Floats, stretches: Stretches) -> Floats:
    """The means, to the last digit: whatever the order of the numbers."""
    parts = Parts.of(numbers, stretches)
    size = stretches.lengths.astype(np.float64)
    rough = parts.total() / size
    # What rounding left out. `size` times the mean is taken off in two parts of few
    # digits, whose products are exact.
    fraction, exponent = np.frexp(rough)
    head = np.ldexp(np.rint(fraction * 2.0**26), exponent - 26)
    rest = parts.total(-size * head, -size * (rough - head))
    result: Floats = rough + rest / size + 0.0
    return result


def sums(numbers: Floats, stretches: Stretches) -> Floats:
    """The sums, each rounded once."""
    return Parts.of(numbers, stretches).total()
