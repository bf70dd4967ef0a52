"""The Python module for whole columns: its interface and the types of its answers."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from itertools import product
from random import Random
from types import FunctionType, ModuleType
from typing import get_type_hints

import numpy as np
import pytest

from tests.support.fractional import model as divided
from tests.support.fractional import numbers
from tests.support.rule_lists import above, at_most, random_list, rule_set
from tests.support.samples import balanced, chain, every_type, module_of
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Program,
    Row,
    RuleSet,
    ValueType,
)
from treecompile.model.semantics import predict, required_features


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


def answers(rules: RuleSet, rows: list[Row], module: ModuleType) -> list[Label]:
    names = [feature.name for feature in rules.features]
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    found: list[Label] = module.predict(columns).tolist()
    return found


def test_rules_are_walked_as_a_tree_where_they_are_one() -> None:
    rules = rule_set(
        ((at_most(0, 5.0),), "yes"), ((above(1, 1.0, True), at_most(2, 0.0)), "no")
    )
    made = emit(Program("y", "test", rules), "python", EmitOptions(style="numpy"))
    assert "run as one nested decision" in made.notes[0]
    module = module_of(made.text)
    assert hasattr(module, "SPLITS")
    values = (-1.0, 0.0, 5.0, 6.0, None, np.nan)
    rows: list[Row] = list(product(values, repeat=3))
    assert answers(rules, rows, module) == [predict(rules, row) for row in rows]


def test_rules_that_would_be_too_large_a_tree_are_run_in_order() -> None:
    rules = random_list(50, 12, 3)
    named = Feature("named", Kind.CATEGORICAL, ValueType.STR, ("a", "b", "c"))
    test = Condition(12, Op.NOT_IN, ("a", "c"), missing=False)
    first = replace(rules.rules[0], conditions=(test, above(0, 0.5, True)))
    rules = replace(
        rules, features=(*rules.features, named), rules=(first, *rules.rules)
    )
    text = emit(Program("y", "test", rules), "python", EmitOptions(style="numpy")).text
    module = module_of(text)
    assert len(module.RULES) == 51
    dice = Random(0)
    rows: list[Row] = [
        (
            *(dice.choice((dice.random(), None)) for _ in range(12)),
            dice.choice(("a", "b", "c", "d", None)),
        )
        for _ in range(300)
    ]
    assert answers(rules, rows, module) == [predict(rules, row) for row in rows]


def test_rules_without_a_test_have_one_answer() -> None:
    never = (at_most(0, 1.0), above(0, 2.0))
    rules = rule_set((never, "no"), ((at_most(0, np.inf, True),), "yes"))
    text = emit(Program("y", "test", rules), "python", EmitOptions(style="numpy")).text
    module = module_of(text)
    assert module.predict({"x0": [0.0, 3.0, None]}).tolist() == ["yes"] * 3


@pytest.mark.parametrize("style", ["standard", "numpy"])
def test_numbers_are_averaged_where_a_value_is_unknown(style: str) -> None:
    module = module_of(
        emit(numbers(8.0, 16.0), "python", EmitOptions(style=style)).text
    )
    (name,) = module.FEATURES
    rows = [1.0, 2.0, None]
    expected = [8.0, 16.0, (3.0 * 8.0 + 1.0 * 16.0) / 4.0]
    if style == "numpy":
        assert module.predict({name: rows}).tolist() == expected
    else:
        assert module.predict_many({name: value} for value in rows) == expected


def test_a_number_that_several_rules_share_is_explained() -> None:
    module = module_of(emit(numbers(8.0, 16.0), "python").text)
    (name,) = module.FEATURES
    first, *shared = module.explain({name: None}).splitlines()
    assert first == f"divided: play = 10.0, shared by these rules; unknown: {name}"
    assert [line.split()[0] for line in shared] == ["75.0", "25.0"]
    assert module.explain({name: 1.0}).startswith("R1: if heat <= 1")


@pytest.mark.parametrize(
    ("labels", "written"),
    [
        ((False, True), ["false", "true"]),
        (("False", "yes, really"), ["False", '"yes, really"']),
        ((1, 2), ["1", "2"]),
        ((0.5, 1e22), ["0.5", "1e+22"]),
    ],
)
def test_a_script_writes_answers_as_they_are_read(
    labels: tuple[Label, ...], written: list[str]
) -> None:
    x = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    program = chain((x,), (Condition(0, Op.LE, 0.0, False),), labels)
    module = module_of(emit(replace(program, na_values=("NA",)), "python").text)
    out = StringIO()
    module.score(["n,x", "1,0", "2,0.5", "3,NA", "4,"], out)
    low, high = written
    assert out.getvalue().splitlines() == [
        *("n,x,prediction", f"1,0,{low}", f"2,0.5,{high}"),
        *(f"3,NA,{high}", f"4,,{high}"),
    ]
