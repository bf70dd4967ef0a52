"""Imported trees predict what scikit-learn predicts, for every double."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn import datasets, ensemble, linear_model, tree

import treecompile
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import DataError
from treecompile.model.ir import Split, Tree
from treecompile.verify.execution import run_sql
from treecompile.verify.python_process import run_python

Floats = NDArray[np.float64]
RANDOM = np.random.default_rng(0)


def at_the_edges(estimator: Any) -> Floats:
    """Rows at every threshold and its neighbours, as 32-bit and as 64-bit floats."""
    fitted = estimator.tree_
    base = RANDOM.normal(size=(50, estimator.n_features_in_))
    rows = [base]
    for feature, limit in zip(fitted.feature, fitted.threshold, strict=True):
        if feature < 0 or not np.isfinite(limit):
            continue
        single = np.float32(limit)
        near = [single, np.nextafter(single, np.float32(-np.inf))]
        near.append(np.nextafter(single, np.float32(np.inf)))
        middles = [(float(a) + float(b)) / 2 for a in near for b in near]
        values = [limit, *map(float, near), *middles]
        values += [np.nextafter(v, s * np.inf) for v in values for s in (-1, 1)]
        some = base[RANDOM.integers(0, len(base), len(values))].copy()
        some[:, feature] = values
        rows.append(some)
    return np.concatenate(rows)


def with_missing(rows: Floats) -> Floats:
    rows = rows.copy()
    rows[RANDOM.random(rows.shape) < 0.15] = np.nan
    return rows


def models() -> Iterator[tuple[str, Any]]:
    x, y = datasets.load_iris(return_X_y=True)
    holes = with_missing(x)
    words = np.array(["setosa", "versi'color", "virgi\nnica"])[y]
    weights = RANDOM.random(len(y))
    classifier, regressor = tree.DecisionTreeClassifier, tree.DecisionTreeRegressor
    yield "integers", classifier(random_state=0).fit(x, y)
    yield "text", classifier(criterion="entropy", random_state=0).fit(x, words)
    yield "booleans", classifier(random_state=0).fit(x, y == 1)
    yield "floats", classifier(max_leaf_nodes=5, random_state=0).fit(x, y * 2.0)
    yield "weights", classifier(random_state=0).fit(x, y, sample_weight=weights)
    yield "class weight", classifier(class_weight="balanced", max_depth=3).fit(x, y)
    yield "missing", classifier(random_state=0).fit(holes, y)
    only = x.copy()
    only[y == 2, 0] = np.nan
    yield "only missing", classifier(max_depth=2, random_state=0).fit(only[:, :1], y)
    yield "one class", classifier().fit(x, np.zeros(len(y)))
    x, y = datasets.load_diabetes(return_X_y=True)
    yield "regression", regressor(random_state=0).fit(x, y)
    yield "pruned", regressor(ccp_alpha=5.0, random_state=0).fit(x * 1e-30, y * 1e6)
    yield "median", regressor(criterion="absolute_error", max_depth=4).fit(x, y)
    yield "regression, missing", regressor(max_depth=6).fit(with_missing(x), y)


MODELS = list(models())


@pytest.mark.parametrize("name", [name for name, _ in MODELS])
def test_predictions_are_the_estimators(name: str) -> None:
    estimator = dict(MODELS)[name]
    model = treecompile.from_sklearn(estimator)
    names = [feature.name for feature in model.program.body.features]
    x = at_the_edges(estimator)
    x = np.concatenate([x, with_missing(x)])
    expected = estimator.predict(x)
    frame = pd.DataFrame(x, columns=names)
    assert (model.predict(frame).to_numpy() == expected).all()
    rows: Sequence[Any] = [tuple(map(float, row)) for row in x]
    features = model.program.body.features
    answers = run_python(model.emit("python"), features, rows)
    assert [label for label, *_ in answers] == expected.tolist()
    for engine in ("sqlite", "duckdb"):
        text = model.emit("sql", dialect=engine)
        assert run_sql(text, features, rows, ENGINES[engine]) == expected.tolist()


@pytest.mark.parametrize("name", ["integers", "missing", "text"])
def test_probabilities_of_unweighted_trees_are_the_estimators(name: str) -> None:
    estimator = dict(MODELS)[name]
    model = treecompile.from_sklearn(estimator)
    x = at_the_edges(estimator)
    names = [feature.name for feature in model.program.body.features]
    shares = model.predict_proba(pd.DataFrame(x, columns=names))
    assert (shares.to_numpy() == estimator.predict_proba(x)).all()
    assert list(shares.columns) == estimator.classes_.tolist()


def test_labels_keep_their_type() -> None:
    for name, kind in (("integers", int), ("text", str), ("booleans", bool)):
        labels = treecompile.from_sklearn(dict(MODELS)[name]).program.body.labels
        assert {type(label) for label in labels} == {kind}


def test_names_can_be_given() -> None:
    x, y = datasets.load_iris(return_X_y=True, as_frame=True)
    estimator = tree.DecisionTreeClassifier(max_depth=2).fit(x, y)
    model = treecompile.from_sklearn(estimator, class_names=["a", "b", "c"])
    assert model.program.body.labels == ("a", "b", "c")
    assert model.program.body.features[2].name == "petal length (cm)"
    named = treecompile.from_sklearn(estimator, feature_names=list("wxyz"))
    assert [f.name for f in named.program.body.features] == list("wxyz")


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (ensemble.RandomForestClassifier(), "RandomForestClassifier"),
        (tree.ExtraTreeClassifier(), "ExtraTreeClassifier"),
        (linear_model.LinearRegression(), "LinearRegression"),
        (tree.DecisionTreeClassifier(), "not fitted"),
        (tree.DecisionTreeRegressor().fit([[1], [2]], [[1, 2], [3, 4]]), "2 outputs"),
    ],
)
def test_what_cannot_be_imported_is_refused_by_name(
    estimator: Any, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        treecompile.from_sklearn(estimator)


def test_wrong_names_are_refused() -> None:
    estimator = dict(MODELS)["integers"]
    for arguments, message in (
        ({"feature_names": ["a"]}, "1 names for 4 features"),
        ({"feature_names": ["a", "a", "b", "c"]}, "same name"),
        ({"class_names": ["a"]}, "1 names for 3 classes"),
        ({"class_names": ["a", 1, 2.0]}, "float, int, str"),
    ):
        with pytest.raises(DataError, match=message):
            treecompile.from_sklearn(estimator, **arguments)


def test_statistics_come_along() -> None:
    model = treecompile.from_sklearn(dict(MODELS)["integers"])
    body = model.program.body
    assert isinstance(body, Tree)
    root = body.nodes[0]
    assert isinstance(root, Split)
    assert root.stats.weight == 150
    assert root.gain == pytest.approx(1 / 3)


def test_the_document_of_an_imported_tree() -> None:
    text = treecompile.from_sklearn(dict(MODELS)["median"]).emit("markdown")
    assert "scikit-learn DecisionTreeRegressor" in text
