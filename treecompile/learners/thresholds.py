"""Where between two values a threshold is put."""

from __future__ import annotations

import sys
from math import isfinite

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGEST = sys.float_info.max


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


def readable(threshold: float, low: float, high: float) -> float:
    """The threshold to 15 digits, if it still divides the same two values.

    The midpoint of 43.1 and 43.2 is 43.150000000000006 in doubles; people expect 43.15.
    """
    rounded = float(f"{threshold:.15g}")
    return rounded if isfinite(rounded) and low <= rounded < high else threshold
