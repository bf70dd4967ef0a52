"""Nodes in the making, and the tree that they become.

Nodes are numbered layer by layer, a layer being the nodes of one depth. They are kept
in arrays and become objects once, at the end, in reading order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import ge, not_

import numpy as np

from treecompile.ir import (
    Branch,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Node,
    Op,
    Split,
    Stats,
    Tree,
)
from treecompile.learners.branches import Candidate, make_branches
from treecompile.learners.bulk import make
from treecompile.learners.level import Test
from treecompile.learners.responses import Response
from treecompile.learners.stretches import Array, Floats, Mask, Positions


@dataclass(slots=True, eq=False)
class Layer:
    """The nodes of one depth; those with a feature are splits."""

    start: int  # the number of the first
    parent: Positions
    place: Array  # which of the parent's branches it is
    stats: Floats  # a line for each, as the response measured it
    weight: Floats
    feature: Positions
    gain: Floats

    @property
    def numbers(self) -> slice:
        return slice(self.start, self.start + len(self.weight))


class Drafts:
    """All layers so far."""

    def __init__(self) -> None:
        self.layers: list[Layer] = []
        # Of splits, by number: the test, and the weight of known cases for each branch.
        self.test: dict[int, Test] = {}
        self.known: dict[int, list[float]] = {}
        self.count = 0

    def add(
        self, parent: Positions, place: Array, stats: Floats, weight: Floats
    ) -> None:
        size = len(weight)
        leaves, gain = np.full(size, -1), np.zeros(size)
        layer = Layer(self.count, parent, place, stats, weight, leaves, gain)
        self.layers.append(layer)
        self.count += size

    def split(
        self,
        numbers: Positions,
        feature: int,
        gain: Floats,
        tests: Sequence[Test],
        known: Sequence[list[float]],
    ) -> None:
        """Nodes of the last layer become splits."""
        layer = self.layers[-1]
        layer.feature[numbers - layer.start] = feature
        layer.gain[numbers - layer.start] = gain
        names = numbers.tolist()
        self.test.update(zip(names, tests, strict=True))
        self.known.update(zip(names, known, strict=True))

    def tests(self, numbers: Positions) -> tuple[list[Test], list[list[float]]]:
        """The tests of splits, and their known cases."""
        names = numbers.tolist()
        known = list(map(self.known.__getitem__, names))
        return list(map(self.test.__getitem__, names)), known

    def joined(self, name: str) -> Array:
        """One of the arrays of all layers."""
        joined: Array = np.concatenate([getattr(layer, name) for layer in self.layers])
        return joined

    def children(self) -> dict[int, list[int]]:
        """The branches of each split whose branches are there, in their order."""
        found: dict[int, list[int]] = {}
        parent = self.joined("parent")
        order = np.lexsort((self.joined("place"), parent))
        for number, above in zip(order.tolist(), parent[order].tolist(), strict=True):
            found.setdefault(above, []).append(number)
        return found

    def give_up(self, is_kept: Mask) -> None:
        """Make leaves of all splits but those kept."""
        for layer in self.layers:
            layer.feature[~is_kept[layer.numbers]] = -1

    def reading(self) -> Reading:
        """How the nodes stand in a tree: depth first, a branch before the next one.

        Nodes below a split that was given up are left out.
        """
        feature, parent = self.joined("feature"), self.joined("parent")
        is_there = np.full(self.count, True)
        for layer in self.layers[1:]:
            is_kept = feature[layer.parent] >= 0
            is_there[layer.numbers] = is_there[layer.parent] & is_kept
        size = is_there.astype(np.intp)  # of the tree below a node, itself included
        for above, layer in zip(self.layers[-2::-1], self.layers[:0:-1], strict=True):
            among = layer.parent - above.start
            below = np.bincount(among, size[layer.numbers], len(above.weight))
            size[above.numbers] += below.astype(np.intp)
        branches = np.lexsort((self.joined("place"), parent))
        starts = np.flatnonzero(np.diff(parent[branches], prepend=-2))
        before = np.cumsum(size[branches]) - size[branches]
        lengths = np.diff(starts, append=len(branches))
        before -= np.repeat(before[starts], lengths)  # only the siblings before it
        where = np.zeros(self.count, np.intp)
        where[branches[1:]] = before[1:] + 1  # the first is the root, nobody's branch
        for layer in self.layers[1:]:
            where[layer.numbers] += where[layer.parent]
        there = np.flatnonzero(is_there)
        numbers = np.empty(len(there), np.intp)
        numbers[where[there]] = there
        first = np.zeros(self.count, np.intp)
        first[parent[branches[starts[1:]]]] = starts[1:]
        return Reading(numbers, where, branches, first)


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    numbers: Positions  # of the nodes of the tree, in its order
    where: Positions  # of each node by number: its place in the tree
    branches: Positions  # by number, those of a split side by side
    first: Positions  # of each split by number: where its branches begin among these

    def branch(self, splits: Positions, place: int) -> Positions:
        """The place in the tree of one branch of each split."""
        return self.where[self.branches[self.first[splits] + place]]


def finish(
    features: tuple[Feature, ...],
    labels: tuple[Label, ...],
    drafts: Drafts,
    response: Response,
) -> Tree:
    """The tree of all drafts."""
    reading = drafts.reading()
    numbers = reading.numbers
    feature = drafts.joined("feature")[numbers]
    measured = drafts.joined("stats")[numbers]
    stats = response.stats(measured)
    is_subset = np.array([f.kind is Kind.CATEGORICAL for f in features])
    form = np.where(feature < 0, 0, np.where(is_subset[feature], 2, 1))
    leaves, cuts, subsets = (np.flatnonzero(form == each) for each in range(3))
    values = response.answers(measured[leaves], labels)
    makers: tuple[Iterator[Node], ...] = (
        iter(_leaves(drafts, reading, leaves, stats, values)),
        iter(_cuts(drafts, reading, cuts, stats)),
        _subsets(features, drafts, reading, subsets, stats),
    )
    nodes = tuple(map(next, map(makers.__getitem__, form.tolist())))
    return Tree(features, labels, nodes)


def _leaves(
    drafts: Drafts,
    reading: Reading,
    places: Positions,
    stats: Sequence[Stats],
    values: Sequence[Label],
) -> list[Leaf]:
    weight = drafts.joined("weight")[reading.numbers[places]].tolist()
    mine = map(stats.__getitem__, places.tolist())
    return make(Leaf, len(places), values, mine, weight)


def _cuts(
    drafts: Drafts, reading: Reading, places: Positions, stats: Sequence[Stats]
) -> list[Split]:
    """The splits in two at a value."""
    count, numbers = len(places), reading.numbers[places]
    test, known = drafts.tests(numbers)
    feature = drafts.joined("feature")[numbers].tolist()
    left, right = [each[0] for each in known], [each[1] for each in known]
    is_left = list(map(ge, left, right))
    below = make(Condition, count, feature, repeat(Op.LE), test, is_left)
    is_right = map(not_, is_left)
    above = make(Condition, count, feature, repeat(Op.GT), test, is_right)
    first, second = (reading.branch(numbers, place).tolist() for place in range(2))
    branches = zip(
        make(Branch, count, below, first, left),
        make(Branch, count, above, second, right),
        strict=True,
    )
    gain = drafts.joined("gain")[numbers].tolist()
    return make(Split, count, branches, map(stats.__getitem__, places.tolist()), gain)


def _subsets(
    features: Sequence[Feature],
    drafts: Drafts,
    reading: Reading,
    places: Positions,
    stats: Sequence[Stats],
) -> Iterator[Node]:
    """The splits by categories, in two or more."""
    numbers = reading.numbers[places]
    feature = drafts.joined("feature")[numbers].tolist()
    gain = drafts.joined("gain")[numbers].tolist()
    for place, number, mine, gained, test, known in zip(
        places.tolist(), numbers, feature, gain, *drafts.tests(numbers), strict=True
    ):
        assert isinstance(test, tuple)
        sides = tuple((Op.IN, categories) for categories in test)
        candidate = Candidate(mine, gained, sides, tuple(known))
        made = make_branches(features[mine], candidate)
        start = reading.first[number]
        children = reading.branches[start : start + len(known)]
        branches = (
            Branch(branch.when, child, branch.weight)
            for branch, child in zip(
                made, reading.where[children].tolist(), strict=True
            )
        )
        yield Split(tuple(branches), stats[place], gained)
