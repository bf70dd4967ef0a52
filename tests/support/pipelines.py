"""Random pipelines of scikit-learn around a tree, with rows that try their edges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import isinf
from typing import Any

import numpy as np
import pandas as pd
from sklearn import preprocessing as pp
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tests.support.samples import ROOT
from treecompile.model import ir
from treecompile.model.semantics import conditions

REAL = (  # of tests/tables, with numbers, texts and missing values
    *("airquality.csv", "auto-mpg.csv", "biopsy.csv", "birthwt.csv", "cars93.csv"),
    *("churn.csv", "hitters.csv", "infert.csv", "mpg.csv", "mtcars.csv"),
    *("penguins.csv", "chile.csv"),
)
AROUND = 40  # doubles on each side of a threshold


@dataclass(frozen=True, slots=True)
class Case:
    """A fitted pipeline, and what it was fitted on."""

    pipeline: Any
    X: pd.DataFrame
    y: pd.Series[Any]


def random_case(seed: int) -> Case:
    """A table, and a pipeline of random steps that was fitted on it.

    The table of an even seed is random, that of an odd one is part of a real one.
    """
    random = np.random.default_rng(seed)
    rows = int(random.integers(40, 300))
    X = (real_table if seed % 2 else random_table)(random, rows)
    numbers = [name for name in X if X[name].dtype.kind == "f"]
    texts = [name for name in X if name not in numbers]
    signal: Any = sum(X[name].rank().fillna(0) * random.normal() for name in numbers)
    for name in texts:
        signal = signal + X[name].factorize()[0] * random.normal() * len(X) / 4
    noisy: Any = signal + random.normal(scale=0.3 * np.std(signal), size=len(X))
    is_class = random.random() < 0.7
    names = np.array(["no", "perhaps", "yes"])[: int(random.integers(2, 4))]
    cut = pd.qcut(noisy, len(names), labels=False)
    y = pd.Series(names[cut], name="answer") if is_class else noisy.rename("amount")
    parts = [
        (f"n{i}", _for_numbers(random), [name]) for i, name in enumerate(numbers)
    ] + [
        (f"t{i}", _for_texts(random, is_class), [name]) for i, name in enumerate(texts)
    ]
    if len(numbers) > 1 and random.random() < 0.3:
        shared = FeatureUnion(
            [
                ("scaled", make_pipeline(SimpleImputer(), _scaler(random))),
                ("missing", MissingIndicator(features="all")),
            ]
        )
        parts = [("both", shared, numbers), *parts[len(numbers) :]]
    transformer = ColumnTransformer(
        parts, sparse_threshold=float(random.choice([0.0, 0.3]))
    )
    steps: list[Any] = [("columns", transformer)]
    if random.random() < 0.2:
        steps.append(("select", VarianceThreshold()))
    elif random.random() < 0.2 and is_class:
        steps += [("fill", SimpleImputer()), ("best", SelectKBest(f_classif, k=3))]
    elif random.random() < 0.2:
        steps.append(("again", pp.StandardScaler(with_mean=False)))
    kind = DecisionTreeClassifier if is_class else DecisionTreeRegressor
    depth = (3, 6, None)[int(random.integers(3))]
    tree = kind(max_depth=depth, min_samples_leaf=int(random.integers(1, 6)))
    tree.set_params(random_state=seed)
    pipeline = Pipeline([*steps, ("tree", tree)])
    return Case(pipeline.fit(X, y), X, y)


def random_table(random: np.random.Generator, rows: int) -> pd.DataFrame:
    columns: dict[str, Any] = {}
    for i in range(int(random.integers(1, 5))):
        scale = 10.0 ** random.integers(-3, 6)
        values = np.abs(random.normal(size=rows)) * scale + scale / 100
        if random.random() < 0.4:
            values = np.round(values, int(random.integers(0, 3))) + 1
        if random.random() < 0.5:
            values[random.random(rows) < 0.15] = np.nan
        columns[f"n{i}"] = values
    for i in range(int(random.integers(0, 4))):
        words = np.array(["a", "b", "c'c", "D d", "é", "0", "rare"], dtype=object)
        shares = random.dirichlet(np.ones(len(words)))
        texts = random.choice(words, rows, p=shares).astype(object)
        if random.random() < 0.4:
            texts[random.random(rows) < 0.15] = np.nan
        columns[f"t{i}"] = texts
    if random.random() < 0.3:
        columns["code"] = random.integers(0, 6, rows).astype(object)
    return pd.DataFrame(columns)


@cache
def _read(name: str) -> pd.DataFrame:
    """The numbers of a real table, and its texts with few categories."""
    table = pd.read_csv(ROOT / "tests" / "tables" / name)
    kept: dict[str, Any] = {}
    for column in table:
        values = table[column]
        if values.dtype.kind in "if":
            kept[str(column)] = values.astype(float)
        elif values.dtype.kind != "b" and values.nunique() <= 30:
            kept[str(column)] = values.astype(object).where(values.notna(), np.nan)
    return pd.DataFrame(kept)


def real_table(random: np.random.Generator, rows: int) -> pd.DataFrame:
    """Some rows and columns of a real table."""
    table = _read(REAL[int(random.integers(len(REAL)))])
    columns = random.permutation(table.shape[1])[: int(random.integers(2, 7))]
    chosen = table.iloc[:, np.sort(columns)]
    if not any(dtype.kind == "f" for dtype in chosen.dtypes):
        return real_table(random, rows)
    return chosen.sample(min(rows, len(table)), random_state=random, ignore_index=True)


def _scaler(random: np.random.Generator) -> Any:
    options = [
        pp.StandardScaler(),
        pp.MinMaxScaler(feature_range=(-1, 3)),
        pp.MinMaxScaler(clip=True),
        pp.RobustScaler(),
        pp.MaxAbsScaler(),
        pp.PowerTransformer(),
        pp.PowerTransformer(method="box-cox"),
        pp.QuantileTransformer(n_quantiles=20),
        pp.QuantileTransformer(n_quantiles=10, output_distribution="normal"),
        pp.Binarizer(threshold=0.5),
        pp.KBinsDiscretizer(4, encode="ordinal", quantile_method="linear"),
        pp.KBinsDiscretizer(4, encode="onehot", strategy="uniform"),
        pp.FunctionTransformer(np.log1p),
        make_pipeline(pp.FunctionTransformer(np.sqrt), pp.StandardScaler()),
        pp.FunctionTransformer(np.negative),
        "passthrough",
    ]
    return options[int(random.integers(len(options)))]


def _for_numbers(random: np.random.Generator) -> Any:
    scaler = _scaler(random)
    imputers = [
        SimpleImputer(),
        SimpleImputer(strategy="median", add_indicator=True),
        SimpleImputer(strategy="constant", fill_value=-1.0),
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
    ]
    chosen = imputers[int(random.integers(len(imputers)))]
    refuses = (pp.KBinsDiscretizer,)
    if random.random() < 0.6 or isinstance(scaler, refuses):
        if isinstance(scaler, pp.PowerTransformer) and scaler.method == "box-cox":
            chosen = SimpleImputer(strategy="median")
        return make_pipeline(chosen, scaler)
    return scaler


def _for_texts(random: np.random.Generator, is_class: bool) -> Any:
    unknown: dict[str, Any] = {"handle_unknown": "use_encoded_value"}
    options = [
        pp.OneHotEncoder(handle_unknown="ignore"),
        pp.OneHotEncoder(drop="first"),
        pp.OneHotEncoder(drop="if_binary", handle_unknown="ignore"),
        pp.OneHotEncoder(handle_unknown="infrequent_if_exist", min_frequency=0.1),
        pp.OneHotEncoder(max_categories=3, handle_unknown="warn"),
        pp.OrdinalEncoder(),
        pp.OrdinalEncoder(**unknown, unknown_value=-1),
        pp.OrdinalEncoder(**unknown, unknown_value=np.nan),
        pp.OrdinalEncoder(encoded_missing_value=-2),
        make_pipeline(
            pp.OrdinalEncoder(**unknown, unknown_value=-1), pp.StandardScaler()
        ),
        pp.TargetEncoder(cv=2, random_state=0),
    ]
    encoder = options[int(random.integers(len(options)))]
    if random.random() < 0.3:
        fill = SimpleImputer(strategy="most_frequent", add_indicator=False)
        return make_pipeline(fill, encoder)
    return encoder


def edge_rows(
    body: ir.Body, X: pd.DataFrame, random: np.random.Generator
) -> pd.DataFrame:
    """Rows of X with a value at, or near, an edge of the model; missing and unseen."""
    parts = [X]
    for index, feature in enumerate(body.features):
        values: list[Any] = [np.nan]
        if feature.kind is ir.Kind.NUMERIC:
            values += [0.0, -0.0, 1.0, -5.5]
            limits = {
                float(test.value)
                for test in conditions(body)
                if test.feature == index and isinstance(test.value, float)
            }
            for limit in sorted(limit for limit in limits if not isinf(limit)):
                bits = np.array([limit]).view(np.int64)[0]
                near = np.arange(-AROUND, AROUND + 1) + bits
                values += near.view(np.float64).tolist()
        else:
            values += feature.categories
            is_text = feature.type is ir.ValueType.STR
            values += ["never seen", "A", ""] if is_text else [99, -1]
        some = X.iloc[random.integers(0, len(X), len(values))].copy()
        dtype = float if feature.kind is ir.Kind.NUMERIC else object
        some[feature.name] = pd.Series(values, dtype=dtype).to_numpy()
        parts.append(some)
    return pd.concat(parts, ignore_index=True)


def answered(pipeline: Any, rows: pd.DataFrame) -> tuple[list[int], list[Any]]:
    """The rows that a pipeline does not refuse, and its answers to them."""
    places: list[int] = []
    answers: list[Any] = []
    todo = [(0, len(rows))]
    while todo:
        first, last = todo.pop()
        try:
            found = pipeline.predict(rows.iloc[first:last])
        except (TypeError, ValueError):
            middle = (first + last) // 2
            if first < middle:
                todo += [(middle, last), (first, middle)]
            continue
        places += range(first, last)
        answers += list(found)
    return places, answers
