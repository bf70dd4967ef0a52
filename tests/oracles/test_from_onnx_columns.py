"""ONNX files with an input for each column: sums bit for bit, as of onnxruntime."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import inf
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skl2onnx
from onnx import ModelProto, TensorProto, helper
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
)
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.pipeline import make_pipeline

import treecompile
from tests.support.forest_rows import edge_table, labels, margins, shares
from tests.support.onnx_models import (
    LABELLED,
    MODES,
    as_tensors,
    leaf_attributes,
    model_of,
    old_attributes,
    random_tree,
    session,
)
from treecompile.importers import onnx as importer
from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import dumps, loads_any

FLOAT, DOUBLE, INT64 = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64
EXTRA = [np.nan, inf, -inf, 3.4e38, -3.4e38, 1e300, 1e-46, -1e-300, 1.0, -1.0]
INTEGERS = [0, 1, -1, 2**24, 2**24 + 1, -(2**24) - 1, 2**25 + 3, 2**53, -(2**53), 99]
KINDS = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(int64)": "i8"}


def imported(model: ModelProto) -> ir.Forest:
    program = importer.from_object(model).program
    assert loads_any(dumps(program)) == program
    return program.body


def run(model: ModelProto, X: pd.DataFrame) -> list[Any]:
    """The outputs of onnxruntime; each column is rounded to the type of its input."""
    ready = session(model)
    with np.errstate(over="ignore"):
        columns = {
            each.name: X[[each.name]].to_numpy(float).astype(KINDS[each.type])
            for each in ready.get_inputs()
        }
    found: list[Any] = ready.run(None, columns)
    return found


def rows_for(forest: ir.Forest, model: ModelProto, seed: int = 0) -> pd.DataFrame:
    """Random rows and those at the edges of all tests; all columns of the model."""
    dice = np.random.default_rng(seed)
    kinds = {each.name: each.type for each in session(model).get_inputs()}
    x = dice.normal(size=(200, len(kinds))) * 2
    x[:100] = np.round(x[:100])
    X = edge_table(forest, pd.DataFrame(x, columns=list(kinds)), extra=EXTRA)
    for name, kind in kinds.items():
        if kind == "tensor(int64)":
            some = dice.choice(INTEGERS, len(X))
            near = np.floor(X[name].clip(-1e15, 1e15).fillna(0.0))
            X[name] = np.where(dice.random(len(X)) < 0.3, some, near)
    return X


def check_numbers(model: ModelProto, seed: int = 0) -> ir.Forest:
    forest = imported(model)
    X = rows_for(forest, model, seed)
    names = [feature.name for feature in forest.features]
    assert (margins(forest, X[names])[:, 0] == run(model, X)[0][:, 0]).all()
    return forest


def check_classes(model: ModelProto, seed: int = 0) -> ir.Forest:
    forest = imported(model)
    X = rows_for(forest, model, seed)
    names = [feature.name for feature in forest.features]
    answers, scores, *_ = run(model, X)
    if isinstance(scores, list):  # of a ZipMap
        scores = np.array([list(row.values()) for row in scores])
    assert labels(forest, X[names]) == answers.tolist()
    assert np.abs(shares(forest, X[names]) - scores).max() <= 2**-22
    return forest


def joined(
    kinds: Mapping[str, int],
    before: list[Any],
    source: str,
    attributes: dict[str, Any],
    *,
    kind: str = "TreeEnsembleRegressor",
    width: int = 1,
) -> ModelProto:
    """An ensemble after some nodes, and an input of each type."""
    outputs = LABELLED if kind == "TreeEnsembleClassifier" else (("Y", FLOAT),)
    model = model_of(kind, 1, attributes, before=before, source=source, outputs=outputs)
    del model.graph.input[:]
    model.graph.input.extend(
        helper.make_tensor_value_info(name, element, [None, width])
        for name, element in kinds.items()
    )
    return model


def trees_of(seed: int, features: int, prefix: str = "target") -> dict[str, Any]:
    dice = Random(seed)
    trees = [random_tree(dice, features, 4, MODES) for _ in range(12)]
    weights = leaf_attributes(trees, prefix, lambda _: {0: dice.gauss(0, 1)})
    return {**old_attributes(trees), **weights}


def concat(names: list[str], axis: int = 1) -> Any:
    return helper.make_node("Concat", names, ["J"], axis=axis)


def cast(name: str, to: int, made: str = "") -> Any:
    return helper.make_node("Cast", [name], [made or f"{name}c"], to=to)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("axis", [1, -1])
def test_columns_are_joined_in_their_order(seed: int, axis: int) -> None:
    names = ["b", "a b", "c'"]
    Random(seed).shuffle(names)
    model = joined(
        dict.fromkeys(sorted(names), FLOAT),
        [concat(names, axis)],
        "J",
        {**trees_of(seed, 3), "n_targets": 1},
    )
    forest = check_numbers(model, seed)
    assert [feature.name for feature in forest.features] == names


@pytest.mark.parametrize("seed", range(12))
def test_casts_of_columns(seed: int) -> None:
    """A double is rounded to 32 bits, and so is an integer."""
    kinds = {"f": FLOAT, "d": DOUBLE, "i": INT64}
    before = [cast("d", FLOAT), cast("i", FLOAT), concat(["f", "dc", "ic"])]
    attributes = {**trees_of(seed, 3), "n_targets": 1}
    check_numbers(joined(kinds, before, "J", attributes), seed)
    # The same after the columns are joined, from doubles.
    before = [cast("f", DOUBLE), cast("i", DOUBLE), concat(["ic", "fc", "d"])]
    before.append(cast("J", FLOAT, "Z"))
    check_numbers(joined(kinds, before, "Z", attributes), seed)


@pytest.mark.parametrize("seed", range(8))
def test_an_ensemble_of_doubles(seed: int) -> None:
    """Each column keeps its own precision: one is rounded to 32 bits, two are not."""
    kinds = {"f": FLOAT, "d": DOUBLE, "i": INT64}
    before = [cast("f", DOUBLE), cast("i", DOUBLE), concat(["fc", "d", "ic"])]
    attributes = trees_of(seed, 3, "class")
    attributes["nodes_values"] = [v + 0.1 for v in attributes["nodes_values"]]
    attributes = as_tensors(attributes, "nodes_values", "class_weights")
    attributes |= {"classlabels_int64s": [0, 1], "post_transform": "LOGISTIC"}
    model = joined(kinds, before, "J", attributes, kind="TreeEnsembleClassifier")
    forest = check_classes(model, seed)
    assert forest.arithmetic is ir.Arithmetic.DOUBLE


def test_nested_joins_and_integers_joined_before_their_cast() -> None:
    attributes = {**trees_of(5, 3), "n_targets": 1}
    inner = helper.make_node("Concat", ["a", "b"], ["K"], axis=1)
    outer = helper.make_node("Concat", ["K", "c"], ["J"], axis=1)
    kinds = dict.fromkeys("cab", INT64)
    model = joined(kinds, [inner, outer, cast("J", FLOAT, "Z")], "Z", attributes)
    forest = check_numbers(model)
    assert [feature.name for feature in forest.features] == ["a", "b", "c"]


def test_one_input_of_integers_that_is_cast() -> None:
    attributes = {**trees_of(5, 2), "n_targets": 1}
    model = joined({"X": INT64}, [cast("X", FLOAT, "Z")], "Z", attributes, width=2)
    forest = imported(model)
    x = np.array([[a, b] for a in INTEGERS for b in INTEGERS])
    known = session(model).run(None, {"X": x})[0][:, 0]
    X = pd.DataFrame(x.astype(float), columns=["x0", "x1"])
    assert (margins(forest, X)[:, 0] == known).all()


def test_integers_that_32_bits_round() -> None:
    """16777217 counts as 16777216 after a cast to 32 bits, and not after one to 64."""
    nodes = random_tree(Random(1), 1, 1, ("LEQ",))
    assert [node["mode"] for node in nodes].count("BRANCH_LEQ") == 1
    weights = iter((1.0, 2.0))
    attributes = {
        **old_attributes([nodes]),
        **leaf_attributes([nodes], "class", lambda _: {0: next(weights) - 1.5}),
        "classlabels_int64s": [0, 1],
    }
    cuts = [2.0**24 if n["mode"] != "LEAF" else 0.0 for n in nodes]
    attributes["nodes_values"] = cuts
    answers = []
    for to in (FLOAT, DOUBLE):
        kept = attributes
        if to == DOUBLE:
            kept = as_tensors(attributes, "nodes_values", "class_weights")
        before = [cast("i", to), concat(["ic"])]
        model = joined({"i": INT64}, before, "J", kept, kind="TreeEnsembleClassifier")
        X = pd.DataFrame({"i": [2.0**24, 2.0**24 + 1, 2.0**24 + 2]})
        answers.append(run(model, X)[0].tolist())
        assert labels(imported(model), X) == answers[-1]
    (first, middle, last), (_, other, _) = answers
    assert first == middle != last
    assert other == last


# ---------------------------------------------------------------- a converter

TYPES = {"a": FloatTensorType, "n": Int64TensorType, "c": FloatTensorType}
DOUBLES = {**TYPES, "a": DoubleTensorType}


def table() -> pd.DataFrame:
    dice = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "a": dice.normal(size=300),
            "n": dice.integers(-9, 9, 300),
            "c": dice.normal(size=300),
        }
    )


def converted(estimator: Any, names: list[str], types: dict[str, Any]) -> ModelProto:
    X = table()
    y: Any = X["a"] + (X["n"] > 2) - X["c"] ** 2
    if isinstance(estimator, RandomForestClassifier):
        y = np.array(["no", "it's"])[(y > 0).astype(int)]
    kept = ColumnTransformer([("kept", "passthrough", names)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: ModelProto = skl2onnx.convert_sklearn(
            make_pipeline(kept, estimator).fit(X, y),
            initial_types=[(name, kind([None, 1])) for name, kind in types.items()],
            target_opset={"": 17, "ai.onnx.ml": 3},
        )
    return found


@pytest.mark.parametrize("types", [TYPES, DOUBLES], ids=["floats", "a double"])
@pytest.mark.parametrize("names", [["a", "n", "c"], ["c", "n"]])
def test_pipelines_over_frames(names: list[str], types: dict[str, Any]) -> None:
    estimator = RandomForestClassifier(12, max_depth=4, random_state=0)
    model = converted(estimator, names, types)
    forest = check_classes(model)
    assert [feature.name for feature in forest.features] == names
    notes = importer.from_object(model).notes
    assert any("read the input 'a'" in note for note in notes) == ("a" not in names)


def test_a_regression_over_a_frame() -> None:
    estimator = GradientBoostingRegressor(n_estimators=40, random_state=0)
    model = converted(estimator, ["c", "a", "n"], TYPES)
    check_numbers(model)
    made = treecompile.from_onnx(model, table())
    for text in (made.emit("python"), made.emit("sql", dialect="duckdb")):
        assert made.verify(text, budget=2_000).passed


def test_names_can_be_given() -> None:
    model = joined(
        {"a": FLOAT, "b": FLOAT},
        [concat(["b", "a"])],
        "J",
        {**trees_of(1, 2), "n_targets": 1},
    )
    found = importer.from_object(model, feature_names=["x", "y"]).program.body
    assert [feature.name for feature in found.features] == ["x", "y"]
    with pytest.raises(DataError, match="1 names for 2"):
        importer.from_object(model, feature_names=["x"])


# ---------------------------------------------------------------- what is refused

AB = {"a": FLOAT, "b": FLOAT}
STRING = TensorProto.STRING
LOOP = helper.make_node("Concat", ["J", "a"], ["J"], axis=1)


@pytest.mark.parametrize(
    ("kinds", "before", "width", "message"),
    [
        (AB, [concat(["a", "a"])], 1, "an input twice"),
        (AB, [concat(["a", "z"])], 1, "reads 'z', which is not an input"),
        (AB, [concat([])], 1, "Concat joins nothing"),
        (AB, [concat(["a", "b"], axis=0)], 1, "the operator 'Concat'"),
        (AB, [concat(["a", "b"])], 2, "'a': expected inputs of one column"),
        (AB, [LOOP], 1, "reads 'J', which is not an input"),
        (AB, [helper.make_node("Sum", ["a", "b"], ["J"])], 1, "the operator 'Sum'"),
        (
            AB,
            [helper.make_node("Neg", ["a"], ["n"]), concat(["n", "b"])],
            1,
            "the operator 'Neg'",
        ),
        ({"a": FLOAT, "b": DOUBLE}, [concat(["a", "b"])], 1, "of several types"),
        ({"a": INT64, "b": INT64}, [concat(["a", "b"])], 1, "an input of type int64"),
        (
            {"a": STRING, "b": FLOAT},
            [cast("a", FLOAT), concat(["ac", "b"])],
            1,
            "an input of type string",
        ),
        (
            AB,
            [
                cast("a", INT64, "t"),
                cast("t", FLOAT, "u"),
                concat(["u", "b"]),
            ],
            1,
            "an input of type int64",
        ),
        (
            {"a": INT64, "b": FLOAT},
            [cast("a", INT64, "t"), cast("t", FLOAT, "u"), concat(["u", "b"])],
            1,
            "an input of type int64",
        ),
    ],
)
def test_other_graphs_are_refused(
    kinds: Mapping[str, int], before: list[Any], width: int, message: str
) -> None:
    attributes = {**trees_of(1, 2), "n_targets": 1}
    model = joined(kinds, before, "J", attributes, width=width)
    with pytest.raises(ModelFileError, match=message):
        importer.from_object(model)
