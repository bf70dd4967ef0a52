"""Reads the trees of an ensemble in an ONNX file, in both of its formats.

A test compares a float of 32 bits with a threshold, or a double in ensembles of
doubles. A missing value fails every comparison except `!=`, unless the node says that
it counts as true.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, isnan, nextafter
from typing import NamedTuple

import numpy as np

from treecompile.importers.growing import Grower, Inner
from treecompile.importers.onnx_nodes import Operator
from treecompile.importers.thresholds import double_threshold
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.forests import LeafNode

MODES = (
    *("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"),
    "BRANCH_MEMBER",
)
LEAF = "LEAF"
MOST_FEATURES = 1_000_000
MOST_COPIES = 20  # nodes that are made for each node of the file,
FEW_NODES = 10_000  # and for a small file


class NodeKey(NamedTuple):
    """A node, a leaf, or the second test that stands for `x == threshold`."""

    place: int
    is_leaf: bool = False
    is_second: bool = False


class TreeTest(NamedTuple):
    mode: str
    feature: int
    threshold: float
    missing_is_true: bool
    then: NodeKey
    otherwise: NodeKey


class Trees(NamedTuple):
    """The trees as the file has them."""

    roots: list[NodeKey]
    tests: dict[int, TreeTest]
    leaves: dict[int, dict[int, float]]  # what each adds to the outputs


# ---------------------------------------------------------------- reading


def old_trees(node: Operator, prefix: str) -> Trees:
    """Read trees of TreeEnsembleClassifier ("class") or -Regressor ("target").

    Nodes are numbered within their tree, and the first one is its root.
    """
    trees = node.integers("nodes_treeids")
    numbers = node.integers("nodes_nodeids")
    count = len(trees)
    modes = node.texts("nodes_modes")
    features = node.integers("nodes_featureids")
    values = node.numbers("nodes_values")
    thens = node.integers("nodes_truenodeids")
    others = node.integers("nodes_falsenodeids")
    tracks = node.integers("nodes_missing_value_tracks_true") or [0] * count
    for own in (numbers, modes, features, values, thens, others, tracks):
        if len(own) != count or not count:
            raise ModelFileError("the attributes nodes_* have different lengths")
    places: dict[tuple[int, int], int] = {}
    for place, key in enumerate(zip(trees, numbers, strict=True)):
        if key in places:
            raise ModelFileError(f"tree {key[0]} has two nodes with the id {key[1]}")
        places[key] = place
    roots = [p for p in range(count) if p == 0 or trees[p] != trees[p - 1]]
    if len({trees[place] for place in roots}) < len(roots):
        raise ModelFileError("nodes_treeids: the nodes of a tree are not together")

    def child(place: int, number: int) -> NodeKey:
        found = places.get((trees[place], number))
        if found is None:
            raise ModelFileError(
                f"tree {trees[place]} has no node with the id {number}"
            )
        return NodeKey(found, is_leaf=modes[found] == LEAF)

    leaves: dict[int, dict[int, float]] = {}
    tests: dict[int, TreeTest] = {}
    for place, mode in enumerate(modes):
        if mode == LEAF:
            leaves[place] = {}
            continue
        ways = child(place, thens[place]), child(place, others[place])
        tests[place] = TreeTest(
            mode, features[place], values[place], bool(tracks[place]), *ways
        )
    _add_weights(node, prefix, places, leaves)
    keys = [NodeKey(place, is_leaf=modes[place] == LEAF) for place in roots]
    return Trees(keys, tests, leaves)


def _add_weights(
    node: Operator,
    prefix: str,
    places: dict[tuple[int, int], int],
    leaves: dict[int, dict[int, float]],
) -> None:
    parts = (
        node.integers(f"{prefix}_treeids"),
        node.integers(f"{prefix}_nodeids"),
        node.integers(f"{prefix}_ids"),
        node.numbers(f"{prefix}_weights"),
    )
    if len({len(part) for part in parts}) != 1:
        raise ModelFileError(f"the attributes {prefix}_* have different lengths")
    for tree, number, output, weight in zip(*parts, strict=True):
        own = leaves.get(places.get((tree, number), -1))
        if own is None:
            raise ModelFileError(
                f"{prefix}_nodeids: tree {tree} has no leaf with the id {number}"
            )
        if output in own:
            raise ModelFileError(
                f"{prefix}_ids: leaf {number} of tree {tree} adds to {output} twice"
            )
        own[output] = weight


def new_trees(node: Operator) -> Trees:
    """Read trees of TreeEnsemble: tests and leaves are in lists of their own."""
    modes = [int(mode) for mode in node.tensor("nodes_modes")]
    count = len(modes)
    features = node.integers("nodes_featureids")
    values = node.tensor("nodes_splits")
    thens = node.integers("nodes_truenodeids")
    others = node.integers("nodes_falsenodeids")
    then_leaf = node.integers("nodes_trueleafs")
    other_leaf = node.integers("nodes_falseleafs")
    tracks = node.integers("nodes_missing_value_tracks_true") or [0] * count
    for own in (features, values, thens, others, then_leaf, other_leaf, tracks):
        if len(own) != count or not count:
            raise ModelFileError("the attributes nodes_* have different lengths")
    targets, weights = node.integers("leaf_targetids"), node.tensor("leaf_weights")
    if len(targets) != len(weights):
        raise ModelFileError("the attributes leaf_* have different lengths")
    leaves = {p: {targets[p]: weights[p]} for p in range(len(targets))}

    def child(place: int, is_leaf: int) -> NodeKey:
        if not 0 <= place < (len(leaves) if is_leaf else count):
            raise ModelFileError(f"a tree has no child with the number {place}")
        return NodeKey(place, is_leaf=bool(is_leaf))

    tests = {}
    for p in range(count):
        if not 0 <= modes[p] < len(MODES):
            raise ModelFileError(f"nodes_modes: {modes[p]} is unknown")
        ways = child(thens[p], then_leaf[p]), child(others[p], other_leaf[p])
        tests[p] = TreeTest(
            MODES[modes[p]], features[p], values[p], bool(tracks[p]), *ways
        )
    roots = [child(place, 0) for place in node.integers("tree_roots")]
    return Trees(roots, tests, leaves)


def check(trees: Trees, columns: int | None) -> int:
    """Return the number of features; refuse nodes that do not form trees."""
    if not trees.roots:
        raise ModelFileError("the ensemble has no trees")
    seen: set[int] = set()
    for root in trees.roots:
        waiting = [root]
        while waiting:
            key = waiting.pop()
            if key.is_leaf:
                continue
            if key.place in seen:
                raise ModelFileError("a node has two parents: nodes must form trees")
            seen.add(key.place)
            test = trees.tests[key.place]
            waiting += (test.then, test.otherwise)
    features = [test.feature for test in trees.tests.values()]
    most = MOST_FEATURES if columns is None else columns
    for feature in features:
        if not 0 <= feature < most:
            raise ModelFileError(f"a test of the feature {feature}: there are {most:,}")
    if columns is None:
        return max(features, default=-1) + 1
    if columns > MOST_FEATURES:
        raise ModelFileError(f"{columns:,} features: expected up to {MOST_FEATURES:,}")
    return columns


# ---------------------------------------------------------------- building


class Limits(NamedTuple):
    """How numbers are compared: what a test of `<=` or `<` means for doubles."""

    is_single: bool  # a row is rounded to 32 bits first
    is_double: bool  # thresholds have 64 bits

    def up_to(self, threshold: float) -> float:
        """Return the greatest double that counts as `<= threshold`."""
        if isnan(threshold):
            raise ModelFileError("a threshold is not a number")
        if threshold == -inf:
            raise ModelFileError(f"a test against {threshold!r}: expected a number")
        if self.is_single and threshold != inf:
            return double_threshold(threshold) + 0.0
        return threshold + 0.0

    def below(self, threshold: float) -> float:
        """Return the greatest double that counts as `< threshold`."""
        if self.is_double or isnan(threshold):
            return self.up_to(nextafter(threshold, -inf))
        return self.up_to(float(np.nextafter(np.float32(threshold), np.float32(-inf))))


def members(
    trees: Trees,
    features: tuple[ir.Feature, ...],
    outputs: Callable[[dict[int, float]], tuple[float, ...]],
    limits: Callable[[int], Limits],
    count: int,
) -> tuple[ir.Member, ...]:
    """Build the trees of a forest.

    `outputs` returns what a leaf adds to the `count` outputs, and `limits` how the
    numbers of a feature are compared.
    """
    # A test of equality becomes two tests, and its subtree is copied.
    grower = Grower(features, MOST_COPIES * len(trees.tests) + FEW_NODES)

    def node_of(key: object) -> Inner | LeafNode:
        assert isinstance(key, NodeKey)
        if key.is_leaf:
            return LeafNode(outputs(trees.leaves[key.place]))
        test = trees.tests[key.place]
        return _inner(key, test, limits(test.feature))

    places = tuple(range(count))
    return tuple(grower.grow(places, root, node_of) for root in trees.roots)


def _inner(key: NodeKey, test: TreeTest, limits: Limits) -> Inner:
    """Return a test as a test with `<=`."""
    feature, limit, track = test.feature, test.threshold, test.missing_is_true
    then, other = test.then, test.otherwise

    def le(value: float, missing: bool) -> ir.Condition:
        return ir.Condition(feature, ir.Op.LE, value, missing)

    match test.mode:
        case "BRANCH_LEQ":
            return Inner(le(limits.up_to(limit), track), then, other)
        case "BRANCH_LT":
            return Inner(le(limits.below(limit), track), then, other)
        case "BRANCH_GT":
            return Inner(le(limits.up_to(limit), not track), other, then)
        case "BRANCH_GTE":
            return Inner(le(limits.below(limit), not track), other, then)
        case "BRANCH_EQ" | "BRANCH_NEQ":
            is_equal = test.mode == "BRANCH_EQ"
            hit, miss = (then, other) if is_equal else (other, then)
            missing_hits = is_equal and track
            if key.is_second:
                return Inner(le(limits.up_to(limit), missing_hits), hit, miss)
            second = key._replace(is_second=True)
            return Inner(le(limits.below(limit), not missing_hits), miss, second)
    raise ModelFileError(
        f"cannot import a node of mode {test.mode!r}: expected one of"
        f" {', '.join(MODES[:-1])}, {LEAF}"
    )
