"""How the cases of a level pass to the next one, and how a sorted column follows them.

A case is known by its position in its level. The next level has the first branches of
all nodes first, then all second ones, and so on; within a branch the cases keep their
order. A case may be gone there, or be there several times.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecompile.learners.stretches import Array, Positions

Order = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """Where the cases of a level have gone."""

    first: Order  # of each case: its new position, or the place of its first in `all`
    times: Order | None  # how often it is there; None: at most once
    all: Order  # the new positions of the cases that may be there several times
    bounds: Positions  # where the cases of the first branches end, of the second, ...

    @classmethod
    def of(cls, origin: Positions, size: int, bounds: Positions) -> Passage:
        """From the old position of each new case, out of so many old ones."""
        times = np.bincount(origin, minlength=size)
        places = np.arange(len(origin), dtype=np.int32)
        if len(times) == 0 or times.max() <= 1:
            first = np.full(size, len(origin), np.int32)  # behind all: gone
            first[origin] = places
            return cls(first, None, places[:0], bounds)
        ordered = np.argsort(origin, kind="stable").astype(np.int32)
        starts = (np.cumsum(times) - times).astype(np.int32)
        return cls(starts, times.astype(np.int32), ordered, bounds)

    def follow(self, order: Order) -> Order:
        """Positions in any order, node by node, as positions in the next level."""
        moved = self.first.take(order)
        if self.times is not None:
            times = self.times.take(order)
            ends = np.cumsum(times, dtype=np.intp)
            within = np.arange(ends[-1] if len(ends) else 0)
            within += np.repeat(moved - (ends - times), times)
            moved = self.all.take(within)
        return self._arranged(moved)

    def _arranged(self, moved: Order) -> Order:
        """The first branches first; within a branch, the order stays."""
        one, two, *more = self.bounds.tolist()
        first = moved < one
        parts = [moved.take(np.flatnonzero(first))]
        rest = ~first
        rest &= moved < two
        parts.append(moved.take(np.flatnonzero(rest)))
        if more and more[-1] > two:
            left = moved.take(np.flatnonzero((moved >= two) & (moved < more[-1])))
            branch = np.searchsorted(self.bounds, left, side="right")
            # Of so short integers, numpy's stable sort takes linear time.
            parts.append(left.take(np.argsort(branch.astype(np.int16), kind="stable")))
        result: Array = np.concatenate(parts)
        return result
