"""Where the numbers of a column are cut into bins, from a sample of them.

Quantiles cut the range into segments, and each segment is cut evenly: so a bin of a
number is found by a few comparisons and one multiplication. Any bins are right, since
what happens within them is found out where it matters; good ones only save work. Both
steps rise with the number under every rounding, so the bins are in its order.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from treecompile.in_database.spelling import Spelling
from treecompile.learners.stretches import Floats

SEGMENTS, PARTS = 16, 15
BINS = SEGMENTS * PARTS  # codes that fit a byte, with one left for missing values


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Segments: above `low` of each, up to that of the next, in even parts."""

    low: Floats
    scale: Floats  # parts by number

    @classmethod
    def of(cls, sample: Floats) -> Bins:
        finite = sample[np.isfinite(sample)]
        if not len(finite):
            finite = np.zeros(1)
        edges = np.quantile(finite, np.linspace(0, 1, SEGMENTS + 1), method="nearest")
        edges = np.unique(edges)
        if len(edges) == 1:
            return cls(edges, np.zeros(1))
        with np.errstate(over="ignore", divide="ignore"):
            scale = PARTS / np.diff(edges)
        scale[~np.isfinite(scale)] = 0.0  # neighbours, or as far apart as can be
        return cls(edges[:-1], scale)

    def sql(self, value: str, spelling: Spelling) -> str:
        """The bin of a known number as a SQL expression."""
        arms, text = [], spelling.double
        low, scale = (self.low + 0.0).tolist(), self.scale.tolist()
        # Far outside of the sample a product may be more than a number can be, which
        # is an error in some databases.
        ends = [f"WHEN {value} <= {text(low[0])} THEN 0"]
        if scale[-1] and isfinite(top := low[-1] + PARTS / scale[-1]):
            ends.append(f"WHEN {value} >= {text(top)} THEN {len(low) * PARTS - 1}")
        for segment, (start, by) in enumerate(zip(low, scale, strict=True)):
            part = "0"
            if by:
                even = f"({value} - {text(start)}) * {text(by)}"
                part = spelling.within("0e0", f"{PARTS - 1}e0", even)
            arms.append(f"{segment * PARTS} + {part}")
        uppers = map(text, low[1:])
        whens = (
            f"WHEN {value} <= {upper} THEN {arm}"
            for upper, arm in zip(uppers, arms, strict=False)
        )
        return f"CASE {' '.join((*ends, *whens))} ELSE {arms[-1]} END"
