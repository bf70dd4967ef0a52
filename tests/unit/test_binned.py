"""Numbers that are counted by bins give the tree of sorted rows, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.number_columns import KINDS, SIZE, counting, sample
from treecompile.learning import cart
from treecompile.learning.grow import bin_counts, binning
from treecompile.learning.grow.binning import make_codes
from treecompile.learning.grow.columns import SortedColumn, make_column
from treecompile.learning.options import GrowthLimits
from treecompile.model.ir import Feature, Kind, Split, Tree, ValueType
from treecompile.tables.dataset import Dataset

FEATURE = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def learned(data: Dataset, criterion: str = "", **limits: Any) -> Tree:
    return cart.learn(data, GrowthLimits(**limits), lambda rows: None, criterion)


# --- an independent judge -------------------------------------------------------------


# --- the same as sorted rows ----------------------------------------------------------


def assert_same(data: Dataset, criterion: str = "", **limits: Any) -> None:
    with counting(by_bins=False):
        wanted = learned(data, criterion, **limits)
    with counting(by_bins=True):
        assert learned(data, criterion, **limits) == wanted
    assert len(wanted.nodes) > 1


@pytest.mark.parametrize("weights", ["", "whole", "any"])
@pytest.mark.parametrize("labels", [0, 2, 3, 7])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_tree_as_from_sorted_rows(
    kind: str, labels: int, weights: str
) -> None:
    assert_same(sample(kind, labels, 1, weights), max_depth=6)


@pytest.mark.parametrize("labels", [2, 5])
@pytest.mark.parametrize(
    "criterion", ["gini", "entropy", "gain-ratio", "distance", "chi-square"]
)
def test_every_criterion(criterion: str, labels: int) -> None:
    for kind in ("normal", "missing", "often equal"):
        assert_same(sample(kind, labels, 2), criterion, max_depth=5)


@pytest.mark.parametrize("labels", [0, 3])
@pytest.mark.parametrize(
    "limits",
    [
        {},
        {"min_leaf": 20},
        {"min_gain": 0.01},
        {"max_leaves": 9},
        {"min_split": 200},
    ],
)
def test_every_limit_of_growth(limits: dict[str, Any], labels: int) -> None:
    assert_same(sample("normal", labels, 3), **limits)
    assert_same(sample("missing", labels, 3), **limits)


def test_the_chi_square_test() -> None:
    assert_same(sample("normal", 2, 4), chi2=0.01)


def test_rows_are_sorted_when_nodes_become_small() -> None:
    data = sample("missing", 2, 6)
    with counting(by_bins=False):
        wanted = learned(data)
    with counting(by_bins=True), pytest.MonkeyPatch.context() as patch:
        patch.setattr(bin_counts, "LAST_LEVELS", 0)
        patch.setattr(bin_counts, "MOST_BITS", 5)
        assert learned(data) == wanted


def test_equal_gains_of_two_columns_go_to_the_first() -> None:
    data = sample("normal", 2, 8)
    first = data.columns[0]
    twins = Dataset(
        "y", data.features, (first, first, -first), data.labels, data.y, (), ""
    )
    with counting(by_bins=True):
        tree = learned(twins, max_depth=4)
    tests = {
        branch.when.feature
        for node in tree.nodes
        if isinstance(node, Split)
        for branch in node.branches
    }
    assert tests == {0}


def test_a_sorted_column_with_missing_values_beside_binned_ones() -> None:
    """A sample of it has so few numbers that it is not binned; all rows have many."""
    random = np.random.default_rng(0)
    data = sample("normal", 2, 11)
    x = np.where(random.random(SIZE) < 0.1, random.normal(size=SIZE), 0.0)
    x[random.random(SIZE) < 0.2] = np.nan
    y = (data.columns[0] + 3 * np.nan_to_num(x) > 0).astype(np.int32)
    data = replace(data, columns=(data.columns[0], x, data.columns[2]), y=y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "SAMPLE", 300)
        assert make_codes(x, few=64) is None
        assert isinstance(make_column(FEATURE, x, is_binned=True), SortedColumn)
        assert_same(data, max_depth=6)


def test_a_column_that_is_known_nowhere_on_the_next_level() -> None:
    data = sample("normal", 0, 12)
    first, second, third = data.columns
    y = np.where(first <= 0, 5.0, 50 + data.y)  # one side needs no more splits
    third = np.where(first <= 0, third, np.nan)
    assert_same(replace(data, columns=(first, second, third), y=y), max_depth=4)


@pytest.mark.parametrize("criterion", ["gain-ratio", "distance"])
@pytest.mark.parametrize("seed", range(6))
def test_ratios_of_weights_of_many_digits(criterion: str, seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = 10.0 ** random.uniform(-12, 3, SIZE)
    data = replace(sample("whole", 2, seed), weights=weights)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bin_counts, "MOST_BITS", 5)
        assert_same(data, criterion)


@pytest.mark.parametrize(
    "target",
    {
        "heavy tails": lambda y: np.exp(12 * y),
        "one far away": lambda y: np.where(np.arange(SIZE) == 3, 1e140, y),
        "far from zero": lambda y: y + 1e12,
        "huge": lambda y: y * 1e140,
        "subnormal": lambda y: y * 1e-318,
        "two numbers": lambda y: np.where(y > 0, 0.1, 0.3),
    }.items(),
    ids=lambda target: target[0],
)
@pytest.mark.parametrize("kind", ["normal", "missing", "often equal"])
def test_targets_that_are_hard_to_round(kind: str, target: Any) -> None:
    data = sample(kind, 0, 13)
    assert_same(replace(data, y=target[1](data.y)), max_depth=6)


# --- codes ----------------------------------------------------------------------------
