"""Regions judged by `semantics.holds` on values at, beside and between all edges."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, nan, nextafter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.region_samples import CUTS, FEATURES, random_condition
from treecompile.model.ir import Condition, Feature, Kind, Op, Value
from treecompile.model.semantics import holds
from treecompile.regions.region import (
    Interval,
    Region,
    at,
    everything,
    intersect,
    parts,
    region_of,
    where,
)
from treecompile.regions.space import Space, unseen

seeds = st.integers(0, 2**32)


def probes(feature: Feature) -> list[Value]:
    """Values of every kind that conditions can tell apart, and their neighbours."""
    if feature.kind is not Kind.NUMERIC:
        return [*feature.categories, unseen(feature), None, nan]
    ordered = sorted({near for c in CUTS for near in (c, nextafter(c, -inf))})
    ordered += [nextafter(cut, inf) for cut in CUTS]
    between = [low / 2 + high / 2 for low, high in pairwise(sorted(ordered))]
    return [None, nan, -inf, *ordered, *between]


PROBES = {feature.name: probes(feature) for feature in FEATURES}


def meant(tests: Sequence[Condition], feature: Feature) -> list[bool]:
    """The truth of all conditions together, by the semantics, for each probe."""
    return [all(holds(t, feature, v) for t in tests) for v in PROBES[feature.name]]


def held(region: Region, feature: Feature) -> list[bool]:
    return [region.overlaps(at(v, feature)) for v in PROBES[feature.name]]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@settings(max_examples=150, deadline=None)
@given(seeds)
def test_regions_are_the_sets_of_values_that_satisfy(
    feature: Feature, seed: int
) -> None:
    random = Random(seed)
    first, second = (
        [random_condition(random, feature) for _ in range(random.randint(1, 3))]
        for _ in range(2)
    )
    mine, yours = meant(first, feature), meant(second, feature)
    a, b = region_of(first, feature), region_of(second, feature)
    assert held(a, feature) == mine
    assert a.is_empty == (not any(mine))
    is_present = [v is not None and v == v for v in PROBES[feature.name]]
    if feature.kind is Kind.NUMERIC:
        assert a.has_known == any(m for m, p in zip(mine, is_present, strict=True) if p)
    assert a.missing == mine[PROBES[feature.name].index(None)]
    # Equal sets are equal regions, with equal hashes.
    assert (a == b) == (mine == yours)
    assert len({a, b}) == 1 + (mine != yours)
    pairs = list(zip(mine, yours, strict=True))
    assert held(a.meet(b), feature) == [m and y for m, y in pairs]
    assert a.meet(b) == b.meet(a) == region_of([*second, *first], feature)
    assert a.overlaps(b) == any(m and y for m, y in pairs)
    assert a.contains(b) == all(m or not y for m, y in pairs)
    united = a.unite(b)
    if united is None:
        assert isinstance(a, Interval)
        assert a.has_known
        assert b.has_known
    else:
        assert held(united, feature) == [m or y for m, y in pairs]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_intervals_with_a_gap_are_not_united(feature: Feature, seed: int) -> None:
    """The opposite of a gap: what is refused has a value between the two."""
    random = Random(seed)
    a, b = (where(random_condition(random, feature), feature) for _ in range(2))
    c = where(random_condition(random, feature), feature).meet(a)
    if b.unite(c) is None:
        found = [
            m or y for m, y in zip(held(b, feature), held(c, feature), strict=True)
        ]
        values = [
            value
            for value, inside in zip(PROBES[feature.name], found, strict=True)
            if not inside and value is not None and value == value
        ]
        assert isinstance(b, Interval)
        assert isinstance(c, Interval)
        low, high = min(b.high, c.high), max(b.low, c.low)
        assert any(at(v, feature).overlaps(Interval(low, high, False)) for v in values)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_the_rest_of_a_condition_is_its_opposite(feature: Feature, seed: int) -> None:
    test = random_condition(Random(seed), feature)
    region = where(test, feature)
    rest = everything(feature).without(region)
    assert held(rest, feature) == [not truth for truth in meant([test], feature)]
    assert everything(feature).without(rest) == region
    assert all(held(everything(feature), feature))


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@settings(max_examples=150, deadline=None)
@given(seeds)
def test_a_region_gives_back_conditions_that_say_the_same(
    feature: Feature, seed: int
) -> None:
    random = Random(seed)
    tests = [random_condition(random, feature) for _ in range(random.randint(1, 4))]
    truth = meant(tests, feature)
    for found in (
        region_of(tests, feature).conditions(3, feature),
        intersect(tests, feature),
    ):
        assert (found is None) == (not any(truth))
        if found is None:
            continue
        assert (found == ()) == all(truth)
        assert meant(found, feature) == truth
        assert region_of(found, feature) == region_of(tests, feature)
        assert len(found) <= (1 if feature.kind is Kind.CATEGORICAL else 2)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_parts_are_what_conditions_do_not_tell_apart(
    feature: Feature, seed: int
) -> None:
    random = Random(seed)
    tests = [random_condition(random, feature) for _ in range(random.randint(1, 4))]
    divided = parts(feature, tests)
    owners = [
        [place for place, part in enumerate(divided) if part.overlaps(at(v, feature))]
        for v in PROBES[feature.name]
    ]
    assert all(len(places) == 1 for places in owners)
    assert owners[PROBES[feature.name].index(None)] == [len(divided) - 1]
    for test in tests:
        found: dict[int, set[bool]] = {}
        for (place,), truth in zip(owners, meant([test], feature), strict=True):
            found.setdefault(place, set()).add(truth)
        assert all(len(truths) == 1 for truths in found.values())


@settings(max_examples=150, deadline=None)
@given(seeds)
def test_a_row_inside_a_box_satisfies_its_conditions(seed: int) -> None:
    random = Random(seed)
    space = Space(FEATURES)
    tests = [
        Condition(index, found.op, found.value, found.missing)
        for index, feature in enumerate(FEATURES)
        if feature.categories or feature.kind is Kind.NUMERIC
        for found in [random_condition(random, feature)]
        if random.random() < 0.7
    ]
    box = space.inside(tests)
    if box is None:
        for test in tests:
            if not any(meant([test], FEATURES[test.feature])):
                return
        raise AssertionError("one condition for each feature contradicts none")
    row = space.row(box)
    for test in (*tests, *space.conditions(box)):
        assert holds(test, FEATURES[test.feature], row[test.feature])


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_the_region_of_a_value_is_one_of_the_parts(feature: Feature) -> None:
    """However it comes about, the same set of values is the same region."""
    *known, absent = parts(feature, [])
    assert absent == at(None, feature) == at(nan, feature)
    flags = [Condition(3, Op.LE, 0.0, True), Condition(3, Op.GT, 1.0, True)]
    if feature.kind is Kind.NUMERIC:
        assert region_of(flags, feature) == absent
    for category, part in zip(feature.categories, known, strict=False):
        assert at(category, feature) == part
    if feature.kind is Kind.ORDINAL:
        assert at(unseen(feature), feature) == absent
