"""The rows that prove an artefact: every cell of the model and every edge of a cell.

A model cuts the space of inputs into finitely many cells, and within a cell neither the
model nor an artefact with the same constants can change its answer. Where the values at
the edges of all features can be combined within the budget, all combinations are tried
and the proof is complete. Otherwise each cell is entered and each edge is told by a row
of its own (see `search`), and the coverage says how many were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import isfinite, prod
from random import Random

from treecompile.ir import Body, Condition, Feature, Kind, Row, RuleSet, Tree, Value
from treecompile.retree import nest
from treecompile.semantics import (
    holds,
    is_unknown,
    members,
    required_features,
    threshold,
)
from treecompile.verify.axes import (
    DOUBLES,
    Box,
    Constants,
    Numbers,
    Space,
    as_double,
    fitting,
    space,
    twins,
)
from treecompile.verify.graph import Arms, Graph, Place, cells, graph, questions
from treecompile.verify.search import Search
from treecompile.witness import unseen

BUDGET = 100_000
STEPS = 20  # of searching, for each row of the budget
CONSTANTS = 16  # of an artefact that are tried in every cell; more go to the axes only


@dataclass(frozen=True, slots=True)
class Trial:
    rows: tuple[Row, ...]
    complete: bool  # every combination of edge values is there
    cells: int  # leaves or rules that a row can reach
    edges: int = 0  # values at which a test decides an answer; 0 if complete
    told: int = 0  # those of them at which an error would show


def trial(
    body: Body,
    constants: Constants = Constants(),
    budget: int = BUDGET,
    seed: int = 0,
    *,
    answer: Callable[[int], object] = lambda decider: decider,
    numbers: Numbers = DOUBLES,
    scattered: bool = False,
) -> Trial:
    """The rows to try on a model and its artefact.

    `answer` is what the artefact gives for each position that decides: where two have
    the same answer, the edge between them cannot be told. With `scattered`, a part of
    the rows has several unknown values at once.
    """
    around = space(body, constants, numbers)
    required = set(required_features(body))
    dice = Random(seed)
    combinations = prod(len(around.axes[position].values) for position in required)
    if combinations <= budget:
        ranges = [
            axis.values if position in required else axis.values[:1]
            for position, axis in enumerate(around.axes)
        ]
        rows = [_vary(row, required, around, dice) for row in product(*ranges)]
        number = len(body.rules) if isinstance(body, RuleSet) else _leaves(body)
        return Trial(tuple(rows), True, number)
    # A list that is run as one decision errs at the questions of that decision.
    nested = None if isinstance(body, Tree) else nest(body)
    if nested is None:
        walk = Walk(body, around, constants, budget, dice, answer, numbers)
        return walk.trial(budget // 4 if scattered else 0)
    outcomes = nested.outcomes
    walk = Walk(
        nested.tree,
        around,
        constants,
        budget,
        dice,
        lambda leaf: answer(outcomes[leaf]),
        numbers,
    )
    return replace(walk.trial(0), cells=len(set(outcomes.values())))


def _leaves(body: Body) -> int:
    return sum(not arms for arms in graph(body).arms)


def _vary(row: Row, required: set[int], around: Space, dice: Random) -> Row:
    """Give the features that do not matter any value, to see that they do not."""
    return tuple(
        value if position in required else dice.choice(around.axes[position].values)
        for position, value in enumerate(row)
    )


class Walk:
    """Rows for cells and edges, chosen by the dice where the budget is too small."""

    def __init__(
        self,
        body: Body,
        around: Space,
        constants: Constants,
        budget: int,
        dice: Random,
        answer: Callable[[int], object],
        numbers: Numbers,
    ) -> None:
        self.body, self.space, self.budget, self.dice = body, around, budget, dice
        self.numbers = numbers
        self.graph: Graph = graph(body)
        self.search = Search(self.graph, around, answer, STEPS * budget)
        self.added = [self.fitting(feature, constants) for feature in body.features]
        self.rows: dict[Row, None] = {}
        self.cells = 0  # that are known to be, or at least not known to be empty

    def trial(self, scattered: int) -> Trial:
        # A budget that is too small for all goes to the cells and the edges alike.
        self.enter((self.budget - scattered) // 2)
        edges, told = self.tell(self.budget - scattered - len(self.rows))
        self.scatter(scattered)
        self.wander(self.budget // 2)
        return Trial(
            rows=tuple(self.rows)[: self.budget],
            complete=False,
            cells=self.cells,
            edges=edges,
            told=told,
        )

    def fitting(self, feature: Feature, constants: Constants) -> list[Value]:
        values = list(fitting(feature, constants))
        if len(values) > CONSTANTS:
            values = self.dice.sample(values, CONSTANTS)
        if feature.kind is not Kind.NUMERIC:
            return values
        return [near for cut in values for near in self.numbers.beside(as_double(cut))]

    # ------------------------------------------------------------ cells

    def enter(self, budget: int) -> None:
        """Two rows in every cell, and one for every constant added to the artefact."""
        places = list(cells(self.body, self.graph, self.space))
        self.dice.shuffle(places)
        for number, place in enumerate(places):
            room = budget - len(self.rows)
            if room <= 0:
                self.cells += len(places) - number
                break
            box = self.search.entering(place)
            if box is None:
                self.cells += self.search.gave_up and not self.is_default(place)
                continue
            self.cells += 1
            more = [box, *self.at_constants(box)]
            quota = room // (len(places) - number)
            for inner in (box, *more[:1], *self.dice.sample(more, len(more)))[:quota]:
                self.add(inner)

    def is_default(self, place: Place) -> bool:
        """The default of rules that cover everything is no cell, if hard to prove."""
        last = len(self.graph.arms) - 1
        return isinstance(self.body, RuleSet) and place.state == last

    def at_constants(self, box: Box) -> Iterator[Box]:
        for position, values in enumerate(self.added):
            for value in values:
                region = self.space.axes[position].at(value)
                inner = self.space.narrow(box, position, region)
                if inner is not None:
                    yield inner

    def add(self, box: Box, position: int = -1, value: Value = None) -> None:
        """A row of a box, with a value that stands for all of its region."""
        row = self.space.row(box, self.dice)
        if position >= 0:
            row = (*row[:position], value, *row[position + 1 :])
        self.rows[row] = None

    # ------------------------------------------------------------ edges

    def tell(self, budget: int) -> tuple[int, int]:
        """A row for every edge; how many edges there are, and how many were told."""
        number = sum(
            len(list(self.edges(place, self.graph.arms[place.state])))
            for place in questions(self.body, self.graph, self.space)
        )
        chance = 1.0 if number <= budget else budget / number
        edges = told = 0
        for place in questions(self.body, self.graph, self.space):
            arms = self.graph.arms[place.state]
            position = arms[0][0].feature
            for value, right, wrong in self.edges(place, arms):
                edges += 1
                if chance < 1 and self.dice.random() >= chance:
                    continue
                region = self.space.axes[position].at(value)
                box = self.space.narrow(place.box, position, region)
                if box is not None:
                    pinned = Place(place.state, place.start, box)
                    box = self.search.telling(pinned, right, wrong)
                    if box is None and self.search.gave_up:
                        continue
                if box is None:
                    edges -= 1  # no row can show it
                    continue
                told += 1
                self.add(box, position, value)
        return edges, told

    def edges(self, place: Place, arms: Arms) -> Iterator[tuple[Value, int, int]]:
        """The values around a question, with the right arm of each and the wrong."""
        position = arms[0][0].feature
        feature = self.body.features[position]
        for value, likened in self.around(position, [test for test, _ in arms]):
            right = _arm(arms, feature, value)
            if likened is not None:
                suspects: Iterable[int] = (_arm(arms, feature, likened),)
            else:
                suspects = (child for _, child in arms)
            yield from ((value, right, wrong) for wrong in suspects if wrong != right)

    def around(
        self, position: int, tests: list[Condition]
    ) -> Iterator[tuple[Value, Value]]:
        """Values at which a test may err, and what each may be mistaken for."""
        feature = self.body.features[position]
        if feature.kind is Kind.NUMERIC:
            cut = threshold(tests[0])
            near = self.numbers.beside(cut) if isfinite(cut) else ()
            values = [*near, *self.numbers.always]
        else:
            named = [c for t in tests if isinstance(t.value, tuple) for c in members(t)]
            if feature.kind is Kind.ORDINAL:
                named = list(feature.categories)
            known = dict.fromkeys(named)
            others = [c for c in feature.categories if c not in known]
            values = [*known, *others[:2], unseen(feature), None]
            for category in known:
                for twin in twins(category):
                    if twin not in known:
                        yield twin, category
        for value in dict.fromkeys([*values, *self.added[position]]):
            yield value, None

    # ------------------------------------------------------------ the rest

    def scatter(self, number: int) -> None:
        """Rows as there are, with all or some of their values unknown."""
        unknown = [
            [value for value in axis.values if is_unknown(feature, value)]
            for axis, feature in zip(self.space.axes, self.body.features, strict=True)
        ]
        known = list(self.rows)
        for turn in range(number if known else 0):
            chance = self.dice.random() if turn else 1.0
            row = self.dice.choice(known)
            pairs = zip(row, unknown, strict=True)
            changed = (
                self.dice.choice(some) if some and self.dice.random() < chance else v
                for v, some in pairs
            )
            self.rows[tuple(changed)] = None

    def wander(self, budget: int) -> None:
        """What is left goes to rows that differ in one value from those there are."""
        known = list(self.rows)
        axes = self.space.axes
        for _ in range(budget - len(known) if known else 0):
            row = self.dice.choice(known)
            position = self.dice.randrange(len(axes))
            value = self.dice.choice(axes[position].values)
            self.rows[(*row[:position], value, *row[position + 1 :])] = None


def _arm(arms: Arms, feature: Feature, value: Value) -> int:
    return next(child for test, child in arms if holds(test, feature, value))
