"""Bins of numbers in a database: where they are cut, and what queries count in them.

A feature with many numbers is counted by bins. A feature with few values, or with
categories, has a bin for each value.
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
    steps are monotonic under every rounding, so the bins are in the order of the
    numbers. Any bins are correct, since bins that matter are looked into; good ones
    only save work.
    """

    low: Floats  # where each segment starts
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
        """The bin of a known number as a SQL expression."""
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
    """Ranges of numbers at open nodes; each covers neighbouring bins."""

    node: Positions
    code: Positions
    low: Floats
    high: Floats
    bins: Positions  # how many of them


@dataclass(frozen=True, slots=True, eq=False)
class SumsBefore:
    """The sums of what lies before each bin at its node."""

    sums: Array
    segment: Positions  # of each bin
    totals: Array  # the sums of each segment


@dataclass(frozen=True, slots=True, eq=False)
class BinHistogram:
    """The bins of a feature at open nodes: a line for each node and bin, in order.

    A bin is a range of numbers, or a single value or category.
    """

    node: Positions
    code: Positions
    sums: Array  # bins x what the target sums, in whole numbers
    spread: Array  # bins x figures about the spread of the targets, for the bound
    low: Floats  # the least and the greatest number in the bin
    high: Floats
    most: Floats  # no cut inside the bin that is of interest gains more
    age: Positions  # how often the bin was cut out of another

    def segments(self) -> Segments:
        """The bins of each node."""
        starts = np.flatnonzero(np.diff(self.node, prepend=-1))
        return Segments(starts, np.diff(starts, append=len(self.node)))

    def some(self, which: Array | slice) -> BinHistogram:
        return BinHistogram(*(getattr(self, name)[which] for name in self.__slots__))

    @classmethod
    def joined(cls, parts: Sequence[BinHistogram]) -> BinHistogram:
        """All bins, one part after the other."""
        return cls(
            *(
                np.concatenate([getattr(each, name) for each in parts])
                for name in cls.__slots__
            )
        )

    def halves(self, nodes: Positions, cuts: Positions) -> BinHistogram:
        """The two sides of a cut after a bin of each of these nodes, as one bin each.

        The codes are those beside the cut. Nothing within is of interest any more.
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

    def of_node(self, node: int) -> slice:
        return slice(*np.searchsorted(self.node, [node, node + 1]).tolist())

    def ranges(self, which: Mask) -> BinRanges:
        """Some bins; neighbours with the same code become one range."""
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
        """With some bins replaced by the finer bins inside them."""
        age = int(self.age[which].max()) + 1
        inner = replace(inner, age=np.full(len(inner.node), age))
        both = BinHistogram.joined([self.some(~which), inner])
        return both.some(np.lexsort((both.low, both.node)))
