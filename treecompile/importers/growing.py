"""Builds a tree of a forest from its root, without tests that are already decided.

A library may test a feature again although an earlier test on the path has decided it.
Such a test has one outcome only, and the tree continues with that.
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

    test: ir.Condition  # `x <= threshold`, or of categories
    then: object
    otherwise: object
    gain: float = 0.0


class _Range(NamedTuple):
    """The values that a number may still have: above `low`, up to `high`; or missing.

    With -inf as `low`, -inf itself is included.
    """

    low: float = -inf
    high: float = inf
    missing: bool = True


UNSEEN = object()  # any category that the feature does not list
Choices = frozenset[object]  # what a category may still be; None: missing
Known = _Range | Choices
Ranges = dict[int, Known]


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
        """Build the tree below a root; `node_of` returns the node for a key."""
        nodes: list[SplitNode | LeafNode] = []
        made: list[Inner | LeafNode] = []
        children: list[list[int]] = []
        waiting: list[tuple[object, Ranges, int]] = [(root, {}, -1)]
        while waiting:
            key, ranges, parent = waiting.pop()
            node = node_of(key)
            then = otherwise = None
            while isinstance(node, Inner):
                then, otherwise = self._parts(node.test, ranges)
                if then is not None and otherwise is not None:
                    break
                node = node_of(node.otherwise if then is None else node.then)
            self._count(len(ranges))
            place = len(made)
            made.append(node)
            children.append([])
            if parent >= 0:
                children[parent].append(place)
            if isinstance(node, Inner):
                for child, known in ((node.otherwise, otherwise), (node.then, then)):
                    assert known is not None
                    more = {**ranges, node.test.feature: known}
                    waiting.append((child, more, place))
        weights = _weights(made, children)
        for node, own, weight in zip(made, children, weights, strict=True):
            if isinstance(node, Inner):
                # The weight of a split is above 0, even if no training row reached it.
                some = weight or 1.0
                nodes.append(SplitNode(node.test, own[0], own[1], some, node.gain))
            else:
                nodes.append(node)
        return member(self.features, outputs, nodes)

    def _parts(
        self, test: ir.Condition, ranges: Ranges
    ) -> tuple[Known | None, Known | None]:
        """Return what is known if a test holds, and if not; None if that cannot be."""
        own = ranges.get(test.feature)
        if not isinstance(test.value, tuple):
            assert not isinstance(own, frozenset)
            return _ranges(test, own)
        if own is None:
            feature = self.features[test.feature]
            own = frozenset((*feature.categories, UNSEEN, None))
        assert isinstance(own, frozenset)
        listed = own & frozenset(test.value)
        others = own - listed - {None}
        then, otherwise = (listed, others) if test.op is ir.Op.IN else (others, listed)
        missing = own & {None}
        then, otherwise = (
            (then | missing, otherwise) if test.missing else (then, otherwise | missing)
        )
        return then or None, otherwise or None

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


def _ranges(
    test: ir.Condition, own: _Range | None
) -> tuple[_Range | None, _Range | None]:
    limit = test.value
    assert isinstance(limit, float)
    low, high, missing = own or _Range()
    then = _Range(low, min(high, limit), missing and test.missing)
    otherwise = _Range(max(low, limit), high, missing and not test.missing)
    if own is None:
        return then, otherwise
    has_numbers = low < high or low == -inf
    goes_then = has_numbers and (low < limit or low == -inf)
    goes_on = has_numbers and limit < high
    return (
        then if goes_then or then.missing else None,
        otherwise if goes_on or otherwise.missing else None,
    )


def _weights(made: list[Inner | LeafNode], children: list[list[int]]) -> list[float]:
    """Return the weight of each node: that of the leaves below it."""
    found = [0.0] * len(made)
    for place in reversed(range(len(made))):
        node = made[place]
        if isinstance(node, LeafNode):
            found[place] = node.weight
        else:
            found[place] = sum(found[child] for child in children[place])
    return found
