"""Turns thresholds of other libraries into doubles that decide the same.

Several libraries round every number to a 32-bit float before they compare it. A test of
the rounded number becomes a test of the number itself: its threshold is the greatest
double that passes.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, nextafter
from typing import Any

import numpy as np

SINGLE = np.float32
INFINITE_SINGLE = 2.0**128 - 2.0**103  # the least double that rounds to infinity


def double_threshold(limit: float) -> float:
    """Return the greatest double x with float32(x) <= limit."""
    assert not isnan(limit)
    with np.errstate(over="ignore"):
        low = np.float32(limit)
        if float(low) > limit:
            low = np.nextafter(low, np.float32(-inf))
        if low == -inf:
            return -INFINITE_SINGLE
        high = np.nextafter(low, np.float32(inf))
        top = 2.0**128 if np.isinf(high) else float(high)
        middle = (float(low) + top) / 2  # exact, since doubles have more bits
        goes_down = top < 2.0**128 and np.float32(middle) == low
    return (middle if goes_down else nextafter(middle, -inf)) + 0.0


def double_below(limit: float) -> float:
    """Return the greatest double x with float32(x) < limit, a finite 32-bit float."""
    return double_threshold(float(np.nextafter(SINGLE(limit), SINGLE(-inf))))


def last_double(passes: Callable[[float], bool], low: float, high: float) -> float:
    """Return the greatest double from `low` that passes, where those above it all fail.

    `low` passes and `high` fails. Both are at least 0.
    """
    return _last(passes, low, high, np.float64, np.int64)


def last_single(passes: Callable[[float], bool], low: float, high: float) -> float:
    """Return what `last_double` returns, among the 32-bit floats."""
    return _last(passes, low, high, SINGLE, np.int32)


def _last(
    passes: Callable[[float], bool],
    low: float,
    high: float,
    kind: type[np.floating[Any]],
    bits: type[np.signedinteger[Any]],  # integers of as many bits
) -> float:
    first, last = (int(kind(each).view(bits)) for each in (low, high))
    while last - first > 1:
        middle = (first + last) // 2
        if passes(float(bits(middle).view(kind))):
            first = middle
        else:
            last = middle
    return float(bits(first).view(kind))
