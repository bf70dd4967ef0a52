"""`check` and `diff` find exactly what trying every row finds."""

from __future__ import annotations

from itertools import combinations
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.small_models import (
    COLOUR,
    FEATURES,
    GRADE,
    IS_NEW,
    LABELS,
    SIZE,
    VALUES,
    every_row,
    small_body,
    small_rules,
    small_tree,
)
from treecompile.inspect.check import Fault, check
from treecompile.inspect.diff import diff
from treecompile.model.ir import Feature, Kind, Program, Row, RuleSet, Value
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import decider, holds, predict

SEEDS = st.integers(0, 2**32)


def matching(rules: RuleSet, row: Row) -> list[int]:
    return [
        number
        for number, rule in enumerate(rules.rules)
        if all(
            holds(test, rules.features[test.feature], row[test.feature])
            for test in rule.conditions
        )
    ]


def whole(row: dict[str, Value], features: tuple[Feature, ...]) -> Row:
    """A witness row, any value where no condition reads one."""
    return tuple(row.get(f.name, VALUES[f.name][0]) for f in features)


@given(SEEDS)
@settings(max_examples=100, deadline=None)
def test_check_agrees_with_every_row(seed: int) -> None:
    rules = small_rules(Random(seed))
    expected: dict[Fault, set[tuple[str, ...]]] = {fault: set() for fault in Fault}
    matched, decided = set(), set()
    for row in every_row():
        numbers = matching(rules, row)
        matched.update(numbers)
        decided.add(decider(rules, row))
        for one, other in combinations(numbers, 2):
            first, second = rules.rules[one], rules.rules[other]
            fault = Fault.OVERLAP if first.value == second.value else Fault.CONFLICT
            expected[fault].add((first.id, second.id))
    for number, rule in enumerate(rules.rules):
        if number not in matched:
            expected[Fault.UNREACHABLE].add((rule.id,))
        elif number not in decided:
            expected[Fault.SHADOWED].add((rule.id,))
    if len(rules.rules) in decided:
        expected[Fault.INCOMPLETE].add(("default",))
    result = check(Program("t", "test", rules))
    assert not result.undecided
    found: dict[Fault, set[tuple[str, ...]]] = {fault: set() for fault in Fault}
    for finding in result.findings:
        found[finding.fault].add(finding.rules)
    assert found == expected
    assert result.counts == {fault: len(expected[fault]) for fault in Fault}


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_every_witness_of_a_check_shows_its_finding(seed: int) -> None:
    rules = small_rules(Random(seed))
    ids = [*(rule.id for rule in rules.rules), "default"]
    for finding in check(Program("t", "test", rules)).findings:
        if finding.row is None:
            assert finding.fault is Fault.UNREACHABLE
            position = finding.tests[0].feature
            assert {test.feature for test in finding.tests} == {position}
            feature = rules.features[position]
            for value in VALUES[feature.name]:
                assert not all(holds(test, feature, value) for test in finding.tests)
            continue
        row = whole(finding.row, rules.features)
        assert ids[decider(rules, row)] == finding.decider
        held = {ids[number] for number in matching(rules, row)}
        if finding.fault is Fault.INCOMPLETE:
            assert not held
        else:
            assert held >= set(finding.rules)


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_unreachable_leaves_are_those_that_no_row_reaches(seed: int) -> None:
    tree = small_tree(Random(seed))
    reached = {decider(tree, row) for row in every_row()}
    known = {
        decider(tree, row)
        for row in every_row()
        if all(
            value is not None and (f.kind is Kind.NUMERIC or value in f.categories)
            for f, value in zip(tree.features, row, strict=True)
        )
    }
    result = check(Program("t", "test", tree))
    ids = rule_ids(tree)
    dead = [identity for leaf, identity in ids.items() if leaf not in reached]
    assert [finding.rules for finding in result.findings] == [(i,) for i in dead]
    odd = [identity for leaf, identity in ids.items() if leaf in reached - known]
    assert list(result.only_unknown) == odd


# Another order, other categories, another kind, fewer and more labels.
OTHERS = (
    FEATURES,
    (COLOUR, SIZE),
    (
        Feature("grade", GRADE.kind, GRADE.type, ("high", "low", "top")),
        Feature("colour", COLOUR.kind, COLOUR.type, ("pink", "red")),
        IS_NEW,
        SIZE,
    ),
    (
        Feature("grade", Kind.CATEGORICAL, GRADE.type, ("low", "top")),
        Feature("is new", IS_NEW.kind, IS_NEW.type, (True,)),
    ),
)


@given(SEEDS, st.sampled_from(OTHERS), st.sampled_from((LABELS, ("maybe", "yes"))))
@settings(max_examples=150, deadline=None)
def test_diff_agrees_with_every_row(
    seed: int, features: tuple[Feature, ...], labels: tuple[str, ...]
) -> None:
    random = Random(seed)
    old = small_body(random)
    new = small_body(random, features, labels)
    result = diff(Program("t", "test", old), Program("t", "test", new))
    assert result.complete
    for row in every_row():
        common = own_row_of(result.features, row)
        said = predict(old, row), predict(new, own_row_of(new.features, row))
        inside = [
            region
            for region in result.regions
            if all(
                holds(test, result.features[test.feature], common[test.feature])
                for test in region.tests
            )
        ]
        if said[0] == said[1]:
            assert not inside
        else:
            assert [(region.old, region.new) for region in inside] == [said]
    for region in result.regions:
        witness = whole(region.row, FEATURES)
        assert predict(old, witness) == region.old
        assert predict(new, own_row_of(new.features, witness)) == region.new
    assert result.same == (not result.regions)


def own_row_of(features: tuple[Feature, ...], row: Row) -> Row:
    values = {f.name: value for f, value in zip(FEATURES, row, strict=True)}
    return tuple(values[feature.name] for feature in features)
