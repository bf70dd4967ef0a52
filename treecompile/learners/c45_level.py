"""The open nodes of a C4.5 tree, with all that the features need to be judged there.

Information is kept as weight x bits, n log n - sum of the parts' n log n, so that
nothing is divided before the end. Sums that run along a column are sums of integers:
of whole cases, or of weights in a unit that is a small power of two, so that they are
exact, whatever the order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import frexp

import numpy as np

from treecompile.learners.c45_draft import SLACK
from treecompile.learners.c45_sample import Cases, Sample
from treecompile.learners.stretches import Array, Floats, Mask, Positions, Stretches

MOST_PER_SIDE = 25.0  # cases that each side of a cut may be asked for
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


def counting(parts: Stretches) -> Array:
    """One, two, three and so on in each part."""
    below = np.arange(1, parts.size + 1, dtype=np.int32)
    below -= parts.spread(parts.starts.astype(np.int32))
    return below


@dataclass(frozen=True, slots=True, eq=False)
class Scale:
    """What the integers of a level stand for."""

    unit: float  # 1 where all cases are whole
    table: Floats  # n log2 n of whole cases; empty where some are not

    @classmethod
    def of(cls, weights: Floats | None, table: Floats, most: float) -> Scale:
        if weights is None:
            return cls(1.0, table)
        return cls(_unit(most), table[:0])

    @classmethod
    def of_size(cls, size: int, *, is_divided: bool) -> Scale:
        """Of so many cases, which may be divided or not, without a table."""
        return cls(_unit(size + 1.0) if is_divided else 1.0, np.zeros(0))

    def bits(self, sums: Array) -> Floats:
        return self.table.take(sums) if len(self.table) else bits(sums * self.unit)


def _unit(most: float) -> float:
    """In which sums up to this much are exact."""
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

    def holds(self, parts: Stretches, below: Array) -> Mask:
        enough: Mask = below >= parts.spread(self.least.astype(below.dtype))
        enough &= below <= parts.spread(self.most.astype(below.dtype))
        return enough


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """On what the open nodes are judged, wherever their cases are."""

    scale: Scale
    classes: int
    min_leaf: float
    counts: Floats  # of each class at each node
    totals: Floats  # the weight of each node

    def room(self, sizes: Array) -> Room:
        """Where nodes may be cut whose known cases have these sizes."""
        return Room.of(sizes, self.classes, self.min_leaf, self.scale.unit)


@dataclass(frozen=True, slots=True, eq=False)
class Level(Terms):
    """The open nodes and their cases."""

    cases: Cases
    y: Array
    units: Array | None  # the weights as integers; None where all cases are whole
    node: Array  # of each case
    below: Array  # where no value is missing: the cases up to each, itself included
    inside: Positions  # and behind which of them a cut leaves enough on both sides

    @classmethod
    def of(
        cls,
        sample: Sample,
        cases: Cases,
        counts: Floats,
        min_leaf: float,
        table: Floats,
    ) -> Level:
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

    def some(self, chosen: Positions) -> Level:
        """Some of the nodes, for a column whose values are counted."""
        if len(chosen) == len(self.totals):
            return self
        places = self.cases.nodes.within(chosen)
        cases = self.cases.some(chosen)
        node = cases.nodes.spread(np.arange(len(chosen), dtype=np.int32))
        return Level(
            self.scale,
            self.classes,
            self.min_leaf,
            self.counts[chosen],
            self.totals[chosen],
            cases,
            self.y.take(places),
            None if self.units is None else self.units.take(places),
            node,
            self.below[:0],
            self.inside[:0],
        )
