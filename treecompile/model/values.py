"""How a value from outside becomes a value that the semantics work on.

The library and every generated Python module convert with these functions: the Python
target copies their source, so this file uses only the standard library and Python 3.9.
Each function takes the name of the feature for its error message.
"""

from __future__ import annotations

import re
from decimal import Decimal
from math import inf, nan
from numbers import Real
from typing import Any


def is_missing(value: Any) -> bool:
    """None, NaN, and the NA and NaT of pandas."""
    if isinstance(value, (Real, Decimal)):
        return value.is_nan() if isinstance(value, Decimal) else bool(value != value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def is_boolean(value: Any) -> bool:
    """A bool, or the boolean scalar of numpy."""
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def is_real(value: Any) -> bool:
    """A number that is not a boolean, nor a span of time, which numpy calls one."""
    if is_boolean(value) or type(value).__name__ == "timedelta64":
        return False
    return isinstance(value, (Real, Decimal))


def as_number(name: str, value: Any) -> float:
    """Any real number as the nearest double; NaN where it is missing."""
    if value is None or is_missing(value):
        return nan
    if is_real(value) or is_boolean(value):
        try:
            return float(value)
        except OverflowError:
            return inf if value > 0 else -inf
    raise TypeError(f"{name!r} is {value!r}: expected a number")


def as_integer(name: str, value: Any) -> int | None:
    """An integer, also one that comes as 3.0; None where it is missing."""
    if value is None or is_missing(value):
        return None
    if is_real(value) and value not in (inf, -inf) and value == int(value):
        return int(value)
    raise TypeError(f"{name!r} is {value!r}: expected an integer")


def as_boolean(name: str, value: Any) -> bool | None:
    """A boolean, also one that comes as 0 or 1; None where it is missing."""
    if value is None or is_missing(value):
        return None
    if is_boolean(value) or (is_real(value) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name!r} is {value!r}: expected True or False")


def as_text(name: str, value: Any) -> str | None:
    """A string; None where it is missing."""
    if isinstance(value, str):
        return value
    if value is None or is_missing(value):
        return None
    raise TypeError(f"{name!r} is {value!r}: expected a string")


NUMBER = re.compile(
    r"[ \t]*[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?)[ \t]*"
)


def parse_number(name: str, text: str) -> float:
    """Read a decimal number or an infinity ("nan", "1_0" and "0x10" are neither)."""
    if NUMBER.fullmatch(text):
        return float(text)
    raise ValueError(f"{name!r} is {text!r}: expected a number")


INTEGER = re.compile(r"0|-?[1-9][0-9]{0,999}")


def parse_integer(name: str, text: str) -> int:
    """Read an integer in the one form that Python prints it in."""
    if INTEGER.fullmatch(text):
        return int(text)
    raise ValueError(f"{name!r} is {text!r}: expected an integer")


BOOLEANS = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


def parse_boolean(name: str, text: str) -> bool:
    """Read true or false."""
    if text in BOOLEANS:
        return BOOLEANS[text]
    raise ValueError(f"{name!r} is {text!r}: expected true or false")


def parse_text(name: str, text: str) -> str:
    """Take the text as it stands."""
    return text
