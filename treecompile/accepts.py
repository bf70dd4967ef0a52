"""What of one feature a rule accepts, as a set that can be compared and united.

Conditions on one feature that must all hold are a region: an interval of numbers, or
of ranks for an ordinal feature, or a set of categories, each with the truth for a
missing value. Equal sets are equal regions, whichever conditions say so, and back from
a region come the fewest conditions for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from treecompile.ir import Category, Condition, Feature, Kind, Op, Rule, ValueType
from treecompile.semantics import in_order, members, rank, threshold


@dataclass(frozen=True, slots=True)
class Interval:
    """low < value <= high; of an ordinal, an unseen value goes with the missing one."""

    low: float
    high: float
    missing: bool

    @property
    def is_void(self) -> bool:
        """Whether no known value lies in it."""
        return self.low >= self.high


@dataclass(frozen=True, slots=True)
class Set:
    """These categories, or all values but these."""

    categories: frozenset[Category]
    inside: bool
    missing: bool


Region = Interval | Set
Regions = dict[int, Region]  # by feature; what is not tested is not there
BOOLEANS: frozenset[Category] = frozenset((False, True))


def region_of(conditions: Sequence[Condition], feature: Feature) -> Region:
    """What conditions on one feature accept together."""
    missing = all(condition.missing for condition in conditions)
    if feature.kind is Kind.CATEGORICAL:
        return _set_of(conditions, feature, missing)
    low, high = _ends(feature)
    for condition in conditions:
        edge = _edge(condition, feature)
        if condition.op is Op.LE:
            high = min(high, edge)
        else:
            low = max(low, edge)
    return Interval(low, high, missing) if low < high else Interval(0, 0, missing)


def _ends(feature: Feature) -> tuple[float, float]:
    if feature.kind is Kind.NUMERIC:
        return -inf, inf
    return -1, len(feature.categories) - 1


def _edge(condition: Condition, feature: Feature) -> float:
    if feature.kind is Kind.NUMERIC:
        return threshold(condition)
    return rank(feature, condition.value)


def _set_of(conditions: Sequence[Condition], feature: Feature, missing: bool) -> Set:
    kept: frozenset[Category] | None = None
    if feature.type is ValueType.BOOL:
        kept = BOOLEANS  # there is no third value
    barred: set[Category] = set()
    for condition in conditions:
        named = frozenset(members(condition))
        if condition.op is Op.NOT_IN:
            barred |= named
        else:
            kept = named if kept is None else kept & named
    if kept is None:
        return Set(frozenset(barred), inside=False, missing=missing)
    return Set(kept - barred, inside=True, missing=missing)


def conditions_of(
    region: Region, where: int, feature: Feature
) -> tuple[Condition, ...] | None:
    """The fewest conditions that accept a region; None if nothing is in it.

    No condition at all for what every value satisfies, the missing one too.
    """
    if isinstance(region, Interval):
        return _bounds(region, where, feature)
    categories, inside = region.categories, region.inside
    if feature.type is ValueType.BOOL and inside:
        if categories == BOOLEANS:
            categories, inside = frozenset(), False
        elif not categories <= set(feature.categories):  # it cannot be named
            categories, inside = BOOLEANS - categories, False
    if not categories and inside and not region.missing:
        return None
    if not categories and not inside and region.missing:
        return ()
    op = Op.IN if inside else Op.NOT_IN
    return (Condition(where, op, in_order(feature, categories), region.missing),)


def _bounds(
    region: Interval, where: int, feature: Feature
) -> tuple[Condition, ...] | None:
    lowest, highest = _ends(feature)
    missing = region.missing

    def bound(op: Op, edge: float) -> Condition:
        if feature.kind is Kind.NUMERIC:
            return Condition(where, op, edge, missing)
        return Condition(where, op, feature.categories[int(edge)], missing)

    if region.is_void:
        return (bound(Op.GT, highest),) if missing else None
    lower, upper = region.low > lowest, region.high < highest
    if not lower and not upper and not missing:
        return (bound(Op.LE, highest),)
    result = [bound(Op.GT, region.low)] if lower else []
    return (*result, bound(Op.LE, region.high)) if upper else tuple(result)


def regions_of(rule: Rule, features: Sequence[Feature]) -> Regions:
    """What a rule accepts of each feature that it tests."""
    by_feature: dict[int, list[Condition]] = {}
    for condition in rule.conditions:
        by_feature.setdefault(condition.feature, []).append(condition)
    return {
        where: region_of(conditions, features[where])
        for where, conditions in by_feature.items()
    }


def contains(outer: Region, inner: Region) -> bool:
    """Whether the one accepts all that the other does."""
    if inner.missing and not outer.missing:
        return False
    if isinstance(outer, Interval):
        assert isinstance(inner, Interval)
        return inner.is_void or (outer.low <= inner.low and inner.high <= outer.high)
    assert isinstance(inner, Set)
    if inner.inside:
        if outer.inside:
            return inner.categories <= outer.categories
        return not inner.categories & outer.categories
    return not outer.inside and outer.categories <= inner.categories


def overlap(one: Region, other: Region) -> bool:
    """Whether some value is in both."""
    if one.missing and other.missing:
        return True
    if isinstance(one, Interval):
        assert isinstance(other, Interval)
        return max(one.low, other.low) < min(one.high, other.high)
    assert isinstance(other, Set)
    if one.inside and other.inside:
        return bool(one.categories & other.categories)
    if one.inside:
        return bool(one.categories - other.categories)
    if other.inside:
        return bool(other.categories - one.categories)
    return True  # an unseen value


def unite(one: Region, other: Region) -> Region | None:
    """What either accepts; None where that is no region: a gap lies between."""
    missing = one.missing or other.missing
    if isinstance(one, Interval):
        assert isinstance(other, Interval)
        if one.is_void or other.is_void:
            some = other if one.is_void else one
            return Interval(some.low, some.high, missing)
        if max(one.low, other.low) > min(one.high, other.high):
            return None
        low, high = min(one.low, other.low), max(one.high, other.high)
        return Interval(low, high, missing)
    assert isinstance(other, Set)
    if one.inside and other.inside:
        return Set(one.categories | other.categories, True, missing)
    if one.inside:
        return Set(other.categories - one.categories, False, missing)
    if other.inside:
        return Set(one.categories - other.categories, False, missing)
    return Set(one.categories & other.categories, False, missing)
