"""What the search for splits by C4.5 needs to know of the open nodes.

Information is kept as weight * bits, n log n - sum of the parts' n log n, so that
nothing is divided before the end. Running sums along a column are sums of integers: of
whole cases, or of weights in a unit that is a small power of two. So they are exact and
do not depend on the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import frexp

import numpy as np

from treecompile.learning.c45.cases import NodeCases, Sample
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions

# Sums of fractional weights are compared with whole numbers of cases: what differs by
# less than this differs by rounding only.
SLACK = 1e-9
EPSILON = 1e-3  # a gain, or a number of errors, that is so near to a bound is at it
MOST_PER_SIDE = 25.0  # no more cases than these are required on each side of a cut
LEAST = 1e-300  # a weight whose logarithm is finite, below all weights of cases
SPARE_BITS = 61  # of a sum of weights, in a signed 64-bit integer


def bits(weights: Floats) -> Floats:
    """n log2 n, and 0 for nothing."""
    weights = np.maximum(weights, 0.0)
    result: Floats = weights * np.log2(np.maximum(weights, LEAST))
    return result


def information(counts: Floats) -> Floats:
    """The information of class counts (on the last axis), times their weight."""
    result: Floats = bits(counts.sum(axis=-1)) - bits(counts).sum(axis=-1)
    return result


def counting(segments: Segments) -> Array:
    """1, 2, 3, ... in each segment."""
    below = np.arange(1, segments.size + 1, dtype=np.int32)
    below -= segments.spread(segments.starts.astype(np.int32))
    return below


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """The meaning of the integers of a level."""

    unit: float  # 1 where all cases are whole
    table: Floats  # n log2 n of whole cases; empty where some are not

    @classmethod
    def of(cls, weights: Floats | None, table: Floats, most: float) -> Scale:
        if weights is None:
            return cls(1.0, table)
        return cls(_unit(most), table[:0])

    @classmethod
    def of_size(cls, size: int, *, is_divided: bool) -> Scale:
        """For a number of cases, without a table."""
        return cls(_unit(size + 1.0) if is_divided else 1.0, np.zeros(0))

    def bits(self, sums: Array) -> Floats:
        return self.table.take(sums) if len(self.table) else bits(sums * self.unit)


def _unit(most: float) -> float:
    """The unit in which sums up to this much are exact."""
    _, exponent = frexp(most)
    return 2.0 ** (exponent - SPARE_BITS)


@dataclass(frozen=True, slots=True, eq=False)
class Room:
    """The sums up to a cut that leave enough cases on both of its sides."""

    least: Array  # of each node
    most: Array

    @classmethod
    def of(cls, sizes: Array, classes: int, min_leaf: float, unit: float) -> Room:
        known = sizes * unit
        side = np.minimum(0.1 * known / classes, MOST_PER_SIDE)
        side = np.maximum(side, min_leaf) - SLACK
        least, most = np.ceil(side / unit), np.floor((known - side) / unit)
        most[known < 2 * min_leaf - SLACK] = -1.0
        return cls(least.astype(np.int64), most.astype(np.int64))

    def holds(self, segments: Segments, below: Array) -> Mask:
        enough: Mask = below >= segments.spread(self.least.astype(below.dtype))
        enough &= below <= segments.spread(self.most.astype(below.dtype))
        return enough


@dataclass(frozen=True, slots=True, eq=False)
class GainSearch:
    """What is needed to score splits of the open nodes, wherever the cases are."""

    scale: Scale
    classes: int
    min_leaf: float
    counts: Floats  # of each class at each node
    totals: Floats  # the weight of each node

    def room(self, sizes: Array) -> Room:
        """Where nodes may be cut; `sizes` are the weights of their known cases."""
        return Room.of(sizes, self.classes, self.min_leaf, self.scale.unit)


@dataclass(frozen=True, slots=True, eq=False)
class CaseLevel(GainSearch):
    """The open nodes of a dataset in memory, with their cases."""

    cases: NodeCases
    y: Array
    units: Array | None  # the weights as integers; None where all cases are whole
    node: Array  # of each case
    # For columns without missing values, if all cases are whole: the number of cases up
    # to each case, and the cases after which a cut leaves enough on both sides.
    below: Array
    inside: Positions

    @classmethod
    def of(
        cls,
        sample: Sample,
        cases: NodeCases,
        counts: Floats,
        min_leaf: float,
        table: Floats,
    ) -> CaseLevel:
        nodes = cases.nodes
        scale = Scale.of(cases.weights, table, sample.most)
        units, below, inside = None, nodes.starts[:0], nodes.starts[:0]
        if cases.weights is not None:
            units = np.rint(cases.weights / scale.unit).astype(np.int64)
        else:
            below = counting(nodes)
            room = Room.of(nodes.lengths, sample.classes, min_leaf, 1.0)
            inside = np.flatnonzero(room.holds(nodes, below))
        return cls(
            scale,
            sample.classes,
            min_leaf,
            counts,
            counts.sum(axis=1),
            cases,
            sample.y.take(cases.rows),
            units,
            nodes.spread(np.arange(len(nodes.lengths), dtype=np.int32)),
            below,
            inside,
        )

    def some(self, chosen: Positions) -> CaseLevel:
        """Some of the nodes, for a column whose values are counted."""
        if len(chosen) == len(self.totals):
            return self
        places = self.cases.nodes.within(chosen)
        cases = self.cases.some(chosen)
        node = cases.nodes.spread(np.arange(len(chosen), dtype=np.int32))
        return replace(
            self,
            counts=self.counts[chosen],
            totals=self.totals[chosen],
            cases=cases,
            y=self.y.take(places),
            units=None if self.units is None else self.units.take(places),
            node=node,
            below=self.below[:0],
            inside=self.inside[:0],
        )
