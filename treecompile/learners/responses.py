"""What is summed over the cases to judge a cut: labels or numbers, as integers.

Integers because their sums are exact: no order of the rows or the nodes, and no size of
a neighbouring node, changes a digit. Numbers are taken from the mean of their node and
written in a unit of the node, a power of two so small that the sum of all distances
just fits: with a million cases a unit is still 1e-12 of the standard deviation. Weights
are counted in units of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.ir import ClassCounts, Label, Moments, Stats
from treecompile.learners import exact_sums
from treecompile.learners.bulk import make
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

    stats: Floats  # a line for each node, of which `stats` makes its statistics
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

    def stats(self, measured: Floats) -> list[Stats]:
        """The statistics of nodes that were measured."""

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        """What these nodes predict, as `semantics.answer` does."""

    def open(self, rows: Rows, nodes: Stretches, measured: Floats) -> Opened:
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
        weights: Floats = sizes.astype(np.float64)
        return Measured(counts.astype(np.float64), weights, varies)

    def stats(self, measured: Floats) -> list[Stats]:
        made = make(ClassCounts, len(measured), map(tuple, measured.tolist()))
        return list[Stats](made)

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        return list(map(labels.__getitem__, measured.argmax(axis=1).tolist()))

    def open(self, rows: Rows, nodes: Stretches, measured: Floats) -> Opened:
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
        means, errors = low + 0.0, np.zeros(len(low))
        some = np.flatnonzero(varies)  # half of a large tree is single cases
        weights = self.units.of_rows.take(rows) if self.units else None
        sizes = nodes.lengths.astype(np.float64)
        real = sizes
        if len(some):
            places = nodes.within(some)
            y = y.take(places)
            parts = Stretches.of(nodes.lengths[some])
            if weights is None:
                mean = exact_sums.means(y, parts)
            else:
                mean = _weighted_means(y, weights.take(places), parts)
            y -= parts.spread(mean)
            y *= y
            if self.units and weights is not None:
                y *= np.ldexp(weights.take(places), self.units.exponent)
            means[some], errors[some] = mean, exact_sums.sums(y, parts)
        if self.units and weights is not None:
            sizes = nodes.sums(weights)
            real = self.units.real(sizes)
        return Measured(np.stack([real, means, errors], axis=1), sizes, varies)

    def stats(self, measured: Floats) -> list[Stats]:
        return list[Stats](make(Moments, len(measured), *measured.T.tolist()))

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        return list[Label](measured[:, 1].tolist())

    def open(self, rows: Rows, nodes: Stretches, measured: Floats) -> Opened:
        y = self.y.take(rows)
        y -= nodes.spread(measured[:, 1])
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


def _weighted_means(y: Floats, weights: Floats, parts: Stretches) -> Floats:
    """The means, the same to the last digits whatever the order of the numbers."""
    total = exact_sums.sums(weights, parts)
    rough = exact_sums.sums(y * weights, parts) / total
    rest = exact_sums.sums((y - parts.spread(rough)) * weights, parts)
    means: Floats = rough + rest / total + 0.0
    return means
