"""The rows that prove the artefact of a forest, and what the forest says about them.

Each tree cuts the space of inputs into cells, its leaves. There are rows in every leaf
of every tree, and at every edge of every test: the threshold, its neighbours, each
category, unseen and missing values. The other features of a row are random, so that the
sums have terms of all kinds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, frexp, inf, isfinite, ldexp, nan, prod
from random import Random
from typing import Any

import numpy as np

from treecompile.model import batch, forests, ir
from treecompile.model.arrays import Array
from treecompile.model.semantics import places, required_features, threshold
from treecompile.regions.space import Box, unseen
from treecompile.verify.axes import DOUBLES, Grid, NumberProbes, twins
from treecompile.verify.cells import BUDGET, ProbeRows, all_combinations
from treecompile.verify.claims import Wanted
from treecompile.verify.constants import Constants, as_double

IN_EACH_LEAF = 2  # rows
MIXED = 0.1  # the share of the budget for rows whose values are all random
# How many units in the last place an engine may err: in `exp`, and in what follows it.
UNITS = {ir.Arithmetic.SINGLE: 1, ir.Arithmetic.DOUBLE: 8}
DIGITS = {ir.Arithmetic.SINGLE: (24, -149), ir.Arithmetic.DOUBLE: (53, -1074)}


@dataclass(frozen=True, slots=True)
class Nearly:
    """A number that depends on how an engine computes `exp`."""

    number: float
    arithmetic: ir.Arithmetic
    taken_from_1: bool = False  # then its last digits are those of the other share

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
    """The answers of a forest: what `wanted` names, in that order."""

    def __init__(self, forest: ir.Forest, wanted: Wanted = ()) -> None:
        self.body, self.wanted = forest, wanted
        self.entered: set[tuple[int, int]] = set()  # a tree, and a leaf of it
        self.divided_rows = 0

    def judge(self, rows: Sequence[ir.Row]) -> Iterator[tuple[object, ...]]:
        """What the artefact must say about each row."""
        forest = self.body
        columns = encoded(forest, rows)
        for number, leaves in enumerate(batch.leaves_of(forest, columns, len(rows))):
            self.entered.update((number, leaf) for leaf in np.unique(leaves).tolist())
        for found in batch.margins(forest, columns, len(rows)).tolist():
            yield tuple(self._part(found, *each) for each in self.wanted)

    def answers(self, rows: Sequence[ir.Row]) -> list[ir.Label]:
        """The answer to each row."""
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


def encoded(forest: ir.Forest, rows: Sequence[ir.Row]) -> list[Array | None]:
    """Rows as columns of doubles and codes."""
    required = set(required_features(forest))
    columns: list[Array | None] = []
    for index, feature in enumerate(forest.features):
        values: list[Any] = [row[index] for row in rows]
        if index not in required:
            columns.append(None)
        elif feature.kind is ir.Kind.NUMERIC:
            columns.append(
                np.array([nan if v is None else as_double(v) for v in values])
            )
        else:
            codes = places(feature.categories)
            other = len(feature.categories)
            found = [-1 if v is None else codes.get(v, other) for v in values]
            columns.append(np.array(found, dtype=np.intp))
    return columns


# ---------------------------------------------------------------- rows


def forest_rows(
    forest: ir.Forest,
    constants: Constants = Constants(),
    budget: int = BUDGET,
    seed: int = 0,
    *,
    numbers: NumberProbes = DOUBLES,
) -> ProbeRows:
    """The rows to try on a forest and its artefact."""
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


class ForestProbing:
    """Rows for the leaves and the edges of all trees, as far as the budget goes."""

    def __init__(
        self, forest: ir.Forest, grid: Grid, budget: int, dice: Random
    ) -> None:
        self.forest, self.grid, self.dice = forest, grid, dice
        self.budget = budget
        self.rows: dict[ir.Row, None] = {}

    def result(self) -> ProbeRows:
        leaves: list[Box] = []
        edges: list[tuple[Box, int, ir.Value]] = []
        for member in self.forest.members:
            for node, box in self.boxes(member.tree):
                if isinstance(node, ir.Leaf):
                    leaves.append(box)
                else:
                    edges += self.edges(node.branches[0].when, box)
        mixed = ceil(MIXED * self.budget)
        for box in self.chosen(leaves * IN_EACH_LEAF, (self.budget - mixed) // 2):
            self.rows[self.grid.pick(box, self.dice)] = None
        covered = self.chosen(edges, self.budget - mixed - len(self.rows))
        for box, index, value in covered:
            row = self.grid.pick(box, self.dice)
            self.rows[(*row[:index], value, *row[index + 1 :])] = None
        for _ in range(mixed):
            values = (self.dice.choice(axis.values) for axis in self.grid.axes)
            self.rows[tuple(values)] = None
        return ProbeRows(tuple(self.rows), False, len(leaves), len(edges), len(covered))

    def chosen(self, items: list[Any], most: int) -> list[Any]:
        return items if len(items) <= most else self.dice.sample(items, max(0, most))

    def boxes(self, tree: ir.Tree) -> Iterator[tuple[ir.Node, Box]]:
        """The nodes that a row can reach, each with the rows that reach it."""
        boxes: dict[int, Box] = {0: self.grid.everything}
        for position, node in enumerate(tree.nodes):
            box = boxes.pop(position, None)
            if box is None:
                continue
            yield node, box
            if isinstance(node, ir.Split):
                for branch in node.branches:
                    inner = self.grid.cut(box, branch.when)
                    if inner is not None:
                        boxes[branch.then] = inner

    def edges(
        self, test: ir.Condition, box: Box
    ) -> Iterator[tuple[Box, int, ir.Value]]:
        """The values at which a test may err, each with the rows that have it."""
        index = test.feature
        for value in self.around(test):
            region = self.grid.axes[index].at(value)
            inner = self.grid.narrow(box, index, region)
            if inner is not None:
                yield inner, index, value

    def around(self, test: ir.Condition) -> Iterator[ir.Value]:
        feature = self.forest.features[test.feature]
        if feature.kind is ir.Kind.NUMERIC:
            cut, numbers = threshold(test), self.grid.numbers
            yield from numbers.beside(cut) if abs(cut) < inf else ()
            yield from numbers.always
            return
        assert isinstance(test.value, tuple)
        others = [c for c in feature.categories if c not in test.value]
        named = [*test.value, *others[:2]]
        twin = [t for c in named for t in twins(c) if t not in feature.categories]
        yield from (*named, *twin, unseen(feature), None)
