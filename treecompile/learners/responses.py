"""What is summed over the cases to judge a cut: labels or numbers, as integers.

Integers because their sums are exact: no order of the rows or the nodes, and no size of
a neighbouring node, changes a digit. Numbers are taken from the mean of their node and
written in a unit of the node, a power of two so small that the sum of all distances
just fits: with a million cases a unit is still 1e-12 of the standard deviation. Weights
are counted in units of their own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.ir import ClassCounts, Label, Moments, Stats
from treecompile.learners.limits import TIE
from treecompile.learners.stretches import (
    Array,
    Floats,
    Mask,
    Stretches,
)
from treecompile.learners.units import Units

Rows = NDArray[np.int32]
SPARE_BITS = 61  # of a sum of distances, in a signed 64-bit integer


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What the open nodes of a level have to do with the response."""

    totals: Sequence[Array]  # of each summand: its sum at each node
    sizes: Floats  # the cases of each node, by weight
    tie: Floats  # gains that differ by less are equal
    unit: NDArray[np.int32]  # of the gains at each node, as a power of two


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What nodes hold."""

    stats: Sequence[Stats]
    sizes: Floats  # cases, by weight
    varies: Mask  # which have cases that differ


@dataclass(frozen=True, slots=True, eq=False)
class Tallied:
    """What the rows with each key add up to."""

    sizes: Array  # rows
    weights: Array  # the same, where rows have no weights
    sums: list[Array]  # of labels: of every label, the first too


class Response(Protocol):
    """The target of a dataset, as the level engine sees it."""

    summands: int
    units: Units | None  # of the weights of the rows; None: each counts 1

    def measure(self, rows: Rows, nodes: Stretches) -> Measured:
        """What the nodes hold."""

    def open(self, rows: Rows, nodes: Stretches, stats: Sequence[Stats]) -> Opened:
        """Prepare the summands for the nodes that are to be split."""

    def along(self, rows: Rows) -> Iterator[Array]:
        """Each summand in the order of the rows, in an array of its own."""

    def tally(self, keys: Array, rows: Rows, cells: int) -> Tallied:
        """What the rows with each key add up to."""


class Labels:
    """Class codes. The summands are the indicators of all classes but the first."""

    def __init__(
        self, y: Array, labels: Sequence[Label], units: Units | None = None
    ) -> None:
        self.codes = y.astype(np.int32)
        self.classes = len(labels)
        self.summands = self.classes - 1
        self.units = units

    def measure(self, rows: Rows, nodes: Stretches) -> Measured:
        counts = self._counts(rows, nodes)
        sizes = counts.sum(axis=1) if self.units else nodes.lengths
        varies = counts.max(axis=1) < sizes
        if self.units:
            counts = self.units.real(counts)
        stats = [ClassCounts(tuple(each)) for each in counts.astype(float).tolist()]
        return Measured(stats, sizes.astype(np.float64), varies)

    def open(self, rows: Rows, nodes: Stretches, stats: Sequence[Stats]) -> Opened:
        counts = self._counts(rows, nodes)
        totals = [counts[:, label] for label in range(1, self.classes)]
        size = len(nodes.lengths)
        sizes = counts.sum(axis=1) if self.units else nodes.lengths
        tie, unit = np.full(size, TIE), np.zeros(size, np.int32)
        return Opened(totals, sizes.astype(np.float64), tie, unit)

    def _counts(self, rows: Rows, nodes: Stretches) -> Array:
        cells = nodes.spread(np.arange(0, len(nodes.lengths)) * self.classes)
        return self._table(cells, rows, len(nodes.lengths))

    def _table(self, cells: Array, rows: Rows, keys: int) -> Array:
        """Cases by key and class, from the cell of the first class of each row."""
        cells += self.codes.take(rows)
        weights = self.units.of_rows.take(rows) if self.units else None
        counts = np.bincount(cells, weights, minlength=keys * self.classes)
        return counts.reshape(keys, self.classes)

    def along(self, rows: Rows) -> Iterator[Array]:
        codes = self.codes.take(rows)
        if self.units:
            weights = self.units.of_rows.take(rows)
            for label in range(1, self.classes):
                yield np.where(codes == label, weights, 0.0)
            return
        if self.classes == 2:
            yield codes
            return
        for label in range(1, self.classes):
            yield (codes == label).astype(np.int32)

    def tally(self, keys: Array, rows: Rows, cells: int) -> Tallied:
        counts = self._table(keys * self.classes, rows, cells)
        weights = counts.sum(axis=1)
        sizes = np.bincount(keys, minlength=cells) if self.units else weights
        return Tallied(sizes, weights, list(counts.T))


class Numbers:
    """Numbers to be estimated. The one summand is the distance from the mean."""

    summands = 1

    def __init__(self, y: Array, units: Units | None = None) -> None:
        self.y = y.astype(np.float64)
        self.units = units
        self.distances = np.zeros(len(y), np.int64)  # times the weight

    def measure(self, rows: Rows, nodes: Stretches) -> Measured:
        y = self.y.take(rows)
        low = np.minimum.reduceat(y, nodes.starts)
        varies = low != np.maximum.reduceat(y, nodes.starts)
        means = low + 0.0
        some = np.flatnonzero(varies).tolist()  # half of a large tree is single cases
        parts = [slice(*each) for each in pairwise([*nodes.starts.tolist(), len(y)])]
        numbers = y.tolist()
        weights = self.units.of_rows.take(rows) if self.units else None
        if weights is None:
            means[varies] = [mean(numbers[parts[node]]) for node in some]
        else:
            means[varies] = [
                weighted_mean(y[parts[node]], weights[parts[node]]) for node in some
            ]
        y -= nodes.spread(means)
        y *= y
        sizes = nodes.lengths.astype(np.float64)
        real = sizes
        if self.units and weights is not None:
            y *= np.ldexp(weights, self.units.exponent)
            sizes = nodes.sums(weights)
            real = self.units.real(sizes)
        squares, errors = y.tolist(), [0.0] * len(parts)
        for node in some:
            errors[node] = math.fsum(squares[parts[node]])
        stats = list(map(Moments, real.tolist(), means.tolist(), errors))
        return Measured(stats, sizes, varies)

    def open(self, rows: Rows, nodes: Stretches, stats: Sequence[Stats]) -> Opened:
        means = np.array([s.mean for s in stats if isinstance(s, Moments)])
        y = self.y.take(rows)
        y -= nodes.spread(means)
        sizes = nodes.lengths.astype(np.float64)
        if self.units:
            return self._open_weighted(rows, nodes, y)
        _, exponent = np.frexp(nodes.sums(np.abs(y)))
        exponent -= SPARE_BITS
        y = np.rint(np.ldexp(y, nodes.spread(-exponent)))
        distances = y.astype(np.int64)
        self.distances[rows] = distances
        y *= y
        tie = TIE * nodes.sums(y) / nodes.lengths
        return Opened([nodes.sums(distances)], sizes, tie, 2 * exponent)

    def _open_weighted(self, rows: Rows, nodes: Stretches, y: Floats) -> Opened:
        """The same, of distances times weights: the unit of these is then in both."""
        assert self.units is not None
        weights = self.units.of_rows.take(rows)
        weighted = y * weights
        _, exponent = np.frexp(nodes.sums(np.abs(weighted)))
        exponent -= SPARE_BITS
        unit = nodes.spread(-exponent)
        distances = np.rint(np.ldexp(weighted, unit)).astype(np.int64)
        self.distances[rows] = distances
        squared = np.ldexp(y, unit) ** 2 * weights
        sizes = nodes.sums(weights)
        tie = TIE * nodes.sums(squared) / sizes
        return Opened([nodes.sums(distances)], sizes, tie, 2 * exponent)

    def along(self, rows: Rows) -> Iterator[Array]:
        yield self.distances.take(rows)

    def tally(self, keys: Array, rows: Rows, cells: int) -> Tallied:
        sums = np.zeros(cells, np.int64)
        np.add.at(sums, keys, self.distances.take(rows))
        sizes = np.bincount(keys, minlength=cells)
        if self.units is None:
            return Tallied(sizes, sizes, [sums])
        weights = np.bincount(keys, self.units.of_rows.take(rows), minlength=cells)
        return Tallied(sizes, weights, [sums])


def weighted_mean(numbers: Floats, weights: Floats) -> float:
    """The mean, the same to the last digits whatever the order of the numbers."""
    total = math.fsum(weights)
    rough = math.fsum(numbers * weights) / total
    return rough + math.fsum((numbers - rough) * weights) / total + 0.0


def mean(numbers: list[float]) -> float:
    """The mean, to the last digit: whatever the order of the numbers."""
    size = len(numbers)
    rough = math.fsum(numbers) / size
    # What rounding left out. `size` times the mean is taken off in two parts of few
    # digits, whose products are exact.
    fraction, exponent = math.frexp(rough)
    head = math.ldexp(round(fraction * 2**26), exponent - 26)
    tail = rough - head
    rest = math.fsum([*numbers, -size * head, -size * tail])
    return rough + rest / size + 0.0
