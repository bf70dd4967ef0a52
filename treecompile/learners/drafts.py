"""Nodes in the making, and the tree that they become."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.data import Dataset
from treecompile.ir import Branch, Condition, Leaf, Node, Op, Split, Stats, Tree
from treecompile.learners.branches import Candidate, make_branches
from treecompile.learners.level import Test
from treecompile.semantics import answer


@dataclass(slots=True)
class Draft:
    """A node in the making; one with children is a split."""

    stats: Stats
    weight: float
    gain: float = 0.0
    feature: int = -1
    test: Test = 0.0
    known: Sequence[float] = ()  # the weight of known cases for each branch
    children: list[int] | None = None


def finish(data: Dataset, drafts: Sequence[Draft]) -> Tree:
    """The tree in reading order: depth first, the first branch before the next."""
    order, stack = [], [0]
    while stack:
        number = stack.pop()
        order.append(number)
        children = drafts[number].children
        if children is not None:
            stack += reversed(children)
    places = np.empty(len(drafts), np.intp)
    places[order] = np.arange(len(order))
    where = places.tolist()
    nodes = tuple(_node(data, drafts[number], where) for number in order)
    return Tree(data.features, data.labels, nodes)


def _node(data: Dataset, draft: Draft, where: list[int]) -> Node:
    if draft.children is None:
        return Leaf(answer(draft.stats, data.labels), draft.stats, draft.weight)
    test = draft.test
    if isinstance(test, tuple):
        sides = tuple((Op.IN, categories) for categories in test)
        split = Candidate(draft.feature, draft.gain, sides, tuple(draft.known))
        tests = [branch.when for branch in make_branches(data, split)]
    else:
        is_left = draft.known[0] >= draft.known[1]
        tests = [
            Condition(draft.feature, Op.LE, test, is_left),
            Condition(draft.feature, Op.GT, test, not is_left),
        ]
    branches = tuple(
        Branch(when, where[child], weight)
        for when, child, weight in zip(tests, draft.children, draft.known, strict=True)
    )
    return Split(branches, draft.stats, draft.gain)
