"""Imported forests answer as scikit-learn does: margins bit for bit, labels, links."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn import datasets, ensemble, linear_model, neighbors, preprocessing, tree
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

import treecompile
from tests.support.forest_rows import (
    edge_table,
    frame_of,
    labels,
    margins,
    shares,
    ulps,
)
from tests.support.pipelines import answered, random_case
from treecompile.importers.sklearn import import_model
from treecompile.importers.sklearn.boosting import below_zero
from treecompile.model import forests, ir
from treecompile.model.errors import DataError
from treecompile.model.file import dumps, loads_any

Floats = NDArray[np.float64]
MOST_ULPS = 4  # of a probability: `exp` of numpy, of scikit-learn and of Python
SINGLE_MAX = 3e38


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with threadpool_limits(1):
        yield


def imported(estimator: Any, **how: Any) -> ir.Forest:
    program = import_model(estimator, **how).program
    assert isinstance(program, ir.ForestProgram)
    assert loads_any(dumps(program)) == program
    assert forests.problem(program.body) == ""
    return program.body


def with_missing(x: Floats, seed: int = 0) -> Floats:
    x = x.copy()
    x[np.random.default_rng(seed).random(x.shape) < 0.15] = np.nan
    return x


def rows_for(forest: ir.Forest, x: Floats, extra: list[float]) -> pd.DataFrame:
    dice = np.random.default_rng(1)
    spread = np.nanstd(x, axis=0) * 2 + 1e-3
    random = np.nanmean(x, axis=0) + dice.normal(size=(200, x.shape[1])) * spread
    return edge_table(forest, frame_of(forest, np.vstack([x, random])), extra=extra)


IRIS = datasets.load_iris(return_X_y=True)
WINE = datasets.load_wine(return_X_y=True)
CANCER = datasets.load_breast_cancer(return_X_y=True)
DIABETES = datasets.load_diabetes(return_X_y=True)
LARGE = [SINGLE_MAX, -SINGLE_MAX, 1e-300, 1e-42]
INFINITE = [*LARGE, np.inf, -np.inf, 1e300]


def fitted(kind: str, data: Any, holes: bool = False, **how: Any) -> Any:
    x, y = data
    if how.pop("two", False):
        y = np.array(["no", "yes"])[(y == 1).astype(int)]
    weights = how.pop("weights", None)
    if weights is not None:
        weights = np.random.default_rng(weights).random(len(y)) + 0.01
    x = with_missing(x) if holes else x
    made = getattr(ensemble, kind)(**{"random_state": 0, **how})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return made.fit(x, y, sample_weight=weights)


# ---------------------------------------------------------------- means of trees

MEANS: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "one tree": ("RandomForestClassifier", IRIS, {"n_estimators": 1}),
    "classes": ("RandomForestClassifier", WINE, {"n_estimators": 60}),
    "two": ("RandomForestClassifier", CANCER, {"n_estimators": 40, "two": True}),
    "missing": ("RandomForestClassifier", IRIS, {"n_estimators": 50, "holes": True}),
    "weights": ("RandomForestClassifier", IRIS, {"n_estimators": 30, "weights": 3}),
    "balanced": (
        "RandomForestClassifier",
        CANCER,
        {"n_estimators": 20, "class_weight": "balanced_subsample", "max_depth": 4},
    ),
    "regression": ("RandomForestRegressor", DIABETES, {"n_estimators": 30}),
    "regression, missing": (
        "RandomForestRegressor",
        DIABETES,
        {"n_estimators": 30, "holes": True, "max_leaf_nodes": 40, "weights": 1},
    ),
    "median": (
        "RandomForestRegressor",
        DIABETES,
        {"n_estimators": 7, "criterion": "absolute_error", "max_depth": 4},
    ),
    "extra": ("ExtraTreesClassifier", WINE, {"n_estimators": 40, "max_depth": 6}),
    "extra, missing": ("ExtraTreesClassifier", IRIS, {"n_estimators": 30, "holes": 1}),
    "extra regression": ("ExtraTreesRegressor", DIABETES, {"n_estimators": 20}),
    "bagging": ("BaggingClassifier", WINE, {"n_estimators": 25, "max_features": 5}),
    "bagging, few rows": (  # some trees do not know all classes
        "BaggingClassifier",
        IRIS,
        {"n_estimators": 40, "max_samples": 4, "holes": True},
    ),
    "bagging regression": (
        "BaggingRegressor",
        DIABETES,
        {"n_estimators": 25, "bootstrap_features": True, "holes": True},
    ),
}


@pytest.mark.parametrize("name", MEANS)
def test_means_of_trees(name: str) -> None:
    kind, data, how = MEANS[name]
    estimator = fitted(kind, data, **how)
    forest = imported(estimator)
    X = rows_for(forest, with_missing(data[0]), [np.nan, *LARGE])
    x = X.to_numpy()
    if hasattr(estimator, "classes_"):
        assert (margins(forest, X) == estimator.predict_proba(x)).all()
        assert (shares(forest, X) == estimator.predict_proba(x)).all()
    else:
        assert (margins(forest, X)[:, 0] == estimator.predict(x) + 0.0).all()
    assert labels(forest, X) == estimator.predict(x).tolist()


# ---------------------------------------------------------------- weighted votes


def deep(depth: int) -> Any:
    return tree.DecisionTreeClassifier(max_depth=depth, random_state=0)


VOTES: dict[str, tuple[Any, dict[str, Any]]] = {
    "stumps": (CANCER, {"n_estimators": 60, "two": True}),
    "trees": (CANCER, {"n_estimators": 20, "estimator": deep(3), "two": True}),
    "slowly": (CANCER, {"n_estimators": 30, "learning_rate": 0.3, "weights": 2}),
    "classes": (WINE, {"n_estimators": 40}),
    "classes, trees": (IRIS, {"n_estimators": 30, "estimator": deep(2)}),
    "one tree is perfect": (IRIS, {"n_estimators": 30, "estimator": deep(9)}),
    "an even number of equal votes": (
        (np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 0, 1])),
        {"n_estimators": 2, "learning_rate": 1e-9},
    ),
}


@pytest.mark.parametrize("name", VOTES)
def test_weighted_votes(name: str) -> None:
    data, how = VOTES[name]
    estimator = fitted("AdaBoostClassifier", data, **how)
    forest = imported(estimator)
    X = rows_for(forest, data[0], LARGE)
    x = X.to_numpy()
    known = np.asarray(estimator.decision_function(x)).reshape(len(x), -1)
    assert (margins(forest, X) == known).all()
    assert labels(forest, X) == estimator.predict(x).tolist()
    if len(forest.labels) == 2:
        assert np.abs(shares(forest, X) - estimator.predict_proba(x)).max() <= 2**-51
    else:
        assert forest.link is ir.Link.NONE


def test_votes_in_a_pipeline_and_in_sql() -> None:
    x, y = IRIS
    votes = ensemble.AdaBoostClassifier(n_estimators=15, random_state=0)
    for words in (np.array(["a", "b'", "c"])[y], np.array(["no", "yes"])[y % 2]):
        pipeline = make_pipeline(preprocessing.StandardScaler(), votes).fit(x, words)
        model = treecompile.from_sklearn(pipeline, x, words)
        assert list(model.predict(x)) == pipeline.predict(x).tolist()
        for text in (model.emit("python"), model.emit("sql", dialect="sqlite")):
            assert model.verify(text, budget=2_000).passed


# ---------------------------------------------------------------- boosted trees

BOOSTED: dict[str, tuple[str, Any, dict[str, Any]]] = {
    "classes": ("GradientBoostingClassifier", IRIS, {"n_estimators": 30}),
    "two": ("GradientBoostingClassifier", CANCER, {"two": True, "n_estimators": 50}),
    "exponential": (
        "GradientBoostingClassifier",
        CANCER,
        {"two": True, "loss": "exponential", "n_estimators": 40, "weights": 2},
    ),
    "zero": (
        "GradientBoostingClassifier",
        WINE,
        {"init": "zero", "n_estimators": 9, "subsample": 0.5},
    ),
    "zero, two": (
        "GradientBoostingClassifier",
        WINE,
        {"init": "zero", "n_estimators": 9, "two": True},
    ),
    "dummy": (
        "GradientBoostingClassifier",
        WINE,
        {"init": DummyClassifier(), "n_estimators": 9},
    ),
    **{
        loss: (
            "GradientBoostingRegressor",
            DIABETES,
            {"loss": loss, "n_estimators": 40, "learning_rate": 0.3},
        )
        for loss in ("squared_error", "absolute_error", "huber", "quantile")
    },
    "hist": ("HistGradientBoostingClassifier", WINE, {"max_iter": 30}),
    "hist, two": (
        "HistGradientBoostingClassifier",
        CANCER,
        {"two": True, "holes": True, "weights": 5},
    ),
    "hist, missing": (
        "HistGradientBoostingClassifier",
        IRIS,
        {"holes": True, "max_iter": 30, "max_bins": 12},
    ),
    **{
        f"hist {loss}": (
            "HistGradientBoostingRegressor",
            DIABETES,
            {"loss": loss, "holes": True, "max_iter": 60, "quantile": 0.3},
        )
        for loss in ("squared_error", "absolute_error", "poisson", "gamma", "quantile")
    },
    "hist, no trees": (
        "HistGradientBoostingRegressor",
        (DIABETES[0], DIABETES[1] * 0 + 2),
        {"max_iter": 3},
    ),
}


@pytest.mark.parametrize("name", BOOSTED)
def test_boosted_trees(name: str) -> None:
    kind, data, how = BOOSTED[name]
    estimator = fitted(kind, data, **how)
    forest = imported(estimator)
    is_hist = kind.startswith("Hist")
    extra = [np.nan, *INFINITE] if is_hist else LARGE
    x = with_missing(data[0]) if is_hist else data[0]
    X = rows_for(forest, x, extra)
    as_read = X.to_numpy(dtype=float if is_hist else np.float32)
    raw = estimator._raw_predict(np.ascontiguousarray(as_read))
    assert (margins(forest, X) == raw + 0.0).all()
    expected = estimator.predict(X.to_numpy())
    if forest.labels:
        assert labels(forest, X) == expected.tolist()
        known = estimator.predict_proba(X.to_numpy())
        # The share of the first of two labels is the rest: small ones lose digits.
        assert ulps(shares(forest, X)[:, 1:], known[:, 1:]) <= MOST_ULPS
        assert np.abs(shares(forest, X) - known).max() <= 2**-51
    else:
        assert ulps(labels(forest, X), expected) <= (0, MOST_ULPS)["exp" in forest.link]


def test_a_sum_of_zero_has_the_second_label_of_gradient_boosting() -> None:
    """The library asks for `>= 0`, and histogram boosting for `> 0`."""
    x = np.array([[0.0], [0.0], [1.0], [1.0]] * 10)
    y = np.array([0, 1, 0, 1] * 10)
    old = ensemble.GradientBoostingClassifier(n_estimators=3).fit(x, y)
    new = ensemble.HistGradientBoostingClassifier(max_iter=3).fit(x, y)
    for estimator, answer in ((old, 1), (new, 0)):
        assert (estimator.decision_function(x) == 0).all()
        assert (estimator.predict(x) == answer).all()
        forest = imported(estimator)
        assert set(labels(forest, frame_of(forest, x))) == {answer}


def test_the_cut_below_zero_is_a_usual_number_if_no_sum_is_nearer() -> None:
    forest = imported(fitted("GradientBoostingClassifier", IRIS, two=True))
    assert forest.cut == below_zero(forest) == -1e-300
    tiny = ir.Forest(forest.features, forest.labels, (), (1e-280,), cut=0.0)
    assert below_zero(tiny) == -5e-324


# ---------------------------------------------------------------- categories


def table_of_categories(rows: int = 300, seed: int = 0) -> tuple[pd.DataFrame, Any]:
    dice = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "size": dice.normal(size=rows),
            "town": dice.choice(["Bonn", "Köln", "Ulm", "it's", ""], rows),
            "code": dice.choice([3.0, 7.0, 20.0, np.nan], rows),
            "age": dice.integers(1, 9, rows).astype(float),
            "late": dice.choice([True, False], rows),
        }
    )
    X["town"] = X["town"].astype(object)
    X.loc[dice.random(rows) < 0.1, "town"] = np.nan
    signal = X["size"] + 2 * X["town"].isin(["Bonn", "it's"]) - (X["code"] == 7)
    return X, signal + X["late"] * X["age"] / 4 + dice.normal(size=rows) / 9


@pytest.mark.parametrize("kind", ["classes", "two", "regression"])
def test_categories_of_histogram_boosting(kind: str) -> None:
    X, signal = table_of_categories()
    chosen = ["town", "code", "late"]
    how: dict[str, Any] = {"categorical_features": chosen, "random_state": 0}
    if kind == "regression":
        estimator: Any = ensemble.HistGradientBoostingRegressor(**how).fit(X, signal)
    else:
        y = np.digitize(signal, [0.5, 2.0] if kind == "classes" else [0.7])
        estimator = ensemble.HistGradientBoostingClassifier(**how).fit(X, y)
    forest = imported(estimator)
    kinds = [feature.kind.value for feature in forest.features]
    assert kinds.count("categorical") == 3
    assert forest.features[1].categories == ("", "Bonn", "Köln", "Ulm", "it's")
    assert forest.features[2].categories == (3, 7, 20)
    rows = edge_table(forest, X, extra=[np.nan, *INFINITE])
    rows = rows[rows["late"].isin([True, False])]  # it has no third value
    rows = rows.astype({"late": bool, "code": float})
    assert (margins(forest, rows) == estimator._raw_predict(rows)).all()
    assert labels(forest, rows) == estimator.predict(rows).tolist()


def test_categories_of_a_frame() -> None:
    X, y = table_of_categories()
    X = X.astype({"town": "category"}).drop(columns=["late"])
    estimator = ensemble.HistGradientBoostingRegressor().fit(X, y)
    forest = imported(estimator)
    assert (margins(forest, X)[:, 0] == estimator.predict(X)).all()


def test_categories_that_are_no_plain_values_are_refused() -> None:
    X, y = table_of_categories()
    for name, values, message in (
        ("code", X["size"].round(1), "'code': its categories are of type float"),
        ("town", X["town"].where(X["town"].notna(), None), "None from NaN"),
    ):
        changed = X.assign(**{name: values})
        changed[name] = changed[name].astype(object if name == "town" else float)
        estimator = ensemble.HistGradientBoostingRegressor(
            categorical_features=[name, "town"]
        ).fit(changed, y)
        with pytest.raises(DataError, match=message):
            import_model(estimator)


# ---------------------------------------------------------------- pipelines

FINAL: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "forest": (ensemble.RandomForestClassifier, ensemble.RandomForestRegressor),
    "boosting": (
        ensemble.GradientBoostingClassifier,
        ensemble.GradientBoostingRegressor,
    ),
    "histograms": (
        ensemble.HistGradientBoostingClassifier,
        ensemble.HistGradientBoostingRegressor,
    ),
}


def check_pipelines(final: str, seeds: range) -> int:
    """Compare random pipelines around a forest; how many could be folded."""
    count = 0
    for seed in seeds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                case = random_case(seed)
                is_class = not pd.api.types.is_numeric_dtype(case.y)
                made = FINAL[final][0 if is_class else 1](random_state=seed)
                size = "max_iter" if final == "histograms" else "n_estimators"
                made.set_params(**{size: 12, "max_depth": 4})
                pipeline = Pipeline([*case.pipeline.steps[:-1], ("forest", made)])
                pipeline.fit(case.X, case.y)
            except (ValueError, TypeError):
                continue  # missing values for a Binarizer, sparse data for histograms
            try:
                forest = imported(pipeline)
            except DataError as error:
                if "is not monotone near" not in str(error):
                    raise
                continue
            rows = edge_table(forest, case.X, seed, [np.nan])
            places, expected = answered(pipeline, rows)
        assert len(places) > len(rows) / 3
        assert labels(forest, rows.iloc[places]) == expected
        count += 1
    return count


@pytest.mark.parametrize("final", FINAL)
def test_pipelines_around_forests(final: str) -> None:
    assert check_pipelines(final, range(4)) >= 1


@pytest.mark.fuzz
@pytest.mark.parametrize("final", FINAL)
@pytest.mark.parametrize("group", range(10))
def test_more_pipelines_around_forests(final: str, group: int) -> None:
    assert check_pipelines(final, range(4 + group * 10, 14 + group * 10)) >= 3


def test_an_encoder_before_categories() -> None:
    X, y = table_of_categories()
    X = X.astype({"late": float})
    unknown: dict[str, Any] = {"handle_unknown": "use_encoded_value"}
    encoder = preprocessing.OrdinalEncoder(**unknown, unknown_value=np.nan)
    pipeline = make_pipeline(
        make_column_transformer((encoder, ["town"]), remainder="passthrough"),
        ensemble.HistGradientBoostingRegressor(categorical_features=[0]),
    ).fit(X, y)
    forest = imported(pipeline)
    assert forest.features[1].categories == ("", "Bonn", "Köln", "Ulm", "it's")
    rows = edge_table(forest, X, extra=[np.nan])
    assert labels(forest, rows) == pipeline.predict(rows).tolist()


def test_numbers_before_categories_are_refused() -> None:
    X, y = table_of_categories()
    pipeline = make_pipeline(
        SimpleImputer(),
        ensemble.HistGradientBoostingRegressor(categorical_features=[1]),
    ).fit(X[["size", "age"]], y)
    with pytest.raises(DataError, match="'age': the trees take it for categories"):
        import_model(pipeline)


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ensemble.RandomForestClassifier(), "not fitted"),
        (ensemble.HistGradientBoostingRegressor(), "not fitted"),
        (ensemble.AdaBoostClassifier(), "not fitted"),
        (ensemble.AdaBoostRegressor(), "cannot import a AdaBoostRegressor"),
        (
            ensemble.AdaBoostClassifier(
                linear_model.LogisticRegression(), n_estimators=2
            ).fit(*IRIS),
            "AdaBoostClassifier of LogisticRegression",
        ),
        (ensemble.VotingClassifier([]), "cannot import a VotingClassifier"),
        (
            ensemble.RandomForestRegressor(2).fit([[1], [2]], [[1, 2], [3, 4]]),
            "2 outputs",
        ),
        (ensemble.RandomForestClassifier(2).fit([[1], [2]], [1, 1]), "only the class"),
        (
            ensemble.BaggingClassifier(
                neighbors.KNeighborsClassifier(1), n_estimators=2
            ).fit(*IRIS),
            "BaggingClassifier of KNeighborsClassifier",
        ),
        (
            ensemble.GradientBoostingRegressor(
                init=linear_model.LinearRegression(), n_estimators=2
            ).fit(*DIABETES),
            "starts with a LinearRegression",
        ),
        (
            ensemble.GradientBoostingClassifier(
                init=DummyClassifier(strategy="uniform"), n_estimators=2
            ).fit(*IRIS),
            "starts with a DummyClassifier",
        ),
    ],
)
def test_what_cannot_be_imported_is_refused(estimator: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        import_model(estimator)


@pytest.mark.library
@pytest.mark.parametrize(
    ("library", "name"),
    [("lightgbm", "LGBMClassifier"), ("xgboost", "XGBRegressor")],
)
def test_models_of_other_libraries_have_functions_of_their_own(
    library: str, name: str
) -> None:
    kind = getattr(pytest.importorskip(library), name)
    importer = f"from_{library}"
    with pytest.raises(DataError, match=f"cannot import a {name}: use {importer}$"):
        treecompile.from_sklearn(kind())
    message = f"a {name} in a Pipeline: fit it without the Pipeline, and use {importer}"
    with pytest.raises(DataError, match=message):
        treecompile.from_sklearn(make_pipeline(SimpleImputer(), kind()))
    for convert in (treecompile.from_sklearn, getattr(treecompile, importer)):
        with pytest.raises(DataError, match=f"^{name} is a class: expected a fitted"):
            convert(kind)


def test_a_class_is_not_a_fitted_object() -> None:
    message = (
        r"^DecisionTreeClassifier is a class: expected a fitted object, such as"
        r" DecisionTreeClassifier\(\)\.fit\(X, y\)$"
    )
    with pytest.raises(DataError, match=message):
        treecompile.from_sklearn(tree.DecisionTreeClassifier)


def test_categorical_splits_of_trees_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Fitted:
        is_categorical_ = np.array([True])

    estimator = fitted("RandomForestClassifier", IRIS, n_estimators=2)
    monkeypatch.setattr(estimator.estimators_[1], "tree_", Fitted())
    with pytest.raises(DataError, match="categorical splits"):
        import_model(estimator)


def test_several_jobs_are_noted() -> None:
    estimator = fitted("RandomForestClassifier", IRIS, n_estimators=2, n_jobs=2)
    assert any("n_jobs=2" in note for note in import_model(estimator).notes)


def test_weights_and_gains_come_along() -> None:
    estimator = fitted("RandomForestClassifier", IRIS, n_estimators=2)
    root = imported(estimator).members[0].tree.nodes[0]
    assert isinstance(root, ir.Split)
    assert root.stats.weight == 150
    assert root.gain > 0.1
    assert isinstance(estimator.estimators_[0], tree.DecisionTreeClassifier)
