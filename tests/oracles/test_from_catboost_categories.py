"""Categories that CatBoost tests one by one (one-hot): margins bit for bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import catboost
import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.forest_rows import labels, margins
from tests.support.samples import ROOT
from treecompile.api.model import Model
from treecompile.importers import catboost as importer
from treecompile.importers.catboost.categories import SAVE
from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import dumps, loads_any

HOSTILE = (
    *("1", "1.0", "01", " 1", "1 ", "+1", "1e0", "nan", "NaN", "None", "NULL", "", " "),
    *(
        "a",
        "A",
        "\u00e4",
        "a\u0308",
        "'",
        '"',
        "\\",
        "a\nb",
        "a\r\nb",
        "a\tb",
        "\U0001f600",
    ),
    *("x" * 5_000, "x" * 4_999, "--", "%s", "{}", "]]>", "\u2028", "true", "\ufeff"),
)
# Pairs of texts with the same 32 bits of the hash.
SAME_HASH = ("c83299", "c82050")
SAME_HASH_INTEGERS = (111524, 47220)


def trained(kind: str, X: Any, y: Any, categorical: Any, **how: Any) -> Any:
    usual = {
        "one_hot_max_size": 255,
        "iterations": 40,
        "thread_count": 1,
        "verbose": 0,
        "allow_writing_files": False,
    }
    made = getattr(catboost, kind)(cat_features=categorical, **{**usual, **how})
    return made.fit(X, y)


def saved(model: Any, path: Path, X: Any, categorical: Any) -> Model:
    """The model by way of a file, saved as the documents say."""
    pool = catboost.Pool(X, cat_features=categorical)
    model.save_model(path, format="json", pool=pool)
    return treecompile.import_model(path)


def body(model: Model) -> ir.Forest:
    program = model.any_program
    assert loads_any(dumps(program)) == program
    assert isinstance(program, ir.ForestProgram)
    return program.body


def agree(fitted: Any, forest: ir.Forest, X: pd.DataFrame, given: Any = None) -> None:
    """Margins and labels of rows; `given` is what CatBoost gets, if not the same."""
    given = X if given is None else given
    names = [feature.name for feature in forest.features]
    raw = np.asarray(fitted.predict(given, prediction_type="RawFormulaVal"))
    assert (margins(forest, X[names]) == raw.reshape(len(X), -1)).all()
    assert labels(forest, X[names]) == np.ravel(fitted.predict(given)).tolist()


def mixed(rows: int, seed: int = 0) -> pd.DataFrame:
    """Rows with texts, integers, truths and numbers."""
    dice = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "text": dice.choice(np.array(HOSTILE, object), rows),
            "number": dice.normal(size=rows),
            "code": dice.choice([0, 1, -1, 7, 2**40, -(2**40)], rows),
            "truth": dice.choice([False, True], rows),
            "few": pd.Categorical(dice.choice(["u", "v", "w"], rows)),
        }
    )


CATEGORICAL = ["text", "code", "truth", "few"]


def score(X: pd.DataFrame, seed: int = 0) -> Any:
    dice = np.random.default_rng(seed + 1)
    points = dict(zip(HOSTILE, dice.normal(size=len(HOSTILE)), strict=True))
    found = X["text"].map(points).to_numpy(float) + 0.3 * X["number"].to_numpy()
    return found + (X["code"] == 7) * 2 + X["truth"] * (X["few"] == "v") - 0.2


def unseen(X: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """The rows in any combination, with categories that CatBoost has not seen."""
    dice = np.random.default_rng(seed)
    others: dict[str, list[Any]] = {
        "text": ["0", "1.00", "aa", "\u00c4", "x" * 5_001, "'' or 1=1", "\0", "nan "],
        "code": [2, -7, 2**62, 10, 70],
        "few": ["U", "u ", "", "x"],
    }
    parts = {}
    for name in X:
        column = X[name].astype(object).to_numpy()
        values = [*column, *others.get(str(name), [])]
        kind = object if name in ("text", "few") else X[name].dtype
        chosen = dice.choice(np.array(values, object), len(X))
        parts[name] = pd.Series(chosen).astype(kind)
    return pd.DataFrame(parts)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"depth": 9, "iterations": 15},
        {"grow_policy": "Depthwise"},
        {"grow_policy": "Lossguide", "max_leaves": 12},
    ],
)
def test_regression(how: dict[str, Any], tmp_path: Path) -> None:
    X = mixed(1_200)
    fitted = trained("CatBoostRegressor", X, score(X), CATEGORICAL, **how)
    model = treecompile.from_catboost(fitted, X, score(X))
    forest = body(model)
    kinds = [(feature.name, feature.type) for feature in forest.features]
    assert kinds == [
        ("text", ir.ValueType.STR),
        ("number", ir.ValueType.FLOAT),
        ("code", ir.ValueType.INT),
        ("truth", ir.ValueType.BOOL),
        ("few", ir.ValueType.STR),
    ]
    assert set(forest.features[0].categories) == set(HOSTILE)
    agree(fitted, forest, X)
    agree(fitted, forest, unseen(X))
    again = saved(fitted, tmp_path / "model.json", X, CATEGORICAL)
    found = body(again)
    assert [feature.type for feature in found.features][3] is ir.ValueType.INT
    other = unseen(X, 1)
    agree(fitted, found, other.assign(truth=other["truth"].astype(int)), other)
    for name in ("code", "truth"):
        assert any(f"categories of {name!r} are" in note for note in again.notes)


@pytest.mark.parametrize("cuts", [(0.0,), (-0.6, 0.1, 0.9)])
def test_labels(cuts: tuple[float, ...], tmp_path: Path) -> None:
    X = mixed(1_000)
    y = np.array(["a", "b'", "c\n", "d"])[np.searchsorted(cuts, score(X))]
    fitted = trained("CatBoostClassifier", X, y, CATEGORICAL)
    forest = body(treecompile.from_catboost(fitted, X, y))
    agree(fitted, forest, X)
    agree(fitted, forest, unseen(X))
    found = body(saved(fitted, tmp_path / "model.json", X, CATEGORICAL))
    agree(fitted, found, X.assign(truth=X["truth"].astype(int)), X)


def test_real_rows(tmp_path: Path) -> None:
    penguins = pd.read_csv(ROOT / "examples" / "penguins" / "penguins.csv")
    X = penguins.drop(columns="species")
    X["sex"] = X["sex"].fillna("unknown")  # CatBoost takes no missing categories
    names = ["island", "sex"]
    fitted = trained("CatBoostClassifier", X, penguins["species"], names)
    model = treecompile.from_catboost(fitted, X, penguins["species"])
    agree(fitted, body(model), X)
    found = saved(fitted, tmp_path / "model.json", X, names)
    assert not found.notes
    agree(fitted, body(found), X)
    assert "species" in model.emit("markdown")


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(30))
def test_random_models(seed: int, tmp_path: Path) -> None:
    dice = np.random.default_rng(seed)
    X = mixed(int(dice.integers(50, 600)), seed)
    how = {
        "depth": int(dice.integers(1, 8)),
        "iterations": int(dice.integers(1, 60)),
        "random_seed": seed,
        "grow_policy": dice.choice(["SymmetricTree", "Depthwise", "Lossguide"]),
    }
    fitted = trained("CatBoostRegressor", X, score(X, seed), CATEGORICAL, **how)
    forest = body(treecompile.from_catboost(fitted, X))
    agree(fitted, forest, X)
    agree(fitted, forest, unseen(X, seed))


def test_artefacts_answer_alike() -> None:
    X = mixed(800)
    fitted = trained("CatBoostRegressor", X, score(X), CATEGORICAL, iterations=12)
    model = treecompile.from_catboost(fitted, X)
    texts = [model.emit("python"), model.emit("python", style="numpy")]
    texts += [model.emit("sql", dialect=name) for name in ("sqlite", "duckdb")]
    for text in texts:
        report = model.verify(text, budget=3_000)
        assert report.passed
    module: dict[str, Any] = {"__name__": "made"}
    exec(texts[0], module)
    rows = unseen(X)
    made = [module["predict"](row) for row in rows.to_dict("records")]
    assert made == fitted.predict(rows).tolist()


# ---------------------------------------------------------------- what a category is


def test_a_number_and_its_text_are_the_same_to_catboost(tmp_path: Path) -> None:
    X = pd.DataFrame({"c": ["1", "2", "1.0", "x"] * 30})
    y = [1.0, 2.0, 5.0, 9.0] * 30
    fitted = trained("CatBoostRegressor", X, y, ["c"])
    forest = body(treecompile.from_catboost(fitted, X))
    agree(fitted, forest, pd.DataFrame({"c": ["1", "2"]}), pd.DataFrame({"c": [1, 2]}))
    # If all that are tested are integers, a file cannot tell them from texts.
    X = pd.DataFrame({"c": ["1", "2", "3", "4"] * 30})
    fitted = trained("CatBoostRegressor", X, y, ["c"])
    assert body(treecompile.from_catboost(fitted, X)).features[0].categories == (
        *("1", "2", "3", "4"),
    )
    model = saved(fitted, tmp_path / "model.json", X, ["c"])
    assert set(body(model).features[0].categories) <= {1, 2, 3, 4}
    assert "integers or texts: they are integers here" in model.notes[0]
    agree(fitted, body(model), X.astype(int))


def test_missing_categories() -> None:
    """CatBoost takes none, neither to fit nor to predict. Here, they equal no other."""
    X = pd.DataFrame({"c": ["nan", "b", "None", ""] * 30}, dtype=object)
    fitted = trained("CatBoostRegressor", X, [1.0, 2.0, 5.0, 9.0] * 30, ["c"])
    for value in (None, np.nan, pd.NA):
        with pytest.raises((catboost.CatBoostError, TypeError)):
            fitted.predict(pd.DataFrame({"c": [value]}, dtype=object))
    forest = body(treecompile.from_catboost(fitted, X))
    never = fitted.predict(pd.DataFrame({"c": ["never seen"]}))
    assert margins(forest, pd.DataFrame({"c": [None]})).tolist() == [never.tolist()]
    assert never[0] not in set(fitted.predict(X))


@pytest.mark.parametrize("pair", [SAME_HASH, SAME_HASH_INTEGERS])
def test_categories_with_the_same_hash(pair: tuple[Any, Any]) -> None:
    other = "other" if isinstance(pair[0], str) else 5
    X = pd.DataFrame({"c": [pair[0], other] * 40})
    fitted = trained("CatBoostRegressor", X, [1.0, 2.0] * 40, ["c"])
    rows = pd.DataFrame({"c": [*pair, other]})
    known = fitted.predict(rows)
    assert known[0] == known[1] != known[2]
    agree(fitted, body(treecompile.from_catboost(fitted, rows)), rows)


def test_arrays_without_names() -> None:
    x = np.array([["a", 1.0, 3, "k"], ["b", 2.5, 4, "k"]] * 30, dtype=object)
    x[:, 1] = np.random.default_rng(0).normal(size=len(x))
    y = (x[:, 0] == "a") * 2 + x[:, 1].astype(float)
    fitted = trained("CatBoostRegressor", x, y, [0, 2, 3])
    model = treecompile.from_catboost(fitted, x, y)
    assert [feature.name for feature in body(model).features][:2] == ["x0", "x1"]
    assert "left out" in model.notes[0]
    assert "'x3'" in model.notes[0]
    X = pd.DataFrame(x, columns=["x0", "x1", "x2", "x3"])
    agree(fitted, body(model), X, x)


# ---------------------------------------------------------------- what is refused


def small(**how: Any) -> tuple[Any, pd.DataFrame]:
    dice = np.random.default_rng(0)
    X = pd.DataFrame({"a": dice.normal(size=200), "c": dice.choice(list("uvwx"), 200)})
    y = (X["c"] == "u") * 2 + X["a"]
    return trained("CatBoostRegressor", X, y, ["c"], iterations=5, **how), X


def test_without_the_texts(tmp_path: Path) -> None:
    fitted, X = small()
    with pytest.raises(DataError, match="'c'.* only hashes.*: give the rows .*, as X"):
        treecompile.from_catboost(fitted)
    with pytest.raises(DataError, match="no row of X has"):
        treecompile.from_catboost(fitted, X[X["c"] == "w"])
    with pytest.raises(DataError, match="no column 'c'"):
        treecompile.from_catboost(fitted, X[["a"]])
    with pytest.raises(DataError, match="'c' holds floats"):
        treecompile.from_catboost(fitted, X.assign(c=1.5))
    path = tmp_path / "model.json"
    fitted.save_model(path, format="json")
    with pytest.raises(ModelFileError) as caught:
        treecompile.import_model(path)
    assert SAVE in str(caught.value)
    assert "\n" not in str(caught.value)
    rows = catboost.Pool(X[X["c"] == "w"], cat_features=["c"])
    fitted.save_model(path, format="json", pool=rows)
    with pytest.raises(ModelFileError, match="only hashes"):
        treecompile.import_model(path)


def test_statistics_of_categories(tmp_path: Path) -> None:
    fitted, X = small(one_hot_max_size=2)
    with pytest.raises(ModelFileError, match=r"\(CTR\): train with a one_hot_max_size"):
        treecompile.from_catboost(fitted, X)
    wide = X.assign(d=np.where(X["a"] > 0, "p", "n"))
    y = (X["c"] == "u") * 2 + (wide["d"] == "p")
    how = {"one_hot_max_size": 3, "iterations": 20}
    both = trained("CatBoostRegressor", wide, y, ["c", "d"], **how)
    with pytest.raises(ModelFileError, match=r"ctr_data: .*\(CTR\)"):
        treecompile.from_catboost(both)


def test_unused_categories_need_no_rows() -> None:
    fitted, X = small()
    X["c"] = "same"
    fitted = trained("CatBoostRegressor", X, X["a"], ["c"])
    model = treecompile.from_catboost(fitted)
    assert model.notes == ("no tree tests the categories of 'c': left out",)
    agree(fitted, body(model), X)


def damaged(tmp_path: Path) -> dict[str, Any]:
    fitted, X = small()
    saved(fitted, tmp_path / "model.json", X, ["c"])
    found: dict[str, Any] = json.loads((tmp_path / "model.json").read_bytes())
    return found


@pytest.mark.parametrize(
    ("place", "key", "value", "message"),
    [
        ("hash", "hash", 1 << 40, "expected an integer of 32 bits"),
        ("hash", "hash", "1", "expected an integer of 32 bits"),
        ("hash", "hash", 1, "only hashes"),
        ("hash", "value", 3, "value: expected str"),
        ("hash", "value", "w", "a category is there twice"),
        ("feature", "values", [1, 1], "a hash is there twice"),
        ("feature", "values", [True], "expected an integer of 32 bits"),
        ("feature", "values", 7, "values: expected list"),
        ("feature", "feature_id", "a", "'a' is there twice"),
        ("feature", "flat_feature_index", 0, "flat_feature_index is there twice"),
        ("split", "value", 12345, "no such hash"),
        ("split", "cat_feature_index", 9, "cat_feature_index: no such feature"),
    ],
)
def test_damage(place: str, key: str, value: Any, message: str, tmp_path: Path) -> None:
    model = damaged(tmp_path)
    info = model["features_info"]
    splits = [split for tree in model["oblivious_trees"] for split in tree["splits"]]
    tested = next(s for s in splits if s["split_type"] == "OneHotFeature")
    own = tested["value"] % (1 << 32)
    listed = next(pair for pair in info["cat_features_hash"] if pair["hash"] == own)
    if message.startswith("a category"):
        listed = next(p for p in info["cat_features_hash"] if p["value"] != value)
    part = {"hash": listed, "feature": info["categorical_features"][0], "split": tested}
    part[place][key] = value
    with pytest.raises(ModelFileError, match=message):
        importer.read(json.dumps(model).encode())
