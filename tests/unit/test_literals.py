"""Literals: a language reads back exactly the value that was written."""

from __future__ import annotations

import ast
import re
import sqlite3
import struct
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from math import inf, isfinite, nextafter
from random import Random

import black
import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import HOSTILE
from treecompile.emit.literals import (
    STRINGS,
    _clearly_nearest,
    duckdb_string,
    identifiers,
    mysql_string,
    python_literal,
    python_string,
    redshift_string,
    sql_double,
    sql_integer,
    sql_string,
    sqlite_double,
    sqlite_string,
    tsql_double,
)
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Moments,
    Op,
    Rule,
    RuleSet,
    ValueType,
)

QUOTES = ["'", '"', "\"'", "''\"", '""\'', "\\", "\\'", '\\"', "'''", '"""', '\\""', ""]
UNPRINTABLE = ["\0", "\n", "\r", "\t", "\x7f", "\x85", "\u2028", "\u202e", "\ufeff"]
SURROGATES = ["\ud800", "a\udfff", "\udc00\ud800"]
TEXTS = [*HOSTILE, *QUOTES, *UNPRINTABLE, "\\N{DASH}", "\\x41", "{x}", "\U0001f427"]


# ---------------------------------------------------------------- Python


@settings(max_examples=100, deadline=None)
@given(st.text() | st.text("'\"\\\n{x") | st.sampled_from([*TEXTS, *SURROGATES]))
def test_python_reads_a_string_back(text: str) -> None:
    literal = python_string(text)
    assert ast.literal_eval(literal) == text
    assert literal.isprintable()


def test_black_leaves_strings_as_they_are() -> None:
    random = Random(0)
    letters = "'\"\\\n\0aéNx{u"
    texts = [
        "".join(random.choices(letters, k=random.randrange(7))) for _ in range(500)
    ]
    lines = [f"x = {python_string(text)}" for text in (*texts, *TEXTS, *SURROGATES)]
    module = "\n".join(lines) + "\n"
    mode = black.Mode(line_length=1000)
    assert black.format_str(module, mode=mode) == module


@pytest.mark.parametrize("value", [0, -1, 10**30, True, False, 0.1, -0.0, 1e22, 5e-324])
def test_python_reads_other_values_back(value: object) -> None:
    back = ast.literal_eval(python_literal(value))
    assert (type(back), repr(back)) == (type(value), repr(value))


def test_black_leaves_numbers_as_they_are() -> None:
    numbers = (1e22, -1e300, 1e-7, 1.5e-300, 0.1, 10**30, -0.0)
    module = "".join(f"x = {python_literal(number)}\n" for number in numbers)
    assert black.format_str(module, mode=black.Mode()) == module


# ---------------------------------------------------------------- doubles

# Releases of SQLite misread these, each its own.
MISREAD = [0.03503766454344431, 0.0019247, 1e22, 1e23, 5e-324, 1.7976931348623157e308]
POWERS = [2.0**power for power in range(-1074, 1024)]
EVERYDAY = [n / 100 for n in range(-2000, 2000)]
EDGES = [
    *(0.0, 1.0, 2.0**53, 2.0**53 - 1, 2.0**53 + 2, 1e16, 123456789012345680.0),
    *(2.2250738585072014e-308, nextafter(2.2250738585072014e-308, 0), 0.1, 1 / 3),
]


def bit_patterns(count: int) -> Iterator[float]:
    random = Random(20)
    while count:
        number = struct.unpack("<d", random.randbytes(8))[0]
        if isfinite(number):
            yield number
            count -= 1


def chunks(size: int) -> Iterator[list[float]]:
    for start in range(0, len(DOUBLE_SAMPLE), size):
        yield DOUBLE_SAMPLE[start : start + size]


DOUBLE_SAMPLE = [*MISREAD, *POWERS, *EVERYDAY, *EDGES, *bit_patterns(20_000)]


def test_sqlite_reads_doubles_back() -> None:
    connection = sqlite3.connect(":memory:")
    for some in chunks(500):
        rows = ",".join(f"({sqlite_double(x)})" for x in some)
        found = [x for (x,) in connection.execute(f"VALUES {rows}")]
        assert all(type(x) is float for x in found)
        assert found == some
    connection.close()


def test_duckdb_reads_doubles_back() -> None:
    connection = duckdb.connect()
    for some in chunks(2000):
        items = ",".join(map(sql_double, some))
        query = f"SELECT x, typeof(x) FROM (SELECT unnest([{items}]) AS x)"
        assert connection.execute(query).fetchall() == [(x, "DOUBLE") for x in some]
    one = connection.execute(f"SELECT typeof({sql_double(0.25)})").fetchone()
    assert one == ("DOUBLE",)
    connection.close()


EXACT = re.compile(r"-?\(([0-9]+)\.0((?:[*/]\(1<<[0-9]+\))*) /\* ([-+.e0-9]+) \*/\)")


def test_odd_doubles_are_written_exactly_for_every_release_of_sqlite() -> None:
    """No release is here to try but one: so the form itself must be right."""
    assert sum(map(is_written_exactly, DOUBLE_SAMPLE)) > 10_000
    assert is_written_exactly(0.03503766454344431)


def test_few_doubles_are_written_exactly_for_every_release_of_sqlite() -> None:
    """The same for the edges only, which takes no time."""
    tenths = [2.0**53 / 10 + step / 8 for step in range(-20, 20)]  # 16 digits
    for value in (*MISREAD, *EDGES, *tenths, *POWERS[::50], *EVERYDAY[::100]):
        is_written_exactly(value)
    plain = [2.0**53 - 1, 1e15, 0.1, 12.75, -0.5, 123456.789, 1e-22, 1.5e-21]
    assert not any(map(is_written_exactly, plain))
    exact = [2.0**53, 2.0**53 + 2, 2.0**62, 2.0**63, 2.0**64, 2.0**-62, -1e22]
    assert all(map(is_written_exactly, (*exact, 1e-23)))


def is_written_exactly(value: float) -> bool:
    """As a whole number times a power of two; the text is checked either way."""
    text = sqlite_double(value)
    match = EXACT.fullmatch(text)
    if match is None:
        assert text == repr(value)
        assert_easily_read(abs(value), text.removeprefix("-"))
        return False
    whole, factors, comment = match.groups()
    assert int(whole) < 2**53
    assert int(whole) % 2
    number = Fraction(int(whole))
    for sign, power in re.findall(r"([*/])\(1<<([0-9]+)\)", factors):
        assert 0 < int(power) <= 62
        scale = Fraction(2 ** int(power))
        number = number * scale if sign == "*" else number / scale
        assert Fraction(float(number)) == number  # no step rounds
    assert number == abs(Fraction(value))
    assert text.startswith("-") == (value < 0)
    assert float(comment) == abs(value)
    return True


def assert_easily_read(value: float, text: str) -> None:
    """A whole number below 2^53, or few digits, far from the midpoints around it."""
    if value == int(value):
        assert value < 2.0**53
        return
    digits, _, exponent = text.partition("e")
    scale = int(exponent or 0) - len(digits.partition(".")[2])
    assert int(digits.replace(".", "")) < 2**53
    assert -22 <= scale < 0
    written = Fraction(text)
    for neighbour in (nextafter(value, 0.0), nextafter(value, inf)):
        midpoint = (Fraction(value) + Fraction(neighbour)) / 2
        assert abs(written - midpoint) / written > Fraction(1, 2**59)


def test_everyday_doubles_stay_readable() -> None:
    assert [sqlite_double(x) for x in (0.0, 2.5, -0.1, 1e15, -3.0)] == [
        *("0.0", "2.5", "-0.1", "1000000000000000.0", "-3.0")
    ]
    assert [sql_double(x) for x in (0.0, 2.5, 1e22)] == ["0.0e0", "2.5e0", "1e+22"]


# ---------------------------------------------------------------- strings and integers


@settings(max_examples=80, deadline=None)
@given(st.text() | st.text("'\"\0\\\n;-"))
def test_databases_read_strings_back(text: str) -> None:
    assert read_by_sqlite(sqlite_string(text)) == text
    assert read_by_duckdb(duckdb_string(text)) == text


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_databases_read_hostile_strings_back(text: str) -> None:
    assert read_by_sqlite(sqlite_string(text)) == text
    assert read_by_duckdb(duckdb_string(text)) == text


def read_by_sqlite(literal: str) -> object:
    connection = sqlite3.connect(":memory:")
    try:
        value, kind = connection.execute(
            f"SELECT {literal}, typeof({literal})"
        ).fetchone()
    finally:
        connection.close()
    assert kind in ("text", "integer")
    return value


@cache
def duckdb_connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def read_by_duckdb(literal: str) -> object:
    found = duckdb_connection().execute(f"SELECT {literal}").fetchone()
    assert found is not None
    return found[0]


@pytest.mark.parametrize("text", SURROGATES, ids=ascii)
@pytest.mark.parametrize("quote", STRINGS.values(), ids=STRINGS)
def test_half_a_surrogate_pair_is_refused(
    quote: Callable[[str], str], text: str
) -> None:
    for whole in (text, f"\0{text}"):
        with pytest.raises(TargetError, match=r"surrogate|NUL"):
            quote(whole)


def test_standard_sql_has_no_nul() -> None:
    with pytest.raises(TargetError, match=r"'a\\x00b' has a NUL"):
        sql_string("a\0b")


@pytest.mark.parametrize("value", [0, -1, 2**53 + 1, 2**63 - 1, 1 - 2**63, -(2**63)])
def test_databases_read_integers_back(value: int) -> None:
    for found in (
        read_by_sqlite(sql_integer(value)),
        read_by_duckdb(sql_integer(value)),
    ):
        assert (type(found), found) == (int, value)
    # The minus is an operator: the number behind it must fit too.
    assert all(int(n) < 2**63 for n in re.findall("[0-9]+", sql_integer(value)))


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**30])
def test_integers_beyond_64_bits_are_refused(value: int) -> None:
    with pytest.raises(TargetError, match=str(value)):
        sql_integer(value)


def test_mysql_reads_backslashes_in_hexadecimal_only() -> None:
    """What a backslash means, and the encoding of other text, depend on settings."""
    assert mysql_string("it's") == "'it''s'"
    assert mysql_string("é") == "_utf8mb4'é'"
    for text in ("a\\b", "a\0b", "\\\0é"):
        literal = mysql_string(text)
        assert literal.startswith("_utf8mb4 x'")
        assert bytes.fromhex(literal[11:-1]).decode() == text


def test_redshift_gets_backslashes_by_their_number() -> None:
    assert redshift_string("it's") == "'it''s'"
    assert redshift_string("a\\'\\") == "('a' || CHR(92) || '''' || CHR(92))"


def test_sql_server_has_no_subnormal_numbers() -> None:
    least = sys.float_info.min
    assert [tsql_double(x) for x in (0.0, least, -least)] == [
        *("0.0e0", "2.2250738585072014e-308", "-2.2250738585072014e-308")
    ]
    for value in (5e-324, -5e-324, nextafter(least, 0.0), -nextafter(least, 0.0)):
        with pytest.raises(TargetError, match=r"as close to zero as"):
            tsql_double(value)


# ---------------------------------------------------------------- names


def names(*features: str, longest: int = 40) -> list[str]:
    """The identifiers of some features, in a language that reserves `if` and `else`."""
    body = RuleSet(
        tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in features),
        (),
        tuple(
            Rule(f"R{place}", (Condition(place, Op.LE, 0.0, False),), 0.0, STATS, 1.0)
            for place in range(len(features))
        ),
        Rule("default", (), 0.0, STATS, 1.0),
    )
    found = identifiers(body, ("if", "else"), longest)
    assert list(found) == list(range(len(features)))
    return list(found.values())


STATS = Moments(1.0, 0.0, 0.0)


def test_identifiers_resemble_the_names() -> None:
    assert names("Heat (°C)", "__a--b__", "size") == ["heat_c", "a_b", "size"]
    assert names("2nd", "x2") == ["x_2nd", "x2"]
    assert names("日本", "", "?") == ["feature", "feature_2", "feature_3"]
    assert names("a b c d", "a b cd", longest=6) == ["a_b_c", "a_b_cd"]
    assert names("x" * 50) == ["x" * 40]
    assert names("X ray", "max X") == ["x_ray", "max_x"]


def test_identifiers_are_distinct() -> None:
    assert names("a b", "a_b", "A B", "a-b 2") == ["a_b", "a_b_2", "a_b_3", "a_b_2_2"]
    assert names("if", "IF", "else") == ["if_2", "if_3", "else_2"]


def test_a_decimal_is_clear_if_it_is_far_from_both_midpoints() -> None:
    """SQLite reads decimals with an error of less than 2**-59 of their value."""
    dice, found = Random(3), set()
    for _ in range(4000):
        value = dice.random() * 10.0 ** dice.randint(-3, 3)
        text = repr(value)
        if "e" in text:
            continue
        exact = Fraction(text)
        gaps = [
            abs(exact - (Fraction(value) + Fraction(nextafter(value, towards))) / 2)
            for towards in (0.0, inf)
        ]
        is_short = int(text.replace(".", "")) < 2**53
        expected = is_short and all(gap * 2**59 > exact for gap in gaps)
        assert _clearly_nearest(value, text) == expected, text
        found.add((is_short, expected))
    assert len(found) == 3  # some are short, but too close to a midpoint


def test_the_sign_of_zero_does_not_depend_on_what_was_written_before() -> None:
    for value in (-0.0, 0.0, -0.0, 0.1, -0.1):
        assert sqlite_double(value) == repr(value)


# ---------------------------------------------------------------- consoles


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        ("oracle", "R&D", "('R' || CHR(38) || 'D')"),
        ("oracle", "&", "(CHR(38))"),
        ("oracle", "a;\n\nb'", "('a;' || CHR(10) || CHR(10) || 'b''')"),
        ("oracle", "a\r", "('a' || CHR(13))"),
        ("oracle", "", "''"),
        ("oracle", "plain", "'plain'"),
        ("tsql", "\nGO\n", "(NCHAR(10) + N'GO' + NCHAR(10))"),
        ("tsql", "a\\\r\nb", "(N'a\\' + NCHAR(13) + NCHAR(10) + N'b')"),
        ("tsql", "$(x) $", "(NCHAR(36) + N'(x) $')"),
        ("tsql", "it's", "N'it''s'"),
        ("tsql", "", "N''"),
        ("redshift", "a\\b", "('a' || CHR(92) || 'b')"),
        ("redshift", "\\", "(CHR(92))"),
        ("redshift", "a", "'a'"),
        ("backslash", "${x} $", r"'\u0024{x} $'"),
    ],
)
def test_strings_that_no_console_changes(name: str, text: str, written: str) -> None:
    assert STRINGS[name](text) == written
