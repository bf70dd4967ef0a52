"""The numbers and strings that somebody has added to the text of an artefact.

They are tried as inputs, so that an added branch cannot hide between the thresholds of
the model. Occurrences are counted, because a branch may reuse a constant of ours.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from math import inf, isfinite, ldexp
from typing import Any

from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model import words
from treecompile.model.ir import Feature, Label, Program, Value, ValueType
from treecompile.verify.claims import PYTHON, Claim
from treecompile.verify.python_process import NEEDS_NUMPY
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
        """Those that a feature can have as its value."""
        match feature.type:
            case ValueType.FLOAT:
                yield from sorted(filter(isfinite, map(as_double, self.numbers)))
            case ValueType.STR:
                yield from sorted(self.strings)
            case ValueType.INT:
                whole = (int(n) for n in self.numbers if n == n // 1)
                yield from sorted(filter(has_64_bits, whole))


def as_double(value: Any) -> float:
    """The nearest double; an infinity beyond the greatest."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def has_64_bits(number: int) -> bool:
    return -(2**63) <= number < 2**63


def added(
    program: Program,
    text: str,
    claimed: Claim,
    columns: Mapping[str, str],
    alias: str,
    types: Mapping[str, str] | None = None,
) -> Constants:
    """What an artefact has more of than one compiled afresh."""
    if claimed.engine == PYTHON:
        try:
            found = in_python(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return Constants()  # running it will report the error and its line
        style = "numpy" if NEEDS_NUMPY in text else "standard"
        more = found - in_python(emit(program, "python", EmitOptions(style=style)).text)
    else:
        escapes = has_backslashes(claimed.engine)
        asked = replace(_options(program, claimed, columns, alias), types=types or {})
        fresh = emit(program, "sql", asked).text
        more = in_sql(text, escapes) - in_sql(fresh, escapes)
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
    program: Program, claimed: Claim, columns: Mapping[str, str], alias: str
) -> EmitOptions:
    """The options that a SQL artefact was emitted with, as far as constants differ."""
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
        identifiers=claimed.identifiers,
        alias=alias,
    )


def in_sql(text: str, backslash: bool = False) -> Found:
    """The literals of a SQL text, in which a backslash escapes or stands for itself."""
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
    """The value of a number; integers stay exact, as they may be categories."""
    if text.isdigit() and not powers and len(text) <= MOST_DIGITS:
        return int(text)
    number = float(text)
    for sign, power in re.findall(r"([*/])\(1<<(\d+)\)", powers):
        with suppress(OverflowError):
            number = ldexp(number, int(power) if sign == "*" else -int(power))
    return number


def in_python(text: str) -> Found:
    """The literals of a Python text."""
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
