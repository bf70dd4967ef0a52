"""Chooses the rows that prove the artefact of a forest, and knows its answers.

Each tree cuts the space of inputs into cells, its leaves. There are rows in every leaf
of every tree, and at every edge of every test: the threshold, its neighbours, each
category, unseen and missing values. The other values of a row are random, so that the
sums have terms of all kinds.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from math import ceil, frexp, inf, isfinite, ldexp, prod
from operator import itemgetter
from random import Random
from typing import Any

import numpy as np

from treecompile.model import batch, forests, ir
from treecompile.model.collector import paused
from treecompile.model.semantics import required_features
from treecompile.regions.region import Interval, Region
from treecompile.regions.space import unseen
from treecompile.verify.axes import DOUBLES, Grid, NumberProbes, twins
from treecompile.verify.cells import BUDGET, ProbeRows, all_combinations
from treecompile.verify.claims import Wanted
from treecompile.verify.constants import Constants
from treecompile.verify.random_rows import Cell, Pin, RandomRows
from treecompile.verify.reference import encoded

IN_EACH_LEAF = 2  # rows in each leaf
ConditionValue = ir.Category | float | tuple[ir.Category, ...]
MIXED = 0.1  # the share of the budget for rows whose values are all random
# By how many units in the last place an engine may err in `exp` and the steps after it.
UNITS = {ir.Arithmetic.SINGLE: 1, ir.Arithmetic.DOUBLE: 8}
DIGITS = {ir.Arithmetic.SINGLE: (24, -149), ir.Arithmetic.DOUBLE: (53, -1074)}


@dataclass(frozen=True, slots=True)
class Nearly:
    """A number that depends on how an engine computes `exp`."""

    number: float
    arithmetic: ir.Arithmetic
    taken_from_1: bool = False  # it is 1 minus the other share, with its last digits

    def __repr__(self) -> str:
        return repr(self.number)

    def is_met_by(self, found: object) -> bool:
        if type(found) is not float or not isfinite(found):
            return found == self.number
        bits, least = DIGITS[self.arithmetic]
        largest = max(self.number, 1 - self.number) if self.taken_from_1 else 0.0
        _, exponent = frexp(largest or self.number)
        step = ldexp(1.0, max(exponent - bits, least))
        return abs(found - self.number) <= UNITS[self.arithmetic] * step


class ForestReference:
    """Knows the answers of a forest: the outputs named in `wanted`, in that order."""

    def __init__(self, forest: ir.Forest, wanted: Wanted = ()) -> None:
        self.body, self.wanted = forest, wanted
        self.entered: set[tuple[int, int]] = set()  # a tree, and a leaf of it

    def judge(self, rows: Sequence[ir.Row]) -> Iterator[tuple[object, ...]]:
        """Yield what the artefact must say about each row."""
        forest = self.body
        columns = encoded(forest, rows)
        for number, leaves in enumerate(batch.leaves_of(forest, columns, len(rows))):
            self.entered.update((number, leaf) for leaf in np.unique(leaves).tolist())
        for found in batch.margins(forest, columns, len(rows)).tolist():
            yield tuple(self._part(found, *each) for each in self.wanted)

    def answers(self, rows: Sequence[ir.Row]) -> list[ir.Label]:
        """Return the model's answer to each row."""
        columns = encoded(self.body, rows)
        found = batch.margins(self.body, columns, len(rows)).tolist()
        return [forests.answer(self.body, each) for each in found]

    def _part(self, margins: Sequence[float], output: str, place: int | None) -> object:
        forest = self.body
        if output == "margin":
            return max(margins) if place is None else margins[place]
        if output == "label" and forest.labels:
            return forests.answer(forest, margins)
        taken_from_1 = False
        if output == "label":
            number = forests.linked(forest, margins)[0]
        else:
            own = forests.place_of_label(forest, margins) if place is None else place
            number = forests.probabilities(forest, margins)[own]
            taken_from_1 = own == 0 and len(margins) == 1
        if forests.is_exact(forest):
            return number
        return Nearly(number, forest.arithmetic, taken_from_1)


# ---------------------------------------------------------------- rows


@paused()
def forest_rows(
    forest: ir.Forest,
    constants: Constants = Constants(),
    budget: int = BUDGET,
    seed: int = 0,
    *,
    numbers: NumberProbes = DOUBLES,
) -> ProbeRows:
    """Return the rows to try on a forest and its artefact."""
    if forest.zero_is_missing:
        zeros = {forests.ZERO, -forests.ZERO}
        constants = Constants(constants.numbers | zeros, constants.strings)
    grid = Grid(forest, constants, numbers)
    required = set(required_features(forest))
    cells = sum(len(member.values) for member in forest.members)
    dice = Random(seed)
    if prod(len(grid.axes[index].values) for index in required) <= budget:
        return ProbeRows(all_combinations(grid, required, dice), True, cells)
    return ForestProbing(forest, grid, budget, dice).result()


class Around:
    """Values at which a test may err, each with the region that no test cuts."""

    def __init__(self, regions: Sequence[tuple[ir.Value, Region]]) -> None:
        self.others = [pair for pair in regions if not isinstance(pair[1], Interval)]
        # A number's interval has one place only, so its place is all that is needed.
        found = [(each, v) for v, each in regions if isinstance(each, Interval)]
        known = [(each.high, v) for each, v in found if each.has_known]
        known.sort(key=itemgetter(0))
        self.places = [place for place, _ in known]
        self.known = [value for _, value in known]
        self.missing = [value for each, value in found if each.missing]

    def count(self, own: Region) -> int:
        """Return how many of the values are in a region."""
        if not isinstance(own, Interval):
            return len(self._others(own))
        first, last = self._span(own)
        return last - first + own.missing * len(self.missing)

    def value(self, own: Region, number: int) -> ir.Value:
        """Return one of the values in a region, by its number from 0."""
        if not isinstance(own, Interval):
            return self._others(own)[number]
        first, last = self._span(own)
        place = first + number
        return self.known[place] if place < last else self.missing[place - last]

    def _others(self, own: Region) -> list[ir.Value]:
        return [value for value, each in self.others if each.overlaps(own)]

    def _span(self, own: Interval) -> tuple[int, int]:
        places = self.places
        return bisect_right(places, own.low), bisect_right(places, own.high)


class ForestProbing:
    """Collects rows for the leaves and edges of all trees, as the budget allows."""

    def __init__(
        self, forest: ir.Forest, grid: Grid, budget: int, dice: Random
    ) -> None:
        self.forest, self.grid, self.dice = forest, grid, dice
        self.budget = budget
        self.drawn = RandomRows(grid, dice)
        self.around, self.where = cache(self._around), cache(self._where)
        self.rows: dict[ir.Row, None] = {}

    def result(self) -> ProbeRows:
        leaves: list[Cell] = []
        splits: list[tuple[ir.Condition, Cell]] = []
        for member in self.forest.members:
            self.divide(member.tree, leaves, splits)
        mixed = ceil(MIXED * self.budget)
        chosen = self.chosen(leaves * IN_EACH_LEAF, (self.budget - mixed) // 2)
        self.rows |= dict.fromkeys(self.drawn.inside(chosen))
        edges, pinned = self.edges(splits, self.budget - mixed - len(self.rows))
        cells, pins = [cell for cell, _ in pinned], [pin for _, pin in pinned]
        self.rows |= dict.fromkeys(self.drawn.inside(cells, pins))
        self.rows |= dict.fromkeys(self.drawn.anywhere(mixed))
        return ProbeRows(tuple(self.rows), False, len(leaves), edges, len(pinned))

    def chosen(self, items: Sequence[Any], most: int) -> Sequence[Any]:
        return items if len(items) <= most else self.dice.sample(items, max(0, most))

    def divide(
        self,
        tree: ir.Tree,
        leaves: list[Cell],
        splits: list[tuple[ir.Condition, Cell]],
    ) -> None:
        """Add the leaves and splits that a row can reach, each with its cell."""
        cells: dict[int, Cell] = {0: {}}
        for position, node in enumerate(tree.nodes):
            cell = cells.pop(position, None)
            if cell is None:
                continue
            if isinstance(node, ir.Leaf):
                leaves.append(cell)
                continue
            splits.append((node.branches[0].when, cell))
            for branch in node.branches:
                when = branch.when
                index = when.feature
                region = self.where(index, when.op, when.value, when.missing)
                if index in cell:
                    region = cell[index].meet(region)
                if not region.is_empty:
                    cells[branch.then] = {**cell, index: region}

    # ------------------------------------------------------------ edges

    def edges(
        self, splits: Sequence[tuple[ir.Condition, Cell]], most: int
    ) -> tuple[int, list[tuple[Cell, Pin]]]:
        """Return how many edges the splits have, and up to `most` of them.

        There may be millions, so they are counted first, and only some are made.
        """
        parts = [self.part(*split) for split in splits]
        starts = list(
            accumulate((around.count(own) for around, own in parts), initial=0)
        )
        found = []
        for number in self.chosen(range(starts[-1]), most):
            place = bisect_right(starts, number) - 1
            (around, own), (test, cell) = parts[place], splits[place]
            value = around.value(own, number - starts[place])
            found.append((cell, (test.feature, value)))
        return starts[-1], found

    def part(self, test: ir.Condition, cell: Cell) -> tuple[Around, Region]:
        """Return the values at which a test may err, and the region that reaches it."""
        index = test.feature
        own = cell[index] if index in cell else self.grid.everything[index]
        return self.around(index, test.value), own

    # A cache finds the parts of a condition faster than the condition itself.

    def _where(
        self, index: int, op: ir.Op, value: ConditionValue, missing: bool
    ) -> Region:
        region = self.grid.region(ir.Condition(index, op, value, missing))
        return self.grid.everything[index].meet(region)

    def _around(self, index: int, value: ConditionValue) -> Around:
        at = self.grid.axes[index].at
        return Around([(each, at(each)) for each in self.beside(index, value)])

    def beside(self, index: int, value: ConditionValue) -> Iterator[ir.Value]:
        feature = self.forest.features[index]
        if feature.kind is ir.Kind.NUMERIC:
            assert isinstance(value, float)
            numbers = self.grid.numbers
            yield from numbers.beside(value) if abs(value) < inf else ()
            yield from numbers.always
            return
        assert isinstance(value, tuple)
        others = [c for c in feature.categories if c not in value]
        named = [*value, *others[:2]]
        twin = [t for c in named for t in twins(c) if t not in feature.categories]
        yield from (*named, *twin, unseen(feature), None)
