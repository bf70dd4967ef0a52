"""The target as it is summed over cases to score a cut: labels or numbers, as integers.

Sums of integers are exact: neither the order of the rows or nodes nor a neighbouring
node changes a digit. A number is taken as its distance from the mean of its node,
written in a unit of the node: a power of two so small that the sum of all distances
just fits 61 bits. With a million cases a unit is still 1e-12 of the standard deviation.
Weights are counted in units of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.learning.grow.build import make
from treecompile.learning.grow.growth import NodeStats
from treecompile.learning.grow.segments import (
    TIE,
    Segments,
    Units,
    exact_means,
    exact_sums,
)
from treecompile.model.arrays import Array, Floats
from treecompile.model.ir import ClassCounts, Label, Moments, Stats

Rows = NDArray[np.int32]
SPARE_BITS = 61  # of a sum of distances, in a signed 64-bit integer


@dataclass(frozen=True, slots=True, eq=False)
class OpenNodes:
    """The target at the open nodes of a level."""

    totals: Sequence[Array]  # of each summand: its sum at each node
    sizes: Floats  # the weight of the cases of each node
    tie: Floats  # gains that differ by less are equal
    unit: NDArray[np.int32]  # of the gains at each node, as a power of two


@dataclass(frozen=True, slots=True, eq=False)
class KeySums:
    """What the rows with each key add up to."""

    sizes: Array  # rows
    weights: Array  # the same array, where rows have no weights
    sums: list[Array]  # of labels: the cases of every label, the first included
    squares: Array | None = None  # of numbers counted by bins: about the sum of squares


@dataclass(frozen=True, slots=True, eq=False)
class BinCounter:
    """Counts the rows of a level by node and bin."""

    shift: int  # from the code of a number to its bin
    width: int  # bins of each node
    count: Callable[[Array], KeySums]  # from the bin of each row, node after node


def count_classes(
    keys: Array, y: Array, weights: Array | None, count: int, classes: int
) -> Array:
    """A contingency table: the weight of each class among the cases with each key.

    The keys are overwritten.
    """
    keys *= classes
    keys += y
    table = np.bincount(keys, weights, count * classes)
    return table.reshape(count, classes)


class Response(Protocol):
    """The target of a dataset, as the growth sees it."""

    summands: int
    units: Units | None  # of the weights of the rows; None: each counts 1

    def measure(self, rows: Rows, nodes: Segments) -> NodeStats:
        """What the nodes hold."""

    def stats(self, measured: Floats) -> list[Stats]:
        """The statistics of nodes, from the lines of `NodeStats.stats`."""

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        """What these nodes predict, as `semantics.answer` does."""

    def open(self, rows: Rows, nodes: Segments, measured: Floats) -> OpenNodes:
        """Prepare the summands for the nodes that are to be split."""

    def along(self, rows: Rows) -> Iterator[Array]:
        """Each summand in the order of the rows, in an array of its own."""

    def sum_by_key(
        self, rows: Rows, keys: Array, count: int, *, is_bounded: bool = False
    ) -> KeySums:
        """What the rows with each key add up to, with squares if that is to be bounded.

        The keys may be overwritten.
        """

    def bin_counter(
        self, rows: Rows, nodes: Segments, width: int
    ) -> Callable[[Array], KeySums]:
        """Counts the rows of open nodes by bins, of which there are at most `width`."""


class LabelResponse:
    """Class codes. The summands are the indicators of all classes but the first."""

    def __init__(
        self, y: Array, labels: Sequence[Label], units: Units | None = None
    ) -> None:
        self.codes = y.astype(np.int32)
        self.classes = len(labels)
        self.summands = self.classes - 1
        self.units = units

    def measure(self, rows: Rows, nodes: Segments) -> NodeStats:
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

    def open(self, rows: Rows, nodes: Segments, measured: Floats) -> OpenNodes:
        if self.units:
            counts = self._counts(rows, nodes)
        else:
            counts = measured.astype(np.intp)
        totals = [counts[:, label] for label in range(1, self.classes)]
        size = len(nodes.lengths)
        sizes = counts.sum(axis=1) if self.units else nodes.lengths
        tie, unit = np.full(size, TIE), np.zeros(size, np.int32)
        return OpenNodes(totals, sizes.astype(np.float64), tie, unit)

    def _counts(self, rows: Rows, nodes: Segments) -> Array:
        count = len(nodes.lengths)
        return self._table(nodes.spread(np.arange(count)), rows, count)

    def _table(self, keys: Array, rows: Rows, count: int) -> Array:
        """Cases by key and class."""
        weights = self.units.of_rows.take(rows) if self.units else None
        return count_classes(keys, self.codes.take(rows), weights, count, self.classes)

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

    def sum_by_key(
        self, rows: Rows, keys: Array, count: int, *, is_bounded: bool = False
    ) -> KeySums:
        sizes = np.bincount(keys, minlength=count) if self.units else None
        counts = self._table(keys, rows, count)
        sums = list(np.ascontiguousarray(counts.T))
        weights = sum(sums[1:], sums[0])
        return KeySums(weights if sizes is None else sizes, weights, sums)

    def bin_counter(
        self, rows: Rows, nodes: Segments, width: int
    ) -> Callable[[Array], KeySums]:
        count, classes = len(nodes.lengths), self.classes
        first = nodes.spread(np.arange(count) * classes)
        first += self.codes.take(rows)
        first *= width
        row_weights = self.units.of_rows.take(rows) if self.units else None
        shape = count, classes, width

        def counted(bins: Array) -> KeySums:
            keys = first + bins
            table = np.bincount(keys, row_weights, cells).reshape(shape)
            sums = [table[:, label].ravel() for label in range(classes)]
            sizes = weights = sum(sums[1:], sums[0])
            if row_weights is not None:
                rows_of = np.bincount(keys, minlength=cells).reshape(shape)
                sizes = rows_of.sum(axis=1).ravel()
            return KeySums(sizes, weights, sums)

        cells = count * classes * width
        return counted


class NumberResponse:
    """Numbers to be estimated. The one summand is the distance from the mean."""

    summands = 1

    def __init__(self, y: Array, units: Units | None = None) -> None:
        self.y = y.astype(np.float64)
        self.units = units
        self.distances = np.zeros(len(y), np.int64)  # times the weight

    def measure(self, rows: Rows, nodes: Segments) -> NodeStats:
        y = self.y.take(rows)
        low = np.minimum.reduceat(y, nodes.starts)
        varies = low != np.maximum.reduceat(y, nodes.starts)
        means, errors = low + 0.0, np.zeros(len(low))
        some = np.flatnonzero(varies)  # half of a large tree is single cases
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
            if weights is None:
                mean = exact_means(y, segments)
            else:
                mean = _weighted_means(y, weights, segments)
            y -= segments.spread(mean)
            y *= y
            if self.units and weights is not None:
                y *= np.ldexp(weights, self.units.exponent)
            means[some], errors[some] = mean, exact_sums(y, segments)
        stats = np.stack([sizes, means, errors], axis=1)
        return NodeStats(stats, sizes, nodes.lengths, varies)

    def stats(self, measured: Floats) -> list[Stats]:
        return list[Stats](make(Moments, len(measured), *measured.T.tolist()))

    def answers(self, measured: Floats, labels: Sequence[Label]) -> list[Label]:
        return list[Label](measured[:, 1].tolist())

    def open(self, rows: Rows, nodes: Segments, measured: Floats) -> OpenNodes:
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

    def along(self, rows: Rows) -> Iterator[Array]:
        yield self.distances.take(rows)

    def sum_by_key(
        self, rows: Rows, keys: Array, count: int, *, is_bounded: bool = False
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

    def bin_counter(
        self, rows: Rows, nodes: Segments, width: int
    ) -> Callable[[Array], KeySums]:
        count = len(nodes.lengths) * width
        first = nodes.spread(np.arange(0, count, width))
        distances = self.distances.take(rows)
        row_weights = self.units.of_rows.take(rows) if self.units else None
        squared = _squares(distances, row_weights)

        def counted(bins: Array) -> KeySums:
            keys = first + bins
            sums = np.zeros(count, np.int64)
            np.add.at(sums, keys, distances)
            sizes = weights = np.bincount(keys, minlength=count)
            if row_weights is not None:
                weights = np.bincount(keys, row_weights, minlength=count)
            squares = np.bincount(keys, squared, minlength=count)
            return KeySums(sizes, weights, [sums], squares)

        return counted


def _squares(distances: Array, weights: Array | None) -> Floats:
    """The squared distances; `distances` are multiplied by the weights already."""
    squares = distances.astype(np.float64)
    squares *= squares
    if weights is not None:
        squares /= weights
    return squares


def _weighted_means(y: Floats, weights: Floats, segments: Segments) -> Floats:
    """The means, whose digits do not depend on the order of the numbers."""
    total = exact_sums(weights, segments)
    rough = exact_sums(y * weights, segments) / total
    rest = exact_sums((y - segments.spread(rough)) * weights, segments)
    means: Floats = rough + rest / total + 0.0
    return means
