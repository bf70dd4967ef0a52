"""Merge two rules that differ in the test of one feature alone and answer the same.

`x <= 3 and y` and `x > 3 and y` become `y`; `colour in {red}` and `colour in {blue}`
become one set; intervals are joined where they touch. Again and again, until no two
rules are siblings. The merged rule stands where the first of the two stood and keeps
its id.

What it rests on: the cases of both. Only rules that have no row in common are merged,
so that no case counts twice. The answer stays, but the probabilities of the labels
become those of all the cases together: that is why this pass makes another model (see
the package) and numbers are merged only where they are equal to the last bit. A rule
that no case reached borrows its statistics, and these are not added to anything.

In an ordered list the second rule moves up, past all that stand between. That is done
only if none of these has a row in common with it, save those of the same answer. The
rules between are compared one by one, BETWEEN of them at most, and COMPARISONS in all:
beyond that siblings stay apart, which costs length and never an answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from math import isfinite

from treecompile.accepts import (
    Interval,
    Region,
    Regions,
    conditions_of,
    overlap,
    regions_of,
    unite,
)
from treecompile.ir import ClassCounts, Moments, Rule, RuleSet, Stats

BETWEEN = 1_000
COMPARISONS = 2_000_000


def siblings(rules: RuleSet) -> RuleSet:
    return _Merging(rules).result()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A rule of the list, and what it accepts."""

    place: int  # in the given list
    rule: Rule
    regions: Regions


class _Merging:
    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.entries: list[_Entry | None] = [
            _Entry(place, rule, regions_of(rule, rules.features))
            for place, rule in enumerate(rules.rules)
        ]
        self.behind = list(range(1, len(rules.rules) + 1))  # the next that is there
        self.numbers: dict[tuple[int, Region], int] = {}
        self.index: dict[Hashable, list[_Entry]] = {}
        self.comparisons = COMPARISONS

    def result(self) -> RuleSet:
        waiting = [entry for entry in reversed(self.entries) if entry is not None]
        while waiting:
            entry = waiting.pop()
            found = self.sibling(entry)
            if found is None:
                self.register(entry)
                continue
            other, merged = found
            self.entries[max(entry.place, other.place)] = None
            self.entries[merged.place] = merged
            waiting.append(merged)
        left = (entry.rule for entry in self.entries if entry is not None)
        return replace(self.rules, rules=tuple(left))

    def sibling(self, entry: _Entry) -> tuple[_Entry, _Entry] | None:
        """Another rule to merge with, and what the two become."""
        for where, rest in self.remainders(entry):
            region = entry.regions[where]
            for joint in _sought(region):
                for other in self.present((rest, joint)):
                    self.comparisons -= 1
                    if self.comparisons < 0:
                        return None
                    merged = self.merged(entry, other, where)
                    if merged is not None:
                        return other, merged
        return None

    def register(self, entry: _Entry) -> None:
        for where, rest in self.remainders(entry):
            for joint in _offered(entry.regions[where]):
                self.index.setdefault((rest, joint), []).append(entry)

    def remainders(self, entry: _Entry) -> Iterator[tuple[int, Hashable]]:
        """For each feature, all else that siblings have in common."""
        numbers = self.numbers
        named = {
            where: numbers.setdefault((where, region), len(numbers))
            for where, region in sorted(entry.regions.items(), key=lambda item: item[0])
        }
        rule = entry.rule
        for where in named:
            others = tuple(n for feature, n in named.items() if feature != where)
            yield where, (where, repr(rule.value), others)

    def present(self, key: Hashable) -> list[_Entry]:
        """The rules registered there that have not been merged since."""
        found = [
            entry
            for entry in self.index.get(key, ())
            if self.entries[entry.place] is entry
        ]
        if key in self.index:
            self.index[key] = found
        return found

    def merged(self, one: _Entry, other: _Entry, where: int) -> _Entry | None:
        first, second = sorted((one, other), key=lambda entry: entry.place)
        region = unite(first.regions[where], second.regions[where])
        if region is None or overlap(first.regions[where], second.regions[where]):
            return None
        conditions = conditions_of(region, where, self.rules.features[where])
        stats = _added(first.rule, second.rule)
        if conditions is None or stats is None:
            return None
        if not self.can_move(second, first.place):
            return None
        regions = {**first.regions, where: region}
        if not conditions:
            del regions[where]
        tests = [c for c in first.rule.conditions if c.feature != where]
        place = [c.feature for c in first.rule.conditions].index(where)
        rule = replace(
            first.rule,
            conditions=(*tests[:place], *conditions, *tests[place:]),
            stats=stats,
            weight=first.rule.weight + second.rule.weight,
        )
        return _Entry(first.place, rule, regions)

    def can_move(self, entry: _Entry, place: int) -> bool:
        """Whether no rule on the way up would have decided a row of this one."""
        for _ in range(BETWEEN):
            place = self.next(place)
            if place == entry.place:
                return True
            self.comparisons -= 1
            between = self.entries[place]
            assert between is not None
            if repr(between.rule.value) == repr(entry.rule.value):
                continue
            if self.comparisons < 0 or _meet(between.regions, entry.regions):
                return False
        return False

    def next(self, place: int) -> int:
        """The place behind that still has a rule; the way there is made short."""
        found = self.behind[place]
        while self.entries[found] is None:
            found = self.behind[found]
        self.behind[place] = found
        return found


def _offered(region: Region) -> list[Hashable]:
    """By which of its ends others can be joined to a region."""
    if not isinstance(region, Interval):
        return ["any"]
    if region.is_void:
        return ["any", "void"]
    return ["any", ("from", region.low), ("to", region.high)]


def _sought(region: Region) -> list[Hashable]:
    """Under which joints those stand that a region can be joined to."""
    if not isinstance(region, Interval) or region.is_void:
        return ["any"]
    return ["void", ("to", region.low), ("from", region.high)]


def _meet(one: Regions, other: Regions) -> bool:
    """Whether two rules have a row in common."""
    return all(
        overlap(region, other[where]) for where, region in one.items() if where in other
    )


def _added(one: Rule, other: Rule) -> Stats | None:
    """The statistics of the cases of two rules; None if no double can hold them."""
    if not one.weight or not other.weight:
        return other.stats if other.weight else one.stats
    if isinstance(one.stats, ClassCounts):
        assert isinstance(other.stats, ClassCounts)
        pairs = zip(one.stats.weights, other.stats.weights, strict=True)
        counts = ClassCounts(tuple(a + b for a, b in pairs))
        return counts if isfinite(sum(counts.weights)) else None
    assert isinstance(other.stats, Moments)
    return _added_moments(one.stats, other.stats)


def _added_moments(one: Moments, other: Moments) -> Moments | None:
    weight = one.weight + other.weight
    if not isfinite(weight):
        return None
    part, rest = one.weight / weight, other.weight / weight
    mean = one.mean if one.mean == other.mean else one.mean * part + other.mean * rest
    sse: float | None = None
    if one.sse is not None and other.sse is not None:
        apart = one.mean - other.mean
        sse = one.sse + other.sse + one.weight * rest * apart * apart
    if sse is not None and not isfinite(sse):
        sse = None
    return Moments(weight, mean, sse)
