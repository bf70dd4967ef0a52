"""The Python module for whole columns: its interface and the types of its answers."""

from __future__ import annotations

from types import FunctionType
from typing import get_type_hints

import numpy as np
import pytest

from tests.support.fractional import model as divided
from tests.support.samples import balanced, chain, every_type, module_of
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.ir import Condition, Feature, Kind, Label, Op, Program, ValueType
from treecompile.model.semantics import required_features


def regression() -> Program:
    return balanced(2)


MODELS = {"classes": every_type, "regression": regression, "divided": divided}


@pytest.mark.parametrize("style", ["standard", "numpy"])
@pytest.mark.parametrize("name", MODELS)
def test_every_name_in_an_annotation_is_known(name: str, style: str) -> None:
    module = module_of(emit(MODELS[name](), "python", EmitOptions(style=style)).text)
    functions = [f for f in vars(module).values() if isinstance(f, FunctionType)]
    assert functions
    for function in functions:
        get_type_hints(function)
    assert get_type_hints(module) is not None


@pytest.mark.parametrize("name", MODELS)
def test_the_interface_of_a_module_for_columns(name: str) -> None:
    program = MODELS[name]()
    body = program.body
    module = module_of(emit(program, "python", EmitOptions(style="numpy")).text)
    assert tuple(feature.name for feature in body.features) == module.COLUMNS
    used = [body.features[index].name for index in required_features(body)]
    assert tuple(used) == module.FEATURES
    assert getattr(module, "CLASSES", ()) == body.labels
    assert hasattr(module, "predict_proba") == bool(body.labels)


def test_a_column_that_no_test_reads_has_its_place_in_an_array() -> None:
    """An array has all columns in their order; a mapping only those that are read."""
    unread, read = (Feature(n, Kind.NUMERIC, ValueType.FLOAT) for n in ("a", "b"))
    test = Condition(1, Op.LE, 2.5, missing=False)
    program = chain((unread, read), (test,), ("low", "high"))
    module = module_of(emit(program, "python", EmitOptions(style="numpy")).text)
    assert (module.COLUMNS, module.FEATURES) == (("a", "b"), ("b",))
    rows = np.array([[9.0, 2.5], [0.0, 2.75], [0.0, np.nan]])
    assert module.predict(rows).tolist() == ["low", "high", "high"]
    assert module.predict({"b": [1.0, 3.0]}).tolist() == ["low", "high"]


@pytest.mark.parametrize(
    ("labels", "dtype"),
    [
        (("no", "yes"), object),
        ((False, True), np.bool_),
        ((1, 2), np.int64),
        ((2**63 - 1, 1 - 2**63), np.int64),
        ((1, 2**63), object),
        ((-(2**63), 0), object),
        ((0.5, 1.5), np.float64),
    ],
)
def test_answers_for_columns_have_the_type_of_the_labels(
    labels: tuple[Label, ...], dtype: type
) -> None:
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    program = chain((x,), (Condition(0, Op.LE, 0.0, False),), labels)
    module = module_of(emit(program, "python", EmitOptions(style="numpy")).text)
    found = module.predict({"x": [0.0, 1.0]})
    assert found.dtype == dtype
    assert [type(v) for v in found.tolist()] == [type(v) for v in labels]
    assert tuple(found.tolist()) == labels
