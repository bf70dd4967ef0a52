"""Partial dependence and importance of forests, against scikit-learn and by hand."""

from __future__ import annotations

import time
from math import inf, nan
from random import Random
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_regression
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.inspection import partial_dependence

from tests.support.forests import random_forest
from treecompile.measure.dependence import (
    MOST_STEPS,
    dependences,
    knows_weights,
    partial_margins,
)
from treecompile.measure.forest_importance import split_shares
from treecompile.model import batch, ir
from treecompile.model.forests import LeafNode, SplitNode, member
from treecompile.model.semantics import holds
from treecompile.pictures.dependence import draw_dependence, shown_outputs

X = ir.Feature("x", ir.Kind.NUMERIC, ir.ValueType.FLOAT)
C = ir.Feature("c", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("a", "b", "d"))


def converted(tree: Any, features: tuple[ir.Feature, ...]) -> ir.Member:
    """A tree of scikit-learn, node by node; a gain counts for all rows of the node."""
    nodes: list[SplitNode | LeafNode] = []
    weights, impurity = tree.weighted_n_node_samples, tree.impurity
    for place in range(tree.node_count):
        left, right = int(tree.children_left[place]), int(tree.children_right[place])
        weight = float(weights[place])
        if left < 0:
            nodes.append(LeafNode((float(tree.value[place, 0, 0]),), weight))
            continue
        test = ir.Condition(
            int(tree.feature[place]), ir.Op.LE, float(tree.threshold[place]), False
        )
        gain = sum(
            sign * weights[at] * impurity[at]
            for sign, at in ((1, place), (-1, left), (-1, right))
        )
        nodes.append(SplitNode(test, left, right, weight, float(gain)))
    return member(features, (0,), nodes)


def theirs(kind: str) -> tuple[Any, ir.Forest, Any]:
    """An ensemble of scikit-learn, the same as a forest, and its rows."""
    x, y = make_regression(400, 5, n_informative=4, noise=5.0, random_state=3)
    x = x.astype(np.float32).astype(np.float64)
    features = tuple(
        ir.Feature(f"x{i}", ir.Kind.NUMERIC, ir.ValueType.FLOAT) for i in range(5)
    )
    if kind == "boosted":
        model: Any = GradientBoostingRegressor(n_estimators=30, random_state=0)
        trees = [each[0].tree_ for each in model.fit(x, y).estimators_]
        how: dict[str, Any] = {"scale": 0.1, "offset": (float(y.mean()),)}
    else:
        model = RandomForestRegressor(20, max_depth=6, random_state=0)
        trees = [each.tree_ for each in model.fit(x, y).estimators_]
        how = {"divisor": 20.0}
    members = tuple(converted(tree, features) for tree in trees)
    return model, ir.Forest(features, (), members, (0.0,), **how), x


@pytest.mark.parametrize("kind", ["boosted", "mean"])
def test_the_dependence_is_that_of_scikit_learn(kind: str) -> None:
    model, forest, x = theirs(kind)
    columns = list(x.T)
    assert batch.predictions(forest, columns, 400) == pytest.approx(model.predict(x))
    assert knows_weights(forest)
    for index in range(5):
        expected = partial_dependence(
            model, x, [index], method="recursion", kind="average", grid_resolution=40
        )
        ours = partial_margins(forest, index, expected["grid_values"][0])
        # Of boosted trees, scikit-learn leaves out where the sum starts.
        start = forest.offset[0] if kind == "boosted" else 0.0
        wanted = expected["average"][0] + start
        assert np.abs(ours[:, 0] - wanted).max() < 1e-9


@pytest.mark.parametrize("kind", ["boosted", "mean"])
def test_the_importance_is_that_of_scikit_learn(kind: str) -> None:
    model, forest, _ = theirs(kind)
    found = split_shares(forest)
    assert found.are_gains
    assert sum(found.shares) == pytest.approx(1)
    parts = []
    for each in forest.members:
        gains = [0.0] * 5
        for node in each.tree.nodes:
            if isinstance(node, ir.Split):
                gains[node.branches[0].when.feature] += node.gain
        parts.append(gains)
    own = np.array(parts)
    total = own.sum(axis=0)
    assert list(found.shares) == pytest.approx(list(total / total.sum()))
    assert found.ranked == sorted(range(5), key=lambda i: -total[i])
    if kind == "mean":  # there, scikit-learn gives each tree the same say
        total = (own / own.sum(axis=1, keepdims=True)).mean(axis=0)
    expected = list(model.feature_importances_)
    assert list(total / total.sum()) == pytest.approx(expected)


def test_without_gains_splits_are_counted() -> None:
    test, other = (
        ir.Condition(0, ir.Op.LE, 1.0, False),
        ir.Condition(1, ir.Op.IN, ("a",), False),
    )
    nodes: list[SplitNode | LeafNode] = [
        *(SplitNode(test, 1, 2), SplitNode(other, 3, 4), LeafNode((1.0,))),
        *(SplitNode(test, 5, 6), LeafNode((2.0,)), LeafNode((3.0,)), LeafNode((4.0,))),
    ]
    forest = ir.Forest((X, C, X), (), (member((X, C, X), (0,), nodes),), (0.0,))
    found = split_shares(forest)
    assert not found.are_gains
    assert found.shares == (2 / 3, 1 / 3, 0.0)
    assert found.ranked == [0, 1]
    assert not knows_weights(forest)
    # Then a branch counts by its leaves: c = a has two, anything else has one.
    at_two, missing = partial_margins(forest, 0, np.array([2.0, nan]))[:, 0]
    assert at_two == missing == 1.0
    (at_one,) = partial_margins(forest, 0, np.array([1.0]))[:, 0]
    assert at_one == pytest.approx(2 / 3 * 3 + 1 / 3 * 2)


def slowly(forest: ir.Forest, index: int, value: ir.Value) -> list[float]:
    """The same for one value, with recursion."""
    known = knows_weights(forest)

    def leaves(tree: ir.Tree, place: int) -> int:
        node = tree.nodes[place]
        if isinstance(node, ir.Leaf):
            return 1
        return sum(leaves(tree, branch.then) for branch in node.branches)

    def mean(each: ir.Member, place: int, output: int) -> float:
        node = each.tree.nodes[place]
        if isinstance(node, ir.Leaf):
            assert isinstance(node.value, int)
            return each.values[node.value][output]
        weights = []
        for branch in node.branches:
            if branch.when.feature == index:
                goes = holds(branch.when, forest.features[index], value)
                weights.append(float(goes))
            else:
                count = leaves(each.tree, branch.then)
                weights.append(branch.weight if known else float(count))
        return sum(
            weight / sum(weights) * mean(each, branch.then, output)
            for weight, branch in zip(weights, node.branches, strict=True)
        )

    sums = list(forest.start)
    for each in forest.members:
        for place, output in enumerate(each.outputs):
            sums[output] += mean(each, 0, place)
    offset = forest.offset or (0.0,) * len(sums)
    return [
        total / forest.divisor * forest.scale + more
        for total, more in zip(sums, offset, strict=True)
    ]


@pytest.mark.parametrize("seed", range(25))
def test_any_forest_as_by_recursion(seed: int) -> None:
    forest = random_forest(Random(seed))
    found = dependences(forest, range(len(forest.features)))
    for index, (feature, each) in enumerate(zip(forest.features, found, strict=True)):
        assert each.feature == index
        if feature.kind is ir.Kind.NUMERIC:
            values: list[ir.Value] = [
                low / 2 + high / 2
                for low, high in zip(each.edges, each.edges[1:], strict=False)
            ]
        else:
            assert each.edges == ()
            values = list(feature.categories)
        assert len(each.margins) == len(values)
        rows = [*each.margins.tolist(), each.missing.tolist()]
        for value, row in zip([*values, None], rows, strict=True):
            assert row == pytest.approx(slowly(forest, index, value), abs=1e-9)


def stumps(limits: list[float]) -> ir.Forest:
    members = tuple(
        member(
            (X,),
            (0,),
            [
                SplitNode(ir.Condition(0, ir.Op.LE, limit, True), 1, 2, 9.0),
                LeafNode((0.0,), 4.0),
                LeafNode((1.0,), 5.0),
            ],
        )
        for limit in limits
    )
    return ir.Forest((X,), (), members, (0.0,))


def test_a_step_for_each_threshold() -> None:
    (found,) = dependences(stumps([3.0, 1.0, 2.0, 2.0, inf]), [0])
    assert found.edges == pytest.approx((0.9, 1.0, 2.0, 3.0, 3.1))
    assert found.margins[:, 0].tolist() == [0, 1, 3, 4]
    assert found.missing.tolist() == [0]


def test_the_range_of_training_ends_the_curve() -> None:
    training = ir.Training("", 5, (ir.ColumnSummary(0, 1.5, 2.5),))
    (found,) = dependences(stumps([3.0, 1.0, 2.0]), [0], training)
    assert found.edges == (1.5, 2.0, 2.5)
    assert found.margins[:, 0].tolist() == [1, 2]
    unknown = ir.Training("", 5, (ir.ColumnSummary(0),))
    (found,) = dependences(stumps([3.0]), [0], unknown)
    assert found.edges == (3.0 - 0.15, 3.0, 3.15)


def test_many_thresholds_are_thinned() -> None:
    (found,) = dependences(stumps([float(n) for n in range(1, 1_001)]), [0])
    assert len(found.edges) == MOST_STEPS + 1
    assert list(found.edges) == sorted(set(found.edges))
    assert found.edges[1] == 1
    assert found.edges[-2] == 1_000
    values = found.margins[:, 0].tolist()
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, 1_000)


@pytest.mark.parametrize(
    "limits", [[], [0.0], [1.0, 1.0000000000000002], [5e-324], [3.0, 4.0]]
)
def test_odd_thresholds_are_drawn(limits: list[float]) -> None:
    forest = stumps(limits)
    (found,) = dependences(forest, [0])
    assert np.isfinite(found.margins).all()
    assert np.isfinite(found.edges).all()
    assert len(found.margins) == len(limits) + 1
    picture = draw_dependence(forest, found, shown_outputs(forest, [found]), (0, 1))
    assert "nan" not in picture
    assert "inf" not in picture


def test_huge_thresholds_do_not_stretch_the_curve() -> None:
    (found,) = dependences(stumps([1.0, 1e300, 2.0, -1.7e308]), [0])
    assert found.edges == pytest.approx((0.95, 1.0, 2.0, 2.05))
    assert found.margins[:, 0].tolist() == [1, 2, 3]
    (found,) = dependences(stumps([1e300]), [0])
    assert found.margins[:, 0].tolist() == [0]
    training = ir.Training("", 5, (ir.ColumnSummary(0, -1.7e308, 1.7e308),))
    (found,) = dependences(stumps([-1e308, 1e308]), [0], training)
    assert found.margins[:, 0].tolist() == [0, 1, 2]
    picture = draw_dependence(stumps([1.0]), found, [0], (0, 2))
    assert "nan" not in picture
    assert "inf" not in picture


def test_large_forests_take_seconds() -> None:
    dice = Random(5)
    features = tuple(
        ir.Feature(f"x{i}", ir.Kind.NUMERIC, ir.ValueType.FLOAT) for i in range(8)
    )

    def grown() -> ir.Member:
        nodes: list[SplitNode | LeafNode] = []
        for place in range(15):
            test = ir.Condition(
                dice.randrange(8), ir.Op.LE, dice.gauss(0, 1), place % 2 == 0
            )
            nodes.append(SplitNode(test, 2 * place + 1, 2 * place + 2, 3.0, 1.0))
        nodes += [LeafNode((dice.gauss(0, 1),), 2.0) for _ in range(16)]
        return member(features, (0,), nodes)

    forest = ir.Forest(features, (), tuple(grown() for _ in range(1_500)), (0.0,))
    start = time.perf_counter()
    assert len(dependences(forest, range(6))) == 6
    assert time.perf_counter() - start < 10
