"""The text of the decision in Python: names, types, widths, and many functions."""

from __future__ import annotations

import doctest

import black
import pandas as pd
import pytest

import treecompile
from tests.support.quick import without_black
from tests.support.samples import balanced, chain, every_type, leaf, module_of
from treecompile.emit.compiler import emit
from treecompile.emit.python.layout import WIDTH
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Op,
    Program,
    Tree,
    ValueType,
)
from treecompile.model.semantics import is_missing


def text_of(program: Program) -> str:
    with without_black():
        return emit(program, "python").text


def number(name: str) -> Feature:
    return Feature(name, Kind.NUMERIC, ValueType.FLOAT)


def decided(feature: Feature, *tests: Condition) -> str:
    return text_of(chain((feature,), tests, ("low", "high")))


def test_variables_are_short_and_in_lower_case() -> None:
    at_most = Condition(0, Op.LE, 2.5, missing=False)
    head = "def predict_values({}: Any, /, *, rule: bool = False) -> str:\n"
    assert head.format("heat_c") in decided(number("Heat (°C)"), at_most)
    name = "abcdefghijklmnopqrstuvwxyz"
    assert head.format(name[:20]) in decided(number(name), at_most)
    for taken in (
        *("row", "rule", "print", "if", "predict", "as_number", "predict_values"),
    ):
        text = decided(number(taken), at_most)
        assert head.format(f"{taken}_2") in text
        module = module_of(text)
        assert module.predict({taken: 2.5}) == module.predict_values(2.5) == "low"


def test_values_are_taken_by_position_alone() -> None:
    module = module_of(decided(number("x"), Condition(0, Op.LE, 2.5, missing=False)))
    assert module.predict_values(2.5, rule=True) == "R1"
    for positional, named in (((), {}), ((1, 2), {}), ((1, True), {}), ((), {"x": 1})):
        with pytest.raises(TypeError):
            module.predict_values(*positional, **named)


def test_a_test_of_presence_needs_no_conversion_of_integers() -> None:
    x = number("x")
    text = decided(x, is_missing(0, x))
    assert "    if x.__class__ is not float and x.__class__ is not int:\n" in text
    module = module_of(text)
    assert [module.predict({"x": v}) for v in (None, 2**60)] == ["low", "high"]


def test_a_deep_decision_is_as_black_prints_it() -> None:
    text = text_of(balanced(6))
    assert black.format_str(text, mode=black.Mode()) == text
    module = module_of(text)
    for value in range(64):
        assert module.predict({"x": value}) == float(value)


def test_a_model_without_a_test_answers() -> None:
    tree = Tree((number("x"),), ("a", "b"), (leaf(("a", "b"), 1),))
    module = module_of(text_of(Program("y", "test", tree)))
    assert module.predict({}) == module.predict_values() == "b"
    assert module.predict_many([{}, {}]) == ["b", "b"]


# ---------------------------------------------------------------- the docstring


@pytest.mark.parametrize("length", [5, *range(58, 65)])
def test_the_worked_call_fits_and_is_right(length: int) -> None:
    test = Condition(0, Op.LE, 2.5, missing=False)
    program = chain((number("n" * length),), (test,), ("low", "high"))
    text = text_of(program)
    module = module_of(text)
    assert doctest.testmod(module).attempted == 2  # by name, and by position
    assert doctest.testmod(module).failed == 0
    said = (module.__doc__ or "").splitlines()
    assert max(map(len, said)) <= WIDTH
    one_line = f'    >>> predict({{"{"n" * length}": 0.0}})'
    assert (one_line in said) == (len(one_line) <= WIDTH)
    assert said[0] == "Predict answer: 2 rules learned by by hand."
    assert said[said.index("    'low'") + 1] == "    >>> predict_values(0.0)"
    assert (said[1], said[said.index("    >>> predict_values(0.0)") + 2]) == ("", "")


def test_the_number_of_rows_is_known_after_learning() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 5.0], "y": ["a", "b", "b"]})
    made = treecompile.learn(frame, target="y").emit("python")
    assert module_of(made).MODEL["rows"] == 3
    assert "rows" not in module_of(text_of(every_type())).MODEL
