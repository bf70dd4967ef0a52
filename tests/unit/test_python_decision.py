"""The text of the decision in Python: names, types, widths, and many functions."""

from __future__ import annotations

import doctest
import re
from dataclasses import replace
from types import FunctionType
from typing import get_type_hints

import black
import pandas as pd
import pytest

import treecompile
from tests.support.quick import without_black
from tests.support.samples import balanced, chain, every_type, leaf, module_of
from treecompile.emit.compiler import emit
from treecompile.emit.python.layout import WIDTH
from treecompile.model.ir import (
    Branch,
    Category,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Moments,
    Node,
    Op,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import is_missing, negate, threshold


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


def test_answers_that_are_not_texts_have_their_type() -> None:
    test = Condition(0, Op.LE, 2.5, missing=False)
    text = text_of(chain((number("x"),), (test,), (0, 1)))
    assert "@overload\ndef predict_values(x: Any, /) -> int: ...\n" in text
    assert "def predict_values(x: Any, /, *, rule: bool = False) -> Any:\n" in text


@pytest.mark.parametrize(
    ("threshold", "plain"),
    [
        (0.5, "float, int"),
        (1000.0, "float, int"),
        (2.0**53 - 1, "float, int"),
        (2.0**53, "float"),
        (-(2.0**53), "float"),
        (1e300, "float"),
    ],
)
def test_integers_are_converted_only_where_it_matters(
    threshold: float, plain: str
) -> None:
    text = decided(number("x"), Condition(0, Op.LE, threshold, missing=False))
    tests = " and ".join(f"x.__class__ is not {name}" for name in plain.split(", "))
    assert f"    if {tests}:\n" in text


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


SCALE = 1e-100 / 3  # thresholds of many digits


def wide(depth: int) -> Tree:
    """A balanced tree whose tests take about 46 columns; the last ask for `y...`."""
    tree = balanced(depth).body
    assert isinstance(tree, Tree)
    nodes: list[Node] = []
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            index = int(position + 1 >= 2 ** (depth - 1))
            branches = []
            for branch in node.branches:
                value = threshold(branch.when) * SCALE
                when = replace(branch.when, feature=index, value=value)
                branches.append(replace(branch, when=when))
            node = replace(node, branches=tuple(branches))
        nodes.append(node)
    features = (number("x" * 20), number("y" * 20))
    return replace(tree, features=features, nodes=tuple(nodes))


def test_functions_are_started_only_where_a_line_would_be_too_wide() -> None:
    assert "_predict_1" not in text_of(balanced(8))  # short tests: all in one
    text = text_of(Program("y", "test", wide(9)))
    assert "def _predict_1(" in text
    tests = [
        line for line in text.splitlines() if line.lstrip()[:4] in ("if x", "if y")
    ]
    assert max(map(len, tests)) <= WIDTH
    # One level more, and the widest test might not fit any longer.
    widest = max(len(line.strip()) for line in tests)
    deepest = max(len(line) - len(line.lstrip()) for line in tests)
    assert deepest + 12 + widest > WIDTH
    module = module_of(text)
    for function in vars(module).values():
        if isinstance(function, FunctionType):
            get_type_hints(function)
    for value in range(0, 512, 7):
        row = {"x" * 20: value * SCALE, "y" * 20: value * SCALE}
        assert module.predict(row) == float(value)


def test_a_model_without_a_test_answers() -> None:
    tree = Tree((number("x"),), ("a", "b"), (leaf(("a", "b"), 1),))
    module = module_of(text_of(Program("y", "test", tree)))
    assert module.predict({}) == module.predict_values() == "b"
    assert module.predict_many([{}, {}]) == ["b", "b"]


@pytest.mark.parametrize("length", [*range(50, 90, 3), *range(66, 74)])
def test_long_names_are_read_as_black_prints_it(length: int) -> None:
    at_most = Condition(0, Op.LE, 2.5, missing=False)
    text = decided(number("n" * length), at_most)
    assert black.format_str(text, mode=black.Mode()) == text
    assert module_of(text).predict({"n" * length: 2}) == "low"


# ---------------------------------------------------------------- categories

SHORT: tuple[Category, ...] = ("a", "b", "c")
LONG: tuple[Category, ...] = ("a rather long category", "another long category", "c")


@pytest.mark.parametrize("categories", [SHORT, LONG])
@pytest.mark.parametrize("size", [0, 1, 2, 3])
@pytest.mark.parametrize("op", [Op.IN, Op.NOT_IN])
@pytest.mark.parametrize("missing", [False, True])
def test_tests_of_categories(
    categories: tuple[Category, ...], size: int, op: Op, missing: bool
) -> None:
    feature = Feature("town", Kind.CATEGORICAL, ValueType.STR, categories)
    test = Condition(0, op, categories[:size], missing)
    text = decided(feature, test)
    assert black.format_str(text, mode=black.Mode()) == text
    module = module_of(text)
    for place, value in enumerate((*categories, "unseen")):
        truth = (place < size) == (op is Op.IN)
        assert module.predict({"town": value}) == ("low" if truth else "high")
    assert module.predict({"town": None}) == ("low" if missing else "high")


def test_long_sets_have_names() -> None:
    feature = Feature("Town of birth", Kind.CATEGORICAL, ValueType.STR, LONG)
    first = Condition(0, Op.IN, LONG[:2], missing=False)
    second = Condition(0, Op.IN, LONG[:1], missing=True)
    text = decided(feature, first, second, first)
    assert "TOWN_OF_BIRTH_1 = frozenset(" in text
    assert text.count("TOWN_OF_BIRTH_2 = frozenset(") == 1
    assert "if town_of_birth in TOWN_OF_BIRTH_1:" in text
    assert "TOWN_OF_BIRTH_3" not in text
    single = Condition(0, Op.IN, ("x" * 30,), missing=False)
    longest = Feature("y" * 30, Kind.CATEGORICAL, ValueType.STR, ("x" * 30, "b"))
    text = decided(longest, single)
    name = "Y" * 20
    assert f'{name}_1 = ("{"x" * 30}",)\n' in text
    assert f"if {'y' * 20} == {name}_1[0]:" in text


def test_short_sets_are_in_the_line() -> None:
    feature = Feature("c", Kind.CATEGORICAL, ValueType.STR, ("a" * 8, "b" * 8, "d"))
    within = Condition(0, Op.IN, ("a" * 8, "b" * 8), missing=False)  # 24 columns
    assert f'if c in ("{"a" * 8}", "{"b" * 8}"):' in decided(feature, within)
    nine = Feature("c", Kind.CATEGORICAL, ValueType.STR, ("a" * 9, "b" * 8, "d"))
    wider = Condition(0, Op.IN, ("a" * 9, "b" * 8), missing=False)
    assert "if c in C_1:" in decided(nine, wider)


def test_long_labels_are_taken_from_the_classes() -> None:
    labels: tuple[Label, ...] = ("l" * 22, "m" * 23)
    test = Condition(0, Op.LE, 1.0, missing=False)
    text = text_of(chain((number("x"),), (test,), labels))
    assert f'else "{"l" * 22}"' in text
    assert "else CLASSES[1]" in text
    module = module_of(text)
    assert [module.predict({"x": x}) for x in (1, 2)] == list(labels)
    assert module.predict({"x": None}) == labels[1]


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


def test_several_values_of_the_worked_call() -> None:
    def said(*names: str) -> str:
        made = chain(tuple(map(number, names)), pair(), ("low", "mid", "high"))
        module = module_of(text_of(made))
        assert doctest.testmod(module).failed == 0
        return module.__doc__ or ""

    assert '    >>> predict({"x": 0.0, "y": 0.0})\n' in said("x", "y")
    long = said("x" * 40, "y" * 40)
    assert "    >>> predict(\n    ...     {\n" in long
    assert f'    ...         "{"y" * 40}": 0.0,\n    ...     }}\n    ... )\n' in long


def pair() -> tuple[Condition, ...]:
    return tuple(Condition(place, Op.LE, 1.0, missing=False) for place in (0, 1))


def test_the_number_of_rows_is_known_after_learning() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, 5.0], "y": ["a", "b", "b"]})
    made = treecompile.learn(frame, target="y").emit("python")
    assert module_of(made).MODEL["rows"] == 3
    assert "rows" not in module_of(text_of(every_type())).MODEL


# ---------------------------------------------------------------- narrow lines


def spread(names: list[str]) -> Program:
    """A full tree; each of its levels tests a number of its own."""
    nodes: list[Node] = []
    depth = len(names)
    for position in range(2**depth - 1):  # numbered as in a heap
        level = (position + 1).bit_length() - 1
        when = Condition(level, Op.LE, 0.5, missing=False)
        low = Branch(when, 2 * position + 1, 1.0)
        high = Branch(negate(when), 2 * position + 2, 1.0)
        nodes.append(Split((low, high), Moments(2.0, 0.5, 0.5), 0.5))
    nodes += [Leaf(float(n), Moments(1.0, float(n), 0.0), 1.0) for n in range(2**depth)]
    features = tuple(map(number, names))
    return Program("leaf", "by hand", Tree(features, (), tuple(nodes)))


@pytest.mark.parametrize(
    ("name", "width", "levels"),
    [
        *(
            ("x", width, levels)
            for width, levels in ((1, 1), (29, 3), (30, 3), (37, 5))
        ),
        *(
            ("a_rather_long_name_", width, levels)
            for width, levels in ((1, 1), (50, 3))
        ),
        ("x", WIDTH, 6),
    ],
)
def test_a_decision_too_deep_for_a_line_goes_on_in_functions(
    monkeypatch: pytest.MonkeyPatch, name: str, width: int, levels: int
) -> None:
    """The longest test fits into a line one level deeper than the deepest."""
    monkeypatch.setattr("treecompile.emit.python.decision.DecisionCode.width", width)
    names = [f"{name}{level}" for level in range(6)]
    text = text_of(spread(names))
    module = module_of(text)
    for answer in range(64):
        row = dict(zip(names, map(float, f"{answer:06b}"), strict=True))
        assert module.predict(row) == float(answer)
    tests = [line for line in text.split("\n") if re.match(rf" +if {name}\d <= ", line)]
    deepest = max(tests, key=len)
    assert len(deepest) - len(deepest.lstrip()) == 4 * levels
    if levels > 1:
        assert len(deepest) + 4 <= width
    assert ("def _predict_1(" in text) == (levels < 6)


def test_a_small_decision_is_written_in_predict_too() -> None:
    small, large = text_of(balanced(3)), text_of(balanced(4))
    assert '    x = row["x"]\n' in small
    assert "return predict_values(" not in small
    assert '    return predict_values(row["x"], rule=rule)\n' in large
    for text, size in ((small, 8), (large, 16)):
        module = module_of(text)
        for value in range(size):
            assert module.predict({"x": value}) == module.predict_values(value) == value
            said = module.predict({"x": value}, True)
            assert said == module.predict_values(value, rule=True) == f"R{value + 1}"


def test_a_name_as_wide_as_a_line_is_read_where_the_decision_is_called() -> None:
    for size in (50, 100):
        text = decided(number("x" * size), Condition(0, Op.LE, 2.5, missing=False))
        assert ("return predict_values(" in text) == (size == 100)
        assert black.format_str(text, mode=black.Mode()) == text
        assert module_of(text).predict({"x" * size: 3}) == "high"


def test_texts_and_ids_of_rules_need_no_overloads() -> None:
    test = Condition(0, Op.LE, 2.5, missing=False)
    text = decided(number("x"), test)
    assert "overload" not in text
    assert "def predict(row: Mapping[str, Any], rule: bool = False) -> str:\n" in text
    numbers = text_of(chain((number("x"),), (test,), (0, 1)))
    assert "@overload\ndef predict(row: Mapping[str, Any]) -> int: ...\n" in numbers
    assert "from typing import Any, Literal, overload\n" in numbers
