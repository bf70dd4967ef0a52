"""Numbers all doubles in their order, and searches one at which something changes."""

from __future__ import annotations

from collections.abc import Callable
from sys import float_info

import numpy as np
from numpy.typing import NDArray

from treecompile.model.arrays import Floats, Mask, Positions

Ordinals = NDArray[np.int64]
LARGEST = float_info.max
AROUND = 40  # doubles on each side of an edge that are tried
MOST_POINTS = 63  # between two doubles that are asked at once
ROWS = 20_000  # rows to transform in one call


def neighbours(values: Floats) -> Floats:
    """Return the doubles around each value, in their order, each once."""
    steps = np.arange(-AROUND, AROUND + 1)
    near = np.unique(ordinals(values)[:, None] + steps)
    return doubles(near[np.abs(near) <= ordinals(np.array([LARGEST]))])


def spread() -> list[float]:
    """Return numbers of all sizes."""
    sizes = [m * 10.0**e for e in range(-6, 10) for m in (1.0, 2.5, 7.0)]
    return [0.0, *sizes, *(-size for size in sizes)]


# Doubles by their place in the order of all doubles: 0 is at 0.


def ordinals(values: Floats) -> Ordinals:
    bits = np.asarray(values, dtype=np.float64).view(np.int64)
    found: Ordinals = np.where(bits >= 0, bits, -(bits & 0x7FFF_FFFF_FFFF_FFFF))
    return found


def doubles(ordinals: Ordinals) -> Floats:
    sizes = np.abs(ordinals).view(np.float64)
    found: Floats = np.where(ordinals < 0, -sizes, sizes)
    return found


def narrow(
    low: Floats,
    high: Floats,
    is_as_low: Callable[[Positions, Floats], Mask],
    most: int = MOST_POINTS,
) -> tuple[Floats, Floats]:
    """Move each `low` and `high` together, until they are neighbours.

    `is_as_low` tells which doubles are on the side of their `low`. Many are asked at
    once, at most `most` of each: the cost of a question is mostly that of a call.
    """
    lows, highs = ordinals(low), ordinals(high)
    places = np.arange(len(lows))
    while len(places := places[_distance(lows, highs)[places] > 1]):
        points = min(most, max(1, ROWS // len(places)))
        tried = _between(lows[places], highs[places], points)
        asked = np.repeat(places, points)
        same = is_as_low(asked, doubles(tried.ravel())).reshape(-1, points)
        turn = np.where(same.all(axis=1), points, np.argmin(same, axis=1))
        above, below = np.flatnonzero(turn > 0), np.flatnonzero(turn < points)
        lows[places[above]] = tried[above, turn[above] - 1]
        highs[places[below]] = tried[below, turn[below]]
    return doubles(lows), doubles(highs)


def _distance(low: Ordinals, high: Ordinals) -> NDArray[np.uint64]:
    """Return distances, unsigned: the line of doubles exceeds the largest integer."""
    return high.view(np.uint64) - low.view(np.uint64)


def _between(low: Ordinals, high: Ordinals, points: int) -> Ordinals:
    """Return points at equal distances between each `low` and `high`."""
    steps = np.arange(1, points + 1, dtype=np.uint64)
    parts = np.uint64(points + 1)
    whole, rest = np.divmod(_distance(low, high)[:, None], parts)
    found = low.view(np.uint64)[:, None] + whole * steps + rest * steps // parts
    return found.view(np.int64)
