"""The values of each feature that are tried, and boxes of them.

A feature is an axis with finitely many values: both sides of every threshold, every
category, what a sloppy comparison takes for it, an unseen one, a missing one. A region
is a part of an axis that some conditions leave over; a box is a region of every axis.
Whether a box is empty is decided exactly, so a search that finds no row proves that
there is none among these values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, nan, nextafter
from random import Random
from typing import Any, Protocol

from treecompile.ir import Body, Condition, Feature, Kind, Op, Row, Value, ValueType
from treecompile.semantics import conditions, holds, threshold
from treecompile.witness import unseen

Region = Any  # (first, end, missing) of a numeric axis, a bit for each value of another
Box = tuple[Region, ...]


@dataclass(frozen=True, slots=True)
class Constants:
    """Numbers and strings found in the text of an artefact."""

    numbers: frozenset[int | float] = frozenset()
    strings: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Numbers:
    """How a type of number looks: the values beside a cut, and those of every axis."""

    beside: Callable[[float], Iterable[Value]]
    always: tuple[Value, ...]


def doubles_beside(cut: float) -> tuple[float, ...]:
    """A double and its neighbours."""
    return nextafter(cut, -inf), cut, nextafter(cut, inf)


DOUBLES = Numbers(doubles_beside, (-inf, inf, None, nan))


class Axis(Protocol):
    values: tuple[Value, ...]
    everything: Region

    def where(self, test: Condition) -> Region: ...
    def meet(self, one: Region, other: Region) -> Region | None: ...
    def at(self, value: Value) -> Region: ...
    def pick(self, region: Region, dice: Random) -> Value: ...


class NumberAxis:
    """Numbers in the order of their doubles, then those that are missing."""

    def __init__(self, values: Iterable[Value]) -> None:
        given = dict.fromkeys(values)
        self.missing = tuple(v for v in given if v is None or v != v)
        self.known = sorted((v for v in given if v not in self.missing), key=as_double)
        self.doubles = [as_double(value) for value in self.known]
        self.values = (*self.known, *self.missing)
        self.everything = (0, len(self.known), True)

    def where(self, test: Condition) -> Region:
        place = bisect_right(self.doubles, threshold(test))
        if test.op is Op.LE:
            return 0, place, test.missing
        return place, len(self.known), test.missing

    def meet(self, one: Region, other: Region) -> Region | None:
        first, end = max(one[0], other[0]), min(one[1], other[1])
        missing = one[2] and other[2]
        return (first, end, missing) if first < end or missing else None

    def at(self, value: Value) -> Region:
        if value is None or value != value:
            return 0, 0, True
        end = bisect_right(self.doubles, as_double(value))
        return end - 1, end, False

    def pick(self, region: Region, dice: Random) -> Value:
        """Mostly from the ends of the region, which are edges of the model."""
        first, end, missing = region
        if first >= end or (missing and dice.random() < 0.1):
            return dice.choice(self.missing)
        return self.known[dice.choice((first, end - 1, dice.randrange(first, end)))]


class CategoryAxis:
    """Categories and whatever else may stand in their place."""

    def __init__(self, feature: Feature, values: Iterable[Value]) -> None:
        self.feature = feature
        self.values = tuple(dict.fromkeys(values))
        self.bits = {value: 1 << place for place, value in enumerate(self.values)}
        self.everything = (1 << len(self.values)) - 1

    def where(self, test: Condition) -> Region:
        return sum(b for v, b in self.bits.items() if holds(test, self.feature, v))

    def meet(self, one: Region, other: Region) -> Region | None:
        return (one & other) or None

    def at(self, value: Value) -> Region:
        return self.bits[value]

    def pick(self, region: Region, dice: Random) -> Value:
        return dice.choice([v for v, bit in self.bits.items() if region & bit])


class Space:
    """The axes of a model."""

    def __init__(self, features: Sequence[Feature], axes: Sequence[Axis]) -> None:
        self.features = features
        self.axes = axes
        self.everything: Box = tuple(axis.everything for axis in axes)
        self._regions: dict[Condition, Region] = {}

    def cut(self, box: Box, test: Condition) -> Box | None:
        """The part of a box where a condition holds; None if there is none."""
        if test not in self._regions:
            self._regions[test] = self.axes[test.feature].where(test)
        return self.narrow(box, test.feature, self._regions[test])

    def narrow(self, box: Box, position: int, region: Region) -> Box | None:
        met = self.axes[position].meet(box[position], region)
        if met is None:
            return None
        return (*box[:position], met, *box[position + 1 :])

    def row(self, box: Box, dice: Random) -> Row:
        """Some row within a box."""
        pairs = zip(self.axes, box, strict=True)
        return tuple(axis.pick(region, dice) for axis, region in pairs)


def space(body: Body, constants: Constants, numbers: Numbers = DOUBLES) -> Space:
    """The axes of a model, and of an artefact that has these constants beside it."""
    cuts: list[set[float]] = [set() for _ in body.features]
    for test in conditions(body):
        if body.features[test.feature].kind is Kind.NUMERIC:
            cuts[test.feature].add(threshold(test))
    return Space(
        body.features,
        [
            _axis(feature, cuts[position], constants, numbers)
            for position, feature in enumerate(body.features)
        ],
    )


def _axis(
    feature: Feature, cuts: set[float], constants: Constants, numbers: Numbers
) -> Axis:
    if feature.kind is not Kind.NUMERIC:
        return CategoryAxis(feature, _categories(feature, constants))
    finite = sorted(filter(isfinite, cuts | set(map(as_double, constants.numbers))))
    near = [value for cut in finite for value in numbers.beside(cut)]
    return NumberAxis((*(near or numbers.beside(0.0)), *numbers.always))


def _categories(feature: Feature, constants: Constants) -> Iterator[Value]:
    yield from feature.categories
    if feature.type is ValueType.STR:
        for category in feature.categories:
            yield from twins(category)
    yield from fitting(feature, constants)
    yield unseen(feature)
    yield None


def fitting(feature: Feature, constants: Constants) -> Iterator[Value]:
    """The constants that a feature can have as its value."""
    match feature.type:
        case ValueType.FLOAT:
            yield from sorted(filter(isfinite, map(as_double, constants.numbers)))
        case ValueType.STR:
            yield from sorted(constants.strings)
        case ValueType.INT:
            whole = (int(n) for n in constants.numbers if n == n // 1)
            yield from sorted(n for n in whole if -(2**63) <= n < 2**63)


def twins(category: Value) -> Iterator[str]:
    """Texts that a sloppy comparison takes for this one."""
    if isinstance(category, str):
        text = category
        for twin in (text.swapcase(), f"{text} ", f" {text}", text.rstrip()):
            if twin != text:
                yield twin


def as_double(value: Any) -> float:
    """The nearest double; an infinity beyond the greatest."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
