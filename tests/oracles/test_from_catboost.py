"""Imported models of CatBoost answer as CatBoost does: margins bit for bit."""

from __future__ import annotations

import json
import subprocess
import sys
from math import log
from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn import datasets

from tests.support.forest_rows import (
    edge_table,
    frame_of,
    labels,
    margins,
    shares,
    ulps,
)
from tests.support.hostile import check_damaged
from treecompile.importers import catboost as importer
from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import dumps, loads_any

Floats = NDArray[np.float64]
DATA = Path(__file__).parent / "data"
WINE = datasets.load_wine(return_X_y=True)
DIABETES = datasets.load_diabetes(return_X_y=True)
EXTRA = [np.nan, np.inf, -np.inf, 3.4028234663852886e38, -3.4028234663852886e38, 1e300]
# CatBoost computes `exp` in its own way: its last bits are not those of C libraries.
MOST_ULPS = 8


def with_missing(x: Floats) -> Floats:
    x = x.copy()
    x[np.random.default_rng(0).random(x.shape) < 0.1] = np.nan
    return x


def trained(kind: str, x: Any, y: Any, weights: Any = None, **how: Any) -> Any:
    quiet = {"thread_count": 1, "verbose": 0, "allow_writing_files": False}
    return getattr(catboost, kind)(**quiet, **how).fit(x, y, sample_weight=weights)


def imported(model: Any) -> ir.Forest:
    program = importer.from_object(model).program
    assert loads_any(dumps(program)) == program
    return program.body


def rows_for(forest: ir.Forest, x: Floats) -> pd.DataFrame:
    dice = np.random.default_rng(1)
    spread = np.nanstd(x, axis=0) * 2 + 1e-3
    random = np.nanmean(x, axis=0) + dice.normal(size=(300, x.shape[1])) * spread
    return edge_table(forest, frame_of(forest, np.vstack([x, random])), extra=EXTRA)


def check(model: Any, x: Floats) -> ir.Forest:
    forest = imported(model)
    X = rows_for(forest, x)
    raw = np.asarray(model.predict(X, prediction_type="RawFormulaVal"))
    assert (margins(forest, X) == raw.reshape(len(X), -1)).all()
    one = X.iloc[:1]
    alone = np.ravel(model.predict(one, prediction_type="RawFormulaVal"))
    assert (margins(forest, one)[0] == alone).all()
    expected = np.ravel(model.predict(X))
    if forest.labels:
        assert labels(forest, X) == expected.tolist()
        known, found = model.predict_proba(X), shares(forest, X)
        # The share of the first of two labels is the rest: small ones lose digits.
        assert ulps(found[:, 1:], known[:, 1:]) <= MOST_ULPS
        assert np.abs(found - known).max() <= 2**-51
    elif forest.link is ir.Link.IDENTITY:
        assert labels(forest, X) == expected.tolist()
    else:
        assert ulps(labels(forest, X), expected) <= MOST_ULPS
    return forest


# ---------------------------------------------------------------- classes


@pytest.mark.parametrize(
    "how",
    [
        {"iterations": 1, "depth": 1},
        {"iterations": 211, "depth": 4},
        {"iterations": 20, "depth": 9},
        {"iterations": 40, "nan_mode": "Max"},
        {"iterations": 40, "grow_policy": "Depthwise"},
        {"iterations": 30, "grow_policy": "Lossguide", "max_leaves": 9},
        {"iterations": 20, "loss_function": "CrossEntropy"},
        {"iterations": 20, "auto_class_weights": "Balanced", "border_count": 4},
    ],
)
def test_two_classes(how: dict[str, Any]) -> None:
    x = with_missing(WINE[0])
    forest = check(trained("CatBoostClassifier", x, (WINE[1] == 1) * 1, **how), x)
    assert forest.labels == (0, 1)
    assert forest.cut == 0.0


@pytest.mark.parametrize(
    "how",
    [
        {"iterations": 40, "depth": 3},
        {"iterations": 40, "loss_function": "MultiClassOneVsAll"},
        {"iterations": 20, "grow_policy": "Depthwise", "nan_mode": "Max"},
    ],
)
def test_several_classes(how: dict[str, Any]) -> None:
    x = with_missing(WINE[0])
    words = np.array(["a", "b'", "c\n"])[WINE[1]]
    forest = check(trained("CatBoostClassifier", x, words, **how), x)
    assert forest.labels == ("a", "b'", "c\n")


def test_weights_and_labels() -> None:
    x, y = WINE
    weights = np.random.default_rng(0).random(len(y))
    how: dict[str, Any] = {"iterations": 5}
    forest = check(trained("CatBoostClassifier", x, y * 7, weights, **how), x)
    assert forest.labels == (0, 7, 14)
    forest = check(trained("CatBoostClassifier", x, y == 1, **how), x)
    assert forest.labels == (False, True)
    forest = check(trained("CatBoostClassifier", x, y / 2, **how), x)
    assert forest.labels == (0.0, 0.5, 1.0)
    root = forest.members[0].tree.nodes[0]
    assert isinstance(root, ir.Split)
    assert root.stats.weight == len(y)


def test_a_sum_of_zero_has_the_first_label() -> None:
    x = np.array([[0.0], [0.0], [1.0], [1.0]] * 10)
    y = np.array([0, 1, 0, 1] * 10)
    model = trained("CatBoostClassifier", x, y, iterations=3)
    assert (model.predict(x, prediction_type="RawFormulaVal") == 0).all()
    assert (model.predict(x) == 0).all()
    forest = imported(model)
    assert set(labels(forest, frame_of(forest, x))) == {0}


@pytest.mark.parametrize("share", [0.3, 0.5, 0.9, 0.123456789])
def test_the_threshold_of_a_probability(share: float) -> None:
    x = np.array([[0.0], [0.0], [1.0], [1.0]] * 10)
    y = np.array([0, 1, 0, 1] * 10)
    model = trained("CatBoostClassifier", x, y, iterations=3)  # its trees add 0
    model.set_probability_threshold(share)
    cut = -log(1 / share - 1) + 0.0
    for bias, answer in (
        (cut, 0),
        (np.nextafter(cut, 9), 1),
        (np.nextafter(cut, -9), 0),
    ):
        model.set_scale_and_bias(1.0, bias)
        forest = imported(model)
        assert forest.cut == cut
        assert (margins(forest, frame_of(forest, x)) == bias).all()
        assert set(labels(forest, frame_of(forest, x))) == {answer}
        assert set(model.predict(x)) == {answer}


# ---------------------------------------------------------------- numbers

LOSSES = (
    *("RMSE", "MAE", "Quantile:alpha=0.3", "MAPE", "Lq:q=2", "Huber:delta=2"),
    *("Expectile:alpha=0.3", "LogCosh", "LogLinQuantile", "RMSPE"),
    *("Poisson", "Tweedie:variance_power=1.5"),
)


@pytest.mark.parametrize("loss", LOSSES)
def test_regression(loss: str) -> None:
    x, y = with_missing(DIABETES[0]), DIABETES[1]
    model = trained("CatBoostRegressor", x, y, loss_function=loss, iterations=25)
    forest = check(model, x)
    is_exp = loss.startswith(("Poisson", "Tweedie"))
    assert forest.link is (ir.Link.EXP if is_exp else ir.Link.IDENTITY)


def test_scale_and_bias() -> None:
    x, y = DIABETES
    model = trained("CatBoostRegressor", x, y, iterations=300, depth=2)
    for scale, bias in ((0.3, 0.7), (-3e-5, 1e5), (1.0, 0.1), (7.0, 0.0)):
        model.set_scale_and_bias(scale, bias)
        check(model, x)


def test_names_and_tests_that_repeat() -> None:
    X = pd.DataFrame(DIABETES[0], columns=[f"n {i}'" for i in range(10)])
    model = trained("CatBoostRegressor", X[["n 2'"]], DIABETES[1], iterations=20)
    forest = check(model, X[["n 2'"]].to_numpy())
    assert [feature.name for feature in forest.features] == ["n 2'"]
    # Six levels of tests of one feature have seven outcomes, not 64.
    assert max(len(member.values) for member in forest.members) <= 7


# ---------------------------------------------------------------- what is refused


def test_other_losses_and_objects_are_refused() -> None:
    x, y = DIABETES
    for loss in ("RMSEWithUncertainty", "MultiRMSE"):
        model = trained("CatBoostRegressor", x, y, loss_function=loss, iterations=2)
        with pytest.raises(ModelFileError, match=f"loss function {loss!r}"):
            importer.from_object(model)
    with pytest.raises(DataError, match="not fitted"):
        importer.from_object(catboost.CatBoostRegressor())
    with pytest.raises(DataError, match="cannot import a int"):
        importer.from_object(3)


STORED = DATA / "catboost.json"
WITH_CATEGORIES = DATA / "catboost-categories.json"


def changed(*path: Any, to: Any) -> bytes:
    model = json.loads(STORED.read_bytes())
    part = model
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    return json.dumps(model).encode()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a JSON model of CatBoost"),
        (b"{}", "features_info: expected an object"),
        (b'{"features_info": {}}', "it has no trees"),
        (b"[" * 100_000, "nested too deeply"),
        (changed("oblivious_trees", 0, "leaf_values", to=[1.0]), "1 numbers: expected"),
        (
            changed("oblivious_trees", 0, "splits", to=[{}] * 40),
            "40 levels: expected at most 16",
        ),
        (
            changed("oblivious_trees", 0, "splits", 0, "float_feature_index", to=[1]),
            "no such feature",
        ),
        (changed("scale_and_bias", to=[1, []]), "a bias for each output"),
        (changed("scale_and_bias", to=[1e300, [0.0]]), "the sums may reach"),
        (
            changed("model_info", "class_params", "class_names", to=["a"]),
            "1 classes: expected 2",
        ),
        (
            changed("model_info", "binclass_probability_threshold", to="2"),
            "between 0 and 1",
        ),
        (changed("model_info", "params", to={}), "loss_function: expected an object"),
    ],
)
def test_damaged_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        importer.read(data)


@pytest.mark.parametrize("path", [STORED, WITH_CATEGORIES])
def test_files_with_random_damage(path: Path) -> None:
    good, bad = check_damaged(importer.read, path.read_bytes(), 300)
    assert good
    assert bad


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(20))
def test_files_with_more_random_damage(seed: int) -> None:
    for path in (STORED, WITH_CATEGORIES):
        check_damaged(importer.read, path.read_bytes(), 1_000, seed + 1)


# ---------------------------------------------------------------- a stored model


@pytest.mark.parametrize("path", [STORED, WITH_CATEGORIES])
def test_a_stored_model_is_read_without_catboost(path: Path) -> None:
    answers = path.with_name(f"{path.stem}-answers.json")
    known = json.loads(answers.read_text(encoding="utf-8"))
    script = (
        "import json, sys\n"
        "sys.modules['catboost'] = None\n"
        "from treecompile.importers import catboost\n"
        "from treecompile.model import forests\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "assert catboost.is_model(data[:4096])\n"
        "forest = catboost.read(data).program.body\n"
        "rows = json.load(sys.stdin)\n"
        "made = [forests.margins(forest, tuple(row))[0] for row in rows]\n"
        "print(json.dumps([[m, forests.answer(forest, (m,))] for m in made]))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, str(path)],
        input=json.dumps(known["rows"]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(result.stdout) == known["answers"]
