"""Regions of inputs, exactly: what conditions leave over of each feature.

The conditions of a model cut every feature into finitely many parts within which none
of them changes its truth: numbers between two thresholds, single categories, unseen
ones, missing ones. A region is a set of such parts of one feature, a box a region of
every feature. Whether a box is empty, or lies within another, is decided, not sampled.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any, Protocol

from treecompile.ir import (
    Category,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Op,
    Row,
    ValueType,
)
from treecompile.membership import membership
from treecompile.semantics import in_order, is_missing, negate, rank, threshold
from treecompile.witness import row_inside

Region = Any  # (first, end, others) of an ordered axis, a bit for each part of another
Box = tuple[Region, ...]


class Axis(Protocol):
    everything: Region

    def where(self, test: Condition) -> Region: ...
    def meet(self, one: Region, other: Region) -> Region | None: ...
    def within(self, one: Region, other: Region) -> bool: ...
    def unite(self, one: Region, other: Region) -> Region | None: ...
    def rest(self, region: Region) -> Region: ...
    def conditions(self, position: int, region: Region) -> tuple[Condition, ...]: ...
    def questions(self, box: Region, region: Region) -> list[Region]: ...
    def tests(
        self, position: int, box: Region, region: Region
    ) -> tuple[Condition, Condition]: ...
    def has_missing(self, region: Region) -> bool: ...


class OrderedAxis:
    """Numbers or ordinal categories: parts in order, and the values beside the order.

    Those are the missing value and, of an ordinal feature, unseen ones: one flag in
    each condition decides for all of them. A region is a stretch of parts, and whether
    the others belong to it.
    """

    def __init__(self, feature: Feature, tests: Iterable[Condition]) -> None:
        self.feature = feature
        self.edges: list[Any] = list(feature.categories)  # the greatest of each part
        if feature.kind is Kind.NUMERIC:
            self.edges = sorted({threshold(test) for test in tests} | {inf})
        self.size = len(self.edges)
        self.everything = (0, self.size, True)

    def where(self, test: Condition) -> Region:
        if self.feature.kind is Kind.NUMERIC:
            end = bisect_left(self.edges, threshold(test)) + 1
        else:
            end = rank(self.feature, test.value) + 1
        if test.op is Op.LE:
            return _stretch(0, end, test.missing)
        return _stretch(end, self.size, test.missing)

    def meet(self, one: Region, other: Region) -> Region | None:
        first, end = max(one[0], other[0]), min(one[1], other[1])
        others = one[2] and other[2]
        return _stretch(first, end, others) if first < end or others else None

    def within(self, one: Region, other: Region) -> bool:
        is_known = one[0] >= one[1] or (other[0] <= one[0] and one[1] <= other[1])
        return is_known and bool(other[2] or not one[2])

    def unite(self, one: Region, other: Region) -> Region | None:
        """The one region that is both; None if there is a gap between them."""
        others = one[2] or other[2]
        if one[0] == one[1] or other[0] == other[1]:
            known = other if one[0] == one[1] else one
            return known[0], known[1], others
        if one[1] < other[0] or other[1] < one[0]:
            return None
        return min(one[0], other[0]), max(one[1], other[1]), others

    def rest(self, region: Region) -> Region:
        """What is not in a region, which has the lowest part in it or the last."""
        first, end, others = region
        if first == end:
            return 0, self.size, not others
        assert first == 0 or end == self.size
        first, end = (end, self.size) if first == 0 else (0, first)
        return _stretch(first, end, not others)

    def conditions(self, position: int, region: Region) -> tuple[Condition, ...]:
        first, end, others = region
        if first == end:
            return (self.bound(position, Op.GT, self.size, others),)
        bounds = []
        if first > 0:
            bounds.append(self.bound(position, Op.GT, first, others))
        if end < self.size or (first == 0 and not others):
            bounds.append(self.bound(position, Op.LE, end, others))
        return tuple(bounds)

    def questions(self, box: Region, region: Region) -> list[Region]:
        """Regions from the lowest part on that tell a region within a box."""
        (low, high, _), (first, end, takes_others) = box, region
        met = self.meet(box, region) or (0, 0, False)
        if met[0] == met[1] or (first <= low and high <= end):
            return [(0, high, False)]  # known or not is all that matters
        found = [(0, end, takes_others)] if end < high else []
        return [*found, (0, first, not takes_others)] if first > low else found

    def bound(self, position: int, op: Op, end: int, others: bool) -> Condition:
        return Condition(position, op, self.edges[end - 1], others)

    def tests(
        self, position: int, box: Region, region: Region
    ) -> tuple[Condition, Condition]:
        """Two that deny each other and say which part of a box is in a region.

        The region begins at the lowest part.
        """
        _, end, others = region
        low = self.bound(position, Op.LE, end, others and box[2])
        return low, negate(low)

    def has_missing(self, region: Region) -> bool:
        return bool(region[2])


def _stretch(first: int, end: int, others: bool) -> Region:
    """Every stretch without a part in it is the same one."""
    return (first, end, others) if first < end else (0, 0, others)


class SetAxis:
    """Categories, one part each, then the unseen ones, then the missing value."""

    def __init__(self, feature: Feature) -> None:
        self.feature = feature
        count = len(feature.categories)
        self.bits = {category: 1 << i for i, category in enumerate(feature.categories)}
        self.known = (1 << count) - 1
        # Of booleans there is no third one.
        is_full = feature.type is ValueType.BOOL and count == 2
        self.unseen = 0 if is_full else 1 << count
        self.missing = 1 << (count + 1)
        self.everything = self.known | self.unseen | self.missing

    def where(self, test: Condition) -> Region:
        inside, chosen, missing = membership(test, self.feature)
        bits = sum(self.bits[category] for category in chosen)
        if not inside:
            bits = (self.known | self.unseen) & ~bits
        return bits | self.missing if missing else bits

    def meet(self, one: Region, other: Region) -> Region | None:
        return (one & other) or None

    def within(self, one: Region, other: Region) -> bool:
        return not one & ~other

    def unite(self, one: Region, other: Region) -> Region | None:
        return one | other

    def rest(self, region: Region) -> Region:
        return self.everything & ~region

    def questions(self, box: Region, region: Region) -> list[Region]:
        return [box & region]

    def members(self, region: Region) -> tuple[Category, ...]:
        named = (category for category, bit in self.bits.items() if bit & region)
        return in_order(self.feature, named)

    def conditions(self, position: int, region: Region) -> tuple[Condition, ...]:
        missing = bool(region & self.missing)
        if region == self.everything:
            return ()
        if region & self.unseen:
            barred = self.members(self.known & ~region)
            return (Condition(position, Op.NOT_IN, barred, missing),)
        if region == self.missing:
            return (is_missing(position, self.feature),)
        if region == self.known and not self.unseen:  # both booleans
            return (Condition(position, Op.NOT_IN, (), missing),)
        return (Condition(position, Op.IN, self.members(region), missing),)

    def tests(
        self, position: int, box: Region, region: Region
    ) -> tuple[Condition, Condition]:
        """Two that deny each other and say which part of a box is in a region."""
        inner, outer = box & region, box & ~region
        inside, outside = self.members(inner), self.members(outer)
        missing = bool(inner & self.missing)
        if not outer & self.unseen and (
            inner & self.unseen or len(outside) < len(inside)
        ):
            test = Condition(position, Op.NOT_IN, outside, missing)
        else:
            test = Condition(position, Op.IN, inside, missing)
        return test, negate(test)

    def has_missing(self, region: Region) -> bool:
        return bool(region & self.missing)


class Space:
    """The axes of some features, cut by some conditions."""

    def __init__(
        self, features: Sequence[Feature], conditions: Iterable[Condition]
    ) -> None:
        self.features = features
        tests: list[set[Condition]] = [set() for _ in features]
        for condition in conditions:
            tests[condition.feature].add(condition)
        self.axes: list[Axis] = [
            (
                SetAxis(feature)
                if feature.kind is Kind.CATEGORICAL
                else OrderedAxis(feature, tests[position])
            )
            for position, feature in enumerate(features)
        ]
        self.everything: Box = tuple(axis.everything for axis in self.axes)
        self._regions: dict[Condition, Region] = {}

    def where(self, test: Condition) -> Region:
        if test not in self._regions:
            self._regions[test] = self.axes[test.feature].where(test)
        return self._regions[test]

    def narrow(self, box: Box, position: int, region: Region) -> Box | None:
        """The part of a box within a region of one feature; None if there is none."""
        met = self.axes[position].meet(box[position], region)
        if met is None:
            return None
        return (*box[:position], met, *box[position + 1 :])

    def cut(self, box: Box, test: Condition) -> Box | None:
        """The part of a box where a condition holds; None if there is none."""
        return self.narrow(box, test.feature, self.where(test))

    def inside(self, conditions: Iterable[Condition]) -> Box | None:
        """Where all conditions hold; None if that is nowhere."""
        box: list[Region] = list(self.everything)
        for test in conditions:
            position = test.feature
            met = self.axes[position].meet(box[position], self.where(test))
            if met is None:
                return None
            box[position] = met
        return tuple(box)

    def meet(self, one: Box, other: Box) -> Box | None:
        met = []
        for axis, mine, yours in zip(self.axes, one, other, strict=True):
            region = axis.meet(mine, yours)
            if region is None:
                return None
            met.append(region)
        return tuple(met)

    def conditions(self, box: Box) -> tuple[Condition, ...]:
        """The fewest conditions that hold in a box and nowhere else."""
        return tuple(
            condition
            for position, (axis, region) in enumerate(zip(self.axes, box, strict=True))
            if region != axis.everything
            for condition in axis.conditions(position, region)
        )

    def row(self, box: Box, columns: Sequence[ColumnSummary] = ()) -> Row:
        """A row within a box, as ordinary as can be."""
        return row_inside(self.conditions(box), self.features, columns)
