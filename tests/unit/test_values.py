"""Values from outside: what is accepted, as which type, and how it is refused."""

from __future__ import annotations

import ast
import struct
import sys
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from math import inf, isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from treecompile.model import values
from treecompile.model.values import (
    as_boolean,
    as_integer,
    as_number,
    as_text,
    is_missing,
    parse_boolean,
    parse_integer,
    parse_number,
    parse_text,
)

CONVERTERS = (as_number, as_integer, as_boolean, as_text)


def identical(one: object, other: object) -> bool:
    """Equal and of one type, the sign of zero included."""
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return type(one) is type(other) and one == other


MISSING = [
    *(None, nan, -nan, np.nan, np.float64("nan"), np.float32("nan"), np.float16("nan")),
    *(Decimal("nan"), Decimal("-nan"), Decimal("snan"), pd.NA, pd.NaT),
]


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_values(value: Any) -> None:
    assert is_missing(value)
    assert isnan(as_number("x", value))
    assert as_integer("x", value) is None
    assert as_boolean("x", value) is None
    assert as_text("x", value) is None


@pytest.mark.parametrize(
    "value",
    ["", "nan", "NA", "None", "NaN", "?", 0, 0.0, inf, -inf, False, Decimal("inf"), []],
    ids=repr,
)
def test_these_are_not_missing(value: Any) -> None:
    assert not is_missing(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3.0),
        (-0.0, -0.0),
        (inf, inf),
        (-inf, -inf),
        (5e-324, 5e-324),
        (True, 1.0),
        (False, 0.0),
        (2**53 + 1, 2.0**53),
        (10**400, inf),
        (-(10**400), -inf),
        (2**1024 - 1, inf),
        (Decimal("0.1"), 0.1),
        (Decimal("1e400"), inf),
        (Decimal("-inf"), -inf),
        (Decimal("0.1000000000000000055511151231257827"), 0.1),
        (Fraction(1, 3), 1 / 3),
        (Fraction(10**400), inf),
        (Fraction(-(10**400), 3), -inf),
        (np.float32(0.1), 0.10000000149011612),
        (np.float16(0.1), 0.0999755859375),
        (np.float64(0.1), 0.1),
        (np.int64(2**53 + 1), 2.0**53),
        (np.uint64(2**64 - 1), 2.0**64),
        (np.int8(-128), -128.0),
        (np.bool_(True), 1.0),
        (np.longdouble(0.25), 0.25),
    ],
)
def test_numbers(value: Any, expected: float) -> None:
    assert identical(as_number("x", value), expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, 3),
        (0, 0),
        (10**400, 10**400),
        (3.0, 3),
        (-0.0, 0),
        (1e22, 10**22),
        (Decimal("3.00"), 3),
        (Decimal("1e3"), 1000),
        (Fraction(6, 2), 3),
        (np.int64(-(2**63)), -(2**63)),
        (np.uint64(2**64 - 1), 2**64 - 1),
        (np.int8(7), 7),
        (np.float32(16777216.0), 16777216),
        (np.float64(-3.0), -3),
    ],
)
def test_integers(value: Any, expected: int) -> None:
    assert identical(as_integer("x", value), expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((True, True), (False, False), (1, True), (0, False), (1.0, True)),
        *((-0.0, False), (np.bool_(True), True), (np.bool_(False), False)),
        *((np.int64(1), True), (np.float32(0.0), False), (Decimal(1), True)),
    ],
)
def test_booleans(value: Any, expected: bool) -> None:
    assert identical(as_boolean("x", value), expected)


@pytest.mark.parametrize("value", ["", " ", "nan", "None", "e\u0301", "\0", "\ud800"])
def test_texts_are_taken_as_they_are(value: str) -> None:
    assert as_text("x", value) == value
    assert as_text("x", np.str_(value)) == value


EXPECTED: dict[Callable[[str, Any], object], str] = {
    as_number: "expected a number",
    as_integer: "expected an integer",
    as_boolean: "expected True or False",
    as_text: "expected a string",
}
STRANGERS = [
    *("1e", b"1", 1j, [1.0], {}, object, date(2024, 1, 1), timedelta(1)),
    *(pd.Timestamp(0), pd.Timedelta(1), np.datetime64(1, "s"), np.array([1.0])),
    *(np.complex128(1), np.timedelta64(1, "s"), np.timedelta64(1, "ns")),
    *(np.timedelta64(0, "D"), np.timedelta64(1, "Y"), np.timedelta64(1)),
]
REFUSED = [
    *((as_number, value) for value in (*STRANGERS, "3", np.str_("3"))),
    *((as_integer, value) for value in (*STRANGERS, "3", True, np.bool_(True))),
    *((as_integer, value) for value in (0.5, inf, -inf, np.float32(0.5))),
    *((as_integer, value) for value in (Decimal("0.1"), Decimal("inf"))),
    *((as_boolean, value) for value in (*STRANGERS, "true", "1", 2, -1, 0.5, inf)),
    *((as_boolean, value) for value in (np.int64(2), 10**400, Decimal("0.5"))),
    *((as_text, value) for value in STRANGERS if not isinstance(value, str)),
    *((as_text, value) for value in (0, 1.5, True, np.bool_(True), Decimal(1), inf)),
]


@pytest.mark.parametrize(
    ("convert", "value"),
    REFUSED,
    ids=lambda part: getattr(part, "__name__", repr(part)),
)
def test_what_is_refused_is_named(
    convert: Callable[[str, Any], object], value: Any
) -> None:
    with pytest.raises(TypeError) as caught:
        convert("its name\n", value)
    assert str(caught.value) == f"'its name\\n' is {value!r}: {EXPECTED[convert]}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("0", 0.0), ("-0", -0.0), ("+1", 1.0), ("007", 7.0), ("1.", 1.0)),
        *((".5", 0.5), ("1e5", 1e5), ("1E-5", 1e-5), ("-1.5e+05", -1.5e5)),
        *((" 1\t", 1.0), ("inf", inf), ("-Infinity", -inf), ("+INF", inf)),
        *(("1e999", inf), ("-1e999", -inf), ("1e-999", 0.0), ("5e-324", 5e-324)),
        *(("9007199254740993", 2.0**53), ("0.1", 0.1), ("1" * 5000, inf)),
        ("0.1000000000000000055511151231257827021181583404541015625", 0.1),
    ],
)
def test_numbers_in_text(text: str, expected: float) -> None:
    assert identical(parse_number("x", text), expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0", 0), ("-1", -1), ("10", 10), (str(2**64), 2**64), ("9" * 1000, 10**1000 - 1)],
)
def test_integers_in_text(text: str, expected: int) -> None:
    assert identical(parse_integer("x", text), expected)


@pytest.mark.parametrize("text", ["true", "True", "TRUE", "false", "False", "FALSE"])
def test_booleans_in_text(text: str) -> None:
    assert parse_boolean("x", text) is (text.lower() == "true")


@pytest.mark.parametrize("text", ["", " ", "a\r\nb", "\0", "\ud800"])
def test_any_text_is_text(text: str) -> None:
    assert parse_text("x", text) is text


NOT_NUMBERS = [
    *("", " ", "nan", "NaN", "NA", "1_0", "0x10", "1,5", "1 2", "1e", "e1", ".", "+"),
    *(
        "--1",
        "1.2.3",
        "infinite",
        "1f",
        "\u0661",
        "\uff11",
        "1\n",
        "\n1",
        "\u00a01",
        "1\0",
    ),
    *("1e5.0", "true", "1+1", "\x0b1", "½"),
]
UNREADABLE: dict[Callable[[str, str], object], list[str]] = {
    parse_number: NOT_NUMBERS,
    parse_integer: [
        *(*NOT_NUMBERS, "1.0", "1e5", "inf", "+1", "-0", "00", "01", " 1", "1 "),
        *("1" * 1001, "-01"),
    ],
    parse_boolean: ["", "0", "1", "yes", "t", "T", "tRUE", " true", "true\n", "None"],
}
READABLE: dict[Callable[[str, str], object], str] = {
    parse_number: "expected a number",
    parse_integer: "expected an integer",
    parse_boolean: "expected true or false",
}


@pytest.mark.parametrize(
    ("parse", "text"),
    [(parse, text) for parse, texts in UNREADABLE.items() for text in texts],
    ids=lambda part: getattr(part, "__name__", repr(part)[:20]),
)
def test_unreadable_text_is_named(
    parse: Callable[[str, str], object], text: str
) -> None:
    with pytest.raises(ValueError) as caught:
        parse("its name", text)
    assert str(caught.value) == f"'its name' is {text!r}: {READABLE[parse]}"


def test_this_file_can_be_copied_into_a_generated_module() -> None:
    """Only the standard library, and a syntax that Python 3.9 reads."""
    source = Path(values.__file__).read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [node.module or ""]
        else:
            assert not isinstance(node, ast.Match)
            continue
        assert all(m.split(".")[0] in sys.stdlib_module_names for m in modules)
