"""Rules as boxes: the arrays of all rules judged by plain regions, one at a time."""

from __future__ import annotations

from dataclasses import replace
from math import isclose, log2
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.region_samples import FEATURES, random_condition
from treecompile.model.errors import OptionError
from treecompile.model.ir import Condition, Feature, Kind, Op, ValueType
from treecompile.regions.boxes import Boxes, IntervalColumn, SearchBudget, SetColumn
from treecompile.regions.region import Interval, Region, everything, region_of, where
from treecompile.regions.space import Space

seeds = st.integers(0, 2**32)
ORDERED = [f for f in FEATURES if isinstance(everything(f), Interval)]
NAMED = [f for f in FEATURES if f not in ORDERED]


def some_regions(random: Random, feature: Feature) -> list[Region]:
    """The regions of a few rules, some of which ask the same or ask nothing."""
    regions = [
        region_of(
            [random_condition(random, feature) for _ in range(random.randint(1, 2))],
            feature,
        )
        for _ in range(random.randint(1, 6))
    ]
    regions = [region for region in regions if not region.is_empty]
    return [*regions, *random.choices([*regions, everything(feature)], k=3)]


def part_of(random: Random, feature: Feature) -> Region:
    tests = [random_condition(random, feature) for _ in range(random.randint(0, 2))]
    return region_of(tests, feature)


def cost(rules: list[Region], part: Region) -> float:
    """What a side of a split costs: by how many rules hold somewhere on it."""
    number = sum(rule.overlaps(part) for rule in rules)
    return number * log2(number + 1)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@settings(max_examples=60, deadline=None)
@given(seeds)
def test_all_rules_at_once_are_compared_as_one_by_one(
    feature: Feature, seed: int
) -> None:
    random = Random(seed)
    rules, part = some_regions(random, feature), part_of(random, feature)
    column = (IntervalColumn if feature in ORDERED else SetColumn)(rules)
    chosen = sorted(random.sample(range(len(rules)), random.randint(1, len(rules))))
    places = np.array(chosen)
    known = [rules[place] for place in chosen]
    assert column.meets(places, part).tolist() == [r.overlaps(part) for r in known]
    if not part.is_empty:
        assert column.holds(places, part).tolist() == [r.contains(part) for r in known]


@pytest.mark.parametrize("feature", ORDERED, ids=lambda feature: feature.name)
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_the_best_threshold_is_offered(feature: Feature, seed: int) -> None:
    """The best of all ends of rules inside the box, for either side of missing."""
    random = Random(seed)
    rules, box = some_regions(random, feature), part_of(random, feature)
    assert isinstance(box, Interval)
    if box.is_empty:
        return
    inside = [rule.meet(box) for rule in rules]
    ends = {
        end
        for part in inside
        if isinstance(part, Interval) and part.has_known
        for end in (part.low, part.high)
        if box.low < end < box.high
    }
    expected = {}
    for flag in (False, True) if any(part.missing for part in inside) else (False,):
        asks_known = box.missing and box.has_known and not flag
        cuts = [*ends, box.high] if asks_known else ends
        costs = []
        for cut in cuts:
            yes = Interval(-np.inf, cut, flag)
            no = everything(feature).without(yes)
            costs.append(cost(rules, box.meet(yes)) + cost(rules, box.meet(no)))
        if costs:
            expected[flag] = min(costs)
    offered = list(IntervalColumn(rules).splits(np.arange(len(rules)), box))
    assert [region.missing for _, region in offered] == list(expected)
    for claimed, split in offered:
        sides = box.meet(split), box.meet(everything(feature).without(split))
        assert not any(side.is_empty for side in sides)
        assert isclose(claimed, sum(cost(rules, side) for side in sides))
        assert isclose(claimed, expected[split.missing])


@pytest.mark.parametrize("feature", NAMED, ids=lambda feature: feature.name)
@settings(max_examples=60, deadline=None)
@given(seeds)
def test_the_two_best_sets_are_offered(feature: Feature, seed: int) -> None:
    random = Random(seed)
    rules, box = some_regions(random, feature), part_of(random, feature)
    asked = {rule.meet(box) for rule in rules}
    costs = sorted(
        cost(rules, inner) + cost(rules, box.without(inner))
        for inner in asked
        if not inner.is_empty and inner != box
    )
    offered = list(SetColumn(rules).splits(np.arange(len(rules)), box))
    assert [claimed for claimed, _ in offered] == pytest.approx(costs[:2])
    for claimed, inner in offered:
        assert inner in asked
        assert claimed == pytest.approx(
            cost(rules, inner) + cost(rules, box.without(inner))
        )


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
@settings(max_examples=100, deadline=None)
@given(seeds)
def test_the_splits_for_a_rule_settle_it(feature: Feature, seed: int) -> None:
    """Each has rows on both sides; on every piece, the rule holds or never does."""
    random = Random(seed)
    space = Space((feature,))
    tests = [random_condition(random, feature) for _ in range(random.randint(1, 2))]
    tests = [replace(test, feature=0) for test in tests]
    box = part_of(random, feature)
    if box.is_empty:
        return
    boxes = Boxes(space, [tests])
    problem = boxes.start((box,))
    if problem.decider is not None:
        return
    rule = region_of(tests, feature)
    pieces: list[Region] = [box]
    for split in boxes.candidates(problem):
        rest = everything(feature).without(split.region)
        halves = (box.meet(split.region), box.meet(rest))
        assert not any(half.is_empty for half in halves)
        pieces = [piece.meet(half) for piece in pieces for half in halves]
    for piece in pieces:
        assert piece.is_empty or rule.contains(piece) or not rule.overlaps(piece)


def test_a_budget_can_be_spent_to_the_last_step_and_not_beyond() -> None:
    budget = SearchBudget(3)
    assert budget.spend()
    assert budget.spend(2)
    assert not budget.spend()
    budget = SearchBudget(3)
    assert not budget.spend(4)
    assert not budget.spend()  # what was refused has used it up
    with pytest.raises(OptionError, match="budget=0: expected 1 or more"):
        SearchBudget(0)


def test_of_many_sets_the_most_frequent_are_tried() -> None:
    """A hundred different sets, and one that three rules ask for and halves them."""
    feature = Feature("many", Kind.CATEGORICAL, ValueType.INT, tuple(range(100)))
    half = where(Condition(0, Op.IN, tuple(range(50, 100)), False), feature)
    single = [where(Condition(0, Op.IN, (c,), False), feature) for c in range(100)]
    rules = [*single, half, half, half]
    column, every = SetColumn(rules), everything(feature)
    offered = [region for _, region in column.splits(np.arange(len(rules)), every)]
    assert offered[0] == half


def test_features_that_are_settled_are_not_asked_again() -> None:
    x, y = (Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in "xy")
    boxes = Boxes(
        Space((x, y)),
        [
            (Condition(0, Op.LE, 5.0, False), Condition(1, Op.LE, 1.0, False)),
            (Condition(0, Op.LE, 3.0, False),),
        ],
    )
    problem = boxes.start()
    assert boxes.features(problem, problem.rules) == [0, 1]  # most unsettled first
    low = where(Condition(1, Op.LE, 1.0, False), y)
    inner = boxes.narrow(problem, 1, low)
    assert inner is not None
    assert boxes.features(inner, inner.rules) == [0]


def test_of_equal_splits_the_first_feature_is_asked() -> None:
    x, y = (Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in "xy")
    tests = [Condition(index, Op.LE, 1.0, missing=False) for index in (1, 0)]
    boxes = Boxes(Space((x, y)), [tests])
    yes, no, split = boxes.best(boxes.start())
    assert split.index == 0
    assert (yes.decider, no.decider) == (None, 1)
