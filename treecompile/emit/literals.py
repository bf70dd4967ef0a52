"""Writes values and names as source text, exactly.

Each function returns text that Python, or a database, reads back as the same value, or
raises TargetError if there is no such text.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, partial
from math import frexp, inf, ldexp, nextafter

from treecompile.model.errors import TargetError
from treecompile.model.ir import AnyBody
from treecompile.model.semantics import required_features
from treecompile.model.unicode import NOT_UNICODE, escaped, is_unicode

MIN_NORMAL = sys.float_info.min

# ---------------------------------------------------------------- Python


def python_string(text: str) -> str:
    """Return a Python string on one line, in the quotes that black chooses."""
    quote = "'" if text.count('"') > text.count("'") else '"'
    marked = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    if not marked.isprintable():
        marked = "".join(c if c.isprintable() else escaped(c) for c in marked)
    return f"{quote}{marked}{quote}"


def python_literal(value: object) -> str:
    """Return a label, a category or a number, as black formats it."""
    if isinstance(value, float):
        return repr(value).replace("e+", "e")
    return python_string(value) if isinstance(value, str) else repr(value)


# ---------------------------------------------------------------- SQL


def sql_string(text: str) -> str:
    """Write a string of standard SQL: quotes are doubled, all else is unchanged."""
    if "\0" in text:
        raise TargetError(
            f"{text!r} has a NUL character, which no string can hold: remove it"
        )
    _require_unicode(text)
    return "'" + text.replace("'", "''") + "'"


def sqlite_string(text: str) -> str:
    """Write standard SQL, except for NUL, which ends a string in SQLite."""
    _require_unicode(text)
    if "\0" in text:
        return f"CAST(x'{text.encode().hex()}' AS TEXT)"
    return sql_string(text)


def duckdb_string(text: str) -> str:
    """Write standard SQL, except for NUL, which DuckDB accepts only from chr()."""
    if "\0" in text:
        return "concat(" + ", chr(0), ".join(map(sql_string, text.split("\0"))) + ")"
    return sql_string(text)


def mysql_string(text: str) -> str:
    """Write hexadecimal if there is a backslash: its meaning depends on the server.

    The introducer _utf8mb4 states the encoding, whatever the connection uses.
    """
    _require_unicode(text)
    if "\\" in text or "\0" in text:
        return f"_utf8mb4 x'{text.encode().hex()}'"
    return sql_string(text) if text.isascii() else f"_utf8mb4{sql_string(text)}"


def backslash_string(escapes: dict[int, str], text: str) -> str:
    """Escape quotes, backslashes and other characters with a backslash.

    Spark replaces ${name} by a setting, even in a string.
    """
    _require_unicode(text)
    return f"'{text.translate(escapes)}'".replace("${", r"\u0024{")


CLICKHOUSE_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\0": r"\0"})
BACKSLASH_ESCAPES = str.maketrans(
    {"\\": r"\\", "'": r"\'", "\0": r"\u0000", "\n": r"\n", "\r": r"\r"}
)


def redshift_string(text: str) -> str:
    """Write standard SQL, except for backslashes: a setting gives their meaning."""
    return _joined(re.split(r"(\\)", text), sql_string, " || ", "CHR")


def oracle_string(text: str) -> str:
    """Write standard SQL, except for characters that SQL*Plus takes for its own.

    It asks for a value where it reads `&name`, even in a string, and it ends a
    statement at a blank line and at a semicolon before a line end.
    """
    return _joined(re.split(r"([&\n\r])", text), sql_string, " || ", "CHR")


def tsql_string(text: str) -> str:
    """Write N'...' without line ends and without $(name), which sqlcmd replaces.

    A backslash before a line end would join two lines, and a line GO ends a batch.
    """
    parts = re.split(r"([\n\r]|\$(?=\())", text)
    return _joined(parts, lambda part: f"N{sql_string(part)}", " + ", "NCHAR")


def _joined(
    parts: list[str], quoted: Callable[[str], str], sign: str, function: str
) -> str:
    """Join texts, and the characters between them, which are written as codes."""
    texts = [
        f"{function}({ord(part)})" if place % 2 else quoted(part)
        for place, part in enumerate(parts)
        if part or len(parts) == 1
    ]
    return texts[0] if len(parts) == 1 else f"({sign.join(texts)})"


def _require_unicode(text: str) -> None:
    if not is_unicode(text):
        raise TargetError(
            f"{text!r} {NOT_UNICODE}, and no database can hold it: correct it"
        )


def sql_integer(value: int) -> str:
    """Write an integer, which must fit a 64-bit column."""
    if not -(2**63) <= value < 2**63:
        raise TargetError(
            f"{value} does not fit a 64-bit integer column: store it as text"
        )
    # -2^63 cannot be a literal: SQL reads the minus as an operator on 2^63.
    return str(value) if value > -(2**63) else f"(-{2**63 - 1} - 1)"


def sql_double(value: float) -> str:
    """Write the shortest text with an exponent: without, SQL reads an exact decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def plain_number(value: float, *, any_decimal: bool) -> str:
    """Write a number as people do, 40 or 40.5, if it is compared exactly; else "".

    A database takes such text for an integer or an exact decimal, and converts it to
    the double that it is compared with. That is exact for whole numbers, for decimals
    that are doubles, and, in databases that convert with care, for `any_decimal` with
    few digits.
    """
    if value == int(value):
        return str(int(value)) if abs(value) < 1e9 else ""
    text = repr(value)
    if "e" in text or not _clearly_nearest(abs(value), text.lstrip("-")):
        return ""
    return text if any_decimal or Fraction(text) == Fraction(value) else ""


def tsql_double(value: float) -> str:
    """Write what `sql_double` does; refuse subnormal numbers, unknown to SQL Server."""
    if 0.0 < abs(value) < MIN_NORMAL:
        raise TargetError(f"SQL Server has no number as close to zero as {value!r}")
    return sql_double(value)


def sqlite_double(value: float) -> str:
    """Write a double as text that every release of SQLite reads exactly.

    Different releases misread different decimals by one unit in the last place. Plain
    text is used only where inexact arithmetic gives the right double too: for whole
    numbers below 2^53, and for short decimals clearly nearer to this double than to its
    neighbours. All others are an odd whole number times a power of two, which is exact.
    """
    text = repr(value)
    return f"-{_exact(text[1:])}" if text.startswith("-") else _exact(text)


@cache  # by the text: 0.0 and -0.0 are equal as numbers
def _exact(text: str) -> str:
    value = float(text)
    if value < 2.0**53 and value == int(value):
        return text
    if _clearly_nearest(value, text):
        return text
    mantissa, exponent = frexp(value)
    whole, power = int(ldexp(mantissa, 53)), exponent - 53
    while whole % 2 == 0:
        whole, power = whole // 2, power + 1
    sign = "/" if power < 0 else "*"
    steps, rest = divmod(abs(power), 62)
    factors = [f"{sign}(1<<62)"] * steps + ([f"{sign}(1<<{rest})"] if rest else [])
    return f"({whole}.0{''.join(factors)} /* {text} */)"


def _clearly_nearest(value: float, text: str) -> bool:
    digits, _, exponent = text.partition("e")
    whole, _, decimals = digits.partition(".")
    scale = int(exponent or 0) - len(decimals)
    number = int(whole + decimals)
    if not (number < 2**53 and -22 <= scale < 0):
        return False
    power = 10**-scale
    numerator, denominator = value.as_integer_ratio()
    for towards in (0.0, inf):
        other, below = nextafter(value, towards).as_integer_ratio()
        # The midpoint between the double and its neighbour, as a ratio of integers.
        middle, unit = numerator * below + other * denominator, 2 * denominator * below
        if abs(number * unit - middle * power) << 59 <= number * unit:
            return False
    return True


# The functions that a dialect can name.
STRINGS: dict[str, Callable[[str], str]] = {
    "sql": sql_string,
    "sqlite": sqlite_string,
    "duckdb": duckdb_string,
    "mysql": mysql_string,
    "clickhouse": partial(backslash_string, CLICKHOUSE_ESCAPES),
    "backslash": partial(backslash_string, BACKSLASH_ESCAPES),
    "redshift": redshift_string,
    "tsql": tsql_string,
    "oracle": oracle_string,
}
# The shortest decimal is the one that reads back as the same double. Most databases
# would take it for an exact decimal: a cast or a suffix makes it a double.
PLAIN = ("", "exact", "decimal")  # which thresholds are written as plain numbers
DOUBLES: dict[str, Callable[[float], str]] = {
    "sql": sql_double,
    "postgres": "{!r}::float8".format,
    "sqlite": sqlite_double,
    "text": "CAST('{!r}' AS DOUBLE PRECISION)".format,
    "tsql": tsql_double,
    "oracle": "{!r}d".format,
    "shortest": repr,
}


# ---------------------------------------------------------------- names


def identifiers(
    body: AnyBody, reserved: Iterable[str], longest: int = 40
) -> dict[int, str]:
    """Return a distinct identifier for each required feature: heat_in_c."""
    taken = set(reserved)
    names = {}
    for index in required_features(body):
        stem = re.sub("[^0-9A-Za-z]+", "_", body.features[index].name).strip("_")
        stem = stem[:longest].strip("_").lower() or "feature"
        if stem[0].isdigit():
            stem = f"x_{stem}"
        name, number = stem, 1
        while name in taken:
            number += 1
            name = f"{stem}_{number}"
        taken.add(name)
        names[index] = name
    return names
