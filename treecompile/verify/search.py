"""Searches a model, as a graph of questions, for a row that exposes an error.

A state of the graph asks a question, and its arms say where each answer leads; a state
without arms decides. A tree is such a graph already. In a rule set every condition is a
question: if it holds, the next condition of the rule follows; if it fails, the next
rule. Arms lead forwards only.

An edge is a question, a value at which a test may err, and the wrong arm that it would
then take. A row exposes an error there if it has that value, comes to the question, and
would get another answer from the wrong arm. The search follows pairs of states, where
the row is and where it would be after the error. It is exhaustive: if it ends without a
row, an artefact that errs at that edge still gives the same answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from treecompile.model.ir import Body, Condition, RuleSet, Tree, Value
from treecompile.model.semantics import holds, negate
from treecompile.regions.region import Region
from treecompile.regions.space import Box, Space

STEPS = 1000  # after which one search gives up

# The regions of some features; the others may have any value.
Cell = Mapping[int, Region]
Arms = tuple[tuple[Condition, int], ...]


@dataclass(frozen=True, slots=True)
class StateBox:
    """A state, and a box of rows that may come to it.

    Only the rows of the box that come from `start` to `state` are meant. In a tree the
    two are the same, and every row of the box is meant.
    """

    state: int
    start: int
    box: Box


class QuestionGraph:
    def __init__(self, body: Body) -> None:
        self.body = body
        self.arms: list[Arms]
        self.asked = 0  # how many states a rule set has before its decisions
        if isinstance(body, Tree):
            branches = (getattr(node, "branches", ()) for node in body.nodes)
            self.arms = [tuple((b.when, b.then) for b in some) for some in branches]
        else:
            self._lay_out(body)
        self.near: dict[int, int] = {}  # the fewest questions before a decision
        for state in reversed(range(len(self.arms))):
            below = (1 + self.near[child] for _, child in self.arms[state])
            self.near[state] = min(below, default=0)

    def _lay_out(self, rules: RuleSet) -> None:
        """Make a state of each condition of all rules, then of each decision."""
        sizes = [len(rule.conditions) for rule in rules.rules]
        asked = self.asked = sum(sizes)
        firsts = zip(accumulate(sizes, initial=0), (*sizes, 0), strict=True)
        self.starts = [  # the first state of each rule, and of the default
            first if size else asked + number
            for number, (first, size) in enumerate(firsts)
        ]
        self.arms = []
        for number, rule in enumerate(rules.rules):
            for place, test in enumerate(rule.conditions, start=1):
                is_last = place == len(rule.conditions)
                follows = asked + number if is_last else len(self.arms) + 1
                fails = negate(test), self.starts[number + 1]
                self.arms.append(((test, follows), fails))
        self.arms += [()] * len(self.starts)

    def decider(self, state: int) -> int:
        """Return the position of a deciding state, as `semantics.decider` does."""
        return state - self.asked

    def taken(self, arms: Arms, value: Value) -> int:
        """Return the state to which a value leads."""
        features = self.body.features
        return next(to for t, to in arms if holds(t, features[t.feature], value))

    def is_default(self, state: int) -> bool:
        """Whether a state is where no rule has decided."""
        return isinstance(self.body, RuleSet) and state == len(self.arms) - 1

    def cells(self, space: Space) -> Iterator[StateBox]:
        """Yield where each leaf or rule decides, unless its box is empty."""
        if isinstance(self.body, Tree):
            yield from (p for p in self._nodes(space) if not self.arms[p.state])
            return
        for number, rule in enumerate((*self.body.rules, self.body.default)):
            box = space.inside(rule.conditions)
            if box is not None:
                yield StateBox(self.asked + number, self.starts[0], box)

    def questions(self, space: Space) -> Iterator[StateBox]:
        """Yield where each question is asked and its answer matters."""
        if isinstance(self.body, Tree):
            yield from (p for p in self._nodes(space) if self.arms[p.state])
            return
        state = 0
        for rule in self.body.rules:
            for place in range(len(rule.conditions)):
                # If another condition fails, this one does not matter to the rule.
                others = (*rule.conditions[:place], *rule.conditions[place + 1 :])
                box = space.inside(others)
                if box is not None:
                    yield StateBox(state, self.starts[0], box)
                state += 1

    def _nodes(self, space: Space) -> Iterator[StateBox]:
        assert isinstance(self.body, Tree)
        whole = space.everything
        for state, cell in nodes(self.body, space):
            box = tuple([cell.get(index, own) for index, own in enumerate(whole)])
            yield StateBox(state, state, box)


def nodes(tree: Tree, space: Space) -> Iterator[tuple[int, Cell]]:
    """Yield every node of a tree that a row can come to, with the cell of its rows."""
    cells: dict[int, Cell] = {0: {}}
    for position, node in enumerate(tree.nodes):
        cell = cells.pop(position, None)
        if cell is None:
            continue
        yield position, cell
        for branch in getattr(node, "branches", ()):
            index = branch.when.feature
            own = cell.get(index, space.everything[index])
            region = own.meet(space.where(branch.when))
            if not region.is_empty:
                cells[branch.then] = {**cell, index: region}


class EdgeSearch:
    def __init__(
        self,
        graph: QuestionGraph,
        space: Space,
        answer: Callable[[int], object],  # the answer of a deciding position
        steps: int,
    ) -> None:
        self.graph, self.space, self.answer = graph, space, answer
        self.left = steps  # steps left for all searches together
        self.gave_up = False  # whether the last search did
        ways = [
            [(test.feature, space.where(test), child) for test, child in arms]
            for arms in graph.arms
        ]
        # The last way of a list is followed first. On the way to a state, it is the arm
        # that leads farthest; after the error, the one that reaches a decision soonest.
        self.towards = [sorted(arms, key=lambda way: way[2]) for arms in ways]
        self.away = [sorted(arms, key=lambda way: -graph.near[way[2]]) for arms in ways]

    def find(self, place: StateBox, arms: tuple[int, int] | None = None) -> Box | None:
        """Return a box of rows that come to the state; None if none is found.

        With a right and a wrong arm of the state, only rows that the two answer
        differently are sought.
        """
        # The state of a row; the state after the error, None before it; and the rows.
        stack: list[tuple[int, int | None, Box]] = [(place.start, None, place.box)]
        limit = min(STEPS, self.left)
        steps, found = 0, None
        while stack and found is None and steps < limit:
            state, other, box = stack.pop()
            steps += 1
            if other is None and state != place.state:
                stack += [
                    (child, None, inner)
                    for child, inner in self._onwards(self.towards[state], box)
                    if child <= place.state  # arms lead forwards only
                ]
            elif other is None and arms:
                stack.append((*arms, box))
            elif other is None or self._differ(state, other):
                found = box
            elif state != other:
                stack += self._pairs(state, other, box)
        self.left -= steps
        self.gave_up = found is None and bool(stack)
        return found

    def _differ(self, state: int, other: int) -> bool:
        graph = self.graph
        if graph.arms[state] or graph.arms[other]:
            return False
        return self.answer(graph.decider(state)) != self.answer(graph.decider(other))

    def _pairs(self, state: int, other: int, box: Box) -> list[tuple[int, int, Box]]:
        if self.graph.arms[state]:
            onwards = self._onwards(self.away[state], box)
            return [(child, other, inner) for child, inner in onwards]
        onwards = self._onwards(self.away[other], box)
        return [(state, child, inner) for child, inner in onwards]

    def _onwards(
        self, ways: Sequence[tuple[int, Region, int]], box: Box
    ) -> list[tuple[int, Box]]:
        """Return the states to which the rows of a box go on, each with its box."""
        return [
            (child, inner)
            for index, region, child in ways
            if (inner := self.space.narrow(box, index, region)) is not None
        ]


class ErrorSearch:
    """The search for rows that expose the errors of one question.

    A row that exposes an error at one value of its feature usually does so at others,
    too. So one search serves both sides of a threshold, infinity and the missing value.
    """

    def __init__(self, search: EdgeSearch, place: StateBox, index: int) -> None:
        self.search, self.place, self.index = search, place, index
        self.gave_up = False  # whether the last search did
        self.found: dict[tuple[int, int], Box | None] = {}

    def find(self, region: Region, arms: tuple[int, int]) -> Box | None:
        """Return rows with a value in a region that the two arms answer differently."""
        search, place, narrow = self.search, self.place, self.search.space.narrow
        self.gave_up = False
        inner = narrow(place.box, self.index, region)
        if inner is None:
            return None
        if arms not in self.found:
            anywhere = search.find(place, arms)
            if anywhere is not None or not search.gave_up:
                self.found[arms] = anywhere
        if arms in self.found:
            anywhere = self.found[arms]
            here = anywhere and narrow(anywhere, self.index, region)
            if anywhere is None or here is not None:
                return here
        found = search.find(StateBox(place.state, place.start, inner), arms)
        self.gave_up = search.gave_up
        return found
