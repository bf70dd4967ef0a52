"""Finds the numbers and strings that somebody has added to the text of an artefact.

They are literals that it has more often than the text that the model gives now. They
are tried as inputs, too, so that an added branch cannot hide between the thresholds of
the model.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from math import inf, isfinite
from typing import Any

from treecompile.model.ir import Feature, Value, ValueType

# Both texts are read in the same way, so that it matters little what a comment is.
LITERAL = re.compile(
    r"'((?:[^'\n]|'')*)'|\"([^\"\n]*)\""
    r"|(?<![\w.])(\d{1,400}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,4})?)"
)
MOST_ADDED = 1_000  # literals that are tried


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


def added(text: str, fresh: str) -> Constants:
    """Return the literals that a text has more often than the fresh one."""
    if text == fresh:
        return Constants()
    numbers: set[int | float] = set()
    strings: set[str] = set()
    more = Counter(LITERAL.findall(text)) - Counter(LITERAL.findall(fresh))
    for single, double, digits in islice(more, MOST_ADDED):
        if not digits:
            strings.add(single.replace("''", "'") or double)
            continue
        number = int(digits) if digits.isdigit() else float(digits)
        if abs(number) < inf:
            numbers |= {number, -number}  # its sign is an operator in front of it
    return Constants(frozenset(numbers), frozenset(strings))
