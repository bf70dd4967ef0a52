"""Subsets of categories: the best one, even where no order of categories finds it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.criteria import by_definition
from treecompile.learning.grow import histogram_splits
from treecompile.learning.grow.criteria import MEASURES
from treecompile.learning.grow.histogram_splits import MOST_SEARCHED
from treecompile.model.ir import Op, Split, Tree


def root_of(frame: pd.DataFrame, **options: Any) -> Split:
    tree = treecompile.learn(
        frame, target="y", algorithm="cart", prune="none", max_depth=1, **options
    ).program.body
    assert isinstance(tree, Tree)
    assert isinstance(tree.nodes[0], Split)
    return tree.nodes[0]


def frame_of(seed: int, labels: str, letters: int, size: int = 60) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    code = random.integers(0, letters, size)
    shares = random.dirichlet(np.ones(len(labels)), size=letters)
    y = [random.choice(list(labels), p=shares[each]) for each in code]
    return pd.DataFrame({"c": [chr(97 + each) for each in code], "y": y})


def best_by_hand(frame: pd.DataFrame, name: str, min_leaf: int) -> float:
    """The greatest measure of all ways to cut the categories in two."""
    table = pd.crosstab(frame["c"], frame["y"])
    found = -1.0
    for count in range(1, len(table)):
        for some in combinations(table.index, count):
            left = table.loc[list(some)].sum().tolist()
            right = table.drop(list(some)).sum().tolist()
            if min(sum(left), sum(right)) >= min_leaf:
                found = max(found, by_definition(name, [left, right]))
    return found


@pytest.mark.parametrize("name", sorted(MEASURES))
@pytest.mark.parametrize(
    ("labels", "min_leaf"), [("np", 1), ("np", 25), ("nopq", 1), ("nopqrst", 1)]
)
@pytest.mark.parametrize("seed", range(4))
def test_no_subset_is_better(seed: int, labels: str, min_leaf: int, name: str) -> None:
    frame = frame_of(seed, labels, letters=7)
    root = root_of(frame, criterion=name, min_leaf=min_leaf)
    assert root.gain == pytest.approx(best_by_hand(frame, name, min_leaf), abs=1e-9)


def test_orders_alone_would_miss_some(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = [frame_of(seed, "nopq", letters=8) for seed in range(30)]
    gains = [root_of(frame).gain for frame in frames]
    monkeypatch.setattr(histogram_splits, "MOST_SEARCHED", 0)
    without = [root_of(frame).gain for frame in frames]
    assert all(b <= a + 1e-12 for a, b in zip(gains, without, strict=True))
    assert any(b < a - 1e-6 for a, b in zip(gains, without, strict=True))


def test_regression_with_large_leaves_tries_all_subsets() -> None:
    # By the mean, c | a b is best, but leaves one case; b c | a is what is left.
    frame = pd.DataFrame({"c": list("aaaabbc"), "y": [0.0, 0, 0, 0, 1, 1, 9]})
    root = root_of(frame, task="regress", min_leaf=3)
    assert [branch.weight for branch in root.branches] == [4.0, 3.0]
    # And where no cut of that order has room on both sides, another subset does.
    frame = pd.DataFrame({"c": list("aabbbbcc"), "y": [0.0, 0, 5, 5, 5, 5, 9, 9]})
    root = root_of(frame, task="regress", min_leaf=4)
    assert [branch.when.op for branch in root.branches] == [Op.NOT_IN, Op.IN]
    assert root.branches[1].when.value == ("b",)


def test_with_many_categories_a_good_subset_is_found() -> None:
    frame = frame_of(3, "nop", letters=MOST_SEARCHED + 1, size=400)
    gain = root_of(frame).gain
    best = best_by_hand(frame, "gini", 1)
    assert 0.9 * best <= gain <= best + 1e-12


def test_missing_values_do_not_count_as_a_category() -> None:
    frame = frame_of(5, "nopq", letters=6)
    frame.loc[::3, "c"] = None
    known = frame.dropna()
    expected = best_by_hand(known, "gini", 1) * len(known) / len(frame)
    assert root_of(frame).gain == pytest.approx(expected, abs=1e-12)
