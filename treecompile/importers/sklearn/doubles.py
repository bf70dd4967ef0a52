"""All doubles in their order, and the search for the one at which something changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from sys import float_info

import numpy as np

from treecompile.model.arrays import Mask, Positions

LARGEST = float_info.max
AROUND = 40  # doubles on each side of an edge that are tried
MOST_POINTS = 63  # between two doubles that are asked at once
ROWS = 20_000  # to ask in one call


def neighbours(value: float) -> list[float]:
    """The doubles around one."""
    middle = ordinal(value)
    return [
        double(middle + step)
        for step in range(-AROUND, AROUND + 1)
        if abs(middle + step) <= ordinal(LARGEST)
    ]


def spread() -> list[float]:
    """Numbers of all sizes."""
    sizes = [m * 10.0**e for e in range(-6, 10) for m in (1.0, 2.5, 7.0)]
    return [0.0, *sizes, *(-size for size in sizes)]


# Doubles by their place in the order of all doubles: 0 is at 0.


def ordinal(value: float) -> int:
    (bits,) = AS_INTEGER.unpack(AS_DOUBLE.pack(value))
    return int(bits) if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def double(ordinal: int) -> float:
    (size,) = AS_DOUBLE.unpack(AS_INTEGER.pack(abs(ordinal)))
    return -size if ordinal < 0 else float(size)


# A forest has many thresholds: these are faster than the scalars of numpy.
AS_DOUBLE, AS_INTEGER = Struct("<d"), Struct("<q")


def narrow(
    low: list[int],
    high: list[int],
    places: Sequence[int],
    is_as_low: Callable[[Positions, list[int]], Mask],
) -> None:
    """Move `low` and `high` together, until they are neighbours.

    `is_as_low` tells which doubles are on the side of their `low`. Many are asked at
    once: the cost of a question is mostly that of a call.
    """
    while places := [place for place in places if high[place] - low[place] > 1]:
        points = min(MOST_POINTS, max(1, ROWS // len(places)))
        tried = [
            [
                low[place] + (high[place] - low[place]) * step // (points + 1)
                for step in range(1, points + 1)
            ]
            for place in places
        ]
        asked = np.repeat(np.array(places, dtype=np.intp), points)
        same = is_as_low(asked, [each for own in tried for each in own])
        for place, own, sides in zip(
            places, tried, same.reshape(-1, points).tolist(), strict=True
        ):
            turn = sides.index(False) if False in sides else points
            if turn:
                low[place] = own[turn - 1]
            if turn < points:
                high[place] = own[turn]
