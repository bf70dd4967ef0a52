"""Lines of Python as black formats them, at widths around the limit."""

from __future__ import annotations

import black
import pytest

from tests.support.quick import without_black
from tests.support.samples import chain, module_of
from treecompile.emit.compiler import emit
from treecompile.emit.python.layout import (
    call,
    call_by_row,
    collection,
    condition,
    frozen_set,
    in_docstring,
    mapping,
    signature,
    with_comment,
)
from treecompile.model.ir import Condition, Feature, Kind, Op, ValueType

WIDTHS = range(78, 100)
INNER = range(158, 175)  # too wide for one line, about as wide as a line inside


def is_stable(lines: list[str]) -> bool:
    text = "\n".join(lines) + "\n"
    return black.format_str(text, mode=black.Mode()) == text


def words(width: int, count: int) -> list[str]:
    """Names that together, with commas and blanks between them, have a width."""
    letters = width - 2 * (count - 1)
    size, more = divmod(letters, count)
    return [
        "abcdefghijklmnop"[place] * (size + (place < more)) for place in range(count)
    ]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_collections(width: int, count: int) -> None:
    items = words(width - len("X = ()"), count)
    assert is_stable(collection("X = (", items, ")"))
    assert is_stable(collection("X = [", items, "]"))
    inner = collection('    "R1": (', items[:-1] or items, "),", 4)
    assert is_stable(["X = {", *inner, "}"])
    assert is_stable(mapping("X", dict.fromkeys(items, "1")))


@pytest.mark.parametrize("width", [*WIDTHS, *range(100, 112), *INNER])
@pytest.mark.parametrize("count", [2, 4])
def test_sets_and_calls(width: int, count: int) -> None:
    items = words(width - len("X = frozenset({})"), count)
    assert is_stable(frozen_set("X", items))
    assert is_stable(call("calling(", items, ")"))
    assert is_stable(["if x:", *call("    return f(", items, ")", 4)])
    head = call("def calling(", [f"{item}: Any" for item in items], ") -> Any:")
    assert is_stable([*head, "    pass"])


@pytest.mark.parametrize("width", WIDTHS)
def test_calls_with_a_row(width: int) -> None:
    start = "    return f("
    for options in ([], ["rule=rule"]):
        for total in (width, width + 80):
            for count in (1, 2, 5):
                keys = [f'"{word}"' for word in words(total - 13, count)]
                lines = call_by_row(start, keys, ")", options)
                assert is_stable(["def g(row):", *lines])
    assert call_by_row(start, [], ")", []) == ["    return f()"]


@pytest.mark.parametrize("width", WIDTHS)
def test_signatures(width: int) -> None:
    for end in (") -> str: ...", ") -> Any:"):
        for options in ([], ["rule: bool = False"]):
            for total in (width, width + 80):
                for count in (0, 1, 2, 5):
                    names = words(total - 40, count) if count else []
                    lines = signature("def f(", names, end, options)
                    body = [] if end.endswith("...") else ["    return 1"]
                    assert is_stable([*lines, *body])
    assert signature("def f(", [], "):", ["x: int"]) == ["def f(*, x: int):"]
    assert signature("def f(", ["a"], "):") == ["def f(a: Any, /):"]


@pytest.mark.parametrize("width", WIDTHS)
def test_conditions(width: int) -> None:
    for count in (2, 3):
        tests = [f"{word} > 1" for word in words(width - 12, count)]
        assert is_stable([*condition(tests, ""), "    pass"])
        inner = condition(tests, "    ", "or")
        assert is_stable(["if x:", *inner, "        pass"])


@pytest.mark.parametrize("width", WIDTHS)
def test_a_comment_is_beside_its_line_or_above_it(width: int) -> None:
    line = "    return 1"
    comment = "c" * (width - len(line) - len("  # "))
    found = with_comment(line, comment)
    beside, above = [f"{line}  # {comment}"], [f"    # {comment}", line]
    assert found == (beside if width <= 88 else above)


def test_nothing_is_a_collection_too() -> None:
    assert collection("X = (", [], ")") == ["X = ()"]
    assert collection("X" * 90 + " = (", [], ")") == ["X" * 90 + " = ()"]
    assert mapping("X", {}) == ["X = {}"]
    assert mapping("X", {"it's": "1", 'say "a"': "2"}) == [
        """X = {"it's": 1, 'say "a"': 2}"""
    ]


@pytest.mark.parametrize("text", ['a"""b', "\\", "\\n", '\\"""', 'say "hi"'])
def test_a_docstring_gives_the_text_back(text: str) -> None:
    module: dict[str, str] = {}
    exec(f'"""{in_docstring(text)} """', module)
    assert module["__doc__"] == f"{text} "


# ---------------------------------------------------------------- tables of a module


@pytest.mark.parametrize("most", [3, 2, 1000])
def test_wide_tables_of_a_module(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """With more rules than sentences are written, `explain` puts them together."""
    monkeypatch.setattr("treecompile.emit.explanations.SENTENCES", most)
    categories = tuple(f"a rather long category, number {n}" for n in range(9))
    feature = Feature("colour", Kind.CATEGORICAL, ValueType.STR, categories)
    tests = (
        Condition(0, Op.IN, categories[:4], missing=False),
        Condition(0, Op.IN, categories[5:], missing=False),
    )
    labels = tuple(f"the answer of a long name, {n}" for n in range(30))
    program = chain((feature,), tests, labels)
    with without_black():
        text = emit(program, "python").text
    assert black.format_str(text, mode=black.Mode()) == text
    module = module_of(text)
    said = [module.explain({"colour": c}) for c in (*categories[3:6], None)]
    expected = ["R1", "R3", "R2", "R3"]
    assert [each.partition(":")[0] for each in said] == expected
    assert all(c in said[0] for c in categories[:4])
    assert labels[0] in said[0]
    assert ("R1: if " in text) == (most >= 3)


def test_what_fits_into_one_inner_line_is_not_divided() -> None:
    assert len(call("calling(", words(84, 4), ")")) == 3
    assert len(call("calling(", words(85, 4), ")")) == 6
    assert len(frozen_set("X", words(82, 4))) == 3
    assert len(frozen_set("X", words(83, 4))) == 8
