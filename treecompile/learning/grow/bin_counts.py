"""Counts the rows of a level by node and bin, for one column after the other.

`LevelBins` chooses the width of the bins and makes a `BinCounter` for the level, which
counts each `binned.BinnedColumn`. The largest child of a split need not be counted: its
counts are those of the parent minus those of its siblings (`Lineage`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike

from treecompile.learning.grow.binning import BITS, LEAST_BITS, MOST_BITS, Codes
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Positions

CHUNK = 1 << 16  # rows whose arrays fit the cache; with fewer, threads wait more
WORTH_BINS = 200_000  # rows of a dataset; with fewer, numbers are sorted at once
FEW_IN_BIN = 4  # rows; if fewer share a bin, bins get wider in the last levels,
LAST_LEVELS = 3  # and before these levels rows are sorted instead


@dataclass(frozen=True, slots=True, eq=False)
class KeySums:
    """Sums over the rows with each key; each array has an entry for each key."""

    sizes: Array  # the number of rows
    weights: Array  # their weight; the same array if rows have no weights
    # For each label, the first included: its cases; or one array of sums of numbers.
    sums: list[Array]
    squares: Array | None = None  # for numbers counted by bins: about their squares


@dataclass(frozen=True, slots=True, eq=False)
class Summed:
    """What is summed over the rows of each bin.

    In classification a node has a line of bins for each class; otherwise it has one.
    """

    # Maps a slice of the counted rows to the values of each sum; None: each counts 1.
    values: Callable[[slice], Sequence[Array | None]]
    types: Sequence[DTypeLike]  # of the sums
    finish: Callable[[list[Array]], KeySums]  # from the sums: nodes x lines x bins
    lines: int = 1  # of each node
    line: Array | None = None  # of each row


@dataclass(frozen=True, slots=True, eq=False)
class Lineage:
    """Which nodes of a level are counted, and how the others are derived from these."""

    counted: Positions
    derived: Positions
    parents: Positions  # for each derived node: its parent in the level before
    siblings: Positions  # the siblings of each derived node in turn; all are counted
    starts: Positions  # where in `siblings` those of each derived node start

    @classmethod
    def all_counted(cls, count: int) -> Lineage:
        none = np.zeros(0, np.intp)
        return cls(np.arange(count), none, none, none, none)

    @classmethod
    def of(
        cls, parents: Positions, lengths: Positions, parent_lengths: Positions
    ) -> Lineage:
        """Derive the largest child if all rows of its parent are in the level.

        `lengths` are the rows of each node, `parent_lengths` of each parent.
        """
        held = np.bincount(parents, lengths, len(parent_lengths))
        order = np.lexsort((lengths, parents))  # by parent, the largest child last
        parent = parents[order]
        is_first = np.diff(parent, prepend=-1) != 0
        is_last = np.append(is_first[1:], True)
        is_whole = (held == parent_lengths)[parent] & ~(is_first & is_last)
        derived = is_whole & is_last
        siblings = is_whole & ~is_last
        return cls(
            np.sort(order[~derived]),
            order[derived],
            parent[derived],
            order[siblings],
            np.flatnonzero(is_first[siblings]),
        )


@dataclass(frozen=True, slots=True)
class Bins:
    """The width of the bins of a level: a bin has all codes with its leading bits."""

    bits: int  # how many leading bits

    @property
    def width(self) -> int:
        """The number of bins of each node."""
        return 1 << self.bits

    @property
    def shift(self) -> int:
        """By how many bits a code is shifted to the right to get its bin."""
        return BITS - self.bits


@dataclass(frozen=True, slots=True, eq=False)
class BinnedRows:
    """The rows of some nodes; the key of a row numbers its node, line and bin."""

    bins: Bins
    rows: Positions
    first: Positions  # for each row: the key of the first bin of its node and line
    shape: tuple[int, int, int]  # nodes, lines, bins

    @classmethod
    def of(
        cls,
        rows: Positions,
        nodes: Segments,
        bins: Bins,
        lines: int = 1,
        line: Array | None = None,
    ) -> BinnedRows:
        shape = len(nodes.lengths), lines, bins.width
        first = nodes.spread(np.arange(0, math.prod(shape), lines * bins.width))
        if line is not None:
            first += line * bins.width
        return cls(bins, rows, first, shape)

    def keys(self, codes: Codes) -> Iterator[tuple[slice, Positions, Positions]]:
        """Yield for each chunk the slice of rows, their numbers, and their keys.

        The arrays of a chunk stay in the cache, and are overwritten by the next chunk.
        """
        longest = min(CHUNK, len(self.rows))
        keys, bins = np.empty(longest, np.intp), np.empty(longest, codes.dtype)
        for start in range(0, len(self.rows), CHUNK):
            some = slice(start, min(start + CHUNK, len(self.rows)))
            mine = slice(0, some.stop - start)
            rows = self.rows[some]
            codes.take(rows, out=bins[mine], mode="clip")
            bins[mine] >>= self.bins.shift
            np.add(self.first[some], bins[mine], out=keys[mine])
            yield some, rows, keys[mine]

    def add(self, codes: Codes, summed: Summed) -> list[Array]:
        """Return the sums over the rows of each bin: nodes x lines x bins."""
        size = math.prod(self.shape)
        sums: list[Array] = [np.zeros(size, each) for each in summed.types]
        for some, _, keys in self.keys(codes):
            for total, each in zip(sums, summed.values(some), strict=True):
                np.add.at(total, keys, 1 if each is None else each)
        return [each.reshape(self.shape) for each in sums]

    def find(self, codes: Codes, of_key: Array) -> tuple[Positions, Positions]:
        """Return the rows with `of_key[key] >= 0`, and that number for each row."""
        found, numbers = [], []
        for _, rows, keys in self.keys(codes):
            number = of_key.take(keys)
            inside = np.flatnonzero(number >= 0)
            found.append(rows.take(inside))
            numbers.append(number.take(inside))
        return np.concatenate(found), np.concatenate(numbers)


@dataclass(frozen=True, slots=True, eq=False)
class BinCounter:
    """Counts the rows of a level by node and bin, for any column."""

    counted: BinnedRows
    summed: Summed
    lineage: Lineage

    @property
    def bins(self) -> Bins:
        return self.counted.bins

    def count(self, codes: Codes, before: Sequence[Array]) -> list[Array]:
        """Return a column's sums, nodes x lines x bins; `before` are the parents'."""
        made = self.counted.add(codes, self.summed)
        if not len(self.lineage.derived):
            return made
        return [*map(self._with_derived, made, before)]

    def _with_derived(self, made: Array, before: Array) -> Array:
        lineage, width = self.lineage, self.bins.width
        shape = len(made) + len(lineage.derived), *made.shape[1:]
        result = np.empty(shape, made.dtype)
        result[lineage.counted] = made
        inherited = before[lineage.parents]
        if inherited.shape[-1] > width:  # the level before has narrower bins
            inherited = inherited.reshape(*inherited.shape[:2], width, -1).sum(-1)
        inherited -= np.add.reduceat(result[lineage.siblings], lineage.starts)
        result[lineage.derived] = inherited
        return result


def worth_bins(rows: int) -> bool:
    """Return whether a dataset of so many rows is counted by bins."""
    return rows >= WORTH_BINS


class Summable(Protocol):
    """The part of `responses.Response` that counting by bins needs."""

    @property
    def summands(self) -> int: ...

    @property
    def inherits(self) -> bool: ...

    def summed(self, rows: Positions) -> Summed: ...


class LevelBins:
    """Chooses the bins of each level; they are never narrower than those before.

    Once nodes have too few rows for bins, the rows are sorted instead.
    """

    def __init__(self, target: Summable, max_depth: int | None) -> None:
        self.target, self.bits = target, MOST_BITS
        self.levels_left = math.inf if max_depth is None else max_depth

    def counter(
        self, rows: Positions, nodes: Segments, parents: Positions, before: Positions
    ) -> BinCounter | None:
        """Make the counter of a level, or return None if its rows are better sorted.

        `parents` has the parent of each node, `before` the rows of each parent.
        """
        cells = len(nodes.lengths) * (1 + self.target.summands) * FEW_IN_BIN
        fitting = int(len(rows) // cells).bit_length() - 1
        self.bits = min(fitting, self.bits)
        is_near_end = self.levels_left <= LAST_LEVELS
        self.levels_left -= 1
        if self.bits < (LEAST_BITS if is_near_end else MOST_BITS):
            return None
        lineage = Lineage.all_counted(len(nodes.lengths))
        if self.target.inherits:
            lineage = Lineage.of(parents, nodes.lengths, before)
            rows = nodes.take(rows, lineage.counted)
            nodes = Segments.of(nodes.lengths[lineage.counted])
        summed, bins = self.target.summed(rows), Bins(self.bits)
        counted = BinnedRows.of(rows, nodes, bins, summed.lines, summed.line)
        return BinCounter(counted, summed, lineage)
