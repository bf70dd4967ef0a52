"""The chi-square distribution: how likely chance alone makes branches differ so much.

The upper tail is a regularised incomplete gamma function: a series below the mean, a
continued fraction above it.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, inf, lgamma, log

import numpy as np

from treecompile.learners.stretches import Floats, Positions

PRECISION = 1e-15
TINY = 1e-300  # stands for 0 where something is divided by it


def upper_tail(statistic: float, freedom: int) -> float:
    """The probability of a statistic at least as large, by degrees of freedom."""
    a, x = freedom / 2, statistic / 2
    if x <= 0:
        return 1.0
    scale = exp(a * log(x) - x - lgamma(a))
    if x < a + 1:
        return max(0.0, 1.0 - scale * _series(a, x))
    return scale * _fraction(a, x)


def _series(a: float, x: float) -> float:
    """Sum of x^n / (a (a + 1) ... (a + n))."""
    term = total = 1 / a
    while term > total * PRECISION:
        a += 1
        term *= x / a
        total += term
    return total


def _fraction(a: float, x: float) -> float:
    """The continued fraction of Legendre, evaluated by Lentz's method."""
    b = x + 1 - a
    c, d = 1 / TINY, 1 / b
    value, step, n = d, inf, 0
    while abs(step - 1) > PRECISION:
        n += 1
        numerator = -n * (n - a)
        b += 2
        d = 1 / (numerator * d + b or TINY)
        c = b + numerator / c or TINY
        step = c * d
        value *= step
    return value


@lru_cache(maxsize=4096)
def critical_value(probability: float, freedom: int) -> float:
    """The least statistic that chance exceeds with no more than this probability."""
    low, high = 0.0, float(freedom)
    while upper_tail(high, freedom) > probability:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        if upper_tail(middle, freedom) > probability:
            low = middle
        else:
            high = middle
    return high


def critical_values(probability: float, freedom: Positions) -> Floats:
    """Those of many splits; none is significant that has no freedom."""
    distinct, places = np.unique(freedom, return_inverse=True)
    values = [critical_value(probability, n) if n else inf for n in distinct.tolist()]
    return np.array(values)[places]
