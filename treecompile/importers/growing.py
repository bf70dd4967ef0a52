"""Builds a tree of a forest from its root, without the tests that are decided already.

A library may test a feature again though an earlier test on the path has decided it.
Such a test has one outcome, and the tree goes on with that.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file.limits import MOST_TESTS
from treecompile.model.forests import LeafNode, SplitNode, member

MOST_NODES = 2_000_000  # of one forest; each takes up to a kilobyte


class Inner(NamedTuple):
    """A test, and the keys of its two children."""

    test: ir.Condition  # `x <= threshold`
    then: object
    otherwise: object
    gain: float = 0.0


class _Range(NamedTuple):
    """What a feature may still be: a number above `low`, up to `high`; or missing.

    With -inf as `low`, -inf itself is included.
    """

    low: float = -inf
    high: float = inf
    missing: bool = True


Ranges = dict[int, _Range]


class Grower:
    """Builds the trees of one forest, up to a number of nodes in total."""

    def __init__(
        self, features: tuple[ir.Feature, ...], most: int = MOST_NODES
    ) -> None:
        self.features = features
        self.most = min(most, MOST_NODES)
        self.nodes_left = self.most
        self.tests_left = MOST_TESTS

    def grow(
        self,
        outputs: tuple[int, ...],
        root: object,
        node_of: Callable[[object], Inner | LeafNode],
    ) -> ir.Member:
        """The tree below a root; `node_of` says what is behind a key."""
        nodes: list[SplitNode | LeafNode] = []
        made: list[Inner | LeafNode] = []
        children: list[list[int]] = []
        waiting: list[tuple[object, Ranges, int]] = [(root, {}, -1)]
        while waiting:
            key, ranges, parent = waiting.pop()
            node = node_of(key)
            while isinstance(node, Inner) and (way := _way(node, ranges)) is not None:
                node = node_of(way)
            self._count(len(ranges))
            place = len(made)
            made.append(node)
            children.append([])
            if parent >= 0:
                children[parent].append(place)
            if isinstance(node, Inner):
                then, otherwise = _parts(node.test, ranges)
                waiting.append((node.otherwise, otherwise, place))
                waiting.append((node.then, then, place))
        weights = _weights(made, children)
        for node, own, weight in zip(made, children, weights, strict=True):
            if isinstance(node, Inner):
                # The weight of a split is above 0, even if no training row reached it.
                some = weight or 1.0
                nodes.append(SplitNode(node.test, own[0], own[1], some, node.gain))
            else:
                nodes.append(node)
        return member(self.features, outputs, nodes)

    def _count(self, tests: int) -> None:
        """Bound the memory, and the time: a path of many tests is long to follow."""
        self.nodes_left -= 1
        self.tests_left -= tests
        if self.nodes_left < 0:
            raise ModelFileError(
                f"the trees have more than {self.most:,} nodes: train fewer or"
                " smaller trees"
            )
        if self.tests_left < 0:
            raise ModelFileError(
                f"the paths to the nodes have more than {MOST_TESTS:,} tests: train"
                " fewer or smaller trees"
            )


def _way(node: Inner, ranges: Ranges) -> object | None:
    """The only child that a row can reach; None if it can reach both."""
    own = ranges.get(node.test.feature)
    if own is None:
        return None
    limit = node.test.value
    assert isinstance(limit, float)
    numbers = own.low < own.high or own.low == -inf
    then = numbers and (own.low < limit or own.low == -inf)
    then |= own.missing and node.test.missing
    otherwise = numbers and limit < own.high
    otherwise |= own.missing and not node.test.missing
    if then and otherwise:
        return None
    return node.then if then else node.otherwise


def _parts(test: ir.Condition, ranges: Ranges) -> tuple[Ranges, Ranges]:
    """What is known after a test: if it holds, and if not."""
    own = ranges.get(test.feature, _Range())
    limit = test.value
    assert isinstance(limit, float)
    then = _Range(own.low, min(own.high, limit), own.missing and test.missing)
    otherwise = _Range(max(own.low, limit), own.high, own.missing and not test.missing)
    return {**ranges, test.feature: then}, {**ranges, test.feature: otherwise}


def _weights(made: list[Inner | LeafNode], children: list[list[int]]) -> list[float]:
    """The weight of each node: that of the leaves below it."""
    found = [0.0] * len(made)
    for place in reversed(range(len(made))):
        node = made[place]
        if isinstance(node, LeafNode):
            found[place] = node.weight
        else:
            found[place] = sum(found[child] for child in children[place])
    return found
