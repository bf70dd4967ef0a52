"""What all learners share in growing: legal trees of any depth, finished rows."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import treecompile
from treecompile.learning import cart, id3
from treecompile.learning.grow.impurity import best_features
from treecompile.learning.grow.responses import NumberResponse, OpenNodes
from treecompile.learning.grow.search import CandidateSplits
from treecompile.learning.grow.segments import Segments, Units
from treecompile.learning.options import ALGORITHMS, GrowthLimits
from treecompile.model import file as model_file
from treecompile.model.batch import deciders
from treecompile.model.ir import (
    ClassCounts,
    Feature,
    Kind,
    Leaf,
    Moments,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import is_partition
from treecompile.tables.dataset import Dataset, make_dataset
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table

DEEP = 2_200


def staircase() -> Dataset:
    """Rows 0, 1, 2, ... whose labels alternate: the best cut peels one off an end."""
    x = np.arange(DEEP, dtype=np.float64)
    feature = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    y = (np.arange(DEEP) % 2).astype(np.int32)
    return Dataset("y", (feature,), (x,), ("a", "b"), y, (), "")


@cache
def chain() -> Tree:
    return cart.learn(staircase(), GrowthLimits(), lambda rows: None)


def depth_of(tree: Tree) -> int:
    depths = [0] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            for branch in node.branches:
                depths[branch.then] = depths[position] + 1
    return max(depths)


def test_depth_is_not_bounded_by_recursion() -> None:
    tree = chain()
    assert depth_of(tree) > 2 * sys.getrecursionlimit()
    data = staircase()
    where = deciders(tree, data.columns, len(data.y))
    values = {p: n.value for p, n in enumerate(tree.nodes) if isinstance(n, Leaf)}
    assert [values[p] for p in where] == [data.labels[code] for code in data.y]


def test_a_deep_tree_is_saved_and_read_back() -> None:
    program = Program("y", "cart", chain())
    assert model_file.loads(model_file.dumps(program)) == program


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
    if algorithm != "id3":
        columns["size"] = np.array(column(-0.0, 1.5, 1e300, -np.inf, np.inf, np.nan))
    if algorithm == "cart" and draw(st.booleans()):
        columns["y"] = np.array(column(0.25, -7.5, 3.0))
        options["task"] = "regress"
    else:
        columns["y"] = column("n", "p", "q")
    return pd.DataFrame(columns), options


@settings(max_examples=60, deadline=None)
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


@settings(max_examples=40, deadline=None)
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
                expected = statistics(data, reached)
                if isinstance(node.stats, Moments) and isinstance(expected, Moments):
                    assert node.stats.sse == pytest.approx(expected.sse, abs=1e-12)
                    expected = replace(expected, sse=node.stats.sse)
                assert node.stats == expected


def statistics(data: Dataset, rows: Any) -> ClassCounts | Moments:
    """What a leaf rests on, in exact arithmetic."""
    y = data.y[rows]
    if data.labels:
        counts = [float((y == label).sum()) for label in range(len(data.labels))]
        return ClassCounts(tuple(counts))
    exact = [Fraction(float(each)) for each in y]
    mean = sum(exact) / len(exact)
    sse = sum((each - mean) ** 2 for each in exact)
    return Moments(float(len(exact)), float(mean), float(sse))


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


@pytest.mark.parametrize("learn", [cart.learn, id3.learn])
def test_progress_settles_every_row_once(learn: Any) -> None:
    random = np.random.default_rng(0)
    names = tuple("pqrs")
    features = [Feature(name, Kind.CATEGORICAL, ValueType.STR, names) for name in "ab"]
    columns = [random.integers(-1, 4, 500).astype(np.int32) for _ in features]
    y = random.integers(0, 3, 500).astype(np.int32)
    data = Dataset("y", tuple(features), tuple(columns), tuple("nop"), y, (), "")
    settled: list[int] = []
    learn(data, GrowthLimits(), settled.append)
    assert sum(settled) == 500
    assert min(settled) >= 0


def test_the_first_of_equal_splits_is_chosen() -> None:
    def chosen(gains: Iterable[float], tie: float, min_gain: float = 0.0) -> int:
        found = [
            replace(CandidateSplits.none(1), gain=np.array([gain])) for gain in gains
        ]
        opened = OpenNodes([], np.ones(1), np.array([tie]), np.zeros(1, np.int32))
        feature, _ = best_features(found, opened, GrowthLimits(min_gain=min_gain))
        return int(feature[0])

    offered = [0.25, 0.5, 0.5 + 1e-15]
    assert chosen(offered, 1e-12) == 1
    assert chosen(reversed(offered), 1e-12) == 0
    assert chosen(offered, 0.0) == 2
    assert chosen(offered, 1e-12, min_gain=0.6) == -1
    assert chosen([-np.inf], 1e-12) == -1


@given(st.permutations([1e16, 1.0, -1e16, 0.1, 3.0]), st.booleans())
def test_statistics_do_not_depend_on_the_order(
    y: list[float], is_weighted: bool
) -> None:
    numbers = np.array(y)
    weights = numbers % 3 + 0.7

    def measure(order: Any) -> Moments:
        units = Units.of(weights[order]) if is_weighted else None
        response = NumberResponse(numbers[order], units)
        whole = Segments.of(np.array([5]))
        measured = response.measure(np.arange(5, dtype=np.int32), whole)
        (stats,) = response.stats(measured.stats)
        assert isinstance(stats, Moments)
        return stats

    stats = measure(np.arange(5))
    assert stats == measure(np.argsort(numbers))
    if not is_weighted:
        assert stats.mean == pytest.approx(4.1 / 5, rel=1e-15)
