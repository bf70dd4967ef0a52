"""Growth with a limit of leaves: the same splits as a plain best-first search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import tree as trees

import treecompile
from treecompile.model.errors import OptionError
from treecompile.model.ir import Split, Tree


def frame_of(seed: int, is_regression: bool) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    x = random.normal(size=(300, 3)).astype(np.float32).astype(np.float64)
    signal = x[:, 0] * x[:, 1] + random.normal(size=300) / 2
    y: Any = signal if is_regression else np.where(signal > 0, "p", "n")
    return pd.DataFrame(x).add_prefix("x").assign(y=y)


def tree_of(frame: pd.DataFrame, **options: Any) -> Tree:
    tree = treecompile.learn(
        frame, target="y", algorithm="cart", prune="none", **options
    )
    assert isinstance(tree.program.body, Tree)
    return tree.program.body


def splits(tree: Tree) -> list[Split]:
    return [node for node in tree.nodes if isinstance(node, Split)]


def plain_best_first(tree: Tree, leaves: int) -> list[Split]:
    """One open node after the other, from the tree that was grown to the end."""
    open_nodes, chosen = [0], list[int]()
    while len(chosen) < leaves - 1:
        able = [p for p in open_nodes if isinstance(tree.nodes[p], Split)]
        if not able:
            break
        best = max(able, key=lambda p: gained(tree.nodes[p]))
        node = tree.nodes[best]
        assert isinstance(node, Split)
        open_nodes.remove(best)
        open_nodes += [branch.then for branch in node.branches]
        chosen.append(best)
    return [tree.nodes[p] for p in sorted(chosen)]  # type: ignore[misc]


def gained(node: Any) -> float:
    return float(node.gain * node.stats.weight)


@pytest.mark.parametrize("is_regression", [False, True])
@pytest.mark.parametrize("leaves", [1, 2, 3, 7, 20, 1000])
@pytest.mark.parametrize("seed", range(4))
def test_the_splits_are_those_of_best_first_growth(
    seed: int, leaves: int, is_regression: bool
) -> None:
    frame = frame_of(seed, is_regression)
    limited = tree_of(frame, max_leaves=leaves)
    expected = plain_best_first(tree_of(frame), leaves)
    assert [(s.branches[0].when, s.gain) for s in splits(limited)] == [
        (s.branches[0].when, s.gain) for s in expected
    ]
    assert len(limited.nodes) <= 2 * leaves - 1


@pytest.mark.parametrize("leaves", [2, 5, 12, 40])
def test_scikit_learn_makes_the_same_splits(leaves: int) -> None:
    frame = frame_of(7, is_regression=True)
    # Fewer cases are told apart equally well by several features.
    tree = tree_of(frame, max_leaves=leaves, min_leaf=5)
    theirs = trees.DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=5)
    theirs.fit(frame.drop(columns="y"), frame["y"])
    fitted = theirs.tree_
    inner = fitted.children_left >= 0
    expected = sorted(zip(fitted.feature[inner], fitted.threshold[inner], strict=True))
    found = sorted(
        (split.branches[0].when.feature, split.branches[0].when.value)
        for split in splits(tree)
    )
    np.testing.assert_allclose(np.array(found, float), np.array(expected), rtol=1e-12)


def test_other_limits_hold_as_well() -> None:
    frame = frame_of(1, is_regression=False)
    tree = tree_of(frame, max_leaves=6, max_depth=2, min_leaf=10)
    assert len(tree.nodes) <= 7
    assert all(b.weight >= 10 for s in splits(tree) for b in s.branches)


def test_branches_of_multiway_splits_are_counted() -> None:
    # Two splits of three branches fit into five leaves, the better one first; an empty
    # branch is a leaf as well.
    rows = {
        "a": list("xxxxxxyyyyyyzzzzzz"),
        "b": list("pqrpqrpqrpqrpqrpqr"),
        "y": list("nnnnnnnoonoopqqqqn"),
    }
    frame = pd.DataFrame(rows)
    whole = treecompile.learn(frame, target="y", algorithm="id3")
    made = []
    for leaves in range(1, 8):
        model = treecompile.learn(frame, target="y", algorithm="id3", max_leaves=leaves)
        assert model.n_leaves <= leaves
        made.append(model.n_leaves)
    assert made == [1, 1, 3, 3, 5, 5, 7]
    assert whole.n_leaves == 7
    body = treecompile.learn(
        frame, target="y", algorithm="id3", max_leaves=5
    ).program.body
    assert isinstance(body, Tree)
    gains = [split.gain * split.stats.weight for split in splits(body)]
    every = whole.program.body
    assert isinstance(every, Tree)
    below = [split.gain * split.stats.weight for split in splits(every)]
    assert gains == [below[0], max(below[1:])]


def test_what_is_refused() -> None:
    frame = pd.DataFrame({"x": ["a", "b"], "y": ["n", "p"]})
    with pytest.raises(OptionError, match="max_leaves is for.*cart or id3"):
        treecompile.learn(frame, target="y", algorithm="c45", max_leaves=3)
    with pytest.raises(OptionError, match="max_leaves=0"):
        treecompile.learn(frame, target="y", algorithm="cart", max_leaves=0)
