"""Reads the trees of an XGBoost model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

import numpy as np

from treecompile.importers import boosted
from treecompile.importers.thresholds import double_below
from treecompile.importers.xgboost.document import Section
from treecompile.importers.xgboost.features import MOST_CATEGORIES
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.forests import LeafNode, SplitNode, member

LEAF = -1  # the child of a leaf
SINGLE = np.float32


@dataclass(frozen=True, slots=True)
class Addition:
    """What a tree adds: its values, times a weight.

    `predict` of the classes for scikit-learn makes the sum of DART in another way: it
    adds a tree to the start of the sums, takes that away again, and then multiplies.
    """

    weight: float = 1.0
    start: float | None = None

    def value(self, leaf: float) -> float:
        if self.start is not None:
            leaf = float(SINGLE(SINGLE(self.start) + SINGLE(leaf)) - SINGLE(self.start))
        if self.weight == 1:
            return leaf
        return float(SINGLE(leaf) * SINGLE(self.weight))


@dataclass(frozen=True, slots=True)
class NodeLists:
    """The lists of a tree, checked. Nodes that were pruned are still in them."""

    where: str
    left: list[int]
    right: list[int]
    features: list[int]
    conditions: list[float]  # thresholds of tests, values of leaves
    default_left: list[int]
    gains: list[float]
    weights: list[float]
    sets: dict[int, list[int]]  # the codes that go right, of each categorical test

    def splits(self) -> Iterator[int]:
        """Yield the tests that a row can reach."""
        waiting = [0]
        while waiting:
            place = waiting.pop()
            if self.left[place] != LEAF:
                yield place
                waiting += (self.right[place], self.left[place])

    def tests(self) -> Iterator[tuple[int, list[int] | None]]:
        for place in self.splits():
            yield self.features[place], self.sets.get(place)


def raw_tree(tree: Section, features: int) -> NodeLists:
    left = tree.integers("left_children")
    count = len(left)
    size = tree.part("tree_param").integer("size_leaf_vector", "1")
    if size > 1:
        raise ModelFileError(
            f"{tree.where}: its leaves have {size} values each: cannot import it: train"
            " with multi_strategy=one_output_per_tree"
        )
    if not count:
        raise ModelFileError(f"{tree.where}: it has no nodes: the file is damaged")
    raw = NodeLists(
        tree.where,
        left,
        tree.integers("right_children", count),
        tree.integers("split_indices", count),
        tree.singles("split_conditions", count),
        tree.integers("default_left", count),
        _measures(tree, "loss_changes", count),
        _measures(tree, "sum_hessian", count),
        _sets(tree, count),
    )
    children = {
        place: (raw.left[place], raw.right[place])
        for place in range(count)
        if raw.left[place] != LEAF
    }
    boosted.reachable(children, count, raw.where)
    for place in raw.splits():
        if not 0 <= raw.features[place] < features:
            raise ModelFileError(
                f"{raw.where}: there is no feature {raw.features[place]}"
            )
    return raw


def _measures(tree: Section, key: str, count: int) -> list[float]:
    """Return numbers that decide nothing; zeros if the file does not have them."""
    return tree.singles(key, count) if key in tree else [0.0] * count


def _sets(tree: Section, count: int) -> dict[int, list[int]]:
    if "split_type" not in tree:  # XGBoost before 1.3
        return {}
    types = tree.integers("split_type", count)
    nodes = tree.integers("categories_nodes") if any(types) else []
    if not nodes and not any(types):
        return {}
    starts = tree.integers("categories_segments", len(nodes))
    sizes = tree.integers("categories_sizes", len(nodes))
    codes = tree.integers("categories")
    if not all(0 <= code < MOST_CATEGORIES for code in codes):
        raise ModelFileError(
            f"{tree.where}.categories: expected codes from 0 to {MOST_CATEGORIES - 1:,}"
        )
    if sum(sizes) > len(codes):
        raise ModelFileError(f"{tree.where}.categories_sizes: the file is damaged")
    found: dict[int, list[int]] = {}
    for node, start, size in zip(nodes, starts, sizes, strict=True):
        if min(start, size) < 0 or start + size > len(codes):
            raise ModelFileError(f"{tree.where}.categories_sizes: the file is damaged")
        found[node] = sorted(set(codes[start : start + size]))
    if found.keys() != {n for n, t in enumerate(types) if t}:
        raise ModelFileError(f"{tree.where}.categories_nodes: the file is damaged")
    return found


def tree(
    raw: NodeLists, columns: boosted.Columns, output: int, added: Addition
) -> ir.Member:
    """Return a tree, as a member of the forest that adds to an output."""
    unused = LeafNode((0.0,))
    nodes: list[SplitNode | LeafNode] = [unused] * len(raw.left)
    nodes[0] = _leaf(raw, 0, added)
    for place in raw.splits():
        then, otherwise = raw.left[place], raw.right[place]
        weight = boosted.weight(raw.weights[place]) or 1.0  # never 0 in a model file
        gain = boosted.gain(raw.gains[place])
        nodes[place] = SplitNode(
            _test(raw, place, columns), then, otherwise, weight, gain
        )
        for child in (then, otherwise):
            if raw.left[child] == LEAF:
                nodes[child] = _leaf(raw, child, added)
    return member(columns.features, (output,), nodes)


def _leaf(raw: NodeLists, place: int, added: Addition) -> LeafNode:
    with np.errstate(over="ignore", invalid="ignore"):
        value = added.value(raw.conditions[place])
    if raw.left[place] == LEAF and not isfinite(value):
        raise ModelFileError(f"{raw.where}: leaf {place} has no finite value")
    return LeafNode((value,), boosted.weight(raw.weights[place]))


def _test(raw: NodeLists, place: int, columns: boosted.Columns) -> ir.Condition:
    """Return the test that leads to the left child."""
    index, missing = raw.features[place], bool(raw.default_left[place])
    if place not in raw.sets:
        limit = raw.conditions[place]
        if not isfinite(limit):
            raise ModelFileError(f"{raw.where}: test {place} has no finite threshold")
        return ir.Condition(index, ir.Op.LE, double_below(limit), missing)
    chosen = columns.chosen(index, raw.sets[place])
    return ir.Condition(index, ir.Op.NOT_IN, chosen, missing)
