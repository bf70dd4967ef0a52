"""Lines of JavaScript as prettier formats them, at widths around the limit."""

from __future__ import annotations

from math import inf

import pytest

from treecompile.emit.javascript.layout import (
    block,
    comment,
    condition,
    key,
    literal,
    member,
    values,
    with_comment,
)
from treecompile.model.ir import Value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        ("it's", '"it\'s"'),
        (7, "7"),
        (-(2**60), str(-(2**60))),
        (7.0, "7"),
        (-0.0, "-0"),
        (0.1, "0.1"),
        (1e300, "1e300"),
        (1.5e-300, "1.5e-300"),
        (inf, "Infinity"),
        (-inf, "-Infinity"),
    ],
)
def test_literals(value: Value, expected: str) -> None:
    assert literal(value) == expected


def test_only_integers_become_bigint() -> None:
    exact = [literal(value, exact=True) for value in (7, True, "7", 7.0, None)]
    assert exact == ["7n", "true", '"7"', "7", "null"]


@pytest.mark.parametrize(
    ("name", "as_key", "as_member"),
    [
        ("heat", "heat", ".heat"),
        ("$_9", "$_9", ".$_9"),
        ("9a", '"9a"', '["9a"]'),
        ("two words", '"two words"', '["two words"]'),
        ("heat\n", r'"heat\n"', r'["heat\n"]'),
        ("größe", '"größe"', '["größe"]'),
        ("", '""', '[""]'),
        ("__proto__", '["__proto__"]', ".__proto__"),
    ],
)
def test_names_of_properties(name: str, as_key: str, as_member: str) -> None:
    assert key(name) == as_key
    assert member(name) == as_member


def test_comments_have_one_line_and_do_not_end() -> None:
    assert comment("a\r\nb\u2028\u2029c") == "a b c"
    assert comment("*/ x */") == "*\\/ x *\\/"
    assert comment("</script> <!-- a < b") == r"\x3c/script> \x3c!-- a < b"


@pytest.mark.parametrize("indent", [0, 4])
def test_a_list_is_on_one_line_of_80(indent: int) -> None:
    margin = " " * indent
    start, first = f"{margin}f(", "a" * 30
    last = "b" * (80 - len(f"{start}{first}, );"))
    line = f"{start}{first}, {last});"
    assert len(line) == 80
    assert block(start, [first, last], ");", indent) == [line]
    assert block(start, [first, f"{last}b"], ");", indent) == [
        start,
        f"{margin}  {first},",
        f"{margin}  {last}b,",
        f"{margin});",
    ]


def test_braces_have_spaces_inside_a_line() -> None:
    assert block("f({", ["a", "b"], "});") == ["f({ a, b });"]
    assert block("f({", [], "});") == ["f({});"]
    assert block("f([", ["a"], "]);") == ["f([a]);"]
    wide = "a" * 74
    assert block("f({", [wide], "});") == ["f({", f"  {wide},", "});"]
    assert block("f({", [wide[2:]], "});") == [f"f({{ {wide[2:]} }});"]
    assert block("f" * 90 + "(", [], ")") == ["f" * 90 + "()"]


@pytest.mark.parametrize("indent", [0, 2])
def test_numbers_fill_their_lines(indent: int) -> None:
    margin = " " * indent
    full = ["1" * 9] * 6 + ["2" * (11 - indent)]
    line = f"{margin}  {', '.join(full)},"
    assert len(line) == 80
    assert values(f"{margin}x = [", [*full, *full, "-3.5e-7"], "];", indent) == [
        f"{margin}x = [",
        line,
        line,
        f"{margin}  -3.5e-7,",
        f"{margin}];",
    ]
    *others, last = full
    assert values(f"{margin}x = [", [*others, f"{last}2"], "];", indent) == [
        f"{margin}x = [",
        f"{margin}  {', '.join(others)},",
        f"{margin}  {last}2,",
        f"{margin}];",
    ]


def test_numbers_that_fit_are_on_one_line() -> None:
    fitting = ["1" * 34, "2" * 37]
    assert values("x = [", fitting, "];") == [f"x = [{', '.join(fitting)}];"]
    assert len(values("x = [", [*fitting[:-1], "2" * 38], "];")) == 3


def test_other_literals_have_a_line_each() -> None:
    for last in ('"a"', "7n", "Infinity", "null"):
        items = ["1" * 40, "2" * 40, last]
        assert values("x = [", items, "];") == [
            "x = [",
            *(f"  {item}," for item in items),
            "];",
        ]


def test_the_head_of_an_if() -> None:
    assert condition(["a > 1"], "  ") == ["  if (a > 1) {"]
    assert condition(["(a || b)"], "") == ["if (a || b) {"]
    assert condition(["!(a > 1)"], "") == ["if (!(a > 1)) {"]
    assert condition(["(a || b)", "c"], "") == ["if ((a || b) && c) {"]
    assert condition(["a", "(b && c)"], "", "||") == ["if (a || (b && c)) {"]


def test_a_wide_if_has_a_line_for_each_test() -> None:
    first, last = "a" * 30, "b" * 37
    line = f"  if ({first} && {last}) {{"
    assert len(line) == 80
    assert condition([first, last], "  ") == [line]
    assert condition([first, f"{last}b"], "  ") == [
        "  if (",
        f"    {first} &&",
        f"    {last}b",
        "  ) {",
    ]
    assert condition([first, f"{last}b"], "  ", "||")[1] == f"    {first} ||"


def test_a_comment_is_beside_its_line_or_above_it() -> None:
    line = "    return 1;"
    said = "c" * (80 - len(f"{line} // "))
    assert with_comment([line], said) == [f"{line} // {said}"]
    assert with_comment([line], f"{said}c") == [f"    // {said}c", line]
    assert with_comment([line, line], "c") == ["    // c", line, line]
