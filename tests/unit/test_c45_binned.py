"""C4.5 by bins: the trees of sorted rows, and of the reference program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.support.c45_reference import SETS, as_printed, printed_trees
from tests.support.number_columns import KINDS, SIZE, counting, sample
from tests.support.reference import read_table
from treecompile.learning import training
from treecompile.learning.c45 import learner
from treecompile.learning.c45.binned_gains import BinnedGains
from treecompile.learning.c45.learner import C45Options
from treecompile.learning.grow import bin_counts, binning
from treecompile.learning.options import GrowthLimits, LearnOptions
from treecompile.model.ir import Feature, Kind, Tree, ValueType
from treecompile.tables.dataset import Dataset
from treecompile.tables.options import DataOptions

DENSE = "dense"  # most neighbours are too near to be divided


@contextmanager
def counted_by_bins() -> Iterator[list[int]]:
    """Also counts how often bins were looked at."""
    looked: list[int] = []

    def looking(self: BinnedGains, column: Any, level: Any) -> None:
        looked.append(len(level.totals))
        look(self, column, level)

    look = BinnedGains.__init__
    with counting(by_bins=True), pytest.MonkeyPatch.context() as patch:
        patch.setattr(binning, "FEW_BINS", 2)
        patch.setattr(BinnedGains, "__init__", looking)
        yield looked


def data_of(kind: str, labels: int, seed: int) -> Dataset:
    if kind != DENSE:
        return sample(kind, labels, seed)
    data = sample("normal", labels, seed)
    return replace(data, columns=tuple(column / 300 for column in data.columns))


def grown(data: Dataset, depth: int | None = None, **options: Any) -> Tree:
    limits = GrowthLimits(max_depth=depth, min_leaf=2)
    return learner.learn(data, limits, lambda rows: None, C45Options(**options))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("labels", [2, 3, 6])
@pytest.mark.parametrize("kind", [*KINDS, DENSE])
def test_the_same_tree_as_from_sorted_rows(kind: str, labels: int, seed: int) -> None:
    data = data_of(kind, labels, seed)
    for depth in (6, None):
        for options in (
            {"is_pruning": False},
            {"is_ratio": False},
            {"is_fractional": False},
        ):
            with counting(by_bins=False):
                expected = grown(data, depth, **options)
            with counted_by_bins() as looked:
                assert grown(data, depth, **options) == expected
            assert looked or depth is None or kind == "neighbours"


def test_wider_bins_and_a_change_to_sorted_rows() -> None:
    data = data_of(DENSE, 2, 1)
    with counting(by_bins=False):
        expected = grown(data)
    for name, value in (("MOST_BITS", 5), ("LAST_LEVELS", 0), ("FEW_IN_BIN", 20)):
        with counted_by_bins(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(bin_counts, name, value)
            assert grown(data) == expected


def test_categories_beside_bins() -> None:
    """A split into several branches: the largest is counted from its parent."""
    data = sample("normal", 2, 4)
    random = np.random.default_rng(4)
    codes = np.where(data.y == 1, random.integers(0, 4, SIZE), 0).astype(np.int32)
    colour = Feature("c", Kind.CATEGORICAL, ValueType.STR, tuple("abcd"))
    features, columns = (*data.features, colour), (*data.columns, codes)
    mixed = replace(data, features=features, columns=columns)
    with counting(by_bins=False):
        expected = grown(mixed, 6)
    with counted_by_bins() as looked:
        assert grown(mixed, 6) == expected
    assert max(looked) > 2


@pytest.mark.parametrize("option", ["", "-g"])
@pytest.mark.parametrize("name", SETS)
def test_the_tree_of_the_reference_program(name: str, option: str) -> None:
    given = read_table(name)
    criterion = "gain" if option == "-g" else "gain-ratio"
    options = LearnOptions(algorithm="c45", prune="none", criterion=criterion)
    columns = DataOptions("class", task="classify", labels=tuple(given.labels))
    with counted_by_bins():
        tree = training.learn(given.train, columns, options).program.body
    assert isinstance(tree, Tree)
    expected = printed_trees(name, option)["grown"]
    assert as_printed(tree, is_pruned=False) == expected


# --- bins that are apart --------------------------------------------------------------
