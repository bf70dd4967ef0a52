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
from itertools import accumulate

from treecompile.model.ir import Body, Condition, RuleSet, Tree, Value
from treecompile.model.semantics import holds, negate
from treecompile.regions.region import Region
from treecompile.regions.space import Box, Space

STEPS = 1000  # after which one search gives up

# The regions of some features; the others may have any value.
Cell = Mapping[int, Region]
Arms = Sequence[tuple[Condition, int]]
# A state, and a box of rows that may come to it. In a tree, every row of it does.
Place = tuple[int, Box]


class Search:
    def __init__(
        self,
        body: Body,
        space: Space,
        answer: Callable[[int], object],  # of a deciding position
        steps: int,
    ) -> None:
        self.body, self.space, self.answer = body, space, answer
        self.left = steps  # steps left for all searches together
        self.gave_up = False  # whether the last search did
        self.arms: list[Arms] = []
        self.first_rule = self.asked = 0
        if isinstance(body, Tree):
            branches = (getattr(node, "branches", ()) for node in body.nodes)
            self.arms = [[(b.when, b.then) for b in some] for some in branches]
        else:
            self._lay_out(body)
        near = [0] * len(self.arms)  # the fewest questions before a decision
        for state in reversed(range(len(self.arms))):
            below = (1 + near[child] for _, child in self.arms[state])
            near[state] = min(below, default=0)
        ways = [
            [(test.feature, space.where(test), child) for test, child in arms]
            for arms in self.arms
        ]
        # The last way of a list is followed first. On the way to a state, it is the arm
        # that leads farthest; after the error, the one that reaches a decision soonest.
        self.towards = [sorted(arms, key=lambda way: way[2]) for arms in ways]
        self.away = [sorted(arms, key=lambda way: -near[way[2]]) for arms in ways]

    def _lay_out(self, body: RuleSet) -> None:
        """Make a state of each condition of all rules, then of each decision."""
        sizes = [len(rule.conditions) for rule in body.rules]
        asked = self.asked = sum(sizes)
        firsts = zip(accumulate(sizes, initial=0), (*sizes, 0), strict=True)
        starts = [  # the first state of each rule, and of the default
            first if size else asked + number
            for number, (first, size) in enumerate(firsts)
        ]
        self.first_rule = starts[0]
        for number, rule in enumerate(body.rules):
            for place, test in enumerate(rule.conditions, start=1):
                is_last = place == len(rule.conditions)
                follows = asked + number if is_last else len(self.arms) + 1
                fails = negate(test), starts[number + 1]
                self.arms.append(((test, follows), fails))
        self.arms += [()] * len(starts)

    def taken(self, state: int, value: Value) -> int:
        """Return the state to which a value leads."""
        features = self.body.features
        arms = self.arms[state]
        return next(to for t, to in arms if holds(t, features[t.feature], value))

    def cells(self) -> Iterator[Place]:
        """Yield where each leaf or rule decides, unless its box is empty."""
        if isinstance(self.body, Tree):
            return (place for place in self._nodes() if not self.arms[place[0]])
        rules = enumerate((*self.body.rules, self.body.default), start=self.asked)
        return self._inside((state, rule.conditions) for state, rule in rules)

    def questions(self) -> Iterator[Place]:
        """Yield where each question is asked and its answer matters."""
        if isinstance(self.body, Tree):
            return (place for place in self._nodes() if self.arms[place[0]])
        # If another condition fails, this one does not matter to the rule.
        others = (
            (*rule.conditions[:place], *rule.conditions[place + 1 :])
            for rule in self.body.rules
            for place in range(len(rule.conditions))
        )
        return self._inside(enumerate(others))

    def _nodes(self) -> Iterator[Place]:
        assert isinstance(self.body, Tree)
        whole = self.space.everything
        for state, cell in nodes(self.body, self.space):
            yield state, tuple(
                [cell.get(index, own) for index, own in enumerate(whole)]
            )

    def _inside(
        self, tests: Iterator[tuple[int, Sequence[Condition]]]
    ) -> Iterator[Place]:
        boxes = ((state, self.space.inside(some)) for state, some in tests)
        return ((state, box) for state, box in boxes if box is not None)

    def find(self, place: Place, arms: tuple[int, int] | None = None) -> Box | None:
        """Return a box of rows that come to the state; None if none is found.

        With a right and a wrong arm of the state, only rows that the two answer
        differently are sought.
        """
        goal, whole = place
        start = goal if isinstance(self.body, Tree) else self.first_rule
        # The state of a row; the state after the error, None before it; and the rows.
        stack: list[tuple[int, int | None, Box]] = [(start, None, whole)]
        limit = min(STEPS, self.left)
        steps, found = 0, None
        while stack and found is None and steps < limit:
            state, other, box = stack.pop()
            steps += 1
            if other is None and state != goal:
                stack += [
                    (child, None, inner)
                    for child, inner in self._onwards(self.towards[state], box)
                    if child <= goal  # arms lead forwards only
                ]
            elif other is None and arms:
                stack.append((*arms, box))
            elif other is None or self._differ(state, other):
                found = box
            elif state != other and self.arms[state]:
                onwards = self._onwards(self.away[state], box)
                stack += [(child, other, inner) for child, inner in onwards]
            elif state != other:
                onwards = self._onwards(self.away[other], box)
                stack += [(state, child, inner) for child, inner in onwards]
        self.left -= steps
        self.gave_up = found is None and bool(stack)
        return found

    def _differ(self, state: int, other: int) -> bool:
        if self.arms[state] or self.arms[other]:
            return False
        return self.answer(state - self.asked) != self.answer(other - self.asked)

    def _onwards(
        self, ways: Sequence[tuple[int, Region, int]], box: Box
    ) -> list[tuple[int, Box]]:
        """Return the states to which the rows of a box go on, each with its box."""
        return [
            (child, inner)
            for index, region, child in ways
            if (inner := self.space.narrow(box, index, region)) is not None
        ]


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
