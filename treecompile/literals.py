"""Values as source text, exactly: the quoting functions that targets name.

Each takes a value and gives text that the language of the target reads back as the very
same value, or raises TargetError where that language has no such text.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from functools import cache
from math import frexp, inf, ldexp, nextafter

from treecompile.errors import TargetError

MIN_NORMAL = sys.float_info.min

# ---------------------------------------------------------------- Python


def python_string(text: str) -> str:
    """A Python string on one line, in the quotes that black would choose."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    quote = "'" if text.count('"') > text.count("'") else '"'
    escaped = "".join(_python_character(c, quote) for c in text)
    return f"{quote}{escaped}{quote}"


def _python_character(character: str, quote: str) -> str:
    if character == "\\" or character == quote:
        return "\\" + character
    if character.isprintable():
        return character
    return ascii(character)[1:-1]


def python_literal(value: object) -> str:
    """A label, a category or a number of the IR, as black would print it."""
    if isinstance(value, float):
        return repr(value).replace("e+", "e")
    return python_string(value) if isinstance(value, str) else repr(value)


# ---------------------------------------------------------------- other languages


def c_string(text: str) -> str:
    """C and its relatives: UTF-8, with what is not printable ASCII in octal."""
    if "\0" in text:
        raise TargetError(f"a NUL character ends a string in C: {text!r}")
    _require_unicode(text)
    return '"' + "".join(map(_c_byte, text.encode())) + '"'


def _c_byte(byte: int) -> str:
    # Three octal digits, since more would be read on into the number; ? could begin
    # a trigraph.
    plain = 32 <= byte < 127 and byte not in b'"\\?'
    return chr(byte) if plain else f"\\{byte:03o}"


def json_string(text: str) -> str:
    """JSON and JavaScript, in ASCII: any text at all."""
    return json.dumps(text)


def excel_string(text: str) -> str:
    """The formulas of spreadsheets: quotes doubled."""
    _require_unicode(text)
    return '"' + text.replace('"', '""') + '"'


def shortest_double(value: float) -> str:
    """The shortest text that reads back to the double, as most languages read it."""
    return repr(value)


# ---------------------------------------------------------------- SQL


def sql_string(text: str) -> str:
    """Standard SQL: quotes doubled, everything else as it is."""
    if "\0" in text:
        raise TargetError(f"a NUL character cannot be written in a string: {text!r}")
    _require_unicode(text)
    return "'" + text.replace("'", "''") + "'"


def sqlite_string(text: str) -> str:
    """Standard, but for NUL, at which SQLite stops reading."""
    _require_unicode(text)
    if "\0" in text:
        return f"CAST(x'{text.encode().hex()}' AS TEXT)"
    return sql_string(text)


def duckdb_string(text: str) -> str:
    """Standard, but for NUL, which DuckDB takes from chr() only."""
    if "\0" in text:
        return "concat(" + ", chr(0), ".join(map(sql_string, text.split("\0"))) + ")"
    return sql_string(text)


def mysql_string(text: str) -> str:
    """As bytes where a backslash is, which means itself or not by the server's mode.

    The introducer says how the bytes are encoded, whatever the connection says.
    """
    _require_unicode(text)
    if "\\" in text or "\0" in text:
        return f"_utf8mb4 x'{text.encode().hex()}'"
    return sql_string(text) if text.isascii() else f"_utf8mb4{sql_string(text)}"


def clickhouse_string(text: str) -> str:
    """Quotes, backslashes and NUL escaped by a backslash."""
    _require_unicode(text)
    return f"'{text.translate(CLICKHOUSE_ESCAPES)}'"


def backslash_string(text: str) -> str:
    """Quotes, backslashes, line ends and NUL escaped by a backslash."""
    _require_unicode(text)
    return f"'{text.translate(BACKSLASH_ESCAPES)}'"


CLICKHOUSE_ESCAPES = str.maketrans({"\\": r"\\", "'": r"\'", "\0": r"\0"})
BACKSLASH_ESCAPES = str.maketrans(
    {"\\": r"\\", "'": r"\'", "\0": r"\u0000", "\n": r"\n", "\r": r"\r"}
)


def redshift_string(text: str) -> str:
    """Standard, but for backslashes, which mean themselves or not by a setting."""
    if "\\" in text:
        return f"({' || CHR(92) || '.join(map(sql_string, text.split(chr(92))))})"
    return sql_string(text)


def tsql_string(text: str) -> str:
    """Unicode, and divided where a backslash would join two lines."""
    parts = re.split(r"(?<=\\)(?=\r?\n)", text)
    joined = " + ".join(f"N{sql_string(part)}" for part in parts)
    return f"({joined})" if len(parts) > 1 else joined


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: half a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _require_unicode(text: str) -> None:
    if not is_unicode(text):
        raise TargetError(
            f"{text!r} is not Unicode text (it has half a surrogate pair),"
            " and no database can hold it"
        )


def sql_integer(value: int) -> str:
    """An integer that fits the 64 bits of a SQL column."""
    if not -(2**63) <= value < 2**63:
        raise TargetError(f"{value} does not fit a 64-bit integer column")
    # The least one is no literal: SQL reads the minus as an operator on 2^63.
    return str(value) if value > -(2**63) else f"(-{2**63 - 1} - 1)"


def sql_double(value: float) -> str:
    """The shortest text, with an exponent so that it is a double and not a decimal."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def postgres_double(value: float) -> str:
    """The shortest text, cast: without the cast it would be an exact decimal."""
    return f"{value!r}::float8"


def text_double(value: float) -> str:
    """The shortest text, read as a double and never as an exact decimal."""
    return f"CAST('{value!r}' AS DOUBLE PRECISION)"


def tsql_double(value: float) -> str:
    """As usual; but SQL Server has no numbers nearer to zero than the normal ones."""
    if 0.0 < abs(value) < MIN_NORMAL:
        raise TargetError(f"SQL Server has no number as near to zero as {value!r}")
    return sql_double(value)


def oracle_double(value: float) -> str:
    """The shortest text, with the suffix of binary doubles."""
    return f"{value!r}d"


@cache
def sqlite_double(value: float) -> str:
    """Text that every release of SQLite reads exactly.

    Releases misread different decimals by one unit in the last place. Plain text is
    used only where even sloppy arithmetic is right: whole numbers below 2^53, and short
    decimals clearly nearer to this double than to its neighbours. Anything else is
    written as an odd whole number times a power of two, which is exact.
    """
    text = repr(value)
    if value < 0:
        return f"-{sqlite_double(-value)}"
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
        # The midpoint to the neighbour, as a ratio of whole numbers like the decimal.
        middle, unit = numerator * below + other * denominator, 2 * denominator * below
        if abs(number * unit - middle * power) << 59 <= number * unit:
            return False
    return True


# Explicit tables: a dialect or a target can name these and nothing else.
STRINGS: dict[str, Callable[[str], str]] = {
    "sql": sql_string,
    "sqlite": sqlite_string,
    "duckdb": duckdb_string,
    "mysql": mysql_string,
    "clickhouse": clickhouse_string,
    "backslash": backslash_string,
    "redshift": redshift_string,
    "tsql": tsql_string,
    "python": python_string,
    "c": c_string,
    "json": json_string,
    "excel": excel_string,
}
BACKSLASHED = frozenset({"clickhouse", "backslash"})  # those that escape by backslash
DOUBLES: dict[str, Callable[[float], str]] = {
    "sql": sql_double,
    "postgres": postgres_double,
    "sqlite": sqlite_double,
    "text": text_double,
    "tsql": tsql_double,
    "oracle": oracle_double,
    "shortest": shortest_double,
}
INTEGERS: dict[str, Callable[[int], str]] = {"any": str, "64 bits": sql_integer}
