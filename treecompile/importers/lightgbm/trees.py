"""Reads the trees of a LightGBM model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, nextafter

from treecompile.importers import boosted
from treecompile.importers.lightgbm.features import (
    CATEGORICAL,
    DEFAULT_LEFT,
    NONE,
    category_sets,
    check_codes,
)
from treecompile.importers.lightgbm.text import Block
from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.forests import ZERO, LeafNode, SplitNode, member


@dataclass(frozen=True, slots=True)
class TreeLists:
    """The lists of a tree: a test for each inner node, a value for each leaf.

    A child is the place of a test. The child -1 is the first leaf, -2 the second one.
    """

    where: str
    features: list[int]
    decisions: list[int]
    thresholds: list[float]  # of a categorical test, the place of its set
    sets: list[list[int]]
    left: list[int]
    right: list[int]
    gains: list[float]
    weights: list[float]
    values: list[float]
    leaf_weights: list[float]

    def tests(self) -> Iterator[tuple[int, int, list[int]]]:
        for place, feature in enumerate(self.features):
            decision = self.decisions[place]
            chosen = self.chosen(place) if decision & CATEGORICAL else []
            yield feature, decision, chosen

    def chosen(self, place: int) -> list[int]:
        """Return the codes that go left at a categorical test."""
        which = self.thresholds[place]
        if which not in range(len(self.sets)):
            raise ModelFileError(
                f"{self.where}: threshold {which:g} names no set of categories: the"
                " file is damaged"
            )
        return self.sets[int(which)]


def raw_trees(blocks: Iterable[Block], features: int) -> Iterator[TreeLists]:
    """Yield the lists of all trees, whose sets of categories are not too large."""
    codes = 0
    for block in blocks:
        made = raw_tree(block, features)
        for place, decision in enumerate(made.decisions):
            if decision & CATEGORICAL:
                codes += len(made.chosen(place))
        check_codes(codes)
        yield made


def raw_tree(block: Block, features: int) -> TreeLists:
    """Read and check the lists of a tree."""
    leaves = block.integer("num_leaves")
    if not 1 <= leaves <= len(block.text("leaf_value")):
        raise ModelFileError(f"{block.where}: num_leaves={leaves}: the file is damaged")
    if block.lines.get("is_linear", "0") != "0":
        raise ModelFileError(
            f"{block.where} has linear models in its leaves: cannot import it: train"
            " with linear_tree=False"
        )
    values = block.numbers("leaf_value", leaves)
    leaf_weights = block.measures("leaf_count", leaves)
    if leaves == 1:  # the other lines are empty, or not there
        return TreeLists(
            block.where, [], [], [], [], [], [], [], [], values, leaf_weights
        )
    inner = leaves - 1
    made = TreeLists(
        block.where,
        block.integers("split_feature", inner),
        block.integers("decision_type", inner),
        block.limits("threshold", inner),
        category_sets(block),
        block.integers("left_child", inner),
        block.integers("right_child", inner),
        block.measures("split_gain", inner),
        block.measures("internal_count", inner),
        values,
        leaf_weights,
    )
    for feature in made.features:
        if not 0 <= feature < features:
            raise ModelFileError(f"{block.where}: there is no feature {feature}")
    if not all(0 <= decision < 16 for decision in made.decisions):
        raise ModelFileError(f"{block.where}: decision_type: the file is damaged")
    return made


def tree(
    raw: TreeLists, columns: boosted.Columns, missing: Mapping[int, int], output: int
) -> ir.Member:
    """Return a tree, as a member of the forest that adds to an output.

    `missing` says what counts as missing in each numeric feature.
    """
    inner, leaves = len(raw.features), len(raw.values)

    def key(child: int) -> int:
        if child >= 0:
            return child if child < inner else -1
        return inner - child - 1

    children = {
        place: (key(raw.left[place]), key(raw.right[place])) for place in range(inner)
    }
    boosted.reachable(children, inner + leaves, raw.where)
    nodes: list[SplitNode | LeafNode] = []
    for place, (then, otherwise) in children.items():
        weight = boosted.weight(raw.weights[place]) or 1.0  # never 0 in a model file
        gain = boosted.gain(raw.gains[place])
        test = _test(raw, place, columns, missing)
        nodes.append(SplitNode(test, then, otherwise, weight, gain))
    for value, weight in zip(raw.values, raw.leaf_weights, strict=True):
        nodes.append(LeafNode((value,), boosted.weight(weight)))
    return member(columns.features, (output,), nodes)


def _test(
    raw: TreeLists, place: int, columns: boosted.Columns, missing: Mapping[int, int]
) -> ir.Condition:
    index, decision = raw.features[place], raw.decisions[place]
    if decision & CATEGORICAL:
        chosen = columns.chosen(index, raw.chosen(place))
        return ir.Condition(index, ir.Op.IN, chosen, missing=False)
    limit = raw.thresholds[place]
    goes_left = bool(decision & DEFAULT_LEFT)
    if missing[index] == NONE:
        goes_left = limit >= 0  # NaN counts as 0
    return ir.Condition(index, ir.Op.LE, snapped(limit), missing=goes_left)


def snapped(limit: float) -> float:
    """Return the threshold for numbers whose smallest are not yet turned into 0."""
    if not -ZERO <= limit <= ZERO:
        return limit
    return ZERO if limit >= 0 else nextafter(-ZERO, -inf)
