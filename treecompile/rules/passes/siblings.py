"""Merge two rules that differ in the test of one feature only and answer the same.

`x <= 3 and y` and `x > 3 and y` become `y`; `colour in {red}` and `colour in {blue}`
become one set; intervals are joined if they touch. This is repeated until no two rules
are siblings. The merged rule takes the place of the first and keeps its id.

Its statistics are those of the cases of both rules. Only rules that have no row in
common are merged, so no case counts twice. The answer stays, but the probabilities of
the labels become those of all the cases together, so this pass makes another model (see
the package). Numbers count as the same answer only if they are equal to the last bit. A
rule that no case reached has borrowed statistics, which are not added to anything.

In an ordered list the second rule moves up, past all rules between the two. It may do
so only if none of them has a row in common with it, except those of the same answer.
At most BETWEEN rules are compared for one move, and COMPARISONS in all. Beyond that
siblings stay apart: the list is longer than it could be, and its answers are the same.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from math import isfinite

from treecompile.model.file.limits import MOST_WEIGHT
from treecompile.model.ir import ClassCounts, Moments, Rule, RuleSet, Stats
from treecompile.regions.region import Interval, Region, Regions, rule_regions

BETWEEN = 1_000
COMPARISONS = 2_000_000


def siblings(rules: RuleSet) -> RuleSet:
    return _Merging(rules).result()


@dataclass(frozen=True, slots=True)
class _Entry:
    """A rule of the list, and the regions that it accepts."""

    place: int  # its position in the given list
    rule: Rule
    regions: Regions


class _Merging:
    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.entries: list[_Entry | None] = [
            _Entry(place, rule, rule_regions(rule, rules.features))
            for place, rule in enumerate(rules.rules)
        ]
        self.following = list(range(1, len(rules.rules) + 1))  # the next rule left
        self.numbers: dict[tuple[int, Region], int] = {}
        self.registered: dict[Hashable, list[_Entry]] = {}
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
        """Return another rule to merge with, and the merged rule; or None."""
        for index, rest in self.remainders(entry):
            region = entry.regions[index]
            for joint in _sought(region):
                for other in self.present((rest, joint)):
                    self.comparisons -= 1
                    if self.comparisons < 0:
                        return None
                    merged = self.merged(entry, other, index)
                    if merged is not None:
                        return other, merged
        return None

    def register(self, entry: _Entry) -> None:
        for index, rest in self.remainders(entry):
            for joint in _offered(entry.regions[index]):
                self.registered.setdefault((rest, joint), []).append(entry)

    def remainders(self, entry: _Entry) -> Iterator[tuple[int, Hashable]]:
        """Yield each feature, with a key that rules share if they differ in it only."""
        numbers = self.numbers
        named = {
            index: numbers.setdefault((index, region), len(numbers))
            for index, region in sorted(entry.regions.items(), key=lambda item: item[0])
        }
        rule = entry.rule
        for index in named:
            others = tuple(n for feature, n in named.items() if feature != index)
            yield index, (index, repr(rule.value), others)

    def present(self, key: Hashable) -> list[_Entry]:
        """Return the rules registered under a key that have not been merged since."""
        registered = self.registered.get(key, [])
        registered[:] = [e for e in registered if self.entries[e.place] is e]
        return list(registered)

    def merged(self, one: _Entry, other: _Entry, index: int) -> _Entry | None:
        first, second = sorted((one, other), key=lambda entry: entry.place)
        one_region, other_region = first.regions[index], second.regions[index]
        region = one_region.unite(other_region)
        if region is None or one_region.overlaps(other_region):
            return None
        conditions = region.conditions(index, self.rules.features[index])
        stats = _added(first.rule, second.rule)
        if conditions is None or stats is None:
            return None
        if not self.can_move(second, first.place):
            return None
        regions = {**first.regions, index: region}
        if not conditions:
            del regions[index]
        tests = [c for c in first.rule.conditions if c.feature != index]
        place = [c.feature for c in first.rule.conditions].index(index)
        rule = replace(
            first.rule,
            conditions=(*tests[:place], *conditions, *tests[place:]),
            stats=stats,
            weight=first.rule.weight + second.rule.weight,
        )
        return _Entry(first.place, rule, regions)

    def can_move(self, entry: _Entry, place: int) -> bool:
        """Whether no rule on the way up to `place` would decide a row of this one."""
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
        """Return the next place that still has a rule; it is remembered for later."""
        found = self.following[place]
        while self.entries[found] is None:
            found = self.following[found]
        self.following[place] = found
        return found


def _offered(region: Region) -> list[Hashable]:
    """Return keys under which other rules find this region to join it to theirs."""
    if not isinstance(region, Interval):
        return ["any"]
    if not region.has_known:
        return ["any", "void"]
    return ["any", ("from", region.low), ("to", region.high)]


def _sought(region: Region) -> list[Hashable]:
    """Return the keys of the regions that this one can be joined to."""
    if not isinstance(region, Interval) or not region.has_known:
        return ["any"]
    return ["void", ("to", region.low), ("from", region.high)]


def _meet(one: Regions, other: Regions) -> bool:
    """Whether two rules have a row in common."""
    return all(
        region.overlaps(other[index]) for index, region in one.items() if index in other
    )


def _added(one: Rule, other: Rule) -> Stats | None:
    """Add the statistics of two rules; None if they exceed what is allowed."""
    if one.weight + other.weight > MOST_WEIGHT:
        return None
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
