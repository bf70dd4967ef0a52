"""Finds the numbers and strings that somebody has added to the text of an artefact.

They are constants that a freshly compiled artefact lacks, or has fewer times:
occurrences are counted, because an added branch may reuse a constant of the model.
`verify` tries them as inputs, so that such a branch cannot hide between the thresholds
of the model.
"""

from __future__ import annotations

import ast
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf, isfinite, ldexp
from typing import Any

from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model import words
from treecompile.model.ir import AnyProgram, Feature, Label, Value, ValueType
from treecompile.verify.claims import NODE, PYTHON, Claim
from treecompile.verify.statements import RefusedError, has_backslashes, scan

Found = Counter[int | float | str]
MOST_DIGITS = 1000
MOST_ADDED = 10_000  # constants that are tried as inputs


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers and strings to try as inputs."""

    numbers: frozenset[int | float] = frozenset()
    strings: frozenset[str] = frozenset()

    def fitting(self, feature: Feature) -> Iterator[Value]:
        """Yield the constants that a feature can have as its value."""
        match feature.type:
            case ValueType.FLOAT:
                yield from sorted(filter(isfinite, map(as_double, self.numbers)))
            case ValueType.STR:
                yield from sorted(self.strings)
            case ValueType.INT:
                whole = (int(n) for n in self.numbers if n == n // 1)
                yield from sorted(filter(has_64_bits, whole))


def as_double(value: Any) -> float:
    """Return the nearest double; beyond the greatest one, an infinity."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def has_64_bits(number: int) -> bool:
    return -(2**63) <= number < 2**63


def added(
    program: AnyProgram,
    text: str,
    claimed: Claim,
    columns: Mapping[str, str],
) -> Constants:
    """Return the constants that an artefact has more often than one compiled afresh."""
    if claimed.engine == PYTHON:
        fresh = emit(program, "python").text
        if fresh == text:  # the usual case, and faster than to parse both texts
            return Constants()
        try:
            found = in_python(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return Constants()  # running it will report the error and its line
        own = in_python(fresh)
    elif claimed.engine == NODE:
        found = in_javascript(text)
        own = in_javascript(emit(program, "javascript").text)
    else:
        escapes = has_backslashes(claimed.engine)
        found = in_sql(text, escapes)
        asked = _options(program, claimed, columns)
        own = in_sql(emit(program, "sql", asked).text, escapes)
    more = found - own
    if len(more) > MOST_ADDED:
        raise RefusedError(
            f"{len(more):,} of its numbers and texts are not the model's: it is not an"
            " artefact of this model"
        )
    numbers = {n for n in more if isinstance(n, (int, float)) and abs(n) < inf}
    return Constants(
        # The sign of a number is an operator in front of it.
        numbers=frozenset(numbers | {-n for n in numbers}),
        strings=frozenset(s for s in more if isinstance(s, str)),
    )


def _options(
    program: AnyProgram, claimed: Claim, columns: Mapping[str, str]
) -> EmitOptions:
    """Return the options of a SQL artefact, as far as constants depend on them."""
    label: Label = ""
    for _, place in claimed.wanted:
        if place is not None:
            label = program.body.labels[place]
    return EmitOptions(
        dialect=claimed.engine,
        form="select" if len(claimed.wanted) > 1 else "expression",
        table="rows",
        columns=columns,
        output=",".join(output for output, _ in claimed.wanted),
        label=label if isinstance(label, str) else words.value(label),
    )


def in_sql(text: str, backslash: bool = False) -> Found:
    """Count the literals of a SQL text; `backslash` says that a backslash escapes."""
    found: Found = Counter()
    for token in scan(text, backslash=backslash):
        match token.lastgroup:
            case "string":
                found[_unquoted(token[0][1:-1], backslash)] += 1
            case "escaped":
                found[_unquoted(token[0][2:-1], backslash=True)] += 1
            case "dollars":
                edge = len(token["tag"])
                found[token[0][edge:-edge]] += 1
            case "number":
                powers = token["powers"]
                found[_number(token[0].removesuffix(powers), powers)] += 1
    return found


def _unquoted(string: str, backslash: bool) -> str:
    if backslash:
        string = re.sub(r"\\(['\\])", r"\1", string)
    return string.replace("''", "'")


def _number(text: str, powers: str) -> int | float:
    """Return the value of a number; integers stay exact, as they may be categories."""
    if text.isdigit() and not powers and len(text) <= MOST_DIGITS:
        return int(text)
    number = float(text)
    for sign, power in re.findall(r"([*/])\(1<<(\d+)\)", powers):
        with suppress(OverflowError):
            number = ldexp(number, int(power) if sign == "*" else -int(power))
    return number


def in_python(text: str) -> Found:
    """Count the literals of a Python text."""
    found: Found = Counter()
    with warnings.catch_warnings(action="ignore"):  # of odd escapes and comparisons
        tree = ast.parse(text)
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(string)):
                found[string] += 1
            case ast.Constant(value=int() | float() as number):
                found[number] += 1
    return found


JAVASCRIPT = re.compile(r"""(?xs)
    //[^\n\r\u2028\u2029]* | /\*.*?\*/
    | (?P<string> "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
    | `(?P<template> (?:[^`\\]|\\.)*)`
    | (?<![\w$]) (?P<number>
        0[xX][\da-fA-F_]+ | 0[bB][01_]+ | 0[oO][0-7_]+
        | (?: \d[\d_]* (?:\.[\d_]*)? | \.\d[\d_]*) (?:[eE][+-]?\d[\d_]*)?
    ) n?
    """)
PLACE = re.compile(r"\$\{([^`}]*)\}")  # of an expression in a template
ESCAPE = re.compile(
    r"(?s)\\(?:u\{([\da-fA-F]{1,6})\}|u([\da-fA-F]{4})|x([\da-fA-F]{2})|(.))"
)
ESCAPES = {
    **{"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"},
    "\n": "",  # a line that continues
}


def in_javascript(text: str) -> Found:
    """Count the literals of a JavaScript text."""
    found: Found = Counter()
    for token in JAVASCRIPT.finditer(text):
        match token.lastgroup:
            case "string":
                found[_unescaped(token["string"][1:-1])] += 1
            case "template":
                found.update(map(_unescaped, PLACE.split(token["template"])[::2]))
                for place in PLACE.findall(token["template"]):
                    found += in_javascript(place)
            case "number":
                found[_javascript_number(token["number"].replace("_", ""))] += 1
    return found


def _unescaped(string: str) -> str:
    def character(match: re.Match[str]) -> str:
        *codes, other = match.groups()
        for code in filter(None, codes):
            return chr(min(int(code, 16), sys.maxunicode))
        return ESCAPES.get(other, other)

    # Two halves of a surrogate pair are one character.
    units = ESCAPE.sub(character, string).encode("utf-16", "surrogatepass")
    return units.decode("utf-16", "surrogatepass")


def _javascript_number(text: str) -> int | float:
    if text[:2].lower() in ("0x", "0b", "0o"):
        return int(text, 0)
    return int(text) if text.isdigit() and len(text) <= MOST_DIGITS else float(text)
