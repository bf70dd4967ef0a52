"""Represents the values that a feature may have if some conditions all hold.

    x > 3 and x <= 5               Interval(3.0, 5.0, missing=False)
    x <= 5 (or missing)            Interval(-inf, 5.0, missing=True)
    size > S (or missing)          Interval(0, inf, missing=True)    ranks of S, M, L
    colour in {green, red}         CategorySet(0b11000)    of blue, green, red
    colour not in {red}            CategorySet(0b01110)    unseen colours included

Such a region is an Interval or a CategorySet. Two regions of a feature are equal
exactly if they contain the same values, whichever conditions they come from. A region
can be turned back into the fewest conditions that say the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, pairwise
from math import inf, nextafter

from treecompile.model import ir
from treecompile.model.semantics import (
    is_missing,
    is_unknown,
    members,
    places,
    rank,
    threshold,
)

MISSING, UNSEEN = 0b01, 0b10  # bits of a CategorySet
FIRST = 2  # the bit number of the first category


@dataclass(frozen=True, slots=True)
class Interval:
    """The numbers low < x <= high, or the ranks of an ordinal feature.

    An infinite end is no bound: -inf as `low` lets every small number in, -inf itself
    included, and `high` is inf where the last category of an ordinal belongs to the
    interval. An unseen value of an ordinal goes with the missing one. An interval
    without a number or rank is always written (-inf, -inf).
    """

    low: float
    high: float
    missing: bool

    @property
    def has_known(self) -> bool:
        """Whether the region contains a number or category."""
        return self.low < self.high

    @property
    def is_empty(self) -> bool:
        return self.low >= self.high and not self.missing

    def meet(self, other: Region) -> Interval:
        """Return the values that are in both regions."""
        assert isinstance(other, Interval)
        low = other.low if other.low > self.low else self.low
        high = other.high if other.high < self.high else self.high
        return interval(low, high, self.missing and other.missing)

    def overlaps(self, other: Region) -> bool:
        """Whether some value is in both regions."""
        assert isinstance(other, Interval)
        if self.missing and other.missing:
            return True
        return max(self.low, other.low) < min(self.high, other.high)

    def contains(self, other: Region) -> bool:
        """Whether every value of the other region is in this one."""
        assert isinstance(other, Interval)
        if other.missing and not self.missing:
            return False
        is_within = self.low <= other.low and other.high <= self.high
        return is_within or not other.has_known

    def unite(self, other: Region) -> Interval | None:
        """Return the values in either region; None if there is a gap between them."""
        assert isinstance(other, Interval)
        missing = self.missing or other.missing
        if not self.has_known or not other.has_known:
            known = self if self.has_known else other
            return Interval(known.low, known.high, missing)
        if max(self.low, other.low) > min(self.high, other.high):
            return None
        low, high = min(self.low, other.low), max(self.high, other.high)
        return Interval(low, high, missing)

    def without(self, other: Region) -> Interval:
        """Return the values that are not in the other; they must be one interval."""
        assert isinstance(other, Interval)
        missing = self.missing and not other.missing
        if not other.has_known:
            return Interval(self.low, self.high, missing)
        assert other.low <= self.low or other.high >= self.high
        if other.low <= self.low:
            return interval(max(self.low, other.high), self.high, missing)
        return interval(self.low, min(self.high, other.low), missing)

    def conditions(
        self, index: int, feature: ir.Feature
    ) -> tuple[ir.Condition, ...] | None:
        """Return the fewest conditions that hold here and nowhere else.

        None if no value is in the region; no conditions if every value is.
        """
        if not self.has_known:
            absent = bound(index, feature, ir.Op.GT, inf, True)
            return (absent,) if self.missing else None
        bounds = []
        if self.low > -inf:
            bounds.append(bound(index, feature, ir.Op.GT, self.low, self.missing))
        if self.high < inf or (self.low == -inf and not self.missing):
            bounds.append(bound(index, feature, ir.Op.LE, self.high, self.missing))
        return tuple(bounds)


def interval(low: float, high: float, missing: bool) -> Interval:
    """Return the interval between two ends, in its only form if it is empty."""
    return Interval(low, high, missing) if low < high else Interval(-inf, -inf, missing)


def bound(
    index: int, feature: ir.Feature, op: ir.Op, end: float, missing: bool
) -> ir.Condition:
    """Return the condition that cuts a feature at the end of an interval."""
    if feature.kind is ir.Kind.NUMERIC:
        return ir.Condition(index, op, end, missing)
    place = -1 if end == inf else int(end)
    return ir.Condition(index, op, feature.categories[place], missing)


@dataclass(frozen=True, slots=True)
class CategorySet:
    """A set of values of a categorical feature, each a bit.

    Bit 0 is the missing value, bit 1 all unseen values, bit 2 the first category.
    A boolean feature that knows both values has no unseen ones.
    """

    bits: int

    @property
    def missing(self) -> bool:
        return bool(self.bits & MISSING)

    @property
    def has_known(self) -> bool:
        return self.bits > MISSING | UNSEEN

    @property
    def is_empty(self) -> bool:
        return not self.bits

    def meet(self, other: Region) -> CategorySet:
        assert isinstance(other, CategorySet)
        return CategorySet(self.bits & other.bits)

    def overlaps(self, other: Region) -> bool:
        assert isinstance(other, CategorySet)
        return bool(self.bits & other.bits)

    def contains(self, other: Region) -> bool:
        assert isinstance(other, CategorySet)
        return not other.bits & ~self.bits

    def unite(self, other: Region) -> CategorySet:
        assert isinstance(other, CategorySet)
        return CategorySet(self.bits | other.bits)

    def without(self, other: Region) -> CategorySet:
        assert isinstance(other, CategorySet)
        return CategorySet(self.bits & ~other.bits)

    def members(self, feature: ir.Feature) -> tuple[ir.Category, ...]:
        """Return the known categories, in the order of the feature."""
        digits = f"{self.bits >> FIRST:b}"[::-1]
        if 8 * digits.count("1") > len(digits):
            return tuple(compress(feature.categories, map("1".__eq__, digits)))
        found = []  # few among many, as in a split with a branch for each category
        place = digits.find("1")
        while place >= 0:
            found.append(feature.categories[place])
            place = digits.find("1", place + 1)
        return tuple(found)

    def conditions(
        self, index: int, feature: ir.Feature
    ) -> tuple[ir.Condition, ...] | None:
        every = _every_bit(feature)
        if self.bits == every:
            return ()
        if self.is_empty:
            return None
        rest = CategorySet(every & ~self.bits)
        if self.bits & UNSEEN or rest.bits == MISSING:
            barred = rest.members(feature)
            return (ir.Condition(index, ir.Op.NOT_IN, barred, self.missing),)
        return (ir.Condition(index, ir.Op.IN, self.members(feature), self.missing),)


Region = Interval | CategorySet
Regions = dict[int, Region]  # by the index of a feature; features not tested are absent


def everything(feature: ir.Feature) -> Region:
    """Return the region of all values of a feature, with unseen and missing ones."""
    if feature.kind is not ir.Kind.CATEGORICAL:
        return Interval(-inf, inf, missing=True)
    return CategorySet(_every_bit(feature))


def _every_bit(feature: ir.Feature) -> int:
    count = len(feature.categories)
    bits = (1 << FIRST + count) - 1
    # A boolean has no third value.
    return bits & ~UNSEEN if feature.type is ir.ValueType.BOOL and count == 2 else bits


def _bits(categories: Iterable[ir.Category], feature: ir.Feature) -> int:
    """Return the bits of categories, in time linear in the number of all."""
    place_of = places(feature.categories)
    marked = bytearray(len(feature.categories) // 8 + 1)
    for category in categories:
        place = place_of[category]
        marked[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(marked, "little") << FIRST


def where(condition: ir.Condition, feature: ir.Feature) -> Region:
    """Return the region of the values that satisfy a condition."""
    if condition.op is ir.Op.LE:
        return interval(-inf, _end(condition, feature), condition.missing)
    if condition.op is ir.Op.GT:
        return interval(_end(condition, feature), inf, condition.missing)
    bits = _bits(members(condition), feature)
    if condition.op is ir.Op.NOT_IN:
        bits = _every_bit(feature) & ~(bits | MISSING)
    return CategorySet(bits | MISSING if condition.missing else bits)


def _end(condition: ir.Condition, feature: ir.Feature) -> float:
    if feature.kind is ir.Kind.NUMERIC:
        return threshold(condition)
    place = rank(feature, condition.value)
    return inf if place == len(feature.categories) - 1 else float(place)


def at(value: ir.Value, feature: ir.Feature) -> Region:
    """Return the smallest region with a value: all that no condition tells from it."""
    if feature.kind is ir.Kind.CATEGORICAL:
        if value is None or value != value:
            return CategorySet(MISSING)
        count = len(feature.categories)
        return category_at(places(feature.categories).get(value, count), feature)
    if is_unknown(feature, value):
        return Interval(-inf, -inf, missing=True)
    if feature.kind is ir.Kind.ORDINAL:
        place = rank(feature, value)
        is_last = place == len(feature.categories) - 1
        return Interval(place - 1 if place else -inf, inf if is_last else place, False)
    number = float(value)  # type: ignore[arg-type]
    least = nextafter(-inf, inf)  # no condition tells -inf from it
    return Interval(nextafter(number, -inf), max(number, least), missing=False)


def category_at(code: int, feature: ir.Feature) -> CategorySet:
    """Return the set of one category, by its code; -1: missing, len: unseen."""
    if code < 0:
        return CategorySet(MISSING)
    return CategorySet(UNSEEN if code == len(feature.categories) else 1 << FIRST + code)


def region_of(conditions: Iterable[ir.Condition], feature: ir.Feature) -> Region:
    """Return the region of the values that satisfy all conditions on a feature."""
    found: Region | None = None
    for condition in conditions:
        own = where(condition, feature)
        found = own if found is None else found.meet(own)
    return everything(feature) if found is None else found


def rule_regions(rule: ir.Rule, features: Sequence[ir.Feature]) -> Regions:
    """Return the region that a rule accepts of each feature that it tests."""
    found: Regions = {}
    for condition in rule.conditions:
        index = condition.feature
        own = where(condition, features[index])
        found[index] = found[index].meet(own) if index in found else own
    return found


def intersect(
    conditions: Sequence[ir.Condition], feature: ir.Feature
) -> tuple[ir.Condition, ...] | None:
    """Merge conditions on one feature into the fewest that say the same.

    The result is at most a lower and an upper bound for numbers and ordinals, one set
    for categories, () for what always holds, and None if no value satisfies the
    conditions, not even a missing one.
    """
    if not conditions:
        return ()
    first = conditions[0]
    if feature.kind is ir.Kind.NUMERIC:
        merged = _bounds(conditions, feature)
    else:
        merged = region_of(conditions, feature).conditions(first.feature, feature)
    # A single test of a boolean stays `not in {true}`, and is not made `in {false}`.
    is_respelled = merged and merged[0].op is not first.op
    if len(conditions) > 1 or not is_respelled:
        return merged
    absent = (is_missing(first.feature, feature),)
    return absent if merged == absent else (first,)


def _bounds(
    conditions: Sequence[ir.Condition], feature: ir.Feature
) -> tuple[ir.Condition, ...] | None:
    """Merge conditions on a number, and keep those that still bound it.

    Compiling a large tree calls this a hundred thousand times.
    """
    low, high, missing = -inf, inf, True
    lowest: ir.Condition | None = None
    highest: ir.Condition | None = None
    for test in conditions:
        end = threshold(test)
        missing = missing and test.missing
        if test.op is ir.Op.GT:
            if end > low:
                low, lowest = end, test
        elif end < high:
            high, highest = end, test
    if lowest is None or highest is None or not low < high:
        whole = interval(low, high, missing)
        return whole.conditions(conditions[0].feature, feature)
    return tuple(
        (
            test
            if test.missing == missing
            else ir.Condition(test.feature, test.op, test.value, missing)
        )
        for test in (lowest, highest)
    )


def parts(feature: ir.Feature, conditions: Iterable[ir.Condition]) -> list[Region]:
    """Return the regions into which conditions cut a feature, the missing value last.

    They are disjoint and cover every value, and no condition distinguishes two values
    of one region: numbers between two thresholds, single categories, unseen ones.
    """
    if feature.kind is ir.Kind.CATEGORICAL:
        every = _every_bit(feature)
        known = range(FIRST, FIRST + len(feature.categories))
        bits = (*(1 << number for number in known), every & UNSEEN, MISSING)
        return [CategorySet(bit) for bit in bits if bit]
    ends: list[float] = [*range(len(feature.categories) - 1), inf]
    if feature.kind is ir.Kind.NUMERIC:
        ends = sorted({*map(threshold, conditions), inf})
    known_parts = [
        Interval(low, high, missing=False) for low, high in pairwise((-inf, *ends))
    ]
    return [*known_parts, Interval(-inf, -inf, missing=True)]
