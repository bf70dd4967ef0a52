"""The limits of growth, for every learner, and those that a learner refuses."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from treecompile.cli import main
from treecompile.model.ir import Leaf, Moments, Split, Tree

INF, LARGEST = math.inf, sys.float_info.max


def tree_of(frame: pd.DataFrame, **options: Any) -> Tree:
    body = treecompile.learn(frame, target="y", **options).program.body
    assert isinstance(body, Tree)
    return body


def frame_for(algorithm: str, size: int = 300) -> pd.DataFrame:
    random = np.random.default_rng(4)
    columns: dict[str, Any] = {
        name: random.choice(list("abcd"), size) for name in ("p", "q", "r")
    }
    if algorithm != "id3":
        columns["x"] = random.normal(size=size)
    is_told = (columns["p"] == "a") & (columns["q"] != "b")
    columns["y"] = np.where(is_told, "n", random.choice(list("nop"), size))
    return pd.DataFrame(columns)


ALGORITHMS = pytest.mark.parametrize("algorithm", ["id3", "c45", "cart"])


@ALGORITHMS
def test_every_learner_keeps_its_limits(algorithm: str) -> None:
    frame = frame_for(algorithm)
    options: dict[str, Any] = {"algorithm": algorithm, "prune": "none"}
    free = treecompile.learn(frame, target="y", **options)
    assert free.depth > 2
    gains = [n.gain for n in tree_of(frame, **options).nodes if isinstance(n, Split)]
    least_gain = min(gains[0], sorted(gains)[len(gains) // 2])
    assert treecompile.learn(frame, target="y", max_depth=2, **options).depth == 2
    for tree in (
        tree_of(frame, min_split=40, **options),
        tree_of(frame, min_leaf=15, **options),
        tree_of(frame, min_gain=least_gain, **options),
    ):
        assert 1 < len(tree.nodes) < free.n_nodes
    for node in tree_of(frame, min_split=40, **options).nodes:
        assert isinstance(node, Leaf) or node.stats.weight >= 40
    for node in tree_of(frame, min_gain=least_gain, **options).nodes:
        assert isinstance(node, Leaf) or node.gain >= least_gain - 1e-12
    least = 2 if algorithm == "c45" else None  # of the branches: two, or all of them
    for node in tree_of(frame, min_leaf=15, **options).nodes:
        if isinstance(node, Split):
            weights = [branch.weight for branch in node.branches if branch.weight]
            large = [weight for weight in weights if weight >= 15]
            assert len(large) >= (least or len(weights))


def test_a_node_with_little_squared_error_is_not_split() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": np.sin(2 * x) + random.normal(size=400) / 5})
    free, stopped = (tree_of(frame, prune="none", min_sse=s) for s in (0.0, 4.0))
    assert 1 < len(stopped.nodes) < len(free.nodes)
    for node in stopped.nodes:
        assert isinstance(node.stats, Moments)
        assert node.stats.sse is not None
        assert (node.stats.sse >= 4.0) == isinstance(node, Split)
    whole = free.nodes[0].stats
    assert isinstance(whole, Moments)
    assert len(tree_of(frame, min_sse=whole.sse, max_depth=1, prune="none").nodes) == 3
    assert whole.sse is not None
    assert len(tree_of(frame, min_sse=whole.sse * 1.001).nodes) == 1


# --- infinite values ------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["cart", "c45"])
@pytest.mark.parametrize("weights", ["", "w"])
def test_infinite_values_are_cut_off_at_finite_thresholds(
    algorithm: str, weights: str
) -> None:
    x = [-INF] * 4 + [0.0] * 4 + [INF] * 4
    frame = pd.DataFrame({"x": x, "y": list("nnnnooooqqqq"), "w": 1.5})
    options: dict[str, Any] = {"weights": weights} if weights else {"ignore": "w"}
    model = treecompile.learn(frame, target="y", algorithm=algorithm, **options)
    assert model.predict(frame).tolist() == frame["y"].tolist()
    tree = model.program.body
    assert isinstance(tree, Tree)
    values = [b.when.value for n in tree.nodes for b in getattr(n, "branches", ())]
    assert values
    assert all(isinstance(value, float) and math.isfinite(value) for value in values)
    for to in ("python", "sql"):
        assert model.verify(model.emit(to)).passed


# --- what cannot be asked -------------------------------------------------------------

DATA = "size,kind,y\n1.5,a,n\n2,b,p\n3,c,p\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--algorithm", "id3"], "id3 needs categories, and column 'size' is numeric"),
        (["--chi2", "0"], "chi2=0.0: expected a number between 0 and 1"),
        (["--chi2", "1"], "chi2=1.0: expected a number between 0 and 1"),
        (["--chi2", "nan"], "chi2=nan: expected"),
        (["--cf", "0"], "cf=0.0: expected a number above 0, up to 1"),
        (["--cf", "1.01"], "cf=1.01: expected a number above 0, up to 1"),
        (
            ["--prune", "cost-complexity", "--alpha", "-0.1"],
            "alpha=-0.1: expected 0",
        ),
        (["--prune", "cost-complexity", "--alpha", "inf"], "alpha=inf: expected a"),
        (["--min-gain", "-1"], "min_gain=-1.0: expected 0 or more"),
        (["--min-gain", "inf"], "min_gain=inf: expected a finite number"),
        (["--min-split", "0"], "min_split=0: expected 1 or more"),
        (["--min-leaf", "0"], "min_leaf=0: expected 1 or more"),
        (["--max-depth", "-1"], "max_depth=-1: expected 0 or more"),
        (["--max-leaves", "3", "--algorithm", "c45"], "max_leaves is for"),
        (["--min-sse", "1"], "min_sse is for task=regress, and the target 'y'"),
        (
            ["--min-sse", "-1", "--target", "size", "--task", "regress"],
            "min_sse=-1.0: expected 0 or more",
        ),
        (
            ["--chi2", ".1", "--target", "size", "--task", "regress"],
            "chi2 is for task=classify, and the target 'size' is a number",
        ),
        (
            ["--criterion", "gini", "--target", "size", "--task", "regress"],
            "criterion='gini' is for labels",
        ),
        (
            ["--algorithm", "c45", "--criterion", "gini"],
            "expected gain-ratio or gain for c45",
        ),
        (["--algorithm", "cart", "--criterion", "gain"], "expected gini, entropy"),
        (["--one-hot", "size"], "one_hot: column 'size' is numeric"),
    ],
)
def test_one_line_says_what_is_wrong(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    data, out = tmp_path / "data.csv", tmp_path / "model.json"
    data.write_text(DATA, encoding="utf-8")
    given = ["learn", str(data), "--target", "y", "-q", "-o", str(out), *arguments]
    result = CliRunner().invoke(main, given)
    assert result.exit_code == 2
    assert message in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not out.exists()
