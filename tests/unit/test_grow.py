"""What every learner leaves to the growth: legal trees of any depth, settled rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treecompile
from treecompile import model_file
from treecompile.batch import deciders
from treecompile.data import DataOptions, Dataset, make_dataset
from treecompile.ir import (
    ClassCounts,
    Feature,
    Kind,
    Leaf,
    Moments,
    Op,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.learners import ALGORITHMS
from treecompile.learners.grow import Candidate, Limits, Rows, best, grow, statistics
from treecompile.read import read_table
from treecompile.semantics import is_partition

DEEP = 5_000


def staircase() -> Dataset:
    """Rows 0, 1, 2, ... whose labels alternate."""
    x = np.arange(DEEP + 1, dtype=np.float64)
    feature = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    y = (np.arange(DEEP + 1) % 2).astype(np.int32)
    return Dataset("y", (feature,), (x,), ("a", "b"), y, (), "")


def first_against_rest(rows: Rows, tie: float) -> list[Candidate]:
    threshold = float(rows[0])
    return [
        Candidate(
            0,
            0.0,
            ((Op.LE, threshold), (Op.GT, threshold)),
            (1.0, float(len(rows) - 1)),
        )
    ]


def chain() -> Tree:
    return grow(staircase(), first_against_rest, Limits())


def depth_of(tree: Tree) -> int:
    depths = [0] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            for branch in node.branches:
                depths[branch.then] = depths[position] + 1
    return max(depths)


def test_depth_is_not_bounded_by_recursion() -> None:
    tree = chain()
    assert depth_of(tree) == DEEP > 2 * sys.getrecursionlimit()
    data = staircase()
    where = deciders(tree, data.columns, len(data.y))
    values = {p: n.value for p, n in enumerate(tree.nodes) if isinstance(n, Leaf)}
    assert [values[p] for p in where] == [data.labels[code] for code in data.y]


def test_a_deep_tree_is_saved_and_read_back() -> None:
    program = Program("y", "cart", chain())
    assert model_file.loads(model_file.dumps(program)) == program


def test_cart_itself_grows_deep() -> None:
    # Alternating labels: the best cut peels one case off an end.
    frame = pd.DataFrame({"x": np.arange(2_200) * 1.5, "y": ["a", "b"] * 1_100})
    model = treecompile.learn(frame, target="y", algorithm="cart")
    assert model.depth > 2_000
    assert model.predict(frame).tolist() == frame["y"].tolist()


# --- every learned tree is legal ------------------------------------------------------


@st.composite
def frames(draw: st.DrawFn) -> tuple[pd.DataFrame, dict[str, Any]]:
    size = draw(st.integers(1, 12))

    def column(*values: Any) -> list[Any]:
        drawn = draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))
        return [values[0], *drawn[1:]]

    algorithm = draw(st.sampled_from(sorted(ALGORITHMS)))
    columns: dict[str, Any] = {
        "colour": pd.Series(column("red", "green", "blue", None), dtype=object),
        "level": pd.Series(column("low", "high", None), dtype=object),
        "flag": pd.Series(column(True, False, None), dtype=object),
    }
    options: dict[str, Any] = {
        "algorithm": algorithm,
        "ordinal": {"level": ["low", "mid", "high"]},
        "max_depth": draw(st.sampled_from([None, 2])),
        "min_leaf": draw(st.sampled_from([1, 2])),
    }
    if algorithm == "c45":
        options |= {
            "criterion": draw(st.sampled_from(["gain-ratio", "gain"])),
            "prune": draw(st.sampled_from(["pessimistic", "none"])),
            "missing": draw(st.sampled_from(["fractional", "majority"])),
            "subset": draw(st.booleans()),
        }
    options["predict_missing"] = draw(st.sampled_from(["branch", "fractional"]))
    if algorithm != "id3":
        columns["size"] = np.array(column(-0.0, 1.5, 1e300, -np.inf, np.inf, np.nan))
    if algorithm == "cart" and draw(st.booleans()):
        columns["y"] = np.array(column(0.25, -7.5, 3.0))
        options["task"] = "regress"
    else:
        columns["y"] = column("n", "p", "q")
    return pd.DataFrame(columns), options


@settings(max_examples=200, deadline=None)
@given(frames())
def test_every_learned_tree_is_legal(
    case: tuple[pd.DataFrame, dict[str, Any]],
) -> None:
    frame, options = case
    model = treecompile.learn(frame, target="y", **options)
    tree = model.program.body
    assert isinstance(tree, Tree)
    children = []
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            assert is_partition(node, tree.features)
            assert all(branch.then > position for branch in node.branches)
            children += [branch.then for branch in node.branches]
    assert sorted(children) == list(range(1, len(tree.nodes)))
    assert model_file.loads(model_file.dumps(model.program)) == model.program
    assert set(map(type, numbers(tree))) <= {float}
    if tree.labels:
        shares = model.predict_proba(frame)
        assert np.allclose(shares.sum(axis=1), 1)


@settings(max_examples=100, deadline=None)
@given(frames())
def test_leaves_count_the_cases_that_reach_them(
    case: tuple[pd.DataFrame, dict[str, Any]],
) -> None:
    frame, options = case
    if options["algorithm"] == "c45":
        options["missing"] = "majority"  # else a leaf has parts of cases
    tree = treecompile.learn(frame, target="y", **options).program.body
    assert isinstance(tree, Tree)
    data = make_dataset(
        read_table(frame),
        DataOptions(
            "y",
            task=options.get("task"),
            ordinal=(("level", ("low", "mid", "high")),),
        ),
    )
    where = deciders(tree, data.columns, len(data.y))
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Leaf):
            reached = np.flatnonzero(where == position)
            assert node.weight == len(reached)
            if len(reached):
                assert node.stats == statistics(data, reached)


def numbers(tree: Tree) -> Iterable[object]:
    """Every weight, gain and moment: what the IR declares as a float."""
    for node in tree.nodes:
        if isinstance(node, Split):
            yield node.gain
            yield from (branch.weight for branch in node.branches)
        else:
            yield node.weight
        if isinstance(node.stats, ClassCounts):
            yield from node.stats.weights
        else:
            yield from (node.stats.weight, node.stats.mean, node.stats.sse)


# --- parts ----------------------------------------------------------------------------


def test_progress_settles_every_row_once() -> None:
    settled: list[int] = []
    grow(staircase(), first_against_rest, Limits(max_depth=9), progress=settled.append)
    assert settled == [*[1] * 9, DEEP - 8]


def test_the_first_of_equal_candidates_is_chosen() -> None:
    def candidate(feature: int, gain: float) -> Candidate:
        return Candidate(feature, gain, (), ())

    offered = [candidate(0, 0.25), candidate(1, 0.5), candidate(2, 0.5 + 1e-15)]
    assert best(offered, Limits(), 1e-12) == offered[1]
    assert best(reversed(offered), Limits(), 1e-12) == offered[2]
    assert best(offered, Limits(), 0.0) == offered[2]
    assert best(offered, Limits(min_gain=0.6), 1e-12) is None
    assert best([], Limits(), 1e-12) is None


@given(st.permutations([1e16, 1.0, -1e16, 0.1, 3.0]))
def test_statistics_do_not_depend_on_the_order(y: list[float]) -> None:
    feature = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    data = Dataset("y", (feature,), (np.zeros(5),), (), np.array(y), (), "")
    stats = statistics(data, np.arange(5))
    assert isinstance(stats, Moments)
    assert stats.mean == pytest.approx(4.1 / 5, rel=1e-15)
    assert stats == statistics(data, np.argsort(data.y))
