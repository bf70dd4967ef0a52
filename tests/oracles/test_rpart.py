"""CART against what rpart 4.1.19 prints for trees that use no surrogates.

rpart runs with its defaults: minsplit 20, minbucket 7, cp 0.01, ten folds. Its left
branch `Start>=8.5` is our right branch `Start > 8.5`.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
from sklearn.datasets import load_iris

import treecompile
from tests.support.reference import read_table, results
from treecompile.learning.options import LearnOptions
from treecompile.learning.pruning import weakest_links
from treecompile.learning.training import learn
from treecompile.model.ir import ClassCounts, Leaf, Moments, Op, Split, Tree
from treecompile.tables.options import DataOptions

DEFAULTS: dict[str, Any] = {"min_split": 20, "min_leaf": 7, "prune": "none"}
SETS = ("kyphosis", "iris", "cars")
every_set = pytest.mark.parametrize("name", SETS)


def rows_of(name: str) -> tuple[pd.DataFrame, str]:
    """All rows, and the column that is predicted."""
    if name != "iris":
        table = read_table(name)
        return table.train, table.target
    data = load_iris()
    names = ["Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width"]
    frame = pd.DataFrame(data.data, columns=names)
    return frame.assign(Species=data.target_names[data.target]), "Species"


def printed_nodes(name: str) -> dict[int, dict[str, Any]]:
    """By number: the children of node n are 2n and 2n + 1."""
    return {node["number"]: node for node in results("rpart")[name]["nodes"]}


def tree_of(name: str, **options: Any) -> Tree:
    frame, target = rows_of(name)
    task = "regress" if name == "cars" else "classify"
    options = {**DEFAULTS, "algorithm": "cart", "task": task, **options}
    model = treecompile.learn(frame, target=target, **options)
    assert isinstance(model.program.body, Tree)
    return model.program.body


@every_set
def test_the_tree_is_the_same(name: str) -> None:
    expected = printed_nodes(name)
    tree = tree_of(name, prune="cost-complexity")
    seen = set()
    stack = [(0, 1)]
    while stack:
        position, number = stack.pop()
        node = tree.nodes[position]
        printed = expected[number]
        cases, loss, said = printed["cases"], printed["loss"], printed["answer"]
        seen.add(number)
        assert node.stats.weight == cases
        if isinstance(node.stats, ClassCounts):
            assert cases - max(node.stats.weights) == loss
        else:
            assert isinstance(node.stats, Moments)
            assert node.stats.sse == pytest.approx(loss, rel=1e-8)
            assert node.stats.mean == pytest.approx(said, rel=1e-8)
        if isinstance(node, Leaf):
            assert 2 * number not in expected
            if tree.labels:
                assert node.value == said
            continue
        # rpart puts the branches in either order
        children = {
            (child["feature"], child["op"], child["threshold"]): child["number"]
            for child in (expected[2 * number], expected[2 * number + 1])
        }
        for branch in node.branches:
            feature = tree.features[branch.when.feature].name
            sign = "<" if branch.when.op is Op.LE else ">="
            child = children[feature, sign, branch.when.value]
            stack.append((branch.then, child))
    assert seen == set(expected)


@every_set
def test_the_table_is_the_same(name: str) -> None:
    expected = results("rpart")[name]["table"]
    steps = weakest_links(tree_of(name))[::-1]
    assert len(expected) >= 3
    for number, line in enumerate(expected, start=1):
        step = steps[number - 1]
        assert step.leaves - 1 == line["splits"]
        assert step.risk == pytest.approx(line["error"], rel=1e-9)
        # rpart stops at cp = 0.01 and prints this in the last line
        alpha = step.alpha if number < len(expected) else 0.01
        assert alpha == pytest.approx(line["cp"], rel=1e-9)


def test_a_larger_cp_leaves_one_split() -> None:
    printed = printed_nodes("kyphosis, cp 0.05")
    tree = tree_of("kyphosis", prune="cost-complexity", alpha=0.05)
    root, *leaves = tree.nodes
    assert isinstance(root, Split)
    assert root.branches[0].when.value == printed[2]["threshold"] == 8.5
    # `Start <= 8.5` is rpart's right branch
    for leaf, node in zip(leaves, (printed[3], printed[2]), strict=True):
        assert isinstance(leaf.stats, ClassCounts)
        assert leaf.stats.weight == node["cases"]
        assert shares(leaf.stats) == pytest.approx(node["shares"], rel=1e-9)


def test_the_cross_validated_error_is_as_printed_within_noise() -> None:
    # The ten folds are random: noise is two of the standard errors that are printed.
    printed = {
        line["splits"]: (line["error"], line["deviation"])
        for line in results("rpart")["kyphosis, cross-validated"]["table"]
    }
    columns = DataOptions("Kyphosis")
    for seed in range(3):
        options = LearnOptions(
            **{**DEFAULTS, "algorithm": "cart", "prune": "cost-complexity"},
            alpha="cv",
            seed=seed,
        )
        choice = learn(rows_of("kyphosis")[0], columns, options).choice
        assert choice is not None
        found = {entry.step.leaves - 1: entry for entry in choice.table}
        assert found[0].error == 1.0  # the root is the same in every fold
        assert found[0].deviation == pytest.approx(printed[0][1], abs=1e-10)
        error, deviation = printed[1]
        assert abs(found[1].error - error) < 2 * deviation
        assert found[1].deviation == pytest.approx(deviation, rel=0.2)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_class_weights_that_are_priors(criterion: str) -> None:
    # rpart prints the same tree for either measure
    printed = printed_nodes("kyphosis, prior 0.65 and 0.35")
    absent, present = 64 / 81, 17 / 81  # shares of the rows
    tree = tree_of(
        "kyphosis",
        prune="cost-complexity",
        criterion=criterion,
        class_weight={"absent": 0.65 / absent, "present": 0.35 / present},
    )
    first, second, *leaves = tree.nodes
    assert isinstance(first, Split)
    assert isinstance(second, Split)
    tests = [split.branches[0].when for split in (first, second)]
    names = [tree.features[test.feature].name for test in tests]
    assert names == ["Start", "Age"]
    assert [test.value for test in tests] == [12.5, 34.5]
    # ours: Start, Start <= 12.5, its leaves, Start > 12.5
    order = [printed[number] for number in (1, 3, 6, 7, 2)]
    assert [order[number].get("threshold") for number in (1, 2)] == [12.5, 34.5]
    for node, expected in zip(tree.nodes, order, strict=True):
        assert isinstance(node.stats, ClassCounts)
        loss = node.stats.weight - max(node.stats.weights)
        assert loss == pytest.approx(expected["loss"], rel=1e-9)
        assert shares(node.stats) == pytest.approx(expected["shares"], rel=1e-9)
    said = [leaf.value for leaf in leaves if isinstance(leaf, Leaf)]
    assert said == ["absent", "present", "absent"]


def shares(stats: ClassCounts) -> list[float]:
    return [weight / stats.weight for weight in stats.weights]
