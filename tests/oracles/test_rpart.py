"""CART against what rpart 4.1.19 prints, of trees that use no surrogates.

Its defaults: minsplit 20, minbucket 7, cp 0.01; ten folds. What is printed there as
`Start>=8.5` on the left is `Start > 8.5` on the right here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.oracles.rpart_data import cars, kyphosis
from tests.samples import ROOT
from treecompile.data import DataOptions
from treecompile.ir import ClassCounts, Leaf, Moments, Op, Split, Tree
from treecompile.learn_options import LearnOptions
from treecompile.learners.prune import weakest_links
from treecompile.training import learn

PRINTED = ROOT.parent / "shared" / "oracles" / "rpart" / "rpart.txt"

pytestmark = pytest.mark.skipif(
    not PRINTED.exists(), reason="the reference outputs are not here"
)
datasets = pytest.importorskip("sklearn.datasets")

DEFAULTS: dict[str, Any] = {"min_split": 20, "min_leaf": 7}


def iris() -> pd.DataFrame:
    data = datasets.load_iris()
    names = ["Sepal.Length", "Sepal.Width", "Petal.Length", "Petal.Width"]
    frame = pd.DataFrame(data.data, columns=names)
    return frame.assign(Species=data.target_names[data.target])


SETS = {
    "kyphosis": (kyphosis, "Kyphosis"),
    "iris": (iris, "Species"),
    "car.test.frame": (cars, "Mileage"),
}
every_set = pytest.mark.parametrize("name", SETS)


@dataclass(frozen=True)
class Printed:
    nodes: dict[int, tuple[str, int, float, str]]  # test, cases, loss, answer; by id
    table: list[tuple[float, int, float]]  # cp, splits, relative error


NODE = re.compile(
    r"^ *(\d+)\) (root|[\w.]+(?:<|>=) ?[\d.]+) (\d+) +([\d.]+) +(\S+)", re.M
)
STEP = re.compile(r"^\d+ +(\d\.\d+) +(\d+) +(\d\.\d+)$", re.M)


def read_printed(name: str) -> Printed:
    text = PRINTED.read_text().partition(f"## {name}\n")[2].partition("\n## ")[0]
    nodes = {
        int(number): (re.sub(r"\s", "", test), int(cases), float(loss), said)
        for number, test, cases, loss, said in NODE.findall(text)
    }
    table = [(float(c), int(n), float(e)) for c, n, e in STEP.findall(text)]
    return Printed(nodes, table)


def tree_of(name: str, **options: Any) -> Tree:
    frame, target = SETS[name]
    task = "regress" if name == "car.test.frame" else "classify"
    options = {**DEFAULTS, "algorithm": "cart", "task": task, **options}
    model = treecompile.learn(frame(), target=target, **options)
    assert isinstance(model.program.body, Tree)
    return model.program.body


@every_set
def test_the_tree_is_the_same(name: str) -> None:
    expected = read_printed(name)
    tree = tree_of(name, prune="cost-complexity")
    seen = set()
    stack = [(0, 1)]
    while stack:
        position, number = stack.pop()
        node = tree.nodes[position]
        _, cases, loss, said = expected.nodes[number]
        seen.add(number)
        assert node.stats.weight == cases
        if isinstance(node.stats, ClassCounts):
            assert cases - max(node.stats.weights) == loss
        else:
            assert isinstance(node.stats, Moments)
            assert node.stats.sse == pytest.approx(loss, rel=1e-8)
            assert node.stats.mean == pytest.approx(float(said), rel=1e-8)
        if isinstance(node, Leaf):
            assert 2 * number not in expected.nodes
            if tree.labels:
                assert node.value == said
            continue
        for branch in node.branches:
            # on whichever side rpart puts it, the test is the same
            below = {
                expected.nodes[child][0]: child
                for child in (2 * number, 2 * number + 1)
            }
            feature = tree.features[branch.when.feature].name
            sign = "<" if branch.when.op is Op.LE else ">="
            stack.append((branch.then, below[f"{feature}{sign}{branch.when.value:g}"]))
    assert seen == set(expected.nodes)


@every_set
def test_the_table_is_the_same(name: str) -> None:
    expected = read_printed(name).table
    steps = weakest_links(tree_of(name))[::-1]
    assert len(expected) >= 3
    for place, (cp, splits, error) in enumerate(expected):
        step = steps[place]
        assert step.leaves - 1 == splits
        assert step.risk == pytest.approx(error, rel=1e-9)
        # rpart stops at cp = 0.01, and prints that for the last
        alpha = step.alpha if place < len(expected) - 1 else 0.01
        assert alpha == pytest.approx(cp, rel=1e-9)


def test_a_larger_cp_leaves_one_split() -> None:
    # the second tree under "kyphosis parms prior/gini/information": cp is 0.05
    tree = tree_of("kyphosis", prune="cost-complexity", alpha=0.05)
    root, *leaves = tree.nodes
    assert isinstance(root, Split)
    assert root.branches[0].when.value == 8.5
    assert [leaf.stats for leaf in leaves] == [
        ClassCounts((8.0, 11.0)),
        ClassCounts((56.0, 6.0)),
    ]


def test_the_cross_validated_error_is_as_printed_within_noise() -> None:
    # Ten folds at random: noise is two of the standard errors that are printed.
    printed = {0: (1.0, 0.2155872223), 1: (0.8235294118, 0.2001750697)}
    columns = DataOptions("Kyphosis")
    for seed in range(3):
        options = LearnOptions(
            algorithm="cart", prune="cost-complexity", alpha="cv", seed=seed, **DEFAULTS
        )
        choice = learn(kyphosis(), columns, options).choice
        assert choice is not None
        found = {entry.step.leaves - 1: entry for entry in choice.table}
        assert found[0].error == 1.0  # the root is the same in every fold
        assert found[0].deviation == pytest.approx(printed[0][1], abs=1e-10)
        error, deviation = printed[1]
        assert abs(found[1].error - error) < 2 * deviation
        assert found[1].deviation == pytest.approx(deviation, rel=0.2)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_priors(criterion: str) -> None:
    # the first tree under "kyphosis parms prior/gini/information", by either measure
    tree = tree_of(
        "kyphosis",
        prune="cost-complexity",
        criterion=criterion,
        prior={"absent": 0.65, "present": 0.35},
    )
    first, second, *leaves = tree.nodes
    assert isinstance(first, Split)
    assert isinstance(second, Split)
    tests = [split.branches[0].when for split in (first, second)]
    names = [tree.features[test.feature].name for test in tests]
    assert names == ["Start", "Age"]
    assert [test.value for test in tests] == [12.5, 34.5]
    found = [
        (node.stats.weight - max(node.stats.weights), *shares(node.stats))
        for node in tree.nodes
        if isinstance(node.stats, ClassCounts)
    ]
    assert np.array(found) == pytest.approx(
        np.array(
            [
                [28.350000000, 0.65000000000, 0.35000000000],
                [16.453125000, 0.39676840215, 0.60323159785],
                [1.667647059, 0.81616741896, 0.18383258104],
                [9.049218750, 0.27932896702, 0.72067103298],
                [3.335294118, 0.91563088512, 0.08436911488],
            ]
        ),
        rel=1e-9,
    )
    said = [leaf.value for leaf in leaves if isinstance(leaf, Leaf)]
    assert said == ["absent", "present", "absent"]


def shares(stats: ClassCounts) -> list[float]:
    return [weight / stats.weight for weight in stats.weights]
