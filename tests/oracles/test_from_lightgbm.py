"""Imported models of LightGBM give its sums bit for bit, and its labels."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import treecompile
from tests.support import boosted
from treecompile.importers import lightgbm as importer
from treecompile.model import batch, forests, ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import dumps, loads_any

QUIET = {"verbose": -1, "num_threads": 1, "min_data_in_leaf": 3, "num_leaves": 12}


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


def train(
    parameters: dict[str, Any], x: Any, y: Any, rounds: int = 30, **more: Any
) -> Any:
    data = lightgbm.Dataset(x, y, free_raw_data=False, **more)
    return lightgbm.train({**QUIET, **parameters}, data, rounds)


def compared(booster: Any, forest: ir.Forest, rows: pd.DataFrame, given: Any) -> None:
    """Compare sums, and what follows from them; `given` is the rows for LightGBM."""
    sums = booster.predict(given, raw_score=True)
    if forest.divisor != 1:
        sums = sums / forest.divisor
    assert boosted.differing(forest, rows, sums) == 0
    columns = boosted.columns(forest, rows)
    answers = booster.predict(given)
    if forest.labels:
        found = batch.shares(forest, columns, len(rows))
        if answers.ndim == 1:
            found = found[:, 1]
    else:
        found = batch.predictions(forest, columns, len(rows))
    # numpy computes exp in another way than LightGBM: 3 is the most that was seen.
    assert boosted.ulps(found, answers, np.float64) <= 4
    some = slice(0, None, max(1, len(rows) // 200))
    margins = batch.margins(forest, columns, len(rows))[some]
    exact = [forests.linked(forest, each) for each in margins.tolist()]
    assert boosted.ulps(np.squeeze(exact), np.squeeze(answers[some]), np.float64) <= 1
    assert loads_any(dumps(ir.ForestProgram("y", "x", forest))).body == forest


def labels_of(answers: Any) -> Any:
    """The labels of LGBMClassifier: the first of the greatest probabilities."""
    if answers.ndim == 1:
        answers = np.vstack([1 - answers, answers]).T
    return answers.argmax(axis=1)


# ---------------------------------------------------------------- numbers

KINDS: dict[str, dict[str, Any]] = {
    "gbdt": {},
    "dart": {"boosting": "dart", "drop_rate": 0.5},
    "rf": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
    "goss": {"data_sample_strategy": "goss"},
    "zero as missing": {"zero_as_missing": True},
    "nothing missing": {"use_missing": False},
    "extra trees": {"extra_trees": True, "max_bin": 15},
    "monotone": {"monotone_constraints": [1, 0, 0, -1]},
    "deep": {"num_leaves": 200, "min_data_in_leaf": 1},
}


@pytest.mark.parametrize("kind", KINDS)
def test_sums_are_the_same_bits(kind: str) -> None:
    x, y = sample()
    booster = train(KINDS[kind], x, y)
    forest = importer.from_object(booster).program.body
    assert bool(forest.zero_is_missing) == (kind == "zero as missing")
    base = boosted.frame_of(x, booster.feature_name())
    rows = boosted.table(forest, base, np.random.default_rng(1), infinite=True)
    compared(booster, forest, rows, boosted.numbers(rows))


OBJECTIVES: dict[str, dict[str, Any]] = {
    "regression": {},
    "regression sqrt": {"objective": "regression", "reg_sqrt": True},
    "regression_l1": {},
    "regression_l1 sqrt": {"objective": "regression_l1", "reg_sqrt": True},
    "huber": {},
    "fair": {},
    "poisson": {},
    "quantile": {"alpha": 0.7},
    "mape": {},
    "gamma": {},
    "tweedie": {},
    "cross_entropy": {},
    "cross_entropy_lambda": {},
    "binary": {},
    "binary sigmoid": {"objective": "binary", "sigmoid": 0.765432198765},
    "unbalanced": {"objective": "binary", "is_unbalance": True},
    "binary rf": {"objective": "binary", **KINDS["rf"]},
    "multiclass": {"num_class": 3},
    "multiclass rf": {"objective": "multiclass", "num_class": 3, **KINDS["rf"]},
    "multiclass of two": {"objective": "multiclass", "num_class": 2},
    "multiclassova": {"num_class": 3, "sigmoid": 1.7},
    "lambdarank": {},
    "rank_xendcg": {},
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_all_objectives(name: str) -> None:
    x, y = sample()
    parameters = {"objective": name, **OBJECTIVES[name]}
    objective = parameters["objective"]
    more: dict[str, Any] = {}
    if objective in ("poisson", "gamma", "tweedie"):
        y = np.abs(y) + 0.1
    elif objective.startswith("cross"):
        y = np.clip(np.abs(y) / 5, 0, 1)
    elif objective == "binary":
        y = (y > 0.5) * 1
    elif objective.startswith("multi"):
        y = np.clip(y, 0, parameters["num_class"] - 1).astype(int)
    elif "rank" in objective:
        y, more = np.clip(y, 0, 4).astype(int), {"group": [25] * 20}
    booster = train(parameters, x, y, **more)
    program = importer.from_object(booster).program
    forest = program.body
    assert program.algorithm == f"LightGBM {objective}"
    assert dict(program.options) == {
        "objective": objective,
        "trees": booster.num_trees(),
    }
    base = boosted.frame_of(x, booster.feature_name())
    rows = boosted.table(forest, base, np.random.default_rng(2), most=100)
    given = boosted.numbers(rows)
    compared(booster, forest, rows, given)
    if forest.labels:
        found = batch.predictions(forest, boosted.columns(forest, rows), len(rows))
        assert found.tolist() == labels_of(booster.predict(given)).tolist()


@pytest.mark.parametrize("slope", [1.0, 0.3, 0.765432198765, 2.0, 17.5])
def test_the_cut_of_two_labels_is_that_of_the_probabilities(slope: float) -> None:
    x = np.linspace(-2, 2, 200)[:, None]
    booster = train({"objective": "binary", "sigmoid": slope}, x, x[:, 0] > 0, 1)
    text = booster.model_to_string()
    start = text.index("leaf_value=")
    old = text[start : text.index("\n", start)]
    cut = importer.from_object(booster).program.body.cut
    assert cut is not None
    assert 0 < cut < 1e-14
    margins = sorted({s * n for n in boosted.near(cut) for s in (1, -1)} | {0.0, 1e-9})
    for margin in margins:
        values = " ".join([repr(margin)] * old.count(" ") + [repr(margin)])
        changed = lightgbm.Booster(model_str=text.replace(old, f"leaf_value={values}"))
        assert changed.predict(x[:1], raw_score=True)[0] == margin
        forest = importer.from_object(changed).program.body
        assert forest.cut is not None
        label = labels_of(changed.predict(x[:1]))[0]
        assert (margin > forest.cut) == label


def test_1500_trees_are_added_in_their_order() -> None:
    x, y = sample()
    booster = train({"num_leaves": 4, "learning_rate": 0.3}, x, y, 1_500)
    forest = importer.from_object(booster).program.body
    assert len(forest.members) == 1_500
    base = boosted.frame_of(x, booster.feature_name())
    rows = boosted.table(forest, base, np.random.default_rng(3), random=300, most=50)
    compared(booster, forest, rows, boosted.numbers(rows))


def test_a_model_that_learned_nothing() -> None:
    x = np.zeros((50, 2))
    booster = train({}, x, np.full(50, 0.3), 3)
    forest = importer.from_object(booster).program.body
    rows = boosted.frame_of(x, booster.feature_name())
    compared(booster, forest, rows, x)


# ---------------------------------------------------------------- categories


def test_codes_are_integers_of_which_unseen_ones_go_right() -> None:
    x, y = sample()
    dice = np.random.default_rng(4)
    x = x.copy()
    x[:, 2] = dice.integers(0, 70, len(x))
    x[:, 3] = dice.choice([3, 5, 900, np.nan], len(x))
    y = y + np.isin(x[:, 2] % 7, [1, 4]) * 3 + (x[:, 3] == 5)
    for many in (1, 100):
        parameters = {"max_cat_to_onehot": many, "cat_smooth": 1, "cat_l2": 1}
        booster = train(parameters, x, y, categorical_feature=[2, 3])
        forest = importer.from_object(booster).program.body
        assert forest.features[3].categories == (3, 5, 900)
        base = boosted.frame_of(x, booster.feature_name())
        rows = boosted.table(forest, base, dice)
        name = booster.feature_name()[2]
        rows.loc[::11, name] = -1.0
        compared(booster, forest, rows, boosted.numbers(rows))


def test_categories_of_pandas_have_their_names() -> None:
    dice = np.random.default_rng(5)
    count = 600
    frame = pd.DataFrame(
        {
            "number": dice.normal(size=count),
            "text": pd.Categorical(dice.choice(['it"s', "a,b", "Ü 1", "", "z"], count)),
            "integer": pd.Categorical(dice.choice([-3, 5, 900], count)),
            "flag": pd.Categorical(dice.choice([True, False], count)),
            "constant": pd.Categorical(["only"] * count),
        }
    )
    y = frame.number + (frame.text == "Ü 1") + (frame.integer == 5) * 2
    y += frame.flag.astype(int) + dice.normal(size=count) / 9
    frame.loc[::9, "text"] = None
    model = lightgbm.LGBMClassifier(
        n_estimators=20,
        num_leaves=12,
        min_child_samples=2,
        min_data_per_group=2,
        cat_smooth=1,
        verbose=-1,
        n_jobs=1,
    ).fit(frame, np.where(y > y.median(), "high", "low"))
    forest = importer.from_object(model).program.body
    assert forest.labels == ("high", "low")
    found = {f.name: f.categories for f in forest.features}
    assert found["text"] == ("", "a,b", 'it"s', "z", "Ü 1")
    assert found["integer"] == (-3, 5, 900)
    assert found["flag"] == (False, True)
    assert found["constant"] == ("only",)
    rows = boosted.table(forest, frame.astype({"number": float}), dice)
    given = boosted.as_categories(forest, rows)
    compared(model.booster_, forest, rows, given)
    labels = batch.predictions(forest, boosted.columns(forest, rows), len(rows))
    assert labels.tolist() == np.asarray(model.predict(given)).tolist()


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pd.Categorical([1.5, 2.5] * 50), "'c': categories of type float: expected"),
        (pd.Categorical([1, 2] * 50, ordered=True), "does not say which is which"),
    ],
)
def test_categories_that_cannot_be_imported(column: Any, message: str) -> None:
    frame = pd.DataFrame({"x": np.arange(100.0), "c": column})
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1)
    model.fit(frame, np.arange(100.0) % 2)
    with pytest.raises(DataError, match=message):
        importer.from_object(model)


# ---------------------------------------------------------------- real tables


@pytest.mark.parametrize("name", ["iris", "wine", "breast_cancer", "digits"])
def test_classifiers_of_real_tables(name: str) -> None:
    x, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    names = np.array([f"class {i}" for i in range(y.max() + 1)])
    model = lightgbm.LGBMClassifier(
        n_estimators=15, num_leaves=7, verbose=-1, n_jobs=1
    ).fit(x, names[y], sample_weight=1 + np.arange(len(y)) % 3)
    forest = importer.from_object(model).program.body
    base = boosted.frame_of(x, model.booster_.feature_name())
    rows = boosted.table(forest, base, np.random.default_rng(6), most=10)
    given = boosted.numbers(rows)
    compared(model.booster_, forest, rows, given)
    found = batch.predictions(forest, boosted.columns(forest, rows), len(rows))
    assert found.tolist() == np.asarray(model.predict(given)).tolist()


@pytest.mark.parametrize("name", boosted.REAL)
def test_tables_with_text(name: str) -> None:
    frame, target = boosted.real(name)
    is_regression = pd.api.types.is_numeric_dtype(target) and target.nunique() > 9
    kind = lightgbm.LGBMRegressor if is_regression else lightgbm.LGBMClassifier
    model = kind(n_estimators=20, num_leaves=9, verbose=-1, n_jobs=1, cat_smooth=1)
    model.fit(frame, target)
    forest = importer.from_object(model).program.body
    rows = boosted.table(forest, frame, np.random.default_rng(8), most=20)
    given = boosted.as_categories(forest, rows)
    compared(model.booster_, forest, rows, given)
    found = batch.predictions(forest, boosted.columns(forest, rows), len(rows))
    answers = np.asarray(model.predict(given))
    if forest.labels:
        assert found.tolist() == answers.tolist()
    assert set(forest.labels) == (set() if is_regression else set(target))


def test_early_stopping_keeps_the_trees_that_predict_uses() -> None:
    x, y = sample()
    more: dict[str, Any] = {"valid_sets": [lightgbm.Dataset(x[:100], -y[:100])]}
    booster = lightgbm.train(
        QUIET,
        lightgbm.Dataset(x, y),
        50,
        callbacks=[lightgbm.early_stopping(5, verbose=False)],
        **more,
    )
    assert 0 < booster.best_iteration < 6
    forest = importer.from_object(booster).program.body
    assert len(forest.members) == booster.best_iteration
    rows = boosted.frame_of(x, booster.feature_name())
    compared(booster, forest, rows, x)


# ---------------------------------------------------------------- refusals


def small(objective: str = "binary", **more: Any) -> str:
    """The text of a small model with numbers and codes."""
    x, y = sample()
    x = x.copy()
    x[:, 3] = np.abs(x[:, 3])
    y = np.clip(y, 0, 2).astype(int) if objective.startswith("multi") else (y > 0) * 1
    parameters = {"objective": objective, "num_leaves": 5, **more}
    parameters |= {"max_cat_to_onehot": 1, "min_data_per_group": 2, "cat_smooth": 1}
    y = np.where(np.isin(x[:, 3], [1, 4]), y, 0)
    text: str = train(parameters, x, y, 3, categorical_feature=[3]).model_to_string()
    return text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version=v4", "version=v2", "version=v2: expected v3 or v4: load the model"),
        ("end of trees", "end", '"end of trees" is missing'),
        ("end of parameters", "end", 'does not end after "end of parameters"'),
        ("Tree=1", "Tree=2", "Tree=2: expected Tree=1"),
        ("num_cat=", "num_kat=", "tree 0: the line num_cat= is missing"),
        ("num_leaves=5", "num_leaves=4", "leaf_value: 5 values, and 4 are needed"),
        ("num_leaves=5", "num_leaves=5000", "num_leaves=5000: the file is damaged"),
        ("is_linear=0", "is_linear=1", "linear models in its leaves"),
        ("objective=binary", "objective=magic", "objective=magic: cannot import it"),
        ("sigmoid:1", "sigmoid:0", "expected sigmoid: and a number above 0"),
        ("feature_names=", "feature_names=a ", "5 names and 4 infos for 4 features"),
        ("Column_1", "Column_0", "'Column_0' is there twice"),
        ("left_child=", "left_child=7", "there is no node -1"),
        ("left_child=", "left_child=1", "the child of two others|there is no node"),
        ("split_feature=", "split_feature=9", "there is no feature 9"),
        ("leaf_value=", "leaf_value=1e999", "is no finite number"),
        ("leaf_value=", "leaf_value=1e100 ", "6 values, and 5 are needed"),
        ("threshold=", "threshold=nan", "is no finite number"),
        ("decision_type=", "decision_type=9", "decision_type"),
        ("max_feature_idx=3", "max_feature_idx=x", "expected an integer"),
        ("pandas_categorical:null", "pandas_categorical:[1", "the file is damaged"),
        ("pandas_categorical:null", "pandas_categorical:[1]", "expected a list of"),
        ("num_tree_per_iteration=1", "num_tree_per_iteration=3", "3 trees in each"),
        ("tree_sizes=", "tree_sizes=1 ", "4 trees are announced, and 3 are there"),
    ],
)
def test_a_damaged_file_is_refused_by_name(old: str, new: str, message: str) -> None:
    text = small()
    assert old in text
    with pytest.raises(ModelFileError, match=message):
        importer.read(text.replace(old, new, 1).encode())


def test_a_cycle_is_refused() -> None:
    lines = small().split("\n")
    place = next(i for i, line in enumerate(lines) if line.startswith("left_child="))
    lines[place] = "left_child=0 -1 -2 -3"
    with pytest.raises(ModelFileError, match="node 0 is the child of two others"):
        importer.read("\n".join(lines).encode())


def test_other_files_are_no_models() -> None:
    for data in (b"", b"tree", b"tree\nversion=x", b"{}", b"\x80\x04\x95", b"x,y\n1,2"):
        assert not importer.is_model(data)
        with pytest.raises(ModelFileError, match="not a LightGBM model"):
            importer.read(data)
    assert importer.is_model(small().encode()[:30])
    assert importer.is_model(small().replace("\n", "\r\n").encode()[:30])


def test_line_ends_of_windows_are_read() -> None:
    text = small()
    assert importer.read(text.replace("\n", "\r\n").encode()) == importer.read(
        text.encode()
    )


@pytest.mark.parametrize("objective", ["binary", "multiclass"])
def test_damaged_files_end_in_one_line(objective: str) -> None:
    more = {"num_class": 3} if objective == "multiclass" else {}
    data = small(objective, **more).encode()
    survivors = [
        boosted.survives(importer.read, each) for each in boosted.damaged(data, 300)
    ]
    assert not any(survivors[:49])
    assert any(survivors)


def test_too_many_categories_are_refused_before_they_take_memory() -> None:
    for words, tests in ((200_000, 1), (1_000, 200)):
        lines = {
            "num_leaves": tests + 1,
            "num_cat": 1,
            "cat_boundaries": f"0 {words}",
            "cat_threshold": " ".join(["4294967295"] * words),
            "split_feature": " ".join(["0"] * tests),
            "threshold": " ".join(["0"] * tests),
            "decision_type": " ".join(["1"] * tests),
            "left_child": " ".join(str(-i - 1) for i in range(tests)),
            "right_child": " ".join([*map(str, range(1, tests)), str(-tests - 1)]),
            "leaf_value": " ".join(["1"] * (tests + 1)),
        }
        text = (
            "tree\nversion=v4\nnum_tree_per_iteration=1\nmax_feature_idx=0\n"
            "objective=regression\nfeature_names=a\nfeature_infos=none\n\nTree=0\n"
            + "".join(f"{key}={value}\n" for key, value in lines.items())
            + "\nend of trees\n\nparameters:\nend of parameters\n"
        )
        with pytest.raises(ModelFileError, match="more than 5,000,000 categories"):
            importer.read(text.encode())


def test_labels_are_given_or_numbers() -> None:
    data = small().encode()
    assert importer.read(data).program.body.labels == (0, 1)
    program = importer.read(data, "paid", labels=["no", "yes"]).program
    assert (program.target, program.body.labels) == ("paid", ("no", "yes"))
    for labels, message in (
        (["a"], "labels: 1 for 2 classes"),
        (["a", "a"], "one is there twice"),
        (["a", 1], "of type int, str"),
        ([1.0, float("nan")], "not a finite number"),
    ):
        with pytest.raises(ModelFileError, match=message):
            importer.read(data, labels=labels)
    regression = small("regression").encode()
    with pytest.raises(ModelFileError, match="predicts numbers, so it has none"):
        importer.read(regression, labels=["a", "b"])


def test_an_objective_of_the_user_is_a_sum_with_a_note() -> None:
    x, y = sample()

    def squares(found: Any, data: Any) -> tuple[Any, Any]:
        return found - data.get_label(), np.ones(len(found))

    booster = train({"objective": squares}, x, y)
    program, notes = importer.from_object(booster)
    assert program.algorithm == "LightGBM custom"
    assert "its answer is the sum of the trees" in notes[0]
    compared(booster, program.body, boosted.frame_of(x, booster.feature_name()), x)


def test_a_ranker() -> None:
    x, y = sample()
    model = lightgbm.LGBMRanker(n_estimators=9, num_leaves=7, verbose=-1, n_jobs=1)
    model.fit(x, np.clip(y, 0, 4).astype(int), group=[25] * 20)
    forest = importer.from_object(model).program.body
    names = [feature.name for feature in forest.features]
    compared(model.booster_, forest, boosted.frame_of(x, names), x)


def test_other_objects_are_refused() -> None:
    with pytest.raises(DataError, match="cannot import a Booster: expected"):
        importer.from_object(type("Booster", (), {})())
    with pytest.raises(
        DataError, match="cannot import a list: expected LGBMClassifier"
    ):
        importer.from_object([])
    with pytest.raises(DataError, match="LGBMRegressor is not fitted: call fit first"):
        importer.from_object(lightgbm.LGBMRegressor())
    x, y = sample()
    with pytest.raises(DataError, match="the Booster: tree 0 has linear models"):
        importer.from_object(train({"linear_tree": True}, x[:, 2:], y))


def test_a_note_where_probabilities_are_rounded_to_1() -> None:
    x, y = sample()
    y = np.clip(y, 0, 2).astype(int)
    parameters = {"objective": "multiclassova", "num_class": 3}
    assert not importer.from_object(train(parameters, x, y, 2)).notes
    steep = train({**parameters, "learning_rate": 3.0}, x, y)
    assert "rounds both probabilities to 1" in importer.from_object(steep).notes[0]


# ---------------------------------------------------------------- a stored file

STORED = Path(__file__).parent / "data" / "lightgbm.txt"


def test_a_stored_file_is_read_without_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    record = json.loads(STORED.with_suffix(".json").read_text("utf-8"))
    forest = importer.read(STORED.read_bytes()).program.body
    for row, expected in zip(record["rows"], record["margins"], strict=True):
        assert list(forests.margins(forest, tuple(row))) == expected


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(40))
def test_ten_million_sums(seed: int) -> None:
    x, y = sample(2_000, seed)
    kind = list(KINDS)[seed % len(KINDS)]
    booster = train({**KINDS[kind], "seed": seed}, x, y, 40)
    forest = importer.from_object(booster).program.body
    base = boosted.frame_of(x, booster.feature_name())
    dice = np.random.default_rng(seed)
    rows = boosted.table(forest, base, dice, random=250_000, most=2_000, infinite=True)
    sums = booster.predict(boosted.numbers(rows), raw_score=True) / forest.divisor
    assert boosted.differing(forest, rows, sums) == 0


def test_blanks_in_names_are_those_of_the_columns() -> None:
    """LightGBM writes "sepal length (cm)" as "sepal_length_(cm)"."""
    X, y = datasets.load_iris(return_X_y=True, as_frame=True)
    fitted = lightgbm.LGBMClassifier(n_estimators=2, verbose=-1).fit(X, y)
    expected = list(fitted.predict(X))
    assert list(treecompile.from_lightgbm(fitted, X, y).predict(X)) == expected
    written = X.rename(columns=lambda name: name.replace(" ", "_"))
    assert list(treecompile.from_lightgbm(fitted).predict(written)) == expected
    # A column that has the very name of a feature is taken for it.
    both = written.assign(**{"petal width (cm)": 0.0})
    assert list(treecompile.from_lightgbm(fitted, both, y).predict(both)) == expected
