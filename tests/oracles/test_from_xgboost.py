"""Imported models of XGBoost give its sums bit for bit, and its labels."""

from __future__ import annotations

import json
import sys
from functools import cache
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn import datasets

from tests.support import boosted
from treecompile.importers import xgboost as importer
from treecompile.model import batch, forests, ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import dumps, loads_any

SMALL = {"nthread": 1, "max_depth": 4}


@cache
def sample(rows: int = 500, seed: int = 0) -> tuple[Any, Any]:
    """Numbers with holes and zeros, and a number to predict."""
    dice = np.random.default_rng(seed)
    x = dice.normal(size=(rows, 4))
    x[dice.random(x.shape) < 0.2] = 0
    x[:, 3] = np.round(x[:, 3] * 3)
    y = x[:, 0] * 2 + np.sin(x[:, 1]) + (x[:, 3] > 1) + dice.normal(size=rows) / 2
    x[:, :2][dice.random((rows, 2)) < 0.1] = np.nan
    return x, y


def train(parameters: dict[str, Any], data: Any, rounds: int = 30) -> Any:
    return xgboost.train({**SMALL, **parameters}, data, rounds)


def compared(booster: Any, forest: ir.Forest, rows: pd.DataFrame, data: Any) -> None:
    """Compare sums, and what follows from them; `data` is the rows for XGBoost."""
    assert (
        boosted.differing(forest, rows, booster.predict(data, output_margin=True)) == 0
    )
    follows(forest, rows, booster.predict(data))
    assert loads_any(dumps(ir.ForestProgram("y", "x", forest))).body == forest


def follows(forest: ir.Forest, rows: pd.DataFrame, answers: Any) -> None:
    """Compare probabilities, or the numbers of a regression."""
    columns = boosted.columns(forest, rows)
    if not forest.labels:
        found = batch.predictions(forest, columns, len(rows))
    elif forest.link is ir.Link.NONE or answers.ndim < len(forest.start):
        return  # labels, and no probabilities
    else:
        found = batch.shares(forest, columns, len(rows))
    if forest.cut is not None:  # the other probability is 1 less this one
        found, answers = found[:, 1], answers.reshape(len(rows), -1)[:, -1]
    # XGBoost rounds the difference of two margins to 32 bits before it exponentiates
    # it, so that small probabilities of several classes have a few bits less.
    most = 32 if forest.link is ir.Link.SOFTMAX else 2
    assert boosted.ulps(found, answers, np.float32) <= most


# ---------------------------------------------------------------- numbers

KINDS: dict[str, dict[str, Any]] = {
    "hist": {},
    "exact": {"tree_method": "exact", "gamma": 0.5},
    "approx": {"tree_method": "approx"},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
    "dart": {"booster": "dart", "rate_drop": 0.4},
    "dart, one dropped": {"booster": "dart", "one_drop": True, "base_score": 3.3},
    "forest": {"num_parallel_tree": 5, "subsample": 0.5, "eta": 1},
    "few bins": {"max_bin": 3},
    "deep": {"max_depth": 12, "min_child_weight": 0},
    "base score": {"base_score": -123.456},
}


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_the_same_bits(kind: str) -> None:
    x, y = sample()
    booster = train(KINDS[kind], xgboost.DMatrix(x, y))
    forest = importer.from_object(booster).program.body
    base = boosted.frame_of(x, [f.name for f in forest.features])
    rows = boosted.table(forest, base, np.random.default_rng(1))
    compared(booster, forest, rows, xgboost.DMatrix(boosted.numbers(rows)))


OBJECTIVES: dict[str, dict[str, Any]] = {
    "binary:logistic": {},
    "binary:logistic, scaled": {"scale_pos_weight": 3.3, "base_score": 0.123},
    "binary:logitraw": {},
    "binary:hinge": {},
    "multi:softprob": {"num_class": 3},
    "multi:softprob, of two": {"num_class": 2},
    "multi:softprob, forest": {
        "num_class": 3,
        "num_parallel_tree": 3,
        "subsample": 0.5,
    },
    "multi:softprob, dart": {"num_class": 3, "booster": "dart", "rate_drop": 0.3},
    "multi:softmax": {"num_class": 3, "base_score": 0.3},
    "reg:squarederror": {},
    "reg:squaredlogerror": {},
    "reg:absoluteerror": {},
    "reg:pseudohubererror": {},
    "reg:quantileerror": {"quantile_alpha": 0.7},
    "reg:logistic": {},
    "reg:gamma": {},
    "reg:tweedie": {},
    "count:poisson": {},
    "count:poisson, base": {"base_score": 7.7},
    "survival:cox": {},
    "survival:aft": {},
    "rank:pairwise": {},
    "rank:ndcg": {},
    "rank:map": {},
}


def target_of(objective: str, y: Any, classes: int) -> Any:
    if objective.startswith("multi"):
        return np.clip(y, 0, classes - 1).astype(int)
    if objective.startswith(("binary", "rank")):
        return (y > 0.5) * 1
    if objective == "reg:logistic":
        return np.clip(np.abs(y) / 5, 0, 1)
    return np.abs(y) + 0.1


@pytest.mark.parametrize("name", OBJECTIVES)
def test_all_objectives(name: str) -> None:
    x, y = sample()
    objective = name.partition(",")[0]
    parameters = {"objective": objective, **OBJECTIVES[name]}
    y = target_of(objective, y, parameters.get("num_class", 0))
    data = xgboost.DMatrix(x, y)
    if objective == "survival:aft":
        data = xgboost.DMatrix(x, label_lower_bound=y, label_upper_bound=y)
    elif objective.startswith("rank"):
        data.set_group([25] * 20)
    booster = train(parameters, data)
    program = importer.from_object(booster).program
    forest = program.body
    assert program.algorithm == f"XGBoost {objective}"
    base = boosted.frame_of(x, [f.name for f in forest.features])
    rows = boosted.table(forest, base, np.random.default_rng(2), most=100)
    given = xgboost.DMatrix(boosted.numbers(rows))
    compared(booster, forest, rows, given)
    if forest.labels:
        found = batch.predictions(forest, boosted.columns(forest, rows), len(rows))
        answers = booster.predict(given)
        if answers.ndim == 2:
            answers = answers.argmax(axis=1)
        assert found.tolist() == (answers > 0.5 if forest.cut else answers).tolist()


def with_leaves(text: str, value: float, base: str = "[5E-1]") -> Any:
    """A model whose leaves all have one value."""
    record = json.loads(text)
    for tree in record["learner"]["gradient_booster"]["model"]["trees"]:
        for place, child in enumerate(tree["left_children"]):
            if child == -1:
                tree["split_conditions"][place] = value
    record["learner"]["learner_model_param"]["base_score"] = base
    booster = xgboost.Booster({"nthread": 1})
    booster.load_model(bytearray(json.dumps(record).encode()))
    return booster


def test_the_cut_of_two_labels_is_that_of_the_probabilities() -> None:
    x, y = sample()
    data = xgboost.DMatrix(x, y > 0)
    text = train({"objective": "binary:logistic"}, data, 1).save_raw("json").decode()
    cut = importer.read(text.encode()).program.body.cut
    assert cut is not None
    assert cut == float(np.float32(cut))
    one = xgboost.DMatrix(x[:1])
    near = np.float32(cut).view(np.int32) + np.arange(-20, 20, dtype=np.int32)
    for margin in [*near.view(np.float32), np.float32(0), np.float32(-1e-7)]:
        booster = with_leaves(text, float(margin))
        assert booster.predict(one, output_margin=True)[0] == margin
        assert (booster.predict(one)[0] > 0.5) == (float(margin) > cut)


@pytest.mark.parametrize("objective", ["binary:logistic", "count:poisson"])
def test_the_start_of_the_sums_is_the_logarithm_of_xgboost(objective: str) -> None:
    x, y = sample()
    data = xgboost.DMatrix(x, (y > 0) * 1)
    text = train({"objective": objective}, data, 1).save_raw("json").decode()
    one = xgboost.DMatrix(x[:1])
    dice = np.random.default_rng(7)
    for score in dice.random(100).astype(np.float32):
        booster = with_leaves(text, 0.0, f"[{score:.9g}]")
        forest = importer.from_object(booster).program.body
        assert forest.start[0] == booster.predict(one, output_margin=True)[0]


def test_1500_trees_are_added_in_their_order() -> None:
    x, y = sample()
    booster = train({"max_depth": 2}, xgboost.DMatrix(x, y), 1_500)
    forest = importer.from_object(booster).program.body
    assert len(forest.members) == 1_500
    base = boosted.frame_of(x, [f.name for f in forest.features])
    rows = boosted.table(forest, base, np.random.default_rng(3), random=300, most=50)
    compared(booster, forest, rows, xgboost.DMatrix(boosted.numbers(rows)))


def test_a_model_of_one_leaf() -> None:
    x, _ = sample()
    booster = train({}, xgboost.DMatrix(x, np.full(len(x), 0.3)), 1)
    forest = importer.from_object(booster).program.body
    rows = boosted.frame_of(x, [f.name for f in forest.features])
    compared(booster, forest, rows, xgboost.DMatrix(x))


# ---------------------------------------------------------------- estimators


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_classifiers_of_real_tables(name: str, booster: str) -> None:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    more = {"rate_drop": 0.3} if booster == "dart" else {}
    model = xgboost.XGBClassifier(
        n_estimators=12, max_depth=3, n_jobs=1, booster=booster, **more
    ).fit(x, y, sample_weight=1 + np.arange(len(y)) % 3)
    forest = importer.from_object(model).program.body
    base = boosted.frame_of(x, [f.name for f in forest.features])
    rows = boosted.table(forest, base, np.random.default_rng(6), most=10)
    given = boosted.numbers(rows)
    sums = model.predict(given, output_margin=True)
    assert boosted.differing(forest, rows, sums) == 0
    follows(forest, rows, model.predict_proba(given))
    found = batch.predictions(forest, boosted.columns(forest, rows), len(rows))
    assert found.tolist() == model.predict(given).tolist()


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_early_stopping_keeps_the_trees_that_predict_uses(booster: str) -> None:
    x, y = sample()
    model = xgboost.XGBRegressor(
        n_estimators=40, max_depth=3, n_jobs=1, early_stopping_rounds=4, booster=booster
    ).fit(x, y, eval_set=[(x[:100], -y[:100])], verbose=False)
    assert model.best_iteration < model.get_booster().num_boosted_rounds() - 1
    program, notes = importer.from_object(model)
    assert len(program.body.members) == model.best_iteration + 1
    assert "those up to the best iteration" in notes[0]
    rows = boosted.frame_of(x, [f.name for f in program.body.features])
    sums = model.predict(x, output_margin=True)
    assert boosted.differing(program.body, rows, sums) == 0
    whole = importer.from_object(model.get_booster()).program.body
    sums = model.get_booster().predict(xgboost.DMatrix(x), output_margin=True)
    assert boosted.differing(whole, rows, sums) == 0


def test_a_file_of_an_estimator_is_read_up_to_its_best_iteration(
    tmp_path: Path,
) -> None:
    x, y = sample()
    model = xgboost.XGBRegressor(
        n_estimators=40, max_depth=3, n_jobs=1, early_stopping_rounds=4
    ).fit(x, y, eval_set=[(x[:100], -y[:100])], verbose=False)
    path = tmp_path / "model.json"
    model.save_model(path)
    data = path.read_bytes()
    assert importer.is_model(data[:100])
    assert importer.read(data) == importer.from_object(model)
    whole = importer.read(data, iterations=model.best_iteration + 3).program.body
    assert len(whole.members) == model.best_iteration + 3


# ---------------------------------------------------------------- categories


@pytest.mark.parametrize("many", [1, 100])
def test_codes_are_integers_of_which_others_go_left(many: int) -> None:
    x, y = sample()
    dice = np.random.default_rng(4)
    x = x.copy()
    x[:, 2] = dice.integers(0, 70, len(x))
    x[:, 3] = dice.choice([3, 5, 900, nan], len(x))
    y = y + np.isin(x[:, 2] % 7, [1, 4]) * 3 + (x[:, 3] == 5)
    types = ["q", "q", "c", "c"]

    def matrix(rows: Any, target: Any = None) -> Any:
        return xgboost.DMatrix(
            rows, target, feature_types=types, enable_categorical=True
        )

    booster = train({"max_cat_to_onehot": many}, matrix(x, y))
    forest = importer.from_object(booster).program.body
    assert forest.features[3].type is ir.ValueType.INT
    base = boosted.frame_of(x, [f.name for f in forest.features])
    rows = boosted.table(forest, base, dice)
    rows.loc[::11, "f2"] = -1.0
    compared(booster, forest, rows, matrix(boosted.numbers(rows)))


def test_categories_of_pandas_have_their_names() -> None:
    dice = np.random.default_rng(5)
    count = 600
    frame = pd.DataFrame(
        {
            "number": dice.normal(size=count),
            "text": pd.Categorical(dice.choice(['it"s', "a,b", "A", "z"], count)),
            "integer": pd.Categorical(dice.choice([-3, 5, 900], count)),
        }
    )
    y = frame.number + (frame.text == "A") + (frame.integer == 5) * 2
    frame.loc[::9, "text"] = None
    model = xgboost.XGBRegressor(
        n_estimators=20, max_depth=4, n_jobs=1, enable_categorical=True
    ).fit(frame, y)
    forest = importer.from_object(model).program.body
    found = {f.name: f.categories for f in forest.features}
    assert found["text"] == ("A", "a,b", 'it"s', "z")
    assert found["integer"] == (-3, 5, 900)
    rows = boosted.table(forest, frame, dice, unseen=False)
    given = boosted.as_categories(forest, rows)
    sums = model.predict(given, output_margin=True)
    assert boosted.differing(forest, rows, sums) == 0


@pytest.mark.parametrize("name", boosted.REAL)
def test_tables_with_text(name: str) -> None:
    frame, target = boosted.real(name)
    is_regression = pd.api.types.is_numeric_dtype(target) and target.nunique() > 9
    kind = xgboost.XGBRegressor if is_regression else xgboost.XGBClassifier
    y = target if is_regression else target.astype("category").cat.codes
    model = kind(n_estimators=15, max_depth=4, n_jobs=1, enable_categorical=True)
    model.fit(frame, y)
    if any(not text.isascii() for column in frame for text in map(str, frame[column])):
        with pytest.raises(DataError, match="XGBoost garbles categories"):
            importer.from_object(model)
        return
    forest = importer.from_object(model).program.body
    rows = boosted.table(forest, frame, np.random.default_rng(8), most=20, unseen=False)
    given = boosted.as_categories(forest, rows)
    sums = model.predict(given, output_margin=True)
    assert boosted.differing(forest, rows, sums) == 0
    if forest.labels:
        found = batch.predictions(forest, boosted.columns(forest, rows), len(rows))
        assert found.tolist() == model.predict(given).tolist()


def test_categories_that_xgboost_garbles_are_refused() -> None:
    frame = pd.DataFrame({"c": pd.Categorical(["Ü", "y", "z"] * 30)})
    model = xgboost.XGBRegressor(n_estimators=2, n_jobs=1, enable_categorical=True)
    model.fit(frame, np.arange(90) % 3)
    with pytest.raises(DataError, match="'c': XGBoost garbles categories"):
        importer.from_object(model)


# ---------------------------------------------------------------- refusals


def small(**more: Any) -> bytes:
    """A small model with numbers and codes."""
    x, y = sample()
    x = x.copy()
    x[:, 3] = np.abs(x[:, 3])
    y = (y > 0) * 1 + np.isin(x[:, 3], [1, 4]) > 1
    data = xgboost.DMatrix(
        x, y, feature_types=["q", "q", "q", "c"], enable_categorical=True
    )
    parameters = {"objective": "binary:logistic", "max_depth": 2, **more}
    return bytes(train(parameters, data, 3).save_raw("json"))


@pytest.mark.parametrize("booster", ["gbtree", "dart"])
def test_damaged_files_end_in_one_line(booster: str) -> None:
    data = small(booster=booster)
    survivors = [
        boosted.survives(importer.read, each) for each in boosted.damaged(data, 300)
    ]
    assert not any(survivors[:50])
    assert any(survivors)


def changed(path: str, value: Any) -> bytes:
    """The small model with another value at a place like "tree_info.0"."""
    record = json.loads(small())
    item = record["learner"]
    *folders, last = path.split("/")
    for folder in folders:
        item = item[int(folder) if folder.isdigit() else folder]
    item[int(last) if last.isdigit() else last] = value
    return json.dumps(record).encode()


MODEL = "gradient_booster/model"
TREE = f"{MODEL}/trees/0"
PARAMETERS = "learner_model_param"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("objective/name", "reg:magic", "objective 'reg:magic': cannot import it"),
        ("gradient_booster/name", "gblinear", "'gblinear' has no trees"),
        (f"{PARAMETERS}/num_target", "2", "2 targets at once"),
        (f"{PARAMETERS}/num_class", "3", "with num_class 3"),
        (f"{PARAMETERS}/num_class", "x", "'x' is no integer"),
        (f"{PARAMETERS}/num_feature", "999999999", "expected at most 1,000,000"),
        (f"{PARAMETERS}/base_score", "[1E0]", "1.0 is no probability"),
        (f"{PARAMETERS}/base_score", "[0]", "0.0 is no probability"),
        (f"{PARAMETERS}/base_score", "nan", "'nan' is no finite number"),
        (f"{PARAMETERS}/base_score", "[5E-1,5E-1]", "2 numbers for 1 outputs"),
        (f"{MODEL}/tree_info/0", 1, "a tree for an unknown class"),
        (f"{MODEL}/tree_info", [0], "1 values, and 3 are needed"),
        (f"{TREE}/left_children", [], "it has no nodes"),
        (f"{TREE}/left_children/0", 0, "node 0 is the child of two others"),
        (f"{TREE}/left_children/0", 99, "there is no node 99"),
        (f"{TREE}/split_indices/0", 77, "there is no feature 77"),
        (f"{TREE}/split_conditions/1", float("nan"), "no finite threshold"),
        (f"{TREE}/split_conditions/4", float("inf"), "no finite value"),
        (f"{TREE}/split_conditions/4", "1", "expected a list of numbers"),
        (f"{TREE}/split_conditions/4", 10**400, "expected a list of numbers"),
        (f"{TREE}/categories/0", -1, "expected codes from 0"),
        (f"{TREE}/categories_sizes/0", 99, "categories_sizes: the file is damaged"),
        (f"{TREE}/categories_nodes/0", 3, "categories_nodes: the file is damaged"),
        (f"{TREE}/tree_param/size_leaf_vector", "3", "one_output_per_tree"),
        ("feature_types", ["q"], "feature_types: expected one for each"),
        ("feature_names", ["a", "b"], "2 names for 4 features"),
        ("feature_names", ["a", "b", "a", "c"], "'a' is there twice"),
        ("feature_names", ["a", "b", "d", 4], "expected texts"),
    ],
)
def test_a_damaged_file_is_refused_by_name(path: str, value: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        importer.read(changed(path, value))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"learner":[]}',
        b"[" * 100_000,
        b"{L" + b"\x00" * 7 + b"\x07learner" + b"[" * 1_000,
        b"{L" + b"\x00" * 7 + b"\x07learner[#L\x7f" + b"\xff" * 7,
        b"{L" + b"\x00" * 7 + b"\x07learner[$d#L\x7f" + b"\xff" * 7,
        b"{L" + b"\x00" * 7 + b"\x07learner[$Z#L\x00\x00\x7f" + b"\xff" * 5,
        b"{L" + b"\x00" * 7 + b"\x07learnerSL\xff" + b"\xff" * 7,
        b"binf\x00\x00",
        b"\x80\x04\x95",
    ],
)
def test_other_files_are_no_models(data: bytes) -> None:
    with pytest.raises(ModelFileError):
        importer.read(data)


def test_labels_are_given_or_numbers() -> None:
    data = small()
    assert importer.read(data).program.body.labels == (0, 1)
    program = importer.read(data, "paid", labels=["no", "yes"]).program
    assert (program.target, program.body.labels) == ("paid", ("no", "yes"))
    with pytest.raises(ModelFileError, match="labels: 3 for 2 classes"):
        importer.read(data, labels=["a", "b", "c"])


def test_only_nan_is_missing() -> None:
    x, y = sample()
    model = xgboost.XGBRegressor(n_estimators=2, n_jobs=1, missing=0.0).fit(x, y)
    with pytest.raises(DataError, match="missing=0: only NaN can mean missing"):
        importer.from_object(model)
    importer.from_object(model, missing=nan)
    with pytest.raises(ModelFileError, match="missing=-999: .* replace -999 by NULL"):
        importer.read(small(), missing=-999.0)


@pytest.mark.parametrize("kind", ["XGBRanker", "XGBRFRegressor"])
def test_other_estimators(kind: str) -> None:
    x, y = sample()
    model = getattr(xgboost, kind)(n_estimators=9, max_depth=4, n_jobs=1)
    more = {"qid": np.arange(len(y)) // 25} if kind == "XGBRanker" else {}
    model.fit(x, np.clip(y, 0, 4).astype(int), **more)
    forest = importer.from_object(model).program.body
    rows = boosted.frame_of(x, [feature.name for feature in forest.features])
    assert boosted.differing(forest, rows, model.predict(x, output_margin=True)) == 0


def test_other_objects_are_refused() -> None:
    with pytest.raises(DataError, match="cannot import a Booster: expected"):
        importer.from_object(type("Booster", (), {})())
    with pytest.raises(DataError, match="cannot import a list: expected XGBClassifier"):
        importer.from_object([])
    with pytest.raises(DataError, match="XGBRegressor is not fitted: call fit first"):
        importer.from_object(xgboost.XGBRegressor())
    x, y = sample()
    linear = xgboost.train(
        {"booster": "gblinear", "nthread": 1}, xgboost.DMatrix(np.nan_to_num(x), y), 1
    )
    with pytest.raises(DataError, match="the Booster: booster 'gblinear' has no trees"):
        importer.from_object(linear)
    both = np.column_stack([y, -y])
    with pytest.raises(DataError, match="2 targets at once"):
        importer.from_object(train({}, xgboost.DMatrix(x, both)))
    several = {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}
    with pytest.raises(DataError, match="2 targets at once"):
        importer.from_object(train(several, xgboost.DMatrix(x, y)))
    raw = xgboost.XGBClassifier(objective="binary:logitraw", n_estimators=2, n_jobs=1)
    with pytest.raises(DataError, match="predicts numbers, so it has none"):
        importer.from_object(raw.fit(x, y > 0))


# ---------------------------------------------------------------- stored files

FOLDER = Path(__file__).parent / "data"


def test_a_stored_file_is_read_without_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    record = json.loads((FOLDER / "xgboost.json").read_text("utf-8"))
    forest = importer.read((FOLDER / "xgboost-model.json").read_bytes()).program.body
    for row, expected in zip(record["rows"], record["margins"], strict=True):
        assert list(forests.margins(forest, tuple(row))) == expected


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(40))
def test_ten_million_sums(seed: int) -> None:
    x, y = sample(2_000, seed)
    kind = list(KINDS)[seed % len(KINDS)]
    booster = train({**KINDS[kind], "seed": seed}, xgboost.DMatrix(x, y), 40)
    forest = importer.from_object(booster).program.body
    base = boosted.frame_of(x, [f.name for f in forest.features])
    dice = np.random.default_rng(seed)
    rows = boosted.table(forest, base, dice, random=250_000, most=2_000)
    data = xgboost.DMatrix(boosted.numbers(rows))
    sums = booster.predict(data, output_margin=True)
    assert boosted.differing(forest, rows, sums) == 0
