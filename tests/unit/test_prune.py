"""Cost-complexity pruning against a search through all pruned trees."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn import tree as trees

import treecompile
from treecompile.learning.pruning import cost_complexity, risk, weakest_links
from treecompile.model.errors import OptionError
from treecompile.model.ir import ClassCounts, Leaf, Split, Tree


def learn(frame: pd.DataFrame, **options: Any) -> Tree:
    options = {"algorithm": "cart", **options}
    body = treecompile.learn(frame, target="y", **options).program.body
    assert isinstance(body, Tree)
    return body


def iris() -> pd.DataFrame:
    data = datasets.load_iris()
    return pd.DataFrame(data.data).add_prefix("x").assign(y=data.target)


def small(seed: int, is_regression: bool) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x = random.integers(0, 6, size=(40, 2)).astype(float)
    y = x[:, 0] + random.integers(0, 4, size=40)
    frame = pd.DataFrame(x).add_prefix("x")
    return frame.assign(y=y if is_regression else np.where(y > 4, "p", "n"))


def leaves_of(tree: Tree) -> list[Leaf]:
    return [node for node in tree.nodes if isinstance(node, Leaf)]


def all_prunings(tree: Tree, position: int = 0) -> list[tuple[float, int]]:
    """Risk and leaves of every tree that pruning can make."""
    node = tree.nodes[position]
    found = [(risk(node), 1)]
    if isinstance(node, Split):
        below = [all_prunings(tree, branch.then) for branch in node.branches]
        for parts in product(*below):
            risks, leaves = zip(*parts, strict=True)
            found.append((sum(risks), sum(leaves)))
    return list(set(found))


@pytest.mark.parametrize("is_regression", [False, True])
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("alpha", [0.0, 0.005, 0.02, 0.05, 0.1, 0.3, 2.0])
def test_no_pruned_tree_is_better_or_equal_and_smaller(
    seed: int, alpha: float, is_regression: bool
) -> None:
    task = "regress" if is_regression else "classify"
    tree = learn(small(seed, is_regression), task=task, max_depth=4)
    pruned = cost_complexity(tree, alpha)
    leaves = leaves_of(pruned)
    price = alpha * risk(tree.nodes[0])
    cost = sum(map(risk, leaves)) + price * len(leaves)
    every = all_prunings(tree)
    least = min(r + price * n for r, n in every)
    assert cost == pytest.approx(least, rel=1e-9, abs=1e-9)
    near = [n for r, n in every if r + price * n <= least + 1e-9]
    assert len(leaves) == min(near)


@pytest.mark.parametrize("is_regression", [False, True])
def test_every_step_of_the_sequence_is_the_tree_at_its_alpha(
    is_regression: bool,
) -> None:
    task = "regress" if is_regression else "classify"
    tree = learn(small(3, is_regression), task=task)
    whole = risk(tree.nodes[0])
    steps = weakest_links(tree)
    assert steps[-1].leaves == 1
    assert len({step.alpha for step in steps}) == len(steps)
    for step in steps:
        leaves = leaves_of(cost_complexity(tree, step.alpha))
        assert len(leaves) == step.leaves
        assert sum(map(risk, leaves)) / whole == pytest.approx(step.risk, abs=1e-12)


def test_rpart_prunes_iris_alike() -> None:
    # rpart 4.1.19 with its defaults: minsplit 20, minbucket 7, cp 0.01.
    frame = iris()
    tree = learn(frame, min_split=20, min_leaf=7)
    steps = weakest_links(tree)[-3:]
    assert [step.leaves - 1 for step in steps] == [2, 1, 0]
    assert [step.risk for step in steps] == pytest.approx([0.06, 0.5, 1.0])
    assert [step.alpha for step in steps[1:]] == pytest.approx([0.44, 0.5])
    assert steps[0].alpha <= 0.01
    pruned = learn(frame, min_split=20, min_leaf=7, prune="cost-complexity")
    tests = [n.branches[0].when for n in pruned.nodes if isinstance(n, Split)]
    assert [(test.feature, test.value) for test in tests] == [(2, 2.45), (3, 1.75)]
    assert [leaf.stats for leaf in leaves_of(pruned)] == [
        ClassCounts((50.0, 0.0, 0.0)),
        ClassCounts((0.0, 49.0, 5.0)),
        ClassCounts((0.0, 1.0, 45.0)),
    ]


def test_scikit_learn_has_the_same_path_for_numbers() -> None:
    data = datasets.load_diabetes()
    x = data.data.astype(np.float32).astype(np.float64)
    frame = pd.DataFrame(x).add_prefix("x").assign(y=data.target)
    tree = learn(frame, task="regress", max_depth=5, min_leaf=5, prune="none")
    theirs = trees.DecisionTreeRegressor(max_depth=5, min_samples_leaf=5)
    path = theirs.cost_complexity_pruning_path(x, data.target)
    steps = weakest_links(tree)
    variance = np.var(data.target)  # theirs is not relative to the root
    np.testing.assert_allclose(
        [step.alpha * variance for step in steps], path.ccp_alphas, rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(
        [step.risk * variance for step in steps], path.impurities, rtol=1e-9
    )


def test_a_tree_of_id3_is_pruned_too() -> None:
    frame = pd.DataFrame(
        {"a": list("uuvvww"), "b": list("stststx"[:6]), "y": list("npppnn")}
    )
    tree = learn(frame, algorithm="id3")
    assert leaves_of(cost_complexity(tree, 0.0)) == leaves_of(tree)
    (leaf,) = cost_complexity(tree, 1.0).nodes
    assert leaf == Leaf("n", ClassCounts((3.0, 3.0)), 6.0)


def test_a_chain_is_pruned_without_recursion() -> None:
    frame = pd.DataFrame({"x": np.arange(1_200.0), "y": ["a", "b"] * 600})
    tree = learn(frame, prune="none")
    assert len(cost_complexity(tree, 1.0).nodes) == 1
    assert cost_complexity(tree, 0.0) == tree


def test_what_is_refused() -> None:
    frame = iris()
    with pytest.raises(OptionError, match="prune='hard': expected cost-complexity"):
        learn(frame, prune="hard")
    with pytest.raises(OptionError, match="alpha is for prune=cost-complexity"):
        learn(frame, alpha=0.1, prune="none")
    with pytest.raises(OptionError, match="alpha is for prune=cost-complexity: a"):
        treecompile.learn(frame, target="y", algorithm="c45", alpha=0.1)
    with pytest.raises(OptionError, match="alpha=-1"):
        learn(frame, prune="cost-complexity", alpha=-1)
