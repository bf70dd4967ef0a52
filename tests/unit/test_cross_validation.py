"""Cross-validation: every row is predicted once, by a tree that has not seen it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from tests.support.samples import TENNIS
from treecompile.cli import main
from treecompile.learning.folds import fold_of
from treecompile.model.errors import OptionError
from treecompile.model.ir import ClassQuality, ValueQuality
from treecompile.tables.dataset import make_dataset
from treecompile.tables.options import DataOptions
from treecompile.tables.read import read_table


def sample(rows: int = 90) -> pd.DataFrame:
    random = np.random.default_rng(3)
    frame = pd.DataFrame({"x": random.normal(size=rows), "z": random.normal(size=rows)})
    y = frame["x"] + random.normal(size=rows) / 2
    return frame.assign(y=np.where(y > 0, "p", "n"), number=y)


@pytest.mark.parametrize("algorithm", ["c45", "cart"])
def test_it_is_learning_without_each_fold(algorithm: str) -> None:
    frame = sample()
    options: dict[str, Any] = {"algorithm": algorithm, "ignore": "number"}
    result = treecompile.cross_validate(frame, target="y", k=6, seed=4, **options)
    columns = DataOptions("y", ignore=("number",))
    folds = fold_of(make_dataset(read_table(frame), columns), 6, 4, "")
    scores, sizes, confusion = [], [], np.zeros((2, 2), int)
    for number in range(6):
        model = treecompile.learn(frame[folds != number], target="y", seed=4, **options)
        test = frame[folds == number]
        predicted = model.predict(test)
        scores.append((predicted == test["y"]).mean())
        sizes.append(model.n_nodes)
        for actual, said in zip(test["y"], predicted, strict=True):
            confusion["np".index(actual), "np".index(said)] += 1
    assert result.scores == pytest.approx(scores)
    assert result.mean == pytest.approx(mean(scores))
    assert result.deviation == pytest.approx(stdev(scores))
    assert [fold.nodes for fold in result.folds] == sizes
    assert result.mean_nodes == pytest.approx(mean(sizes))
    assert isinstance(result.quality, ClassQuality)
    assert np.array(result.quality.confusion).tolist() == confusion.tolist()
    assert confusion.sum() == len(frame)


def test_numbers() -> None:
    frame = sample().drop(columns="y")
    options: dict[str, Any] = {"max_depth": 3, "min_leaf": 5}
    result = treecompile.cross_validate(frame, target="number", k=5, **options)
    folds = fold_of(make_dataset(read_table(frame), DataOptions("number")), 5, 0, "")
    predicted = pd.Series(np.nan, index=frame.index)
    for number in range(5):
        model = treecompile.learn(frame[folds != number], target="number", **options)
        predicted[folds == number] = model.predict(frame[folds == number])
    errors = predicted - frame["number"]
    assert isinstance(result.quality, ValueQuality)
    assert result.quality.rows == len(frame)
    rmse = float(np.sqrt((errors**2).mean()))
    assert result.quality.root_mean_squared_error == pytest.approx(rmse)
    spread = ((frame["number"] - frame["number"].mean()) ** 2).sum()
    assert result.quality.r_squared == pytest.approx(1 - (errors**2).sum() / spread)
    by_fold = [np.sqrt((errors[folds == n] ** 2).mean()) for n in range(5)]
    assert result.scores == pytest.approx(by_fold)


def test_leaving_one_out() -> None:
    result = treecompile.cross_validate(TENNIS, target="play", k=14)
    assert len(result.folds) == 14
    assert set(result.scores) <= {0.0, 1.0}


@pytest.mark.parametrize(
    "options",
    [
        {"prune": "reduced-error", "validation_fraction": 0.3},
        {"prune": "cost-complexity", "alpha": "1se"},
    ],
)
def test_pruning_happens_within_each_fold(options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"target": "y", "k": 5, "algorithm": "cart"}
    full = treecompile.cross_validate(sample(), ignore="number", prune="none", **given)
    pruned = treecompile.cross_validate(sample(), ignore="number", **given, **options)
    assert pruned.mean_leaves < full.mean_leaves
    assert pruned.quality != full.quality


def test_it_refuses_what_it_does_not_know() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_deph'"):
        treecompile.cross_validate(
            sample(), target="y", max_deph=3  # type: ignore[call-arg]
        )
    with pytest.raises(TypeError, match="'validation'"):
        treecompile.cross_validate(
            sample(), target="y", validation=sample()  # type: ignore[call-arg]
        )
    with pytest.raises(OptionError, match="cv=1: expected 2 or more folds"):
        treecompile.cross_validate(sample(), target="y", k=1)
    with pytest.raises(OptionError, match=r"cv=15: .*\(14\)"):
        treecompile.cross_validate(TENNIS, target="play", k=15)
    with pytest.raises(OptionError, match="prune=reduced-error needs rows"):
        treecompile.cross_validate(TENNIS, target="play", prune="reduced-error")


# ---------------------------------------------------------------- the command


def run(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(main, ["evaluate", *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_prints_it() -> None:
    code, out, err = run(str(TENNIS), "--target", "play", "--cv", "7", "--seed", "1")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "7-fold cross-validation of c45 (stratified, seed 1)"
    result = treecompile.cross_validate(TENNIS, target="play", k=7, seed=1)
    assert f"accuracy of a fold: {100 * result.mean:.2f} %" in lines[1]
    assert f"standard deviation {100 * result.deviation:.2f}" in lines[1]
    assert f"{result.mean_nodes:.1f} nodes, {result.mean_leaves:.1f} leaves" in lines[2]
    assert "all folds together:" in lines
    assert "algorithm: c45" in err
    assert run(str(TENNIS), "--target", "play", "--cv", "7", "--seed", "1", "-q") == (
        0,
        out,
        "",
    )
    assert run(str(TENNIS), "--target", "play")[1].startswith("10-fold")


def test_a_number(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    sample().to_csv(path, index=False)
    code, out, _ = run(str(path), "--target", "number", "--ignore", "y", "--cv", "3")
    assert code == 0
    assert out.startswith("3-fold cross-validation of cart (seed 0)\nroot mean squared")
    assert "R squared: " in out


def test_what_does_not_go_together(tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    treecompile.learn(TENNIS, target="play").save(model)
    data = str(TENNIS)
    for arguments, words in (
        ((), "0 files: expected MODEL and DATA, or DATA alone with --target"),
        ((data, data, data), "3 files"),
        ((data,), "add --target COL"),
        ((data, "--cv", "5"), "add --target COL"),
        ((str(model), data, "--cv", "5"), "--cv is for learning, and .* is a model"),
        ((str(model), data, "--target", "play"), "--target is for learning"),
        ((str(model), data, "--seed", "0"), "--seed is for learning"),
        (
            (data, "--target", "play", "--validation", data),
            "--validation cannot be used in cross-validation",
        ),
        ((data, "--target", "plya"), "no column 'plya': did you mean 'play'"),
        ((data, "--target", "play", "--cv", "0"), "cv=0: expected 2 or more"),
    ):
        code, out, err = run(*arguments)
        assert (code, out) == (2, ""), arguments
        assert len(err.splitlines()) == 1
        assert re.search(words, err), err
    assert run(str(model), data, "--na-value", "?")[0] == 0


def test_the_order_of_hashes_does_not_matter() -> None:
    command = [sys.executable, "-m", "treecompile", "evaluate"]
    seen = {
        subprocess.run(
            [*command, str(TENNIS), "--target", "play", "--cv", "5"],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1
