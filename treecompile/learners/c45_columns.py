"""The features of a dataset, each in the form in which C4.5 judges it for a level.

Numbers are sorted once and follow the cases from level to level, or are counted where
they are few; categories are counted. The forms are those of CART's columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from treecompile.learners.blocks import Blocks, count_blocks
from treecompile.learners.c45_cuts import Judged, Runs, best_cuts
from treecompile.learners.c45_draft import SLACK, Groups
from treecompile.learners.c45_group import group_values
from treecompile.learners.c45_level import Level, Terms, bits, counting, information
from treecompile.learners.c45_sample import Sample
from treecompile.learners.columns import make_column
from treecompile.learners.counted_column import Counted
from treecompile.learners.passage import Order, Passage
from treecompile.learners.responses import Tallied
from treecompile.learners.sorted_column import Sorted
from treecompile.learners.stretches import Array, Floats, Positions, Stretches

MOST_CELLS = 4_000_000  # of a table that are counted at once
HALF = 26  # bits of a weight that are summed up at once


class Column(Protocol):
    def follow(self, passage: Passage) -> None:
        """Go with the cases to the next level."""

    def judge(self, level: Level, usable: Positions) -> Judged:
        """What the feature offers at the nodes where it may be used."""


def make_column_of(
    sample: Sample, place: int, *, is_grouping: bool, is_ratio: bool
) -> Column:
    """A feature in the form that suits it."""
    made = make_column(sample.data.features[place], sample.data.columns[place])
    if isinstance(made, Sorted):
        return Many(sample.columns[place], made.rows)
    assert isinstance(made, Counted)
    if made.is_ordered:
        return Few(made)
    if is_grouping and made.size > 2:
        return Grouped(made, is_ratio)
    return Nominal(made)


class Many:
    """A column of many numbers, sorted once."""

    def __init__(self, values: Array, order: Order) -> None:
        self.values = values
        self.order = order  # positions in the level: node by node, then by value
        self.is_complete = len(order) == len(values)

    def follow(self, passage: Passage) -> None:
        self.order = passage.follow(self.order)

    def judge(self, level: Level, usable: Positions) -> Judged:
        order = self.order
        if not len(order):
            return Judged.nothing(len(level.totals))

        def neighbours(places: Positions) -> tuple[Floats, Floats]:
            if not len(places):
                return self.values[:0], self.values[:0]
            start, end = int(places[0]), int(places[-1]) + 2
            rows = level.cases.rows
            if end - start > 4 * len(places):  # a few, such as the chosen ones
                near = order.take(places), order.take(places + 1)
                low, high = (self.values.take(rows.take(each)) for each in near)
                return low, high
            values = self.values.take(rows.take(order[start:end]))
            places = places - start
            return values.take(places), values[1:].take(places)

        if self.is_complete and level.units is None:
            counts = level.counts.astype(np.intp).T
            nodes = np.arange(len(level.totals))
            runs = self._runs(level, level.cases.nodes, nodes, list(counts[1:]))
            return best_cuts(level, runs, neighbours, level.inside)
        sizes = np.bincount(level.node.take(order), minlength=len(level.totals))
        nodes = np.flatnonzero(sizes)
        runs = self._runs(level, Stretches.of(sizes[nodes]), nodes, None)
        return best_cuts(level, runs, neighbours)

    def _runs(
        self,
        level: Level,
        parts: Stretches,
        nodes: Positions,
        totals: list[Array] | None,
    ) -> Runs:
        y = level.y.take(self.order)
        units = None if level.units is None else level.units.take(self.order)

        def along(label: int) -> Array:
            if units is not None:
                return np.where(y == label, units, 0)
            found: Array = (y == label).astype(np.int32)
            return found

        labels = range(1, level.classes)
        if totals is None:
            totals = [parts.sums(along(label)) for label in labels]
        if units is not None:
            sizes = parts.sums(units)
            below = parts.run(units.copy(), sizes)
        else:
            sizes = parts.lengths
            below = level.below
            if not self.is_complete:
                below = counting(parts)
        running = (
            parts.run(along(label), total)
            for label, total in zip(labels, totals, strict=True)
        )
        return Runs(parts, nodes, below, running, sizes, totals)


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Counts the cases of a level for the columns that CART counts too."""

    level: Level
    is_exact: bool  # weights as integers, not as they are

    @property
    def summands(self) -> int:
        return self.level.classes

    def tally(self, keys: Array, rows: Array, cells: int) -> Tallied:
        """How many cases have each key, and the weight of each class among them."""
        level, classes = self.level, self.level.classes
        cell = keys * classes
        cell += level.y
        size = cells * classes
        cases = np.bincount(keys, minlength=cells)
        if level.units is None:
            sums = np.bincount(cell, minlength=size)
        elif self.is_exact:
            # Exact in doubles, since either half is short.
            high, low = level.units >> HALF, level.units & (2**HALF - 1)
            sums = np.bincount(cell, high, size).astype(np.int64) << HALF
            sums += np.bincount(cell, low, size).astype(np.int64)
        else:
            sums = np.bincount(cell, level.cases.weights, size)
        table = sums.reshape(cells, classes)
        return Tallied(cases, table.sum(axis=1), list(table.T))


def blocks_of(column: Counted, level: Level, *, is_exact: bool) -> Blocks:
    cases, tally = level.cases, Tally(level, is_exact)
    return count_blocks(column.codes, column.size, cases.rows, cases.nodes, tally)


class Few:
    """A column of few numbers, or of the ranks of an ordinal feature."""

    def __init__(self, column: Counted) -> None:
        self.column = column

    def follow(self, passage: Passage) -> None:
        pass  # it is counted anew

    def judge(self, level: Level, usable: Positions) -> Judged:
        blocks = blocks_of(self.column, level, is_exact=True)
        if not len(blocks.known):
            return Judged.nothing(len(level.totals))
        low, high = self._values()

        def neighbours(places: Positions) -> tuple[Floats, Floats]:
            code = blocks.code
            return high.take(code.take(places)), low.take(code.take(places + 1))

        return best_cuts(level, Runs.of_blocks(blocks), neighbours)

    def _values(self) -> tuple[Floats, Floats]:
        """The least and the greatest value that each code stands for."""
        if self.column.values is not None:
            return self.column.values
        codes = np.arange(float(self.column.size))
        return codes, codes


class Nominal:
    """A column of categories: a branch for each."""

    def __init__(self, column: Counted) -> None:
        self.column = column

    def follow(self, passage: Passage) -> None:
        pass

    def judge(self, level: Level, usable: Positions) -> Judged:
        judged = Judged.nothing(len(level.totals))
        if not len(usable):
            return judged
        level = level.some(usable)
        blocks = blocks_of(self.column, level, is_exact=False)
        if not len(blocks.known):
            return judged
        table = np.array(blocks.sums, np.float64).T
        offered = offer_of_values(level, blocks.parts, blocks.known, table)
        where = usable[blocks.known]
        judged.gains[where], judged.splits[where] = offered
        return judged


def offer_of_values(
    terms: Terms, parts: Stretches, nodes: Positions, table: Floats
) -> tuple[Floats, Floats]:
    """Gains and split informations of a branch for each line of class weights.

    The lines are those of known values; `parts` are the lines of each of the nodes.
    """
    sizes = table.sum(axis=1)
    total = terms.totals[nodes]
    known = np.add.reduceat(table, parts.starts, axis=0)
    after = parts.sums(information(table))
    large = parts.sums((sizes >= terms.min_leaf - SLACK).astype(np.intp)) >= 2
    gains = (information(known) - after) / total
    parted = parts.sums(bits(sizes)) + bits(total - parts.sums(sizes))
    return np.where(large, gains, -np.inf), (bits(total) - parted) / total


class Grouped:
    """A column of categories: a branch for each group of them, found by a search."""

    def __init__(self, column: Counted, is_ratio: bool) -> None:
        self.column, self.is_ratio = column, is_ratio

    def follow(self, passage: Passage) -> None:
        pass

    def judge(self, level: Level, usable: Positions) -> Judged:
        groups: dict[int, Groups] = {}
        judged = replace(Judged.nothing(len(level.totals)), groups=groups)
        width, classes = self.column.size + 1, level.classes
        most = max(1, MOST_CELLS // (width * classes))
        for start in range(0, len(usable), most):
            some = usable[start : start + most]
            here = level.some(some)
            cells = here.node.astype(np.intp) * width
            cells += self.column.codes.take(here.cases.rows)
            cells *= classes
            cells += here.y
            size = len(some) * width * classes
            table = np.bincount(cells, here.cases.weights, size)
            tables = table.reshape(-1, width, classes).astype(np.float64)
            for node, each in zip(some.tolist(), tables, strict=True):
                found = group_values(
                    each[:-1], each[-1], level.min_leaf, is_ratio=self.is_ratio
                )
                judged.gains[node], judged.splits[node] = found.gain, found.split
                groups[node] = found.groups
        return judged
