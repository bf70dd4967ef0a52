"""Finds the best threshold of a column at every node of a level, by information gain.

A cut is a candidate threshold after an element of the column. The elements are sorted
by node, then by value: they are the cases, or for a column whose values are counted,
the bars of its histogram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learning.c45.gain_ratio import GainCandidates, GainSearch, bits
from treecompile.learning.grow.histogram import Histogram
from treecompile.learning.grow.search import LARGEST, midpoints
from treecompile.learning.grow.segments import TIE, Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions

CHUNK = 32_768  # cuts that are scored at once
GAP = 1e-5  # no cut is made between two numbers that are no further apart


# Returns the values before and after the cuts at sorted positions of elements.
Neighbours = Callable[[Positions], tuple[Floats, Floats]]


@dataclass(frozen=True, slots=True, eq=False)
class RunningSums:
    """The elements of a column, with the weight up to each."""

    segments: Segments  # the elements of each node that has any
    nodes: Positions  # the nodes of these segments
    below: Array  # the weight up to each element
    classes: Iterable[Array]  # `below` for each class but the first; read only once
    sizes: Array  # the weight of each segment
    totals: Sequence[Array]  # `sizes` for each class but the first
    neighbours: Neighbours
    inside: Positions | None = None  # elements that a cut may follow, if known

    @classmethod
    def of_histogram(cls, histogram: Histogram, neighbours: Neighbours) -> RunningSums:
        segments = histogram.segments
        weights = histogram.weights.copy()
        sizes = segments.sums(weights)
        totals = [segments.sums(each) for each in histogram.sums[1:]]
        running = (
            segments.run(each.copy(), total)
            for each, total in zip(histogram.sums[1:], totals, strict=True)
        )
        below = segments.run(weights, sizes)
        nodes = histogram.nodes
        return cls(segments, nodes, below, running, sizes, totals, neighbours)


class PossibleCuts:
    """All possible cuts of a column, with their information gains.

    C4.5 corrects the gain of a numeric feature for the number of cuts: it subtracts
    log2(cuts) / weight. The gains here are without this correction.
    """

    def __init__(self, search: GainSearch, runs: RunningSums) -> None:
        self.search, self.runs = search, runs
        inside = runs.inside
        if inside is None:
            inside = search.inside(runs.segments, runs.sizes, runs.below)
        apart = np.empty(len(inside), np.bool_)
        for chunk in chunks(len(inside)):
            apart[chunk] = are_apart(*runs.neighbours(inside[chunk]))
        if not apart.all():
            inside = inside.take(np.flatnonzero(apart))
        self.places = inside  # the last element below each cut
        ends = runs.segments.starts + runs.segments.lengths
        counts = np.diff(np.searchsorted(inside, ends), prepend=0)
        self.some = np.flatnonzero(counts)  # the segments that have a possible cut
        self.segments = Segments.of(counts[self.some])  # the cuts of each of these
        self.gains = self._gains() if len(self.some) else np.zeros(0)

    @property
    def counts(self) -> Positions:
        return self.segments.lengths

    @property
    def nodes(self) -> Positions:
        """The nodes that have a possible cut."""
        return self.runs.nodes[self.some]

    def best(self) -> tuple[Floats, Positions]:
        """Return the best gain of each of `nodes`, and its cut, the first at a tie."""
        return self.segments.pick(self.gains, np.full(len(self.some), TIE))

    def candidates(self, *, is_corrected: bool = True) -> GainCandidates:
        """Return the split at the best cut of each node."""
        search, runs = self.search, self.runs
        candidates = GainCandidates.none(len(search.totals))
        gain, cut = self.best()
        if is_corrected:
            gain = gain - np.log2(self.counts) / search.totals[self.nodes]
        worthy = np.flatnonzero(gain > TIE)  # a rounded 0 is no gain
        node, some = self.nodes[worthy], self.some[worthy]
        at = self.places.take(cut[worthy])
        total = search.totals[node]
        below = runs.below.take(at)
        above = runs.sizes[some] - below
        sides = search.scale.bits(below) + search.scale.bits(above)
        branches = sides + bits(total - runs.sizes[some] * search.scale.unit)
        candidates.gains[node] = gain[worthy]
        candidates.split_info[node] = (bits(total) - branches) / total
        candidates.thresholds[node] = midpoints(*runs.neighbours(at))
        candidates.cut_counts[node] = self.counts[worthy]
        return candidates

    def _gains(self) -> Floats:
        runs, inside, some = self.runs, self.places, self.some
        own = self.search.scale.bits
        size = runs.sizes[some]
        first = size - sum(total[some] for total in runs.totals)
        whole = own(size) - own(first)
        segment = self.segments.spread(np.arange(len(some), dtype=np.int32))
        below = runs.below.take(inside)  # until only the first class is left
        above = size.astype(below.dtype).take(segment)
        above -= below
        gains = np.empty(len(inside))
        for chunk in chunks(len(inside)):
            gains[chunk] = -own(below[chunk])
            gains[chunk] -= own(above[chunk])
        for total, running in zip(runs.totals, runs.classes, strict=True):
            mine = total[some].astype(below.dtype)
            whole -= own(mine)
            for chunk in chunks(len(inside)):
                low = running.take(inside[chunk])
                high = mine.take(segment[chunk])
                high -= low
                gains[chunk] += own(low)
                gains[chunk] += own(high)
                below[chunk] -= low
                above[chunk] -= high
        total = self.search.totals[self.nodes]
        for chunk in chunks(len(inside)):
            gain = gains[chunk]
            gain += own(below[chunk])
            gain += own(above[chunk])
            gain += whole.take(segment[chunk])
            gain /= total.take(segment[chunk])
        return gains


def chunks(size: int) -> Iterator[slice]:
    """Yield slices of an array that fit the processor's cache."""
    return (slice(start, start + CHUNK) for start in range(0, size, CHUNK))


def are_apart(low: Floats, high: Floats) -> Mask:
    """Return which neighbouring values a cut can divide."""
    with np.errstate(over="ignore", invalid="ignore"):
        apart: Mask = high - low > GAP
    # No finite threshold lies between these two.
    apart &= (high != -LARGEST) | (low != -np.inf)
    return apart
