"""Finding a row that tells: one that would be answered otherwise if a test erred.

An edge is a question, a value beside which its answer may change, and a wrong arm. It
is told by a row with that value that comes to the question and that the wrong arm would
give another answer. The search looks at pairs of states, where the row is and where it
would be, and is exhaustive: if it ends without a row, no row tells, and an artefact
that errs there answers the same all the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from treecompile.verify.axes import Box, Space
from treecompile.verify.graph import Graph, Place

STEPS = 1000  # for one search, before it gives up


@dataclass(slots=True)
class Search:
    graph: Graph
    space: Space
    answer: Callable[[int], object]  # what is compared, by the position that decides
    left: int  # steps of all searches together
    gave_up: bool = field(default=False)  # whether the last one did

    def telling(self, place: Place, right: int, wrong: int) -> Box | None:
        """Rows of a place that the right and the wrong arm answer differently."""
        return self._run(place, (right, wrong))

    def entering(self, place: Place) -> Box | None:
        """Rows of a place that do come to its state."""
        return self._run(place, None)

    def _run(self, place: Place, arms: tuple[int, int] | None) -> Box | None:
        # A row at one state that would be at the other; -1 while it is on its way.
        stack = [(place.start, -1, place.box)]
        steps = 0
        while stack:
            state, other, box = stack.pop()
            steps += 1
            if steps > min(STEPS, self.left):
                break
            if other < 0 and state == place.state:
                if arms is None:
                    self._spend(steps, False)
                    return box
                stack.append((*arms, box))
            elif other < 0:
                stack += [
                    (child, -1, inner)
                    for child, inner in self._onwards(state, box, lambda child: child)
                    if child <= place.state  # arms lead forwards only
                ]
            elif state != other:
                if self._differ(state, other):
                    self._spend(steps, False)
                    return box
                stack += self._pairs(state, other, box)
        self._spend(steps, bool(stack))
        return None

    def _spend(self, steps: int, gave_up: bool) -> None:
        self.left -= steps
        self.gave_up = gave_up

    def _differ(self, state: int, other: int) -> bool:
        graph = self.graph
        if graph.arms[state] or graph.arms[other]:
            return False
        return self.answer(graph.decider[state]) != self.answer(graph.decider[other])

    def _pairs(self, state: int, other: int, box: Box) -> list[tuple[int, int, Box]]:
        near = self.graph.near

        def far(child: int) -> int:
            return -near[child]

        if self.graph.arms[state]:
            onwards = self._onwards(state, box, far)
            return [(child, other, inner) for child, inner in onwards]
        return [(state, c, inner) for c, inner in self._onwards(other, box, far)]

    def _onwards(
        self, state: int, box: Box, order: Callable[[int], int]
    ) -> list[tuple[int, Box]]:
        """Where the rows of a box go on to; the last is tried first."""
        found = []
        for test, child in sorted(self.graph.arms[state], key=lambda a: order(a[1])):
            inner = self.space.cut(box, test)
            if inner is not None:
                found.append((child, inner))
        return found
