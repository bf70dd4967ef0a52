"""CART against scikit-learn on numeric data: the same splits, the same predictions.

Among equally good splits scikit-learn picks one at random. So both trees are walked
side by side, and all cuts of each node are judged again. If one cut is best by a clear
margin, both trees must have it. Otherwise both must have one of the best cuts, and the
walk goes on below as long as the two cuts divide the cases in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn import datasets
from sklearn import tree as trees

import treecompile
from tests.support.reference import read_table
from treecompile.model.ir import Leaf, Split, Tree

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]

MARGIN = 1e-9  # relative to the impurity of the node


@dataclass
class Walk:
    """What a walk met."""

    unique: int = 0  # splits without an equal
    alike: int = 0  # splits with equals that divide the cases in the same way
    apart: int = 0  # splits with equals that do not: nothing below them is compared


@dataclass(frozen=True)
class Problem:
    x: Floats
    y: NDArray[Any]
    is_regression: bool
    min_leaf: int = 1

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame(self.x).add_prefix("x")

    def impurity(self, rows: Rows) -> float:
        y = self.y[rows]
        if self.is_regression:
            return float(np.var(y))
        return float(1 - ((np.unique(y, return_counts=True)[1] / len(y)) ** 2).sum())

    def cuts(self, rows: Rows) -> tuple[NDArray[Any], Floats]:
        """Every cut as (feature, threshold), in order, and its gain."""
        found, gains = [], []
        y = self.y[rows]
        if self.is_regression:
            parts = (y - y.mean())[:, None]
        else:
            parts = (y[:, None] == np.unique(y)).astype(np.float64)
        size = len(rows)
        for feature in range(self.x.shape[1]):
            x = self.x[rows, feature]
            order = np.argsort(x)
            x, ordered = x[order], parts[order]
            counts = np.arange(1, size)
            left = ordered.cumsum(axis=0)[:-1]
            right = ordered.sum(axis=0) - left
            between = (left**2).sum(axis=1) / counts
            between += (right**2).sum(axis=1) / (size - counts)
            gain = (between - (ordered.sum(axis=0) ** 2).sum() / size) / size
            legal = (x[:-1] < x[1:]) & (counts >= self.min_leaf)
            legal &= size - counts >= self.min_leaf
            middle = (x[:-1] + x[1:]) / 2
            found += [(feature, each) for each in middle[legal]]
            gains += gain[legal].tolist()
        return np.array(found).reshape(-1, 2), np.array(gains)


def problem(x: Any, y: Any, *, is_regression: bool, min_leaf: int = 1) -> Problem:
    # scikit-learn works on single floats: learn from the same numbers.
    single = np.asarray(x, dtype=np.float32).astype(np.float64)
    return Problem(single, np.asarray(y), is_regression, min_leaf)


def bundled(name: str, is_regression: bool, min_leaf: int = 1) -> Problem:
    data = getattr(datasets, f"load_{name}")()
    return problem(
        data.data, data.target, is_regression=is_regression, min_leaf=min_leaf
    )


def learn_both(given: Problem, depth: int | None) -> tuple[treecompile.Model, Any]:
    ours = treecompile.learn(
        given.frame().assign(y=given.y),
        target="y",
        algorithm="cart",
        prune="none",
        task="regress" if given.is_regression else "classify",
        max_depth=depth,
        min_leaf=given.min_leaf,
    )
    kind = (
        trees.DecisionTreeRegressor
        if given.is_regression
        else trees.DecisionTreeClassifier
    )
    theirs = kind(max_depth=depth, min_samples_leaf=given.min_leaf, random_state=0)
    theirs.fit(given.x, given.y)
    return ours, theirs


def compare(given: Problem, depth: int | None) -> Walk:
    ours, theirs = learn_both(given, depth)
    walk = walk_both(given, ours, theirs)
    if not walk.apart:
        assert ours.n_leaves == theirs.get_n_leaves()
        assert ours.depth == theirs.get_depth()
        predicted = ours.predict(given.frame()).tolist()
        expected = theirs.predict(given.x).tolist()
        if given.is_regression:
            expected = pytest.approx(expected, rel=1e-12)
        assert predicted == expected
    return walk


def walk_both(given: Problem, ours: treecompile.Model, theirs: Any) -> Walk:
    tree, other = ours.program.body, theirs.tree_
    assert isinstance(tree, Tree)
    walk = Walk()
    stack = [(0, 0, np.arange(len(given.y)))]
    while stack:
        here, there, rows = stack.pop()
        node = tree.nodes[here]
        children = (int(other.children_left[there]), int(other.children_right[there]))
        assert other.n_node_samples[there] == len(rows)
        if isinstance(node, Leaf):
            assert children == (-1, -1)
            value = other.value[there][0]
            if given.is_regression:
                assert node.value == pytest.approx(value[0], rel=1e-12)
            else:
                assert node.value == theirs.classes_[value.argmax()]
            continue
        mine = split_of(node)
        yours = (int(other.feature[there]), float(other.threshold[there]))
        cuts, gains = given.cuts(rows)
        near = cuts[gains >= gains.max() - MARGIN * given.impurity(rows)]
        # Ours is the midpoint to 15 digits, theirs to all.
        assert mine == pytest.approx(near[0], rel=1e-14)
        assert node.gain == pytest.approx(gains.max(), rel=1e-6)
        assert np.isclose(near, yours, rtol=1e-12, atol=0).all(axis=1).any()
        left = given.x[rows, mine[0]] <= mine[1]
        left_there = given.x[rows, yours[0]] <= yours[1]
        if len(near) == 1:
            walk.unique += 1
        elif (left == left_there).all() or (left != left_there).all():
            walk.alike += 1
        else:
            walk.apart += 1
            continue
        if left[0] != left_there[0]:
            children = children[::-1]
        for branch, child, part in zip(
            node.branches, children, (rows[left], rows[~left]), strict=True
        ):
            stack.append((branch.then, child, part))
    return walk


def split_of(node: Split) -> tuple[int, float]:
    when = node.branches[0].when
    assert isinstance(when.value, float)
    return when.feature, when.value


# --- the comparisons ------------------------------------------------------------------

DEPTHS = pytest.mark.parametrize("depth", [3, 4, 5, 6])


@DEPTHS
@pytest.mark.parametrize("seed", range(3))
def test_random_regression(seed: int, depth: int) -> None:
    x, signal = random_data(seed)
    walk = compare(problem(x, signal, is_regression=True, min_leaf=5), depth)
    # Continuous targets know no ties.
    assert walk.alike == walk.apart == 0
    assert walk.unique > 2 ** (depth - 1)


@DEPTHS
@pytest.mark.parametrize("seed", range(3))
def test_random_classification(seed: int, depth: int) -> None:
    x, signal = random_data(seed)
    y = np.array(["low", "mid", "high"])[np.digitize(signal, [-1, 1])]
    walk = compare(problem(x, y, is_regression=False), depth)
    assert walk.unique > 2 * depth


def random_data(seed: int) -> tuple[Floats, Floats]:
    random = np.random.default_rng(seed)
    x = random.normal(size=(400, 4))
    noise = random.normal(scale=0.3, size=400)
    return x, 2 * x[:, 0] + np.sin(3 * x[:, 1]) + noise


@DEPTHS
@pytest.mark.parametrize(
    ("name", "least"), [("iris", 3), ("wine", 5), ("breast_cancer", 4)]
)
def test_bundled_classification(name: str, least: int, depth: int) -> None:
    assert compare(bundled(name, is_regression=False), depth).unique >= least


@DEPTHS
@pytest.mark.parametrize("min_leaf", [1, 5])
def test_bundled_regression(min_leaf: int, depth: int) -> None:
    walk = compare(bundled("diabetes", is_regression=True, min_leaf=min_leaf), depth)
    assert walk.apart == 0
    assert walk.unique > 2 ** (depth - 1)


def test_iris_grown_to_the_end() -> None:
    given = bundled("iris", is_regression=False)
    ours, theirs = learn_both(given, None)
    right = (ours.predict(given.frame()) == given.y).to_numpy()
    assert right.all()
    assert (theirs.predict(given.x) == given.y).all()
    assert ours.n_leaves == theirs.get_n_leaves() == 9


def test_iris_cuts_that_rpart_prints() -> None:
    data = datasets.load_iris()
    frame = pd.DataFrame(data.data).add_prefix("x").assign(y=data.target)
    tree = treecompile.learn(
        frame, target="y", algorithm="cart", prune="none", max_depth=2
    ).program.body
    assert isinstance(tree, Tree)
    cuts = [split_of(node) for node in tree.nodes if isinstance(node, Split)]
    assert cuts == [(2, 2.45), (3, 1.75)]


@pytest.mark.parametrize("name", ["housing", "autompg", "california-housing"])
def test_uci_regression(name: str) -> None:
    """On the numeric columns of the rows without a missing value."""
    table = read_table(name)
    numeric = [column for column, values in table.columns.items() if values is None]
    numbers = table.train[numeric].dropna().to_numpy()
    given = problem(numbers[:, :-1], numbers[:, -1], is_regression=True, min_leaf=5)
    assert compare(given, 6).unique > 30
