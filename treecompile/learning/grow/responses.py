"""A response is the target as summands: integers that are summed to score a cut.

Sums of integers are exact: they depend neither on the order of rows or nodes, nor on
neighbouring nodes. In regression, a number is replaced by its distance from the mean of
its node, in a unit of the node: a power of two so small that the sum of all distances
just fits 61 bits. With a million cases a unit is still 1e-12 of the standard deviation.
Weights are counted in units of their own (`segments.Units`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.learning.grow.bin_counts import KeySums, Summed
from treecompile.learning.grow.build import make
from treecompile.learning.grow.growth import NodeStats
from treecompile.learning.grow.segments import (
    TIE,
    Segments,
    Units,
    exact_means,
    exact_sums,
)
from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.ir import ClassCounts, Label, Moments, Stats

SPARE_BITS = 61  # that a sum of distances may have, in a signed 64-bit integer


@dataclass(frozen=True, slots=True, eq=False)
class OpenNodes:
    """Sums of the target at the open nodes of a level."""

    totals: Sequence[Array]  # for each summand: its sum at each node
    sizes: Floats  # the weight of the cases of each node
    tie: Floats  # for each node: gains that differ by less are equal
    unit: NDArray[np.int32]  # for each node: the unit of its gains is 2^unit

    @classmethod
    def joined(cls, parts: Sequence[OpenNodes]) -> OpenNodes:
        if len(parts) == 1:
            return parts[0]
        totals = zip(*(part.totals for part in parts), strict=True)
        return cls(
            [np.concatenate(each) for each in totals],
            np.concatenate([part.sizes for part in parts]),
            np.concatenate([part.tie for part in parts]),
            np.concatenate([part.unit for part in parts]),
        )


def count_classes(
    keys: Array, y: Array, weights: Array | None, count: int, classes: int
) -> Array:
    """Count the weight of each class among the cases with each key: keys x classes.

    The array `keys` is overwritten.
    """
    keys *= classes
    keys += y
    table = np.bincount(keys, weights, count * classes)
    return table.reshape(count, classes)


class Response(Protocol):
    """The target of a dataset, as the growth sees it."""

    summands: int  # how many there are
    units: Units | None  # the units of the row weights; None: each row counts 1
    inherits: bool  # whether sums by bins can be subtracted from those of the parent

    def measure(self, rows: Positions, nodes: Segments) -> NodeStats:
        """Return the statistics of the nodes as arrays."""

    def stats(self, measured: Floats) -> list[Stats]:
        """Make the statistics of a tree from rows of `NodeStats.stats`."""

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        """Return what these nodes predict, as `semantics.answer` does."""

    def open(self, rows: Positions, nodes: Segments, measured: Floats) -> OpenNodes:
        """Prepare the summands for the nodes that are to be split."""

    def along(self, rows: Positions) -> Iterator[Array]:
        """Yield each summand as an array in the order of the rows."""

    def sum_by_key(
        self, rows: Positions, keys: Array, count: int, *, is_bounded: bool = False
    ) -> KeySums:
        """Sum the rows with each key; `is_bounded` adds what bounds of gains need.

        The array `keys` may be overwritten.
        """

    def summed(self, rows: Positions) -> Summed:
        """Return what to sum by bins."""


class LabelResponse:
    """Class codes; the summands are the indicators of all classes but the first."""

    def __init__(
        self, y: Array, labels: Sequence[Label], units: Units | None = None
    ) -> None:
        self.codes = y.astype(np.int32)
        self.classes = len(labels)
        self.summands = self.classes - 1
        self.units = units
        self.inherits = True

    def measure(self, rows: Positions, nodes: Segments) -> NodeStats:
        counts = self._counts(rows, nodes)
        sizes = counts.sum(axis=1) if self.units else nodes.lengths
        varies = counts.max(axis=1) < sizes
        weights = sizes.astype(np.float64)
        if self.units:
            counts, weights = self.units.real(counts), self.units.real(sizes)
        return NodeStats(counts.astype(np.float64), weights, nodes.lengths, varies)

    def stats(self, measured: Floats) -> list[Stats]:
        made = make(ClassCounts, len(measured), map(tuple, measured.tolist()))
        return list[Stats](made)

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        return list(map(labels.__getitem__, measured.argmax(axis=1).tolist()))

    def open(self, rows: Positions, nodes: Segments, measured: Floats) -> OpenNodes:
        if self.units:
            counts = self._counts(rows, nodes)
        else:
            counts = measured.astype(np.intp)
        totals = [counts[:, label] for label in range(1, self.classes)]
        size = len(nodes.lengths)
        sizes = counts.sum(axis=1) if self.units else nodes.lengths
        tie, unit = np.full(size, TIE), np.zeros(size, np.int32)
        return OpenNodes(totals, sizes.astype(np.float64), tie, unit)

    def _counts(self, rows: Positions, nodes: Segments) -> Array:
        count = len(nodes.lengths)
        return self._table(nodes.spread(np.arange(count)), rows, count)

    def _table(self, keys: Array, rows: Positions, count: int) -> Array:
        """Return the weight of the cases by key and class."""
        weights = self.units.of_rows.take(rows) if self.units else None
        return count_classes(keys, self.codes.take(rows), weights, count, self.classes)

    def along(self, rows: Positions) -> Iterator[Array]:
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

    def sum_by_key(
        self, rows: Positions, keys: Array, count: int, *, is_bounded: bool = False
    ) -> KeySums:
        sizes = np.bincount(keys, minlength=count) if self.units else None
        counts = self._table(keys, rows, count)
        sums = list(np.ascontiguousarray(counts.T))
        weights = sum(sums[1:], sums[0])
        return KeySums(weights if sizes is None else sizes, weights, sums)

    def summed(self, rows: Positions) -> Summed:
        codes = self.codes.take(rows)
        if self.units is None:
            return Summed(_ones, [np.intp], _label_sums, self.classes, codes)
        weights = self.units.of_rows.take(rows)

        def values(some: slice) -> Sequence[Array | None]:
            return None, weights[some]

        types = np.intp, np.float64
        return Summed(values, types, _label_sums, self.classes, codes)


def _ones(_: slice) -> Sequence[Array | None]:
    return (None,)


def _label_sums(found: list[Array]) -> KeySums:
    by_label = [np.ascontiguousarray(each.swapaxes(0, 1)) for each in found]
    sizes = by_label[0].sum(axis=0).ravel()
    sums = [each.ravel() for each in by_label[-1]]
    weights = sizes if len(found) == 1 else sum(sums[1:], sums[0])
    return KeySums(sizes, weights, sums)


class NumberResponse:
    """Numbers to be estimated; the only summand is the distance from the mean."""

    summands = 1

    def __init__(self, y: Array, units: Units | None = None) -> None:
        self.y = y.astype(np.float64)
        self.units = units
        self.inherits = False  # distances have another mean and unit at every node
        self.distances = np.zeros(len(y), np.int64)  # for each row, times its weight

    def measure(self, rows: Positions, nodes: Segments) -> NodeStats:
        y = self.y.take(rows)
        low = np.minimum.reduceat(y, nodes.starts)
        high = np.maximum.reduceat(y, nodes.starts)
        varies = low != high
        means, errors = low + 0.0, np.zeros(len(low))
        some = np.flatnonzero(varies)  # in a large tree, half the nodes have one case
        weights = self.units.of_rows.take(rows) if self.units else None
        sizes = nodes.lengths.astype(np.float64)
        if self.units and weights is not None:
            sizes = self.units.real(nodes.sums(weights))
        if len(some):
            segments = nodes
            if len(some) < len(low):
                places, segments = nodes.within(some), Segments.of(nodes.lengths[some])
                y = y.take(places)
                weights = None if weights is None else weights.take(places)
            ends, most = np.stack([low[some], high[some]]), None
            if weights is None:
                mean = exact_means(y, segments, np.abs(ends).max(axis=0))
                most = np.square(ends - mean).max(axis=0)
            else:
                mean = _weighted_means(y, weights, segments)
            y -= segments.spread(mean)
            y *= y
            if self.units and weights is not None:
                y *= np.ldexp(weights, self.units.exponent)
            means[some], errors[some] = mean, exact_sums(y, segments, most)
        stats = np.stack([sizes, means, errors], axis=1)
        return NodeStats(stats, sizes, nodes.lengths, varies)

    def stats(self, measured: Floats) -> list[Stats]:
        return list[Stats](make(Moments, len(measured), *measured.T.tolist()))

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        return list[Label](measured[:, 1].tolist())

    def open(self, rows: Positions, nodes: Segments, measured: Floats) -> OpenNodes:
        y = self.y.take(rows)
        y -= nodes.spread(measured[:, 1])
        weights = self.units.of_rows.take(rows) if self.units else None
        weighted = y if weights is None else y * weights
        _, exponent = np.frexp(nodes.sums(np.abs(weighted)))
        exponent -= SPARE_BITS
        unit = nodes.spread(-exponent)
        scaled = np.rint(np.ldexp(weighted, unit))
        distances = scaled.astype(np.int64)
        self.distances[rows] = distances
        if weights is None:
            sizes = nodes.lengths.astype(np.float64)
            scaled *= scaled
        else:
            sizes = nodes.sums(weights)
            scaled = np.ldexp(y, unit) ** 2 * weights
        tie = TIE * nodes.sums(scaled) / sizes
        return OpenNodes([nodes.sums(distances)], sizes, tie, 2 * exponent)

    def along(self, rows: Positions) -> Iterator[Array]:
        yield self.distances.take(rows)

    def sum_by_key(
        self, rows: Positions, keys: Array, count: int, *, is_bounded: bool = False
    ) -> KeySums:
        distances = self.distances.take(rows)
        sums = np.zeros(count, np.int64)
        np.add.at(sums, keys, distances)
        sizes = weights = np.bincount(keys, minlength=count)
        of_rows = self.units.of_rows.take(rows) if self.units else None
        if of_rows is not None:
            weights = np.bincount(keys, of_rows, minlength=count)
        squares = None
        if is_bounded:
            squares = np.bincount(keys, _squares(distances, of_rows), minlength=count)
        return KeySums(sizes, weights, [sums], squares)

    def summed(self, rows: Positions) -> Summed:
        distances = self.distances.take(rows)
        weights = self.units.of_rows.take(rows) if self.units else None
        squares = _squares(distances, weights)

        def values(some: slice) -> Sequence[Array | None]:
            own = [] if weights is None else [weights[some]]
            return distances[some], None, squares[some], *own

        types = [np.int64, np.intp, np.float64, *[np.float64] * (weights is not None)]
        return Summed(values, types, _number_sums)


def _number_sums(found: list[Array]) -> KeySums:
    sums, sizes, squares, *weights = map(np.ravel, found)
    return KeySums(sizes, weights[0] if weights else sizes, [sums], squares)


def _squares(distances: Array, weights: Array | None) -> Floats:
    """Return weight * distance^2; `distances` are already multiplied by the weights."""
    squares = distances.astype(np.float64)
    squares *= squares
    if weights is not None:
        squares /= weights
    return squares


def _weighted_means(y: Floats, weights: Floats, segments: Segments) -> Floats:
    """Return weighted means whose digits do not depend on the order of the numbers."""
    total = exact_sums(weights, segments)
    rough = exact_sums(y * weights, segments) / total
    rest = exact_sums((y - segments.spread(rough)) * weights, segments)
    means: Floats = rough + rest / total + 0.0
    return means
