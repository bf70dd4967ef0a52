"""Lists the values of each feature that `verify` tries: the axes of a `Grid`.

The axis of a feature is a finite list of values: both sides of every threshold, every
category and the texts that a loose comparison confuses with it, an unseen value and a
missing one. Whether a box contains values of an axis is decided exactly, so a search
that finds no row proves that there is none among the combinations of these values.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from ctypes import c_float
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from itertools import islice
from math import inf, isfinite, nan, nextafter
from typing import Any

from treecompile.emit.sql.dialect import NumberTypes
from treecompile.model.ir import (
    AnyBody,
    Condition,
    Feature,
    Kind,
    Op,
    Value,
    ValueType,
)
from treecompile.model.semantics import conditions, threshold
from treecompile.regions.region import Interval, Region, at, everything, interval, where
from treecompile.regions.space import Space, unseen

# ---------------------------------------------------------------- types of numbers


def as_double(value: Any) -> float:
    """Return the nearest double; beyond the greatest one, an infinity."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf


def has_64_bits(number: int) -> bool:
    return -(2**63) <= number < 2**63


# The values of one type of number next to a threshold. The model compares numbers as
# doubles, whatever the type of their column. An artefact without that cast may compare
# values of other types next to a threshold wrongly.
Beside = Callable[[float], Iterable[Value]]


def doubles_beside(cut: float) -> tuple[float, ...]:
    """Return a double and its two neighbours."""
    return nextafter(cut, -inf), cut, nextafter(cut, inf)


def integers_beside(cut: float) -> list[int]:
    """Return the integers around a threshold, and those that rounding moves over it."""
    below = int(cut // 1)
    # Half the distance to the next double; below 2**54 it adds nothing to the others.
    half = int(nextafter(cut, inf) - cut) // 2 if isfinite(2 * cut) else 0
    steps = {-1, 0, 1, 2, -half, half, half + 1}
    return [below + step for step in sorted(steps)]


def _small_integers_beside(cut: float) -> Iterable[Value]:
    return filter(has_64_bits, integers_beside(cut))


TENTH_DECIMAL = Decimal("1e-10")
DIGITS = Context(prec=60)


def _decimals_beside(cut: float) -> Iterator[Value]:
    """Yield the nearest decimals below and above a threshold."""
    if abs(cut) < 1e25:
        for rounding in (ROUND_FLOOR, ROUND_CEILING):
            number = Decimal(cut).quantize(TENTH_DECIMAL, rounding, DIGITS)
            yield number  # type: ignore[misc]


def _singles_beside(cut: float) -> Iterator[Value]:
    """Yield the 32-bit floats nearest to a threshold and to its neighbours."""
    step = abs(cut) * 2**-24
    for near in (cut - step, cut, cut + step):
        number = c_float(near).value
        if isfinite(number):
            yield number


def of_dialect(types: NumberTypes) -> dict[str, Beside]:
    """Return the number types of a dialect other than doubles."""
    found: dict[str, Beside] = {
        types.whole: _small_integers_beside,
        types.decimal: _decimals_beside,
        types.single: _singles_beside,
    }
    found.pop("", None)
    return found


# ---------------------------------------------------------------- added constants

# Numbers and texts to try as inputs as well.
Constants = frozenset[int | float | str]
# Both texts are read in the same way, so that it matters little what a comment is.
LITERAL = re.compile(
    r"'((?:[^'\n]|'')*)'|\"([^\"\n]*)\""
    r"|(?<![\w.])(\d{1,400}(?:\.\d{0,400})?(?:[eE][+-]?\d{1,4})?)"
)
MOST_ADDED = 1_000  # literals that are tried


def added(text: str, fresh: str) -> Constants:
    """Return the literals that a text has more often than the one just emitted.

    They are tried as inputs, so that an added branch cannot hide between the thresholds
    of the model.
    """
    found: set[int | float | str] = set()
    more = Counter(LITERAL.findall(text)) - Counter(LITERAL.findall(fresh))
    for single, double, digits in islice(more, MOST_ADDED):
        if not digits:
            found.add(single.replace("''", "'") or double)
            continue
        number = int(digits) if digits.isdigit() else float(digits)
        found |= {number, -number}  # its sign is an operator in front of it
    return frozenset(found)


def fitting(constants: Constants, feature: Feature) -> Sequence[Value]:
    """Return the constants that a feature can have as its value, in order."""
    numbers = [each for each in constants if not isinstance(each, str)]
    match feature.type:
        case ValueType.STR:
            return sorted(each for each in constants if isinstance(each, str))
        case ValueType.FLOAT:
            return sorted(filter(isfinite, map(as_double, numbers)))
        case ValueType.INT:
            whole = (int(n) for n in numbers if abs(n) < inf and n == n // 1)
            return sorted(filter(has_64_bits, whole))
    return ()


# ---------------------------------------------------------------- axes


class NumberAxis:
    """The numbers to try, in the order of their doubles, then the missing values.

    An Interval here has as ends the places of numbers in this order, like the ranks of
    an ordinal feature. So it is empty exactly if it contains no number to try.
    """

    def __init__(self, values: Iterable[Value]) -> None:
        given = dict.fromkeys(values)
        self.missing = tuple(v for v in given if v is None or v != v)
        self.known = sorted((v for v in given if v not in self.missing), key=as_double)
        self.doubles = [as_double(value) for value in self.known]
        self.values = (*self.known, *self.missing)
        self.last = len(self.known) - 1
        self.everything: Region = interval(-1, self.last, missing=True)

    def where(self, test: Condition) -> Interval:
        """Return the interval of the values that satisfy a condition."""
        place = bisect_right(self.doubles, threshold(test)) - 1
        if test.op is Op.LE:
            return interval(-1, place, test.missing)
        return interval(place, self.last, test.missing)

    def at(self, value: Value) -> Interval:
        """Return the interval of the values that no condition tells from this one."""
        if value is None or value != value:
            return interval(0, 0, missing=True)
        place = bisect_right(self.doubles, as_double(value)) - 1
        return interval(place - 1, place, missing=False)


class CategoryAxis:
    """The categories of a feature, and other values to try instead of them."""

    def __init__(self, feature: Feature, values: Iterable[Value]) -> None:
        self.feature = feature
        self.values = tuple(dict.fromkeys(values))
        self.everything = everything(feature)
        self.regions = {value: at(value, feature) for value in self.values}

    def where(self, test: Condition) -> Region:
        return where(test, self.feature)

    def at(self, value: Value) -> Region:
        return self.regions[value]


Axis = NumberAxis | CategoryAxis


class Grid(Space):
    """The values to try on a model and its artefact, with the constants added to it."""

    def __init__(
        self, body: AnyBody, constants: Constants, beside: Beside = doubles_beside
    ) -> None:
        super().__init__(body.features)
        self.beside = beside
        is_double = beside is doubles_beside
        self.always = (-inf, inf, None, nan) if is_double else (None,)
        cuts: list[set[float]] = [set() for _ in body.features]
        for test in conditions(body):
            if body.features[test.feature].kind is Kind.NUMERIC:
                cuts[test.feature].add(threshold(test))
        self.axes: list[Axis] = []
        for feature, own in zip(body.features, cuts, strict=True):
            more = fitting(constants, feature)
            if feature.kind is not Kind.NUMERIC:
                self.axes.append(CategoryAxis(feature, _categories(feature, more)))
                continue
            finite = sorted(own.union(map(as_double, more)) - {-inf, inf})
            near = [value for cut in finite for value in beside(cut)] or beside(0.0)
            self.axes.append(NumberAxis((*near, *self.always)))
        self.everything = tuple(axis.everything for axis in self.axes)

    def region(self, test: Condition) -> Region:
        return self.axes[test.feature].where(test)


def _categories(feature: Feature, more: Iterable[Value]) -> Iterator[Value]:
    yield from feature.categories
    for category in feature.categories:
        yield from twins(category)
    yield from more
    yield unseen(feature)
    yield None


def twins(category: Value) -> Iterator[str]:
    """Yield texts that a loose comparison takes for this one: other case, blanks."""
    if isinstance(category, str):
        text = category
        for twin in (text.swapcase(), f"{text} ", f" {text}", text.rstrip()):
            if twin != text:
                yield twin
