"""The estimators for scikit-learn."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator

import treecompile
from treecompile.sklearn import TreeClassifier, TreeRegressor

ESTIMATORS = (TreeClassifier(), TreeRegressor())


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_the_checks_of_scikit_learn(estimator: Any) -> None:
    """All pass; the one about array APIs runs only where SciPy is told to use them."""
    checks = check_estimator(estimator, on_skip=None)
    skipped = [check["check_name"] for check in checks if check["status"] == "skipped"]
    assert set(skipped) <= {"check_array_api_input"}
    assert len(checks) > 40


def people(rows: int = 200) -> tuple[pd.DataFrame, pd.Series[Any]]:
    """Texts, categories, booleans and numbers, with missing values."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 90, rows).astype(float),
            "job": random.choice(["baker", "cook", "diver"], rows),
            "size": pd.Categorical(
                random.choice(["S", "M", "L"], rows), ["S", "M", "L"], ordered=True
            ),
            "member": random.random(rows) < 0.5,
        }
    )
    X.loc[random.random(rows) < 0.1, "age"] = np.nan
    X.loc[random.random(rows) < 0.1, "job"] = None
    buys = (X["age"] > 50) ^ (X["job"] == "cook") ^ (X["size"] == "L") ^ X["member"]
    return X, pd.Series(np.where(buys, "yes", "no"), name="buys")


@pytest.mark.parametrize("estimator", [TreeClassifier(), TreeClassifier("cart")])
def test_columns_need_no_encoding(estimator: TreeClassifier) -> None:
    X, y = people()
    fitted = estimator.set_params(min_samples_leaf=1).fit(X, y)
    assert fitted.score(X, y) > 0.9
    assert fitted.classes_.tolist() == ["no", "yes"]
    assert fitted.feature_names_in_.tolist() == list(X.columns)
    assert fitted.feature_importances_.sum() == pytest.approx(1)
    kinds = {f.name: f.kind.value for f in fitted.model_.program.body.features}
    assert kinds == {
        "age": "numeric",
        "job": "categorical",
        "size": "ordinal",
        "member": "categorical",
    }
    assert fitted.model_.program.target == "buys"


def test_what_learn_learns() -> None:
    X, y = people()
    model = treecompile.learn(X.assign(buys=y), target="buys", min_leaf=3, cf=0.1)
    fitted = TreeClassifier(min_samples_leaf=3, cf=0.1).fit(X, y)
    assert fitted.model_.program.body == model.program.body
    assert fitted.get_depth() == model.depth
    assert fitted.get_n_leaves() == model.n_leaves
    assert fitted.predict(X).tolist() == model.predict(X).tolist()
    assert (fitted.predict_proba(X) == model.predict_proba(X).to_numpy()).all()


def test_no_column_is_left_out() -> None:
    X = pd.DataFrame({"id": np.arange(60.0), "text": [f"t{i}" for i in range(60)]})
    fitted = TreeClassifier("cart").fit(X, np.arange(60) >= 30)
    assert fitted.predict(X).tolist() == (np.arange(60) >= 30).tolist()


def test_artefacts() -> None:
    X, y = people()
    fitted = TreeClassifier(max_depth=3).fit(X, y)
    assert fitted.verify(fitted.emit("python")).passed
    assert fitted.verify(fitted.emit("sql", dialect="duckdb")).passed
    row = {str(name): X[name].iloc[0] for name in X}
    assert str(fitted.explain(row)).startswith("R")


def test_tools_of_scikit_learn() -> None:
    X, y = people()
    search = GridSearchCV(
        TreeClassifier("cart"), {"max_depth": [1, 4], "ccp_alpha": [0.0, 0.05]}, cv=3
    ).fit(X, y)
    assert search.best_params_["max_depth"] == 4
    scores = cross_val_score(TreeClassifier(), X, y, cv=3)
    assert len(scores) == 3
    numbers, target = datasets.load_diabetes(return_X_y=True, as_frame=True)
    columns = make_column_transformer(
        (StandardScaler(), ["bmi", "bp"]), remainder="passthrough"
    ).set_output(transform="pandas")
    pipeline = make_pipeline(columns, TreeRegressor(max_depth=3)).fit(numbers, target)
    assert pipeline.score(numbers, target) > 0.4
    fitted = TreeClassifier().fit(X, y)
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(X) == fitted.predict(X)).all()
    assert not hasattr(clone(fitted), "model_")


def test_weights_are_routed() -> None:
    import sklearn

    X, y = people()
    weights = np.where(y == "yes", 100.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = TreeClassifier(max_depth=1).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(tree).fit(X, y, sample_weight=weights)
    assert set(pipeline.predict(X)) == {"yes"}


def test_weights_are_routed_through_searches_and_folds() -> None:
    import sklearn

    X, y = people()
    weights = np.where(y == "yes", 100.0, 1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        tree = TreeClassifier(max_depth=1).set_fit_request(sample_weight=True)
        tree.set_score_request(sample_weight=True)
        search = GridSearchCV(tree, {"min_samples_leaf": [1, 5]}, cv=3)
        search.fit(X, y, sample_weight=weights)
        folds = cross_validate(tree, X, y, cv=3, params={"sample_weight": weights})
    assert set(search.predict(X)) == {"yes"}
    assert folds["test_score"].min() > 0.9  # of weights, nearly all on "yes"


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_clone_has_the_parameters_and_a_pickle_also_the_model(estimator: Any) -> None:
    X, y = people()
    target: Any = X["age"].fillna(0) if isinstance(estimator, TreeRegressor) else y
    made = clone(estimator).set_params(max_depth=2, min_samples_leaf=3)
    assert clone(made).get_params() == made.get_params()
    fitted = made.fit(X[["job", "member"]], target)
    again = pickle.loads(pickle.dumps(fitted))
    assert again.model_.sha256 == fitted.model_.sha256
    assert again.get_params() == fitted.get_params()
    assert (
        again.predict(X[["job", "member"]]) == fitted.predict(X[["job", "member"]])
    ).all()


POLARS = pytest.param("polars", marks=pytest.mark.library)


@pytest.mark.parametrize("container", ["default", "pandas", POLARS])
def test_every_output_of_a_column_transformer_is_learned_from(container: str) -> None:
    X, y = people()
    X = X.assign(age=X["age"].fillna(40)).drop(columns="size")
    columns = make_column_transformer(
        (StandardScaler(), ["age"]),
        (OneHotEncoder(sparse_output=False), ["job"]),
        ("passthrough", ["member"]),
    ).set_output(transform=container)
    pipeline = make_pipeline(columns, TreeClassifier(min_samples_leaf=1)).fit(X, y)
    plain = TreeClassifier(min_samples_leaf=1)
    plain.fit(np.asarray(columns.transform(X), dtype=float), y)
    assert (
        pipeline.predict(X)
        == plain.predict(np.asarray(columns.transform(X), dtype=float))
    ).all()
    named = container != "default"
    assert hasattr(pipeline[-1], "feature_names_in_") == named


def test_labels_of_every_type_keep_their_order() -> None:
    X = np.arange(12.0).reshape(-1, 1)
    for labels in (["z", "a"], [7, -3], [True, False], [2.0, 1.0], ["10", "9"]):
        y = np.repeat(labels, 6)
        fitted = TreeClassifier().fit(X, y)
        assert fitted.classes_.tolist() == sorted(labels)
        assert fitted.classes_.dtype == y.dtype
        assert fitted.predict(X).tolist() == y.tolist()
    with pytest.raises(ValueError, match="continuous"):
        TreeClassifier().fit(X, np.repeat([0.5, 1.25], 6))


def test_a_row_of_weight_0_is_left_out() -> None:
    X, y = people()
    weights = np.where(X["job"] == "cook", 0.0, 1.0)
    left = TreeClassifier("cart").fit(X, y, weights)
    without = TreeClassifier("cart").fit(X[weights > 0], y[weights > 0])
    assert (left.predict(X) == without.predict(X)).all()
    none = np.where(y == "yes", 0.0, 1.0)
    assert TreeClassifier().fit(X, y, none).classes_.tolist() == ["no", "yes"]
    with pytest.raises(ValueError, match="at least one non-zero"):
        TreeClassifier().fit(X, y, np.zeros(len(y)))


def test_class_weights() -> None:
    X, y = people()
    for weight in ("balanced", {"yes": 50.0}):
        fitted = TreeClassifier("cart", max_depth=1, class_weight=weight).fit(X, y)
        assert fitted.score(X, y) > 0.3
    codes = (y == "yes").to_numpy().astype(int)
    weights = {np.int64(1): 1000.0}
    fitted = TreeClassifier("cart", max_depth=0, class_weight=weights).fit(X, codes)
    assert set(fitted.predict(X)) == {1}
    fitted.set_params(class_weight={0: 1000.0}).fit(X, codes)
    assert set(fitted.predict(X)) == {0}


@pytest.mark.library
def test_polars_frames() -> None:
    import polars

    X, y = people()
    frame = polars.DataFrame(
        {
            "age": polars.Series(X["age"].to_numpy()),
            "job": [None if pd.isna(job) else job for job in X["job"]],
            "member": X["member"].tolist(),
        }
    )
    fitted = TreeClassifier().fit(frame, y)
    plain = TreeClassifier().fit(X[["age", "job", "member"]], y)
    assert (
        fitted.predict(frame).tolist() == plain.predict(X[list(frame.columns)]).tolist()
    )
    assert fitted.feature_names_in_.tolist() == ["age", "job", "member"]


def test_tags_say_what_is_accepted() -> None:
    for estimator in ESTIMATORS:
        tags = get_tags(estimator).input_tags
        assert tags.allow_nan
        assert tags.categorical


def test_errors_name_the_mistake() -> None:
    X, y = people()
    with pytest.raises(ValueError, match="algorithm"):
        TreeClassifier("forest").fit(X, y)
    with pytest.raises(NotFittedError):
        TreeClassifier().emit("python")
    with pytest.raises(TypeError, match="not 'dict'"):
        TreeClassifier().fit(np.array([[{}], [1]], dtype=object), [0, 1])
    with pytest.raises(ValueError, match="4 features|4 columns|missing"):
        TreeClassifier().fit(X, y).predict(X[["age"]])
