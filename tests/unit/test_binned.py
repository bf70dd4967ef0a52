"""Numbers that are counted by bins give the tree of sorted rows, to the last bit."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.number_columns import KINDS, LARGEST, SIZE, counting, numbers, sample
from treecompile.learning import cart
from treecompile.learning.grow import bin_counts, binning
from treecompile.learning.grow.binned import BinnedColumn
from treecompile.learning.grow.binning import MISSING, make_codes
from treecompile.learning.grow.columns import SortedColumn, make_column
from treecompile.learning.options import GrowthLimits
from treecompile.model.ir import Feature, Kind, Leaf, Split, Tree, ValueType
from treecompile.tables.dataset import Dataset

FEATURE = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def learned(data: Dataset, criterion: str = "", **limits: Any) -> Tree:
    return cart.learn(data, GrowthLimits(**limits), lambda rows: None, criterion)


# --- an independent judge -------------------------------------------------------------


def gain(y: Any, left: Any, is_labels: bool) -> float:
    """The decrease of Gini impurity, or of the variance."""

    def impurity(some: Any) -> float:
        if not is_labels:
            return float(np.var(some))
        shares = np.bincount(some) / len(some)
        return float(1 - (shares**2).sum())

    share = left.mean()
    below = share * impurity(y[left]) + (1 - share) * impurity(y[~left])
    return impurity(y) - float(below)


def best_gain(columns: list[Any], y: Any, is_labels: bool) -> float:
    """The most that any cut gains, by trying all of them."""
    best = 0.0
    for column in columns:
        is_known = ~np.isnan(column)
        x, own = column[is_known], y[is_known]
        for threshold in np.unique(x)[:-1]:
            value = gain(own, x <= threshold, is_labels) * is_known.mean()
            best = max(best, value)
    return best


@pytest.mark.parametrize("labels", [0, 2, 3])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "infinite"])
def test_no_cut_is_better(kind: str, labels: int) -> None:
    data = sample(kind, labels, 5)
    with counting(by_bins=True):
        tree = learned(data, max_depth=2)
    stack = [(0, np.arange(SIZE))]
    while stack:
        place, held = stack.pop()
        node = tree.nodes[place]
        if not isinstance(node, Split):
            assert isinstance(node, Leaf)
            continue
        columns = [column[held] for column in data.columns]
        y = data.y[held]
        test = node.branches[0].when
        x = columns[test.feature]
        is_known = ~np.isnan(x)
        goes = x[is_known] <= test.value
        mine = gain(y[is_known], goes, labels > 0) * is_known.mean()
        assert mine == pytest.approx(best_gain(columns, y, labels > 0), rel=1e-9)
        left = np.where(is_known, x <= test.value, test.missing)
        for branch, some in zip(node.branches, (left, ~left), strict=True):
            stack.append((branch.then, held[some]))


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


@pytest.mark.parametrize("threads", [1, 3])
def test_the_number_of_threads_changes_nothing(threads: int) -> None:
    data = sample("missing", 2, 10)
    with counting(by_bins=True):
        assert learned(data, threads=threads) == learned(data)


# --- codes ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_codes_are_in_the_order_of_the_numbers(kind: str) -> None:
    x = numbers(kind, np.random.default_rng(9))
    codes = make_codes(x, few=1)
    assert codes is not None
    is_known = ~np.isnan(x)
    assert (codes[~is_known] == MISSING).all()
    bins = codes >> (binning.BITS - binning.LEAST_BITS)
    assert bins[is_known].max() < MISSING >> (binning.BITS - binning.LEAST_BITS)
    order = np.argsort(x[is_known], kind="stable")
    assert (np.diff(codes[is_known][order].astype(int)) >= 0).all()
    _, first = np.unique(x[is_known], return_inverse=True)
    for value in range(0, first.max(), 97):
        assert len(set(codes[is_known][first == value].tolist())) == 1


def test_few_numbers_have_no_codes() -> None:
    assert make_codes(np.arange(1000.0) % 10, few=64) is None
    assert make_codes(np.full(1000, np.nan), few=64) is None


@pytest.mark.parametrize("kind", KINDS)
def test_the_greatest_number_up_to_a_bound_is_among_a_few_rows(kind: str) -> None:
    random = np.random.default_rng(11)
    x = numbers(kind, random)
    codes = make_codes(x, few=1)
    assert codes is not None
    column = BinnedColumn(Feature("x", Kind.NUMERIC, ValueType.FLOAT), x, codes)
    known = x[~np.isnan(x)]
    ends = [known.min(), known.max(), np.nextafter(known.min(), -np.inf), LARGEST]
    bounds = np.unique([*random.choice(known, 9), *random.normal(size=9), *ends])
    rows = column.beside(bounds)
    assert len(rows) < len(x) or kind in ("infinite", "whole")
    for bound in bounds.tolist():
        below = known[known <= bound]
        if len(below):
            near = x[rows]
            assert near[near <= bound].max() == below.max()
