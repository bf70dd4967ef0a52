"""Importance and the statistics of nodes, against scikit-learn and by hand."""

from __future__ import annotations

from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn import datasets
from sklearn import tree as trees

import treecompile
from tests.support.samples import TENNIS
from treecompile.cli import main
from treecompile.inspect.importance import impurity
from treecompile.model.errors import OptionError
from treecompile.model.ir import ClassCounts, Moments


def frame(data: Any) -> pd.DataFrame:
    x = pd.DataFrame(data.data.astype(np.float32).astype(np.float64)).add_prefix("x")
    return x.assign(y=data.target)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("depth", [3, 5])
def test_labels_as_in_scikit_learn(criterion: str, depth: int) -> None:
    # Noise everywhere, so that no two splits are equal.
    random = np.random.default_rng(depth)
    x = random.normal(size=(3_000, 6)).astype(np.float32).astype(np.float64)
    y = np.digitize(x[:, 0] + x[:, 1] * x[:, 2] + random.normal(size=3_000), [-1, 1])
    table = pd.DataFrame(x).add_prefix("x").assign(y=y)
    theirs = trees.DecisionTreeClassifier(
        criterion=criterion, max_depth=depth, min_samples_leaf=100, random_state=0
    ).fit(x, y)
    ours = treecompile.learn(
        table,
        target="y",
        algorithm="cart",
        criterion=criterion,
        max_depth=depth,
        min_leaf=100,
        prune="none",
    )
    expected = theirs.feature_importances_.tolist()
    assert list(ours.importances) == [f"x{i}" for i in range(6)]
    assert list(ours.importances.values()) == pytest.approx(expected, abs=1e-9)
    imported = treecompile.from_sklearn(theirs).importances
    assert list(imported.values()) == pytest.approx(expected, abs=1e-12)


def test_numbers_as_in_scikit_learn() -> None:
    table = frame(datasets.load_diabetes())
    theirs = trees.DecisionTreeRegressor(max_depth=4, min_samples_leaf=5).fit(
        table.drop(columns="y"), table["y"]
    )
    ours = treecompile.learn(
        table, target="y", task="regress", max_depth=4, min_leaf=5, prune="none"
    )
    assert list(ours.importances.values()) == pytest.approx(
        theirs.feature_importances_.tolist(), abs=1e-9
    )
    absolute = trees.DecisionTreeRegressor(max_depth=3, criterion="absolute_error").fit(
        table.drop(columns="y"), table["y"]
    )
    assert list(treecompile.from_sklearn(absolute).importances.values()) == (
        pytest.approx(absolute.feature_importances_.tolist(), abs=1e-12)
    )


def test_tennis_by_hand() -> None:
    model = treecompile.learn(TENNIS, target="play")
    below = -(2 / 5) * log2(2 / 5) - (3 / 5) * log2(3 / 5)
    root = -(9 / 14) * log2(9 / 14) - (5 / 14) * log2(5 / 14)
    outlook = 14 * root - 10 * below
    total = outlook + 10 * below
    assert model.importances == pytest.approx(
        {
            "outlook": outlook / total,
            "temperature": 0.0,
            "humidity": 5 * below / total,
            "wind": 5 * below / total,
        }
    )
    assert treecompile.learn(TENNIS, target="play", max_depth=0).importances == {
        "outlook": 0.0,
        "temperature": 0.0,
        "humidity": 0.0,
        "wind": 0.0,
    }


def test_a_leaf_without_cases_counts_for_nothing() -> None:
    table = pd.DataFrame({"a": pd.Categorical(list("uuvv"), categories=list("uvw"))})
    table["b"] = ["s", "t", "s", "t"]
    table["y"] = ["p", "p", "n", "n"]
    model = treecompile.learn(table, target="y", algorithm="id3")
    assert model.n_leaves == 3
    assert model.importances == {"a": 1.0, "b": 0.0}


def test_impurity() -> None:
    counts = ClassCounts((2.0, 0.0, 6.0))
    assert impurity(counts, "gini") == pytest.approx(1 - 1 / 16 - 9 / 16)
    assert impurity(counts, "entropy") == pytest.approx(0.8112781245)
    assert impurity(ClassCounts((0.0, 3.0)), "entropy") == 0.0
    assert impurity(Moments(4.0, 1.0, 8.0), "variance") == 2.0
    assert impurity(Moments(4.0, 1.0, None), "variance") is None


def test_it_survives_the_model_file(tmp_path: Path) -> None:
    model = treecompile.learn(TENNIS, target="play", algorithm="id3")
    model.save(tmp_path / "model.json")
    again = treecompile.load(tmp_path / "model.json")
    assert again.importances == model.importances
    assert again.show(stats=True) == model.show(stats=True)


def test_rules_have_none() -> None:
    rules = treecompile.learn(TENNIS, target="play").rules()
    with pytest.raises(OptionError, match="a list of rules has no splits to measure"):
        _ = rules.importances
    with pytest.raises(OptionError, match="a list of rules has no splits to measure"):
        _ = rules.alphas


def test_the_sequence_of_pruned_trees() -> None:
    model = treecompile.learn(TENNIS, target="play", prune="none")
    steps = model.alphas
    assert (steps[0].leaves, steps[0].risk) == (model.n_leaves, 0.0)
    assert (steps[-1].leaves, steps[-1].risk) == (1, 1.0)
    absolute = trees.DecisionTreeRegressor(max_depth=1, criterion="absolute_error")
    with pytest.raises(OptionError, match="needs the squared error of every node"):
        _ = treecompile.from_sklearn(absolute.fit([[1], [2]], [1, 2])).alphas


def test_the_statistics_are_shown() -> None:
    model = treecompile.learn(
        TENNIS, target="play", algorithm="cart", max_depth=1, prune="none"
    )
    first, *rest = model.show(stats=True).splitlines()
    assert first == "all  [yes 9, no 5; gini 0.4592; gain 0.102]"
    assert rest[0].endswith("(R1: 4 of 4 cases)  [yes 4; gini 0]")
    numbers = pd.DataFrame({"x": [1, 2, 3, 4], "y": [1.5, 1.5, 4.0, 5.0]})
    lines = treecompile.learn(numbers, target="y").show(stats=True).splitlines()
    assert lines[0] == "all  [4 cases, mean 3; variance 2.375; gain 2.25]"
    assert lines[-1].endswith("[1 case, mean 5; variance 0]")
    many = pd.DataFrame({"x": range(7), "y": list("abcdefg")})
    shown = treecompile.learn(many, target="y", max_depth=0).show(stats=True)
    assert "[a 1, b 1, c 1, d 1, e 1 and 2 more; entropy 2.807]" in shown


def test_the_command(tmp_path: Path) -> None:
    path = str(tmp_path / "model.json")
    model = treecompile.learn(TENNIS, target="play")
    model.save(path)
    run = CliRunner().invoke
    plain = run(main, ["show", path]).stdout
    assert "[" not in plain
    out = run(main, ["show", path, "--stats", "--importance", "--alphas"]).stdout
    assert "all  [yes 9, no 5; entropy 0.9403; gain 0.2467]" in out
    assert "  humidity  0.3688\n  wind      0.3688\n  outlook   0.2624\n" in out
    assert "not used: temperature\n" in out
    assert out.splitlines()[-2:] == ["       5      0      0", "       1   0.25      1"]
    model.rules().save(path)
    for option in ("--stats", "--importance", "--alphas"):
        result = run(main, ["show", path, option])
        assert result.exit_code == 2
        assert result.stdout == ""
        assert "a list of rules has no splits" in result.stderr
