"""Folded pipelines answer as scikit-learn does, on every row of raw input."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import count, islice
from math import inf, nextafter
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn import decomposition, preprocessing, tree
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import treecompile
from tests.support.pipelines import Case, answered, edge_rows, random_case
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import DataError
from treecompile.model.ir import Kind
from treecompile.model.semantics import conditions
from treecompile.model.values import is_missing
from treecompile.verify.execution import run_sql
from treecompile.verify.python_process import run_python

MODELS_PER_TEST = 8
# Groups of seeds; the second is for `pytest -m large`.
FEW, MANY = range(1), range(1, 26)


def test_there_are_enough_pipelines() -> None:
    assert (len(FEW) + len(MANY)) * MODELS_PER_TEST >= 200


def fitted_cases(group: int) -> Iterator[Case]:
    """Random pipelines that scikit-learn can fit, another series for each group."""
    for seed in count(1_000 * group):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                case = random_case(seed)
            except ValueError:
                continue  # for instance, missing values that a Binarizer refuses
        yield case


def folded(case: Case) -> treecompile.Model | None:
    """The model of a pipeline; None if its steps are not monotone."""
    try:
        return treecompile.from_sklearn(case.pipeline, case.X, case.y)
    except DataError as error:
        if "is not monotone near" in str(error):
            return None
        raise


def check_group(group: int) -> None:
    """Compare the models of a group with their pipelines, on every kind of row."""
    random = np.random.default_rng(group)
    models = ((case, folded(case)) for case in fitted_cases(group))
    found = ((case, model) for case, model in models if model is not None)
    for case, model in islice(found, MODELS_PER_TEST):
        compare(case, model, random)


def compare(case: Case, model: treecompile.Model, random: np.random.Generator) -> None:
    """Raw rows, the doubles around each edge, missing and unseen values."""
    body = model.program.body
    rows = edge_rows(body, case.X, random)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        places, expected = answered(case.pipeline, rows)
    assert len(places) > len(rows) / 2
    assert len(case.X) < len(places)
    rows = rows.iloc[places]
    assert model.predict(rows).tolist() == expected
    plain: list[Any] = [
        tuple(None if is_missing(value) else value for value in row)
        for row in rows[[f.name for f in body.features]].itertuples(index=False)
    ]
    made = run_python(model.emit("python"), body.features, plain)
    assert [label for label, *_ in made] == expected
    text = model.emit("sql", dialect="duckdb")
    assert run_sql(text, body.features, plain, ENGINES["duckdb"]) == expected


@pytest.mark.parametrize("group", FEW)
def test_random_pipelines(group: int) -> None:
    check_group(group)


@pytest.mark.large
@pytest.mark.parametrize("group", MANY)
def test_more_random_pipelines(group: int) -> None:
    check_group(group)


def test_eighty_doubles_around_every_threshold_are_tried() -> None:
    case = next(fitted_cases(0))
    model = folded(case)
    assert model is not None
    body = model.program.body
    rows = edge_rows(body, case.X, np.random.default_rng(0))
    for index, feature in enumerate(body.features):
        limits = {t.value for t in conditions(body) if t.feature == index}
        tried = set(rows[feature.name])
        for limit in limits if feature.kind is Kind.NUMERIC else ():
            up = down = float(limit)  # type: ignore[arg-type]
            for _ in range(40):
                up, down = nextafter(up, inf), nextafter(down, -inf)
                assert {up, down} <= tried


def small_table() -> tuple[pd.DataFrame, pd.Series[Any]]:
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.integers(18, 90, 200).astype(float),
            "income": np.exp(random.normal(10, 1, 200)),
            "job": random.choice(["baker", "cook", "diver"], 200),
        }
    )
    is_rich = X["income"] > 20_000
    buys = np.where(is_rich ^ (X["job"] == "cook") ^ (X["age"] > 50), "yes", "no")
    return X, pd.Series(buys, name="buys")


def scaled_and_encoded() -> Any:
    return make_column_transformer(
        (preprocessing.StandardScaler(), ["age", "income"]),
        (preprocessing.OneHotEncoder(), ["job"]),
    )


def test_the_rules_speak_of_raw_columns() -> None:
    X, y = small_table()
    pipeline = make_pipeline(
        scaled_and_encoded(), tree.DecisionTreeClassifier(random_state=0)
    ).fit(X, y)
    model = treecompile.from_sklearn(pipeline, X, y)
    assert model.program.target == "buys"
    kinds = {f.name: (f.kind.value, f.categories) for f in model.program.body.features}
    assert kinds["income"] == ("numeric", ())
    assert kinds["job"] == ("categorical", ("baker", "cook", "diver"))
    assert "job = cook" in model.show()
    training = model.program.training
    assert training is not None
    assert training.rows == 200
    assert training.quality is not None
    assert "200 (100.0 %)" in model.emit("markdown")


def test_what_the_pipeline_refuses_is_said() -> None:
    X, y = small_table()
    pipeline = make_pipeline(
        scaled_and_encoded(), tree.DecisionTreeClassifier(random_state=0)
    ).fit(X, y)
    said = "the pipeline refuses unknown categories in 'job'"
    notes = treecompile.from_sklearn(pipeline).notes
    assert any(note.startswith(said) for note in notes)


def test_a_pipeline_of_arrays() -> None:
    X, y = small_table()
    numbers = X[["age", "income"]].to_numpy()
    pipeline = make_pipeline(
        preprocessing.QuantileTransformer(n_quantiles=10),
        tree.DecisionTreeClassifier(max_depth=3, random_state=0),
    ).fit(numbers, y)
    model = treecompile.from_sklearn(pipeline, numbers, y, feature_names=["a", "b"])
    frame = pd.DataFrame(numbers, columns=["a", "b"])
    assert model.predict(frame).tolist() == pipeline.predict(numbers).tolist()


def test_a_number_that_means_missing() -> None:
    X, y = small_table()
    X.loc[::7, "age"] = -999.0
    pipeline = make_pipeline(
        SimpleImputer(missing_values=-999.0, strategy="median"),
        tree.DecisionTreeClassifier(max_depth=5, random_state=0),
    ).fit(X[["age", "income"]], y)
    model = treecompile.from_sklearn(pipeline)
    ages = [-999.0, np.nextafter(-999.0, 0), np.nextafter(-999.0, -1e9), 20.0, 70.0]
    rows = pd.DataFrame(
        [(age, income) for age in ages for income in (100.0, 21_000.0, 90_000.0)],
        columns=["age", "income"],
    )
    assert model.predict(rows).tolist() == pipeline.predict(rows).tolist()


def test_decreasing_functions_and_holes() -> None:
    X, y = small_table()
    for function in (np.negative, np.log, np.sqrt, np.reciprocal, np.cbrt):
        pipeline = make_pipeline(
            preprocessing.FunctionTransformer(function),
            tree.DecisionTreeClassifier(max_depth=4, random_state=0),
        ).fit(X[["income"]], y)
        if function is np.reciprocal:  # jumps at 0
            with pytest.raises(DataError, match="not monotone near"):
                treecompile.from_sklearn(pipeline)
            continue
        model = treecompile.from_sklearn(pipeline)
        values = [1e-300, 5e-324, 0.5, 10.0, 2e4, 1e9]
        if function is not np.log:
            values += [0.0, -0.0]
        rows = pd.DataFrame({"income": values})
        assert model.predict(rows).tolist() == pipeline.predict(rows).tolist()


def refused() -> dict[str, Any]:
    classifier = tree.DecisionTreeClassifier
    return {
        "cannot fold a PCA": make_pipeline(decomposition.PCA(2), classifier()),
        "cannot fold a PolynomialFeatures": make_pipeline(
            preprocessing.PolynomialFeatures(), classifier()
        ),
        "is not monotone near": make_pipeline(
            preprocessing.FunctionTransformer(np.sin), classifier()
        ),
        "cannot import a LogisticRegression": make_pipeline(
            preprocessing.StandardScaler(), LogisticRegression()
        ),
        "cannot fold a OneHotEncoder after StandardScaler: encode the raw column": (
            make_pipeline(
                preprocessing.StandardScaler(),
                preprocessing.OneHotEncoder(handle_unknown="ignore"),
                classifier(),
            )
        ),
        "cannot fold a KBinsDiscretizer after StandardScaler: put it before": (
            make_pipeline(
                preprocessing.StandardScaler(),
                preprocessing.KBinsDiscretizer(3, quantile_method="linear"),
                classifier(),
            )
        ),
    }


@pytest.mark.parametrize("message", refused())
def test_what_cannot_be_folded_is_refused_by_name(message: str) -> None:
    X, y = small_table()
    pipeline = refused()[message].fit(X[["age", "income"]], y)
    with pytest.raises(DataError, match=message):
        treecompile.from_sklearn(pipeline)


def test_a_column_of_two_meanings_is_refused() -> None:
    X, y = small_table()
    X["code"] = np.arange(200) % 5
    transformer = make_column_transformer(
        (preprocessing.OneHotEncoder(), ["code"]),
        (preprocessing.StandardScaler(), ["code", "age", "income"]),
    )
    pipeline = make_pipeline(transformer, tree.DecisionTreeClassifier(random_state=0))
    with pytest.raises(
        DataError, match="for categories and the StandardScaler for num"
    ):
        treecompile.from_sklearn(pipeline.fit(X, y))


def test_as_many_answers_as_rows() -> None:
    X, y = small_table()
    fitted = tree.DecisionTreeClassifier().fit(X[["age"]], y)
    with pytest.raises(DataError, match="X has 200 rows, and y has 3"):
        treecompile.from_sklearn(fitted, X[["age"]], y[:3])


def test_rows_of_another_shape_are_refused() -> None:
    X, y = small_table()
    fitted = tree.DecisionTreeClassifier().fit(X[["age"]], y)
    with pytest.raises(DataError, match="X has the shape .3,.: expected rows of 1 col"):
        treecompile.from_sklearn(fitted, ["a", "b", "c"])
