"""The chi-square distribution against scipy, and the test in all learners."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import treecompile
from treecompile.learning.grow.criteria import (
    critical_value,
    critical_values,
    upper_tail,
)
from treecompile.model.batch import deciders
from treecompile.model.ir import Split, Tree
from treecompile.tables.dataset import make_dataset
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table


@given(st.floats(0, 2000), st.integers(1, 400))
def test_the_upper_tail(statistic: float, freedom: int) -> None:
    expected = float(stats.chi2.sf(statistic, freedom))
    # Below the mean it is a difference from 1.
    assert upper_tail(statistic, freedom) == pytest.approx(
        expected, rel=1e-10, abs=1e-14
    )


@given(st.floats(1e-12, 1 - 1e-6), st.integers(1, 400))
def test_critical_values(probability: float, freedom: int) -> None:
    expected = float(stats.chi2.isf(probability, freedom))
    assert critical_value(probability, freedom) == pytest.approx(expected, rel=1e-8)


def test_figures_of_every_textbook() -> None:
    assert critical_value(0.05, 1) == pytest.approx(3.841459, abs=1e-6)
    assert critical_value(0.01, 1) == pytest.approx(6.634897, abs=1e-6)
    assert critical_value(0.05, 10) == pytest.approx(18.307038, abs=1e-6)
    assert upper_tail(-1.0, 3) == upper_tail(0.0, 3) == 1.0


def test_many_degrees_of_freedom() -> None:
    for freedom in (10_000, 1_000_000):
        expected = float(stats.chi2.isf(0.05, freedom))
        assert critical_value(0.05, freedom) == pytest.approx(expected, rel=1e-9)


def test_what_cannot_vary_is_never_significant() -> None:
    assert critical_values(0.05, np.array([0, 1, 0])).tolist() == [
        np.inf,
        critical_value(0.05, 1),
        np.inf,
    ]


# --- growth ---------------------------------------------------------------------------


def frame_of(seed: int, kinds: str) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    size = 240
    x = random.normal(size=(size, 3))
    signal = x[:, 0] + random.normal(size=size)
    columns: dict[str, Any] = {}
    for place, kind in enumerate(kinds):
        if kind == "n":
            columns[f"x{place}"] = np.round(x[:, place], 1)
        else:
            cut = np.digitize(x[:, place], [-1, -0.3, 0.3, 1])
            columns[f"x{place}"] = np.array(list("abcde"), object)[cut]
    columns["y"] = np.array(list("opq"))[np.digitize(signal, [-0.7, 0.7])]
    return pd.DataFrame(columns)


def test_of(table: Any) -> float:
    """The p-value of independence, of the rows and columns that have cases."""
    table = np.asarray(table)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 1.0
    return float(stats.chi2_contingency(table, correction=False).pvalue)


test_of.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("algorithm", ["id3", "cart", "c45"])
@pytest.mark.parametrize("probability", [0.2, 0.01])
@pytest.mark.parametrize("seed", range(3))
def test_every_split_is_significant(
    seed: int, probability: float, algorithm: str
) -> None:
    frame = frame_of(seed, "ccc" if algorithm == "id3" else "cnc")
    options: dict[str, Any] = {"algorithm": algorithm, "prune": "none"}
    free = treecompile.learn(frame, target="y", **options)
    model = treecompile.learn(frame, target="y", chi2=probability, **options)
    assert 1 < model.n_leaves < free.n_leaves
    for tree, is_tested in ((free, False), (model, True)):
        found = [test_of(table) for _, table in split_tables(tree, frame)]
        assert (max(found) <= probability + 1e-12) == is_tested


@pytest.mark.parametrize("seed", range(3))
def test_no_significant_split_of_id3_is_left_out(seed: int) -> None:
    frame = frame_of(seed, "ccc")
    model = treecompile.learn(frame, target="y", algorithm="id3", chi2=0.05)
    tree, leaves = model.program.body, set[int]()
    assert isinstance(tree, Tree)
    where = where_in(tree, frame)
    for leaf in set(where.tolist()):
        cases = frame[where == leaf]
        for name in ("x0", "x1", "x2"):
            table = pd.crosstab(cases[name], cases["y"]).to_numpy()
            assert test_of(table) > 0.05
            leaves.add(leaf)
    assert len(leaves) > 1


@pytest.mark.parametrize("algorithm", ["id3", "cart", "c45"])
@pytest.mark.parametrize("kind", ["c", "n"])
@pytest.mark.parametrize("labels", ["opq", "op"])
def test_the_bound_is_the_probability_itself(
    algorithm: str, kind: str, labels: str
) -> None:
    if algorithm == "id3" and kind == "n":
        return
    frame = frame_of(0, kind)
    frame = frame[frame["y"].isin(list(labels))].iloc[::4].reset_index(drop=True)
    options: dict[str, Any] = {"algorithm": algorithm, "prune": "none", "max_depth": 1}
    free = treecompile.learn(frame, target="y", **options)
    ((_, table),) = split_tables(free, frame)
    p = test_of(table)
    assert 0 < p < 1
    just = treecompile.learn(frame, target="y", chi2=p * (1 + 1e-6), **options)
    assert just.program.body == free.program.body
    short = treecompile.learn(frame, target="y", chi2=p * (1 - 1e-6), **options)
    assert short.n_leaves == 1


def test_a_feature_by_chance_gives_way_to_one_that_is_not() -> None:
    # The code gains most, since it tells all cases apart; that says nothing.
    size = 40
    frame = pd.DataFrame(
        {
            "code": [f"c{place // 2}" for place in range(size)],
            "sign": ["+" if place % 4 < 2 else "-" for place in range(size)],
            "y": ["p" if place % 4 < 2 or place < 8 else "n" for place in range(size)],
        }
    )
    for algorithm in ("id3", "c45"):
        options: dict[str, Any] = {"algorithm": algorithm, "prune": "none"}
        if algorithm == "c45":
            options["criterion"] = "gain"
        first = treecompile.learn(frame, target="y", **options)
        tested = treecompile.learn(frame, target="y", chi2=0.001, **options)
        assert root_feature(first) == "code"
        assert root_feature(tested) == "sign"


def root_feature(model: treecompile.Model) -> str:
    tree = model.program.body
    assert isinstance(tree, Tree)
    root = tree.nodes[0]
    assert isinstance(root, Split)
    return tree.features[root.branches[0].when.feature].name


def where_in(tree: Tree, frame: pd.DataFrame) -> Any:
    data = make_dataset(read_table(frame), DataOptions("y"))
    return deciders(tree, data.columns, len(data.y))


def split_tables(model: treecompile.Model, frame: pd.DataFrame) -> Any:
    """Cases by branch and label, at every split of a tree without missing values."""
    tree = model.program.body
    assert isinstance(tree, Tree)
    leaf = where_in(tree, frame)
    labels = frame["y"].to_numpy()
    below: dict[int, set[int]] = {p: {p} for p in range(len(tree.nodes))}
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        if not isinstance(node, Split):
            continue
        table = []
        for branch in node.branches:
            below[position] |= below[branch.then]
            inside = labels[np.isin(leaf, list(below[branch.then]))]
            table.append([(inside == label).sum() for label in tree.labels])
        yield node, table
