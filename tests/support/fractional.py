"""Trees that divide missing values, and their shares computed by plain recursion."""

from __future__ import annotations

import itertools
from math import inf, nextafter
from typing import Any

from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    MissingPolicy,
    Moments,
    Op,
    Program,
    Row,
    Split,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.semantics import negate

SKY = Feature("sky", Kind.CATEGORICAL, ValueType.STR, ("clear", "grey", "dark"))


HEAT = Feature("heat", Kind.NUMERIC, ValueType.FLOAT)


def counts(no: float, yes: float) -> ClassCounts:
    return ClassCounts((no, yes))


def leaf(no: float, yes: float) -> Leaf:
    return Leaf("yes" if yes > no else "no", counts(no, yes), no + yes)


def tree() -> Tree:
    """sky: clear -> heat (<= 20: 1/3, > 20: 2/0), grey (or any other) -> 1/5, dark."""
    clear = Condition(0, Op.IN, ("clear",), missing=False)
    grey = Condition(0, Op.NOT_IN, ("clear", "dark"), missing=True)
    dark = Condition(0, Op.IN, ("dark",), missing=False)
    warm = Condition(1, Op.LE, 20.0, missing=True)
    return Tree(
        (SKY, HEAT),
        ("no", "yes"),
        (
            Split(
                (Branch(clear, 1, 6.0), Branch(grey, 2, 6.0), Branch(dark, 3, 0.0)),
                counts(4, 8),
                0.5,
            ),
            Split(
                (Branch(warm, 4, 4.0), Branch(negate(warm), 5, 2.0)), counts(3, 3), 0
            ),
            leaf(1, 5),
            Leaf("no", counts(1, 0), 0.0),  # no cases: its class counts in full
            leaf(1, 3),
            leaf(2, 0),
        ),
        MissingPolicy.FRACTIONAL,
    )


def program() -> Program:
    return Program("play", "by hand", tree())


def is_known(feature: Feature, value: Value) -> bool:
    if feature.kind is Kind.NUMERIC:
        return value is not None and float(value) == float(value)
    return any(category == value for category in feature.categories)


def passes(test: Condition, feature: Feature, value: Any) -> bool:
    """Whether a known value meets a test."""
    if test.op in (Op.IN, Op.NOT_IN):
        assert isinstance(test.value, tuple)
        return (value in test.value) == (test.op is Op.IN)
    if feature.kind is Kind.ORDINAL:
        places = feature.categories.index
        return (places(value) <= places(test.value)) == (test.op is Op.LE)
    assert isinstance(test.value, float)
    return (float(value) <= test.value) == (test.op is Op.LE)


def shares(tree: Tree, row: Row, position: int, number: Any) -> list[Any]:
    """The shares of the labels, by recursion, in numbers of any type."""
    node = tree.nodes[position]
    if isinstance(node, Leaf):
        if not isinstance(node.stats, ClassCounts):
            return [number(node.value)]
        total = node.stats.weight
        return [number(weight / total) for weight in node.stats.weights]
    where = node.branches[0].when.feature
    feature, value = tree.features[where], row[where]
    if is_known(feature, value):
        (taken,) = [b for b in node.branches if passes(b.when, feature, value)]
        return shares(tree, row, taken.then, number)
    sums, total = [number(0)] * (len(tree.labels) or 1), number(0)
    for branch in node.branches:
        below = shares(tree, row, branch.then, number)
        total = total + number(branch.weight)
        sums = [s + number(branch.weight) * b for s, b in zip(sums, below, strict=True)]
    return [s / total for s in sums]


WIND = Feature("wind", Kind.ORDINAL, ValueType.STR, ("low", "mid", "high"))


def leaf_of(*weights: float) -> Leaf:
    return Leaf("a", ClassCounts(weights), sum(weights))


def model() -> Program:
    """Three splits of three kinds, whose weights and shares have many digits."""
    clear = Condition(0, Op.IN, ("clear",), missing=False)
    dark = Condition(0, Op.IN, ("dark",), missing=False)
    grey = Condition(0, Op.NOT_IN, ("clear", "dark"), missing=True)
    warm = Condition(1, Op.GT, 20.5, missing=False)
    still = Condition(2, Op.LE, "mid", missing=True)
    nodes = (
        Split(
            (Branch(clear, 1, 7.3), Branch(grey, 2, 5.9), Branch(dark, 3, 1.7)),
            counts(4, 8),
            0.5,
        ),
        Split((Branch(warm, 4, 4.1), Branch(negate(warm), 5, 3.2)), counts(3, 3), 0.1),
        Split(
            (Branch(still, 6, 2.6), Branch(negate(still), 7, 3.3)), counts(3, 3), 0.1
        ),
        leaf_of(1.3, 0.4, 0.7),
        leaf_of(3.1, 1.7, 0.0),
        leaf_of(0.3, 2.2, 0.7),
        leaf_of(0.9, 0.8, 0.9),
        leaf_of(1.1, 0.1, 2.1),
    )
    labels = ("a", "b", "c")
    body = Tree((SKY, HEAT, WIND), labels, nodes, MissingPolicy.FRACTIONAL)
    return Program("answer", "by hand", body)


GRID: list[Row] = list(
    itertools.product(
        ("clear", "grey", "dark", "hail", None),
        (nextafter(20.5, -inf), 20.5, nextafter(20.5, inf), None),
        ("low", "mid", "high", "none", None),
    )
)


def of(*nodes: Split | Leaf, features: tuple[Feature, ...] = (HEAT,)) -> Program:
    labels = () if isinstance(nodes[-1].stats, Moments) else ("no", "yes")
    body = Tree(features, labels, nodes, MissingPolicy.FRACTIONAL)
    return Program("play", "by hand", body)


def numbers(*values: float) -> Program:
    leaves = [Leaf(value, Moments(1.0, value, 0.0), 1.0) for value in values]
    test = Condition(0, Op.LE, 1.0, missing=True)
    branches = (Branch(test, 1, 3.0), Branch(negate(test), 2, 1.0))
    return of(Split(branches, Moments(2.0, 0.0, 0.0), 0.0), *leaves)
