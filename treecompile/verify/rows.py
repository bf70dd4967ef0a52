"""Chooses the rows that prove an artefact: in every cell, and at every edge of a cell.

A model cuts the space of inputs into finitely many cells: the leaves of a tree, the
rows that a rule decides, the leaves of each tree of a forest. Within a cell, neither
the model nor an artefact with the same constants can change its answer. If all
combinations of the values on the axes fit into the budget, all are tried and the proof
is complete. Otherwise there are rows in every cell and a row for every edge, and the
coverage says how many have one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, product
from math import ceil, isfinite, prod
from random import Random
from typing import Any

from treecompile.model import forests, ir
from treecompile.model.collector import paused
from treecompile.model.paths import leaf_count
from treecompile.model.semantics import required_features, threshold
from treecompile.regions.region import Region
from treecompile.regions.space import Box, unseen
from treecompile.verify.axes import (
    Beside,
    Constants,
    Grid,
    as_double,
    doubles_beside,
    fitting,
    twins,
)
from treecompile.verify.random_rows import Pin, RandomRows
from treecompile.verify.search import Cell, Search, nodes

BUDGET = 100_000
STEPS = 20  # steps of the search for each row of the budget
IN_EACH_CELL = 2  # rows
MIXED = 0.1  # the share of the budget for rows of a forest whose values are all random

Tests = Sequence[ir.Condition]
Place = tuple[Cell, Pin | None]  # where a row is to be; a pin fixes one value


@dataclass(frozen=True, slots=True)
class ProbeRows:
    rows: tuple[ir.Row, ...]
    complete: bool  # every combination of edge values is among them
    cells: int  # leaves or rules that a row can reach
    edges: int = 0  # values at which a test decides an answer; 0 if complete
    covered: int = 0  # edges at which an error would show


def probe_rows(
    body: ir.AnyBody,
    constants: Constants = frozenset(),
    budget: int = BUDGET,
    seed: int = 0,
    *,
    answer: Callable[[int], object] = lambda decider: decider,
    beside: Beside = doubles_beside,
) -> ProbeRows:
    """Return the rows to try on a model and its artefact.

    `answer` maps each deciding position of a tree or of rules to the artefact's answer:
    an error between two positions with the same answer does not show.
    """
    on_axes = constants
    if isinstance(body, ir.Forest) and body.zero_is_missing:
        on_axes = constants | {forests.ZERO, -forests.ZERO}
    grid = Grid(body, on_axes, beside)
    required = set(required_features(body))
    dice = Random(seed)
    if prod(len(grid.axes[index].values) for index in required) <= budget:
        rows = tuple(_all_combinations(grid, required, dice))
        return ProbeRows(rows, True, leaf_count(body))
    is_forest = isinstance(body, ir.Forest)
    probing: type[Probing] = ForestProbing if is_forest else Probing
    return probing(body, constants, grid, budget, dice, answer).result()


def _all_combinations(grid: Grid, required: set[int], dice: Random) -> Iterator[ir.Row]:
    """Yield every combination of the values of the required features.

    The others have random values: they must not matter.
    """
    ranges = [
        axis.values if index in required else axis.values[:1]
        for index, axis in enumerate(grid.axes)
    ]
    for row in product(*ranges):
        yield tuple(
            value if index in required else dice.choice(grid.axes[index].values)
            for index, value in enumerate(row)
        )


class Probing:
    """Collects rows for the cells and edges of a tree or of rules.

    They are chosen at random if the budget is too small for all.
    """

    mixed = 0  # rows that are neither

    def __init__(
        self,
        body: Any,
        constants: Constants,
        grid: Grid,
        budget: int,
        dice: Random,
        answer: Callable[[int], object],
    ) -> None:
        self.body, self.answer = body, answer
        self.grid, self.budget, self.dice = grid, budget, dice
        self.drawn = RandomRows(grid, dice)
        self.added = [self._added(each, constants) for each in grid.features]
        self.unknown = 0  # cells of which it is not known whether a row reaches them

    @cached_property
    def search(self) -> Search:
        return Search(self.body, self.grid, self.answer, STEPS * self.budget)

    @paused()
    def result(self) -> ProbeRows:
        cells = self.cells()
        self.dice.shuffle(cells)
        # A budget that is too small for everything is shared between cells and edges.
        most = self.budget - self.mixed
        places = list(islice(self._in_cells(cells), ceil(most / 2)))
        edges, pinned = self.edges(most - len(places))
        rows = dict.fromkeys(self.drawn.inside([*places, *pinned]))
        self.mix(rows)
        tried = tuple(rows)[: self.budget]
        return ProbeRows(
            tried, False, len(cells) + self.unknown, edges, covered=len(pinned)
        )

    def mix(self, rows: dict[ir.Row, None]) -> None:
        """Add rows that differ in one value from others, up to half of the budget."""
        known, axes, chance = list(rows), self.grid.axes, self.dice.random
        for _ in range(self.budget // 2 - len(known) if known else 0):
            row = known[int(chance() * len(known))]
            index = int(chance() * len(axes))
            values = axes[index].values
            value = values[int(chance() * len(values))]
            rows[(*row[:index], value, *row[index + 1 :])] = None

    # ------------------------------------------------------------ cells

    def cells(self) -> list[Cell]:
        """Return the cells that a row can reach."""
        search, found = self.search, list[Cell]()
        places = list(search.cells())
        self.dice.shuffle(places)
        for place in places:
            box = search.find(place)
            if box is not None:
                found.append(dict(enumerate(box)))
            elif search.gave_up and place[0] < len(search.arms) - 1:
                # The default of a list counts only if it is known to be reached.
                self.unknown += 1
        return found

    def _in_cells(self, cells: Sequence[Cell]) -> Iterator[Place]:
        """Yield two places in every cell, and one there for every added constant."""
        for cell in [*cells] * IN_EACH_CELL:
            yield cell, None
        for index, values in enumerate(self.added):
            for value, cell in product(values, cells):
                own = cell.get(index, self.grid.everything[index])
                inner = own.meet(self.grid.axes[index].at(value))
                if not inner.is_empty:
                    yield {**cell, index: inner}, (index, value)

    def _added(self, feature: ir.Feature, constants: Constants) -> Sequence[ir.Value]:
        """Return the values to try in every cell for the constants added."""
        values = fitting(constants, feature)
        if feature.kind is not ir.Kind.NUMERIC:
            return values
        return [near for cut in values for near in self.grid.beside(as_double(cut))]

    # ------------------------------------------------------------ edges

    def edges(self, most: int) -> tuple[int, list[Place]]:
        """Return how many edges there are, and where rows show up to `most` of them.

        There may be millions, so they are counted first, and only some are made.
        """
        questions = list(self.questions())
        number = sum(len(self.errors(each)) for each in questions)
        chosen: Container[int] = range(number)
        if number > most:
            chosen = frozenset(self.dice.sample(range(number), max(0, most)))
        hidden, first = 0, 0
        found: list[Place] = []
        for question in questions:
            errors = self.errors(question)
            some = [each for n, each in enumerate(errors, first) if n in chosen]
            first += len(errors)
            places = list(self.shown(question, some))
            hidden += len(some) - len(places)
            found += filter(None, places)
        return number - hidden, found

    def questions(self) -> Iterable[Any]:
        """Yield where each test is made."""
        return self.search.questions()

    def errors(self, question: Any) -> Sequence[Any]:
        """Return the edges of a question: a value, its right arm and a wrong one."""
        search, (state, _) = self.search, question
        arms = search.arms[state]
        found: list[tuple[ir.Value, int, int]] = []
        for value, likened in self.around([test for test, _ in arms]):
            right = search.taken(state, value)
            suspects = [child for _, child in arms]
            if likened is not None:
                suspects = [search.taken(state, likened)]
            found += ((value, right, wrong) for wrong in suspects if wrong != right)
        return found

    def shown(self, question: Any, errors: Sequence[Any]) -> Iterator[Place | None]:
        """Yield where a row shows each error; None if nobody knows.

        A row that exposes an error at one value usually does so at others, too. So one
        search serves both sides of a threshold, infinity and the missing value.
        """
        search, narrow, (state, whole) = self.search, self.grid.narrow, question
        index = search.arms[state][0][0].feature
        known: dict[tuple[int, int], Box | None] = {}  # with any value, by arms
        for value, right, wrong in errors:
            region = self.grid.axes[index].at(value)
            inner, arms = narrow(whole, index, region), (right, wrong)
            if inner is None:
                continue
            if arms not in known:
                anywhere = search.find(question, arms)
                if anywhere is not None or not search.gave_up:
                    known[arms] = anywhere
            shown = known.get(arms)
            if shown is None and arms in known:
                continue
            box = shown and narrow(shown, index, region)
            box = box or search.find((state, inner), arms)
            if box is not None:
                yield dict(enumerate(box)), (index, value)
            elif search.gave_up:
                yield None

    def around(self, tests: Tests) -> Iterator[tuple[ir.Value, ir.Value]]:
        """Yield values at which a test may err, with a category each may pass for."""
        first, *_ = tests  # all test one feature, with the same threshold
        index, feature = first.feature, self.grid.features[first.feature]
        if feature.kind is ir.Kind.NUMERIC:
            cut = threshold(first)
            near = self.grid.beside(cut) if isfinite(cut) else ()
            values = [*near, *self.grid.always]
        else:
            named = [c for t in tests if isinstance(t.value, tuple) for c in t.value]
            if feature.kind is ir.Kind.ORDINAL:
                named = list(feature.categories)
            known = dict.fromkeys(named)
            others = [c for c in feature.categories if c not in known]
            values = [*known, *others[:2], unseen(feature), None]
            for category in known:
                yield from ((t, category) for t in twins(category) if t not in known)
        for value in dict.fromkeys([*values, *self.added[index]]):
            yield value, None


class ForestProbing(Probing):
    """The same for a forest: in every leaf and at every edge of all trees.

    The other values of a row are random, so that the sums have terms of all kinds.
    """

    def __init__(self, forest: ir.Forest, *given: Any) -> None:
        super().__init__(forest, *given)
        self.mixed = ceil(MIXED * self.budget)
        self.near = cache(self._near)
        self.splits: list[tuple[Tests, Cell]] = []

    def cells(self) -> list[Cell]:
        leaves: list[Cell] = []
        for member in self.body.members:
            for position, cell in nodes(member.tree, self.grid):
                node = member.tree.nodes[position]
                if isinstance(node, ir.Leaf):
                    leaves.append(cell)
                else:
                    self.splits.append(([each.when for each in node.branches], cell))
        return leaves

    def questions(self) -> Iterable[Any]:
        return self.splits

    def errors(self, question: Any) -> Sequence[Any]:
        (test, *_), cell = question
        own = cell.get(test.feature, self.grid.everything[test.feature])
        near = self.near(test)
        return [(test.feature, value) for value, at in near if own.overlaps(at)]

    def shown(self, question: Any, errors: Sequence[Any]) -> Iterator[Place | None]:
        _, cell = question
        return ((cell, pin) for pin in errors)

    def mix(self, rows: dict[ir.Row, None]) -> None:
        rows |= dict.fromkeys(self.drawn.anywhere(self.mixed))

    def _near(self, test: ir.Condition) -> list[tuple[ir.Value, Region]]:
        """Return the values around a test, each with the region of its equals."""
        at = self.grid.axes[test.feature].at
        return [(value, at(value)) for value, _ in self.around([test])]
