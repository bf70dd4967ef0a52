"""Arrays that hold one stretch for each node, and what is done to all at once.

A level of a tree is an array of cases in which those of each node stand together. Every
function here runs over the whole array, so its cost does not depend on the nodes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
Positions = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Consecutive parts of an array, none of them empty."""

    starts: Positions
    lengths: Positions

    @classmethod
    def of(cls, lengths: Positions) -> Stretches:
        return cls(np.cumsum(lengths) - lengths, lengths)

    @property
    def size(self) -> int:
        return int(self.starts[-1] + self.lengths[-1]) if len(self.starts) else 0

    @property
    def ends(self) -> Positions:
        """The last position of each stretch."""
        return self.starts + self.lengths - 1

    def spread(self, each: Array) -> Array:
        """One value for each stretch, repeated all along it."""
        return np.repeat(each, self.lengths)

    def sums(self, values: Array) -> Array:
        """The sum of each stretch."""
        result: Array = np.add.reduceat(values, self.starts)
        return result

    def run(self, values: Array, totals: Array) -> Array:
        """Sums from the start of each stretch, written over the values.

        One running sum over all of them, from which each start takes off the stretch
        before it: exact for integers, which is why all that is summed are integers.
        """
        values[self.starts[1:]] -= totals[:-1].astype(values.dtype)
        return np.cumsum(values, out=values)

    def pick(self, scores: Floats, tie: Floats) -> tuple[Floats, Positions]:
        """The first score of each stretch that is its greatest or as good, and where.

        A stretch without any has the score -inf.
        """
        if not len(self.starts):
            return np.zeros(0), np.zeros(0, np.intp)
        limit = np.maximum.reduceat(scores, self.starts) - tie
        near = np.flatnonzero(scores >= self.spread(limit))
        first = near.take(np.searchsorted(near, self.starts))
        return scores.take(first), first

    def within(self, some: Positions) -> Positions:
        """The positions in some of the stretches, one stretch after the other."""
        lengths = self.lengths[some]
        shift = self.starts[some] - (np.cumsum(lengths) - lengths)
        return np.repeat(shift, lengths) + np.arange(lengths.sum())
