"""Where between two values a threshold is put."""

from __future__ import annotations

import sys

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGEST = sys.float_info.max
DIGITS = 15
MOST_TENS = 22  # the greatest power of ten that is exact in a double
TENS = np.array([float(10**power) for power in range(MOST_TENS + 1)])


def midpoints(low: Floats, high: Floats) -> Floats:
    """Finite thresholds with low <= threshold < high; NaN where there is none."""
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low + (high - low) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
        middle = np.where(np.isnan(middle), 0.0, middle)  # between the infinities
    middle = np.clip(middle, -LARGEST, LARGEST)
    middle = np.where(middle < high, middle, low)  # neighbouring doubles
    result: Floats = np.where((low <= middle) & np.isfinite(middle), middle, np.nan)
    return result + 0.0  # never -0.0


def readable(thresholds: Floats, low: Floats, high: Floats) -> Floats:
    """Thresholds to 15 digits, where they still divide the same two values.

    The midpoint of 43.1 and 43.2 is 43.150000000000006 in doubles; people expect 43.15.
    """
    rounded = _rounded(thresholds)
    divides = np.isfinite(rounded) & (low <= rounded) & (rounded < high)
    return np.where(divides, rounded, thresholds)


def _rounded(numbers: Floats) -> Floats:
    """The doubles nearest to the numbers written with 15 digits."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        decimals = DIGITS - 1 - np.floor(np.log10(np.abs(numbers)))
        power = TENS.take(
            np.clip(np.nan_to_num(decimals), 0, MOST_TENS).astype(np.intp)
        )
        scaled = numbers * power
        whole = np.rint(scaled)
        # Two whole numbers that are exact, and one division, round as reading does. Not
        # so where a power is not exact, where the logarithm may be one off, or where
        # the product is so near to a half that its own rounding may turn it.
        size = np.abs(whole)
        is_sure = (decimals >= 0) & (decimals <= MOST_TENS)
        is_sure &= (size > 10.0 ** (DIGITS - 1)) & (size < 10.0**DIGITS)
        is_sure &= np.abs(np.abs(scaled - whole) - 0.5) > 0.2
        result: Floats = whole / power
    for place in np.flatnonzero(~is_sure).tolist():
        result[place] = float(f"{numbers[place]:.{DIGITS}g}")
    return result
