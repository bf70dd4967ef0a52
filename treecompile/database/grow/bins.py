"""Defines where the numbers of a feature are cut into bins, and holds what is counted.

A feature with many numbers is counted by bins: `BinEdges` says where they begin. A
feature with few values, or with categories, has a bin for each value. `BinHistogram`
holds the counts of a feature's bins at all open nodes. The code of a bin is its number
within the feature as rows are stored; bins that are cut more finely keep it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple

import numpy as np

from treecompile.database.grow.query_writer import QueryWriter
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions

SEGMENTS, PARTS = 16, 15
BINS = SEGMENTS * PARTS  # codes that fit a byte, with one left for missing values


@dataclass(frozen=True, slots=True, eq=False)
class BinEdges:
    """Where the numbers of a column are cut into bins.

    Quantiles of a sample cut the range into segments, and each segment is cut evenly.
    So the bin of a number is found by a few comparisons and one multiplication. Both
    steps are monotonic under every rounding, so bins are in the order of their numbers.
    Any edges give correct trees, because a bin that matters is cut more finely; good
    edges only save work.
    """

    low: Floats  # the number at which each segment starts
    scale: Floats  # bins per unit within the segment

    @classmethod
    def of(cls, sample: Floats) -> BinEdges:
        finite = sample[np.isfinite(sample)]
        if not len(finite):
            finite = np.zeros(1)
        edges = np.quantile(finite, np.linspace(0, 1, SEGMENTS + 1), method="nearest")
        edges = np.unique(edges)
        if len(edges) == 1:
            return cls(edges, np.zeros(1))
        with np.errstate(over="ignore", divide="ignore"):
            scale = PARTS / np.diff(edges)
        scale[~np.isfinite(scale)] = 0.0  # neighbouring doubles, or too far apart
        return cls(edges[:-1], scale)

    def sql(self, value: str, writer: QueryWriter) -> str:
        """Return the bin of a known number as a SQL expression."""
        arms, text = [], writer.double
        low, scale = (self.low + 0.0).tolist(), self.scale.tolist()
        # Far outside the sample the product may overflow, which is an error in some
        # databases.
        ends = [f"WHEN {value} <= {text(low[0])} THEN 0"]
        if scale[-1] and isfinite(top := low[-1] + PARTS / scale[-1]):
            ends.append(f"WHEN {value} >= {text(top)} THEN {len(low) * PARTS - 1}")
        for segment, (start, by) in enumerate(zip(low, scale, strict=True)):
            part = "0"
            if by:
                even = f"({value} - {text(start)}) * {text(by)}"
                part = writer.within("0e0", f"{PARTS - 1}e0", even)
            arms.append(f"{segment * PARTS} + {part}")
        uppers = map(text, low[1:])
        whens = (
            f"WHEN {value} <= {upper} THEN {arm}"
            for upper, arm in zip(uppers, arms, strict=False)
        )
        return f"CASE {' '.join((*ends, *whens))} ELSE {arms[-1]} END"


class BinRanges(NamedTuple):
    """Ranges of numbers to be counted at open nodes; each covers neighbouring bins."""

    node: Positions
    code: Positions
    low: Floats
    high: Floats
    bins: Positions  # how many bins each range covers


@dataclass(frozen=True, slots=True, eq=False)
class SumsBefore:
    """For each bin, the sums of all bins before it at the same node."""

    sums: Array
    segment: Positions  # of each bin: the place of its node among those with bins
    totals: Array  # the sums of each segment


@dataclass(frozen=True, slots=True, eq=False)
class BinHistogram:
    """The bins of one feature at the open nodes, ordered by node and then by code.

    A bin is a range of numbers, or a single value or category.
    """

    node: Positions
    code: Positions
    sums: Array  # bins x sums of the target, whole numbers: see `TableTarget`
    spread: Array  # bins x figures from which the gain of a cut inside is bounded
    low: Floats  # the least and the greatest number in the bin
    high: Floats
    most: Floats  # the most that a cut of interest inside the bin can gain
    age: Positions  # how often bins were cut to get this one

    def segments(self) -> Segments:
        """Return the runs of bins that belong to one node."""
        starts = np.flatnonzero(np.diff(self.node, prepend=-1))
        return Segments(starts, np.diff(starts, append=len(self.node)))

    def some(self, which: Array | slice) -> BinHistogram:
        return BinHistogram(*(getattr(self, name)[which] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: Sequence[BinHistogram]) -> BinHistogram:
        """Concatenate the bins of several histograms."""
        return cls(
            *(
                np.concatenate([getattr(each, name) for each in parts])
                for name in cls.__slots__
            )
        )

    def halves(self, nodes: Positions, cuts: Positions) -> BinHistogram:
        """Return two bins for each node: all bins up to its cut, and all bins after it.

        `cuts` has, for each node, the position of the bin before its cut. The two bins
        have the codes of the bins beside the cut, and no cut inside them is of
        interest.
        """
        segments = self.segments()
        mine = np.searchsorted(self.node[segments.starts], nodes)
        starts = np.stack([segments.starts[mine], cuts + 1], axis=1).ravel()
        ends = np.stack([cuts, segments.ends[mine]], axis=1).ravel()
        beside = np.stack([cuts, cuts + 1], axis=1).ravel()
        upto = np.cumsum(self.sums, axis=0)
        return BinHistogram(
            self.node[starts],
            self.code[beside],
            upto[ends] - upto[starts] + self.sums[starts],
            self.spread[starts],
            self.low[starts],
            self.high[ends],
            np.full(len(starts), -np.inf),
            self.age[starts],
        )

    def before(self) -> SumsBefore:
        segments = self.segments()
        segment: Positions = segments.spread(np.arange(len(segments.starts)))
        sums = np.cumsum(self.sums, axis=0) - self.sums
        sums -= sums[segments.starts][segment]
        return SumsBefore(sums, segment, np.add.reduceat(self.sums, segments.starts))

    def ranges(self, which: Mask) -> BinRanges:
        """Return some bins as ranges; neighbours with the same code become one."""
        some = np.flatnonzero(which)
        is_new = np.ones(len(some), np.bool_)
        is_new[1:] = np.diff(some) > 1
        for key in (self.node, self.code):
            is_new[1:] |= np.diff(key[some]) != 0
        starts = np.flatnonzero(is_new)
        bins = np.diff(starts, append=len(some))
        first, last = some[starts], some[starts + bins - 1]
        return BinRanges(
            self.node[first], self.code[first], self.low[first], self.high[last], bins
        )

    def opened(self, which: Mask, inner: BinHistogram) -> BinHistogram:
        """Replace some bins by the finer bins inside them."""
        age = int(self.age[which].max()) + 1
        inner = replace(inner, age=np.full(len(inner.node), age))
        both = BinHistogram.joined([self.some(~which), inner])
        return both.some(np.lexsort((both.low, both.node)))
