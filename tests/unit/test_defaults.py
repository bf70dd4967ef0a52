"""What a command does without options: pruning, and the quality it reports."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.commands import good
from treecompile.measure.quality import accuracy
from treecompile.model.ir import ClassQuality, Estimate


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def noisy(rows: int, seed: int = 0) -> pd.DataFrame:
    """`x` decides nine labels of ten; `y` is the label, `z` the same as a number."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(random.normal(size=(rows, 3)), columns=["x", "u", "v"])
    said = np.where(random.random(rows) < 0.1, frame["x"] > 0, frame["x"] <= 0)
    number = np.where(frame["x"] > 0, 5.0, 1.0) + random.normal(size=rows)
    return frame.assign(y=np.where(said, "no", "yes"), z=number)


def learn(rows: int = 200, **options: Any) -> treecompile.Model:
    given: dict[str, Any] = {"target": "y", "ignore": "z", "algorithm": "cart"}
    return treecompile.learn(noisy(rows), **{**given, **options})


def estimate_of(model: treecompile.Model) -> Estimate:
    training = model.program.training
    assert training is not None
    assert training.estimate is not None
    return training.estimate


# ---------------------------------------------------------------- pruning


def test_cart_prunes_by_the_rule_of_one_standard_error() -> None:
    model = learn()
    asked = learn(prune="cost-complexity", alpha="1se")
    assert model.program.body == asked.program.body
    assert model.n_leaves == 2
    assert learn(prune="none").n_leaves > 20
    (told,) = (note for note in model.notes if note.startswith("alpha: "))
    assert told.endswith("prune=none keeps all")
    again = learn(alpha=dict(model.program.options)["chosen_alpha"])
    assert again.program.body == model.program.body


def test_few_rows_do_not_choose() -> None:
    told = "alpha: 0.01 (fewer than 50 rows are too few for cross-validation);"
    assert any(note.startswith(told) for note in learn(49).notes)
    assert learn(49).program.body == learn(49, alpha=0.01).program.body
    assert not any(note.startswith(told) for note in learn(50).notes)
    numbers = learn(49, target="z", ignore="y")
    assert numbers.n_leaves < 12


def test_an_estimate_needs_some_rows() -> None:
    for rows in (19, 20):
        noisy(rows).drop(columns="z").to_csv(f"{rows}.csv", index=False)
    assert "cross-validation" not in good("learn", "19.csv", "--target", "y").stderr
    said = good("learn", "20.csv", "--target", "y", "-o", "m.json").stderr
    assert "in 10-fold cross-validation" in said


def test_a_database_does_not_choose() -> None:
    pytest.importorskip("duckdb")
    Path("parts").mkdir()
    noisy(200).to_parquet("parts/one.parquet")
    said = good(
        *("learn", "parts", "--target", "y", "--ignore", "z", "--algorithm", "cart")
    ).stderr
    assert "pruning: none, as choosing alpha by cross-validation needs the rows" in said
    there = treecompile.load("model.json")
    assert there.program.body == learn(prune="none").program.body


# ---------------------------------------------------------------- quality


@pytest.mark.parametrize("target", ["y", "z"])
def test_the_estimate_of_a_chosen_tree_is_its_error_in_cross_validation(
    target: str,
) -> None:
    """Two computations: from predictions, and from the losses at all nodes."""
    from treecompile.learning.options import LearnOptions
    from treecompile.learning.training import learn as learn_tree
    from treecompile.tables.options import DataOptions

    columns = DataOptions(target, ignore=("yz".replace(target, ""),))
    learned = learn_tree(noisy(300), columns, LearnOptions("cart"))
    choice = learned.choice
    assert choice is not None
    quality, error = choice.estimate.quality, choice.table[choice.place].error
    y = noisy(300)[target]
    if isinstance(quality, ClassQuality):
        wrong = 1 - (accuracy(quality) or 0.0)
        assert wrong == pytest.approx(
            error * (1 - y.value_counts(normalize=True).max())
        )
    else:
        mean_square = quality.root_mean_squared_error**2
        assert mean_square == pytest.approx(error * y.var(ddof=0))


@pytest.mark.parametrize("algorithm", ["c45", "id3"])
def test_the_estimate_is_that_of_cross_validation(algorithm: str) -> None:
    frame = noisy(200).assign(x=lambda f: "x" + f["x"].round().astype(str), u="a")
    frame.drop(columns=["v", "z"]).to_csv("d.csv", index=False)
    options = ("--target", "y", "--algorithm")
    said = good("learn", "d.csv", *options, algorithm, "-o", "m.json").stderr
    found = estimate_of(treecompile.load("m.json"))
    expected = treecompile.cross_validate("d.csv", target="y", algorithm=algorithm)
    assert found.quality == expected.quality
    assert isinstance(expected.quality, ClassQuality)
    share = f"{100 * (accuracy(expected.quality) or 0.0):.1f} %"
    assert f"accuracy: {share} in 10-fold cross-validation, " in said
    plain = good("learn", "d.csv", *options, algorithm, "--no-estimate").stderr
    assert "cross-validation" not in plain
    assert "accuracy: " in plain
