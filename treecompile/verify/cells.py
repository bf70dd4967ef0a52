"""Chooses the rows that prove an artefact: in every cell, and at every edge of a cell.

A model cuts the space of inputs into finitely many cells: its leaves, or the rows that
a rule decides. Within a cell, neither the model nor an artefact with the same constants
can change its answer. If all combinations of the values on the axes fit into the
budget, all are tried and the proof is complete. Otherwise there are rows in every cell
and a row for every edge (see `search`), and the coverage says how many cells and edges
have one. `verification.verify` runs the artefact on these rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from math import isfinite, prod
from random import Random

from treecompile.model.collector import paused
from treecompile.model.ir import Body, Condition, Kind, Row, RuleSet, Value
from treecompile.model.paths import leaf_count
from treecompile.model.semantics import required_features, threshold
from treecompile.regions.space import Box, unseen
from treecompile.verify.axes import DOUBLES, Grid, NumberProbes, below, twins
from treecompile.verify.constants import Constants, as_double
from treecompile.verify.random_rows import Pin, RandomRows
from treecompile.verify.search import Arms, EdgeSearch, ErrorSearch, QuestionGraph

BUDGET = 100_000
STEPS = 20  # steps of the search for each row of the budget
CONSTANTS = 16  # added constants tried in every cell; more are on the axes only

Place = tuple[Box, Pin | None]  # where a row is to be; a pin fixes one value


@dataclass(frozen=True, slots=True)
class ProbeRows:
    rows: tuple[Row, ...]
    complete: bool  # every combination of edge values is among them
    cells: int  # leaves or rules that a row can reach
    edges: int = 0  # values at which a test decides an answer; 0 if complete
    covered: int = 0  # edges at which an error would show


def probe_rows(
    body: Body,
    constants: Constants = Constants(),
    budget: int = BUDGET,
    seed: int = 0,
    *,
    answer: Callable[[int], object] = lambda decider: decider,
    numbers: NumberProbes = DOUBLES,
) -> ProbeRows:
    """Return the rows to try on a model and its artefact.

    `answer` maps each deciding position to the artefact's answer: an error between two
    positions with the same answer does not show.
    """
    around = Grid(body, constants, numbers)
    required = set(required_features(body))
    dice = Random(seed)
    combinations = prod(len(around.axes[index].values) for index in required)
    if combinations <= budget:
        rows = all_combinations(around, required, dice)
        return ProbeRows(rows, True, leaf_count(body))
    return Probing(body, around, budget, dice, answer).result()


def all_combinations(around: Grid, required: set[int], dice: Random) -> tuple[Row, ...]:
    """Return every combination of the values of the required features."""
    ranges = [
        axis.values if index in required else axis.values[:1]
        for index, axis in enumerate(around.axes)
    ]
    return tuple(_vary(row, required, around, dice) for row in product(*ranges))


def _vary(row: Row, required: set[int], around: Grid, dice: Random) -> Row:
    """Give random values to features that no test reads: they must not matter."""
    return tuple(
        value if index in required else dice.choice(around.axes[index].values)
        for index, value in enumerate(row)
    )


class Probing:
    """Collects rows for cells and edges, at random if the budget is too small."""

    def __init__(
        self,
        body: Body,
        around: Grid,
        budget: int,
        dice: Random,
        answer: Callable[[int], object],
    ) -> None:
        self.body, self.grid, self.budget, self.dice = body, around, budget, dice
        self.graph = QuestionGraph(body)
        self.search = EdgeSearch(self.graph, around, answer, STEPS * budget)
        self.drawn = RandomRows(around, dice)
        self.added = list(map(self.fitting, range(len(body.features))))
        self.places: list[Place] = []  # each will get a row
        self.rows: dict[Row, None] = {}
        self.cells = 0  # how many exist, as far as is known

    @paused()
    def result(self) -> ProbeRows:
        # A budget that is too small for everything is shared between cells and edges.
        self.cover_cells(self.budget // 2)
        edges, covered = self.cover_edges(self.budget - len(self.places))
        self.draw()
        self.wander(self.budget // 2)
        rows = tuple(self.rows)[: self.budget]
        return ProbeRows(
            rows, complete=False, cells=self.cells, edges=edges, covered=covered
        )

    def fitting(self, index: int) -> list[Value]:
        """Return the values to try in every cell for the constants added."""
        feature = self.body.features[index]
        values = list(self.grid.constants.fitting(feature))
        if len(values) > CONSTANTS:
            values = self.dice.sample(values, CONSTANTS)
        if feature.kind is not Kind.NUMERIC:
            return values
        beside = self.grid.numbers.beside
        return [near for cut in values for near in beside(as_double(cut))]

    # ------------------------------------------------------------ cells

    def cover_cells(self, budget: int) -> None:
        """Add two rows in every cell, and one there for every added constant."""
        places = list(self.graph.cells(self.grid))
        self.dice.shuffle(places)
        if budget <= 0:  # the edges need all steps of the search
            self.cells = len(places)
            return
        for number, place in enumerate(places):
            box = self.search.find(place)
            if box is None:
                # The default of a list counts only if it is known to be reached.
                is_last = place.state == len(self.graph.arms) - 1
                is_default = is_last and isinstance(self.body, RuleSet)
                self.cells += self.search.gave_up and not is_default
                continue
            self.cells += 1
            more: list[Place] = [(box, None), *self.at_constants(box)]
            quota = (budget - len(self.places)) // (len(places) - number)
            chosen = (more[0], more[0], *self.dice.sample(more, len(more)))
            self.places += chosen[:quota]

    def at_constants(self, box: Box) -> Iterator[Place]:
        for index, values in enumerate(self.added):
            for value in values:
                inner = self.grid.narrow(box, index, self.grid.axes[index].at(value))
                if inner is not None:
                    yield inner, (index, value)

    # ------------------------------------------------------------ edges

    def cover_edges(self, budget: int) -> tuple[int, int]:
        """Add a row for every edge; return the numbers of edges and of rows added."""
        questions = [
            (place, list(self.edges(self.graph.arms[place.state])))
            for place in self.graph.questions(self.grid)
        ]
        number = sum(len(errors) for _, errors in questions)
        edges = covered = 0
        for place, errors in questions:
            (test, _), *_ = self.graph.arms[place.state]  # all test the same feature
            index = test.feature
            exposed = ErrorSearch(self.search, place, index)
            for value, right, wrong in errors:
                edges += 1
                if number > budget and self.dice.random() >= budget / number:
                    continue
                at = self.grid.axes[index].at(value)
                box = exposed.find(at, (right, wrong))
                if box is not None:
                    covered += 1
                    self.places.append((box, (index, value)))
                elif not exposed.gave_up:
                    edges -= 1  # no row can show it
        return edges, covered

    def edges(self, arms: Arms) -> Iterator[tuple[Value, int, int]]:
        """Yield values around a question, each with its right arm and a wrong one."""
        for value, likened in self.around([test for test, _ in arms]):
            right = self.graph.taken(arms, value)
            if likened is not None:
                suspects: Iterable[int] = (self.graph.taken(arms, likened),)
            else:
                suspects = (child for _, child in arms)
            yield from ((value, right, wrong) for wrong in suspects if wrong != right)

    def around(self, tests: list[Condition]) -> Iterator[tuple[Value, Value]]:
        """Yield values at which a test may err, with a category each may pass for."""
        first, *_ = tests  # all test one feature, with the same threshold
        index = first.feature
        feature = self.body.features[index]
        if feature.kind is Kind.NUMERIC:
            cut = threshold(first)
            numbers = self.grid.numbers
            near = numbers.beside(cut) if isfinite(cut) else ()
            values = [*near, *numbers.always]
        else:
            named = [c for t in tests if isinstance(t.value, tuple) for c in t.value]
            if feature.kind is Kind.ORDINAL:
                named = list(feature.categories)
            known = dict.fromkeys(named)
            others = [c for c in feature.categories if c not in known]
            values = [*known, *others[:2], unseen(feature), None]
            for category in known:
                for twin in twins(category):
                    if twin not in known:
                        yield twin, category
        for value in dict.fromkeys([*values, *self.added[index]]):
            yield value, None

    # ------------------------------------------------------------ the rest

    def draw(self) -> None:
        """Add a row in each place."""
        self.rows |= dict.fromkeys(self.drawn.in_boxes(self.places))

    def wander(self, budget: int) -> None:
        """Add rows that differ in one value from rows so far, up to the budget."""
        known = list(self.rows)
        axes = self.grid.axes
        for _ in range(budget - len(known) if known else 0):
            row = known[below(len(known), self.dice)]
            index = below(len(axes), self.dice)
            values = axes[index].values
            value = values[below(len(values), self.dice)]
            self.rows[(*row[:index], value, *row[index + 1 :])] = None
