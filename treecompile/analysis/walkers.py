"""How far a model has decided the rows of a box: the state, and what it asks next."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from treecompile.boxes import Boxes
from treecompile.ir import Body, Label, Leaf, RuleSet, Split, Tree
from treecompile.regions import Box, Region, Space

UNDECIDED = object()
State = Any  # a node of a tree, or a place of a list


class Walker(Protocol):
    def start(self) -> State: ...
    def onwards(
        self, state: State, box: Box, position: int, region: Region
    ) -> State: ...
    def answer(self, state: State) -> object: ...
    def question(self, state: State) -> tuple[int, list[Region]]: ...


def walker(body: Body, space: Space) -> Walker:
    return ListWalker(body, space) if isinstance(body, RuleSet) else Trees(body, space)


class Trees:
    def __init__(self, tree: Tree, space: Space) -> None:
        self.tree, self.space = tree, space
        # The answer of every leaf below a node, where there is only one.
        self.answers: list[object] = [UNDECIDED] * len(tree.nodes)
        for position in reversed(range(len(tree.nodes))):
            node = tree.nodes[position]
            if isinstance(node, Leaf):
                self.answers[position] = node.value
            else:
                below = {self.answers[branch.then] for branch in node.branches}
                if len(below) == 1:
                    self.answers[position] = below.pop()

    def start(self) -> State:
        return 0

    def onwards(self, state: State, box: Box, position: int, region: Region) -> State:
        """Down to the first split that has rows of the box in several branches."""
        node = self.tree.nodes[state]
        while isinstance(node, Split):
            where = node.branches[0].when.feature
            axis = self.space.axes[where]
            met = [
                branch.then
                for branch in node.branches
                if axis.meet(box[where], self.space.where(branch.when)) is not None
            ]
            if len(met) > 1:
                break
            (state,) = met
            node = self.tree.nodes[state]
        return state

    def answer(self, state: State) -> object:
        return self.answers[state]

    def question(self, state: State) -> tuple[int, list[Region]]:
        node = self.tree.nodes[state]
        assert isinstance(node, Split)
        tests = [branch.when for branch in node.branches]
        return tests[0].feature, [self.space.where(test) for test in tests]


class ListWalker:
    def __init__(self, rules: RuleSet, space: Space) -> None:
        self.boxes = Boxes(space, [rule.conditions for rule in rules.rules])
        values = [rule.value for rule in (*rules.rules, rules.default)]
        codes: dict[Label, int] = {}
        self.codes = np.array([codes.setdefault(v, len(codes)) for v in values])
        self.values = list(codes)

    def start(self) -> State:
        return self.boxes.start()

    def onwards(self, state: State, box: Box, position: int, region: Region) -> State:
        if position not in self.boxes.columns:
            return state
        return self.boxes.narrow(state, position, region)

    def answer(self, state: State) -> object:
        found = np.unique(self.codes[state.rules])
        return self.values[found[0]] if len(found) == 1 else UNDECIDED

    def question(self, state: State) -> tuple[int, list[Region]]:
        _, _, asked = self.boxes.best(state)
        axis = self.boxes.space.axes[asked.position]
        return asked.position, [asked.region, axis.rest(asked.region)]
