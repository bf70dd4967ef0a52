"""What is summed over the cases to judge a cut: labels or numbers, as integers.

Integers because their sums are exact: no order of the rows or the nodes, and no size of
a neighbouring node, changes a digit. Numbers are taken from the mean of their node and
written in a unit of the node, a power of two so small that the sum of all distances
just fits: with a million cases a unit is still 1e-12 of the standard deviation.
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
from treecompile.learners.grow import TIE
from treecompile.learners.stretches import (
    Array,
    Floats,
    Mask,
    Stretches,
)

Rows = NDArray[np.int32]
SPARE_BITS = 61  # of a sum of distances, in a signed 64-bit integer


@dataclass(frozen=True, slots=True, eq=False)
class Opened:
    """What the open nodes of a level have to do with the response."""

    totals: Sequence[Array]  # of each summand: its sum at each node
    tie: Floats  # gains that differ by less are equal
    unit: NDArray[np.int32]  # of the gains at each node, as a power of two


class Response(Protocol):
    """The target of a dataset, as the level engine sees it."""

    summands: int

    def measure(self, rows: Rows, nodes: Stretches) -> tuple[Sequence[Stats], Mask]:
        """The statistics of nodes, and which have cases that differ."""

    def open(self, rows: Rows, nodes: Stretches, stats: Sequence[Stats]) -> Opened:
        """Prepare the summands for the nodes that are to be split."""

    def along(self, rows: Rows) -> Iterator[Array]:
        """Each summand in the order of the rows, in an array of its own."""

    def tally(self, keys: Array, rows: Rows, cells: int) -> tuple[Array, list[Array]]:
        """How many rows have each key, and their sums: of labels, of every label."""


class Labels:
    """Class codes. The summands are the indicators of all classes but the first."""

    def __init__(self, y: Array, labels: Sequence[Label]) -> None:
        self.codes = y.astype(np.int32)
        self.classes = len(labels)
        self.summands = self.classes - 1

    def measure(self, rows: Rows, nodes: Stretches) -> tuple[Sequence[Stats], Mask]:
        counts = self._counts(rows, nodes)
        stats = [ClassCounts(tuple(each)) for each in counts.astype(float).tolist()]
        return stats, counts.max(axis=1) < nodes.lengths

    def open(self, rows: Rows, nodes: Stretches, stats: Sequence[Stats]) -> Opened:
        counts = self._counts(rows, nodes)
        totals = [counts[:, label] for label in range(1, self.classes)]
        size = len(nodes.lengths)
        return Opened(totals, np.full(size, TIE), np.zeros(size, np.int32))

    def _counts(self, rows: Rows, nodes: Stretches) -> Array:
        cells = nodes.spread(np.arange(0, len(nodes.lengths)) * self.classes)
        cells += self.codes.take(rows)
        size = len(nodes.lengths) * self.classes
        return np.bincount(cells, minlength=size).reshape(-1, self.classes)

    def along(self, rows: Rows) -> Iterator[Array]:
        codes = self.codes.take(rows)
        if self.classes == 2:
            yield codes
            return
        for label in range(1, self.classes):
            yield (codes == label).astype(np.int32)

    def tally(self, keys: Array, rows: Rows, cells: int) -> tuple[Array, list[Array]]:
        keys = keys * self.classes
        keys += self.codes.take(rows)
        counts = np.bincount(keys, minlength=cells * self.classes)
        counts = counts.reshape(cells, self.classes)
        return counts.sum(axis=1), list(counts.T)


class Numbers:
    """Numbers to be estimated. The one summand is the distance from the mean."""

    summands = 1

    def __init__(self, y: Array) -> None:
        self.y = y.astype(np.float64)
        self.distances = np.zeros(len(y), np.int64)

    def measure(self, rows: Rows, nodes: Stretches) -> tuple[Sequence[Stats], Mask]:
        y = self.y.take(rows)
        low = np.minimum.reduceat(y, nodes.starts)
        varies = low != np.maximum.reduceat(y, nodes.starts)
        means = low + 0.0
        some = np.flatnonzero(varies).tolist()  # half of a large tree is single cases
        parts = [slice(*each) for each in pairwise([*nodes.starts.tolist(), len(y)])]
        numbers = y.tolist()
        means[varies] = [mean(numbers[parts[node]]) for node in some]
        y -= nodes.spread(means)
        y *= y
        squares, errors = y.tolist(), [0.0] * len(parts)
        for node in some:
            errors[node] = math.fsum(squares[parts[node]])
        sizes = nodes.lengths.astype(np.float64).tolist()
        return list(map(Moments, sizes, means.tolist(), errors)), varies

    def open(self, rows: Rows, nodes: Stretches, stats: Sequence[Stats]) -> Opened:
        means = np.array([s.mean for s in stats if isinstance(s, Moments)])
        y = self.y.take(rows)
        y -= nodes.spread(means)
        _, exponent = np.frexp(nodes.sums(np.abs(y)))
        exponent -= SPARE_BITS
        y = np.rint(np.ldexp(y, nodes.spread(-exponent)))
        distances = y.astype(np.int64)
        self.distances[rows] = distances
        y *= y
        tie = TIE * nodes.sums(y) / nodes.lengths
        return Opened([nodes.sums(distances)], tie, 2 * exponent)

    def along(self, rows: Rows) -> Iterator[Array]:
        yield self.distances.take(rows)

    def tally(self, keys: Array, rows: Rows, cells: int) -> tuple[Array, list[Array]]:
        sums = np.zeros(cells, np.int64)
        np.add.at(sums, keys, self.distances.take(rows))
        return np.bincount(keys, minlength=cells), [sums]


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
