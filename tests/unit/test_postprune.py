"""Post-pruning against slow and simple code that works row by row."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import log2
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.random_models import encoded, random_row, random_rules, random_tree
from treecompile.measure.cases import Cases, packed
from treecompile.model.errors import OptionError
from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Moments,
    Op,
    Row,
    Rule,
    RuleSet,
    ValueType,
)
from treecompile.model.semantics import holds, predict
from treecompile.rules.extract import extract
from treecompile.rules.postprune import description_length
from treecompile.rules.postprune.c45rules import (
    CandidateRule,
    c45rules,
    default_label,
    in_order,
    strict,
    without_harm,
)
from treecompile.rules.postprune.description_length import (
    RuleCoding,
    bits_of_tests,
    choose_rules,
    exception_bits,
    log2_factorial,
)
from treecompile.rules.postprune.validation import prune_on_validation

seeds = st.integers(0, 2**32)


def meets(rules: RuleSet, conditions: tuple[Condition, ...], row: Row) -> bool:
    return all(holds(c, rules.features[c.feature], row[c.feature]) for c in conditions)


# ---------------------------------------------------------------- on validation rows


def slow_error(
    rules: RuleSet,
    conditions: tuple[Condition, ...],
    rule: Rule,
    rows: list[Row],
    y: list[Any],
) -> tuple[float, int]:
    """The mean error of a rule, and on how many rows."""
    met = [a for row, a in zip(rows, y, strict=True) if meets(rules, conditions, row)]
    if not met:
        return 0.0, 0
    if rules.labels:
        wrong = sum(rules.labels[answer] != rule.value for answer in met)
        return wrong / len(met), len(met)
    return sum((answer - rule.value) ** 2 for answer in met) / len(met), len(met)


def slow_pruning(rules: RuleSet, rows: list[Row], y: list[Any]) -> list[Rule]:
    """Mitchell's procedure in the plainest words; rules that no row meets come last."""
    judged, unknown = [], []
    for place, rule in enumerate(rules.rules):
        kept = rule.conditions
        error, count = slow_error(rules, kept, rule, rows, y)
        while count and kept:
            shorter = [(*kept[:i], *kept[i + 1 :]) for i in range(len(kept))]
            tried = [(*slow_error(rules, s, rule, rows, y), s) for s in shorter]
            best = min(error for error, _, _ in tried)
            if best > error:
                break
            most = max(n for e, n, _ in tried if e == best)
            error, count, kept = [t for t in tried if t[:2] == (best, most)][-1]
        if not count:
            unknown.append(rule)
        elif kept:
            judged.append(((error, -count, place), replace(rule, conditions=kept)))
    return [rule for _, rule in sorted(judged, key=lambda entry: entry[0])] + unknown


def drawn(seed: int) -> tuple[RuleSet, list[Row], list[Any]]:
    random = Random(seed)
    tree = random.random() < 0.6
    rules = extract(random_tree(random)) if tree else random_rules(random)
    rows = [random_row(random, rules) for _ in range(40)]
    if rules.labels:
        return rules, rows, [random.randrange(len(rules.labels)) for _ in rows]
    values = [float(random.randint(-4, 4)) for _ in range(3)]
    # Whole numbers, so that sums are exact in whatever order they are added.
    changed = [replace(rule, value=random.choice(values)) for rule in rules.rules]
    rules = replace(rules, rules=tuple(changed))
    return rules, rows, [random.choice(values) for _ in rows]


def cases_of(rules: RuleSet, rows: list[Row], y: list[Any]) -> Cases:
    kind = np.int32 if rules.labels else np.float64
    return Cases(encoded(rules, rows), np.array(y, dtype=kind))


@settings(max_examples=60, deadline=None)
@given(seeds)
def test_pruning_on_validation_rows(seed: int) -> None:
    rules, rows, y = drawn(seed)
    result = prune_on_validation(rules, cases_of(rules, rows, y))
    slow = replace(rules, rules=tuple(slow_pruning(rules, rows, y)))
    default = slow.default
    left = [
        a
        for row, a in zip(rows, y, strict=True)
        if not any(meets(rules, rule.conditions, row) for rule in slow.rules)
    ]
    if left and rules.labels:
        counts = [left.count(place) for place in range(len(rules.labels))]
        if counts[rules.labels.index(default.value)] < max(counts):
            default = replace(default, value=rules.labels[counts.index(max(counts))])
    elif left:
        default = replace(default, value=float(np.mean(left)))
    slow = replace(slow, default=default)
    assert result.default.value == slow.default.value
    random = Random(seed)
    for row in [*rows, *(random_row(random, rules) for _ in range(20))]:
        assert repr(predict(result, row)) == repr(predict(slow, row))
    assert [rule.id for rule in result.rules] == [
        f"R{place}" for place in range(1, len(result.rules) + 1)
    ]
    for rule in result.rules:
        met = [
            a for r, a in zip(rows, y, strict=True) if meets(rules, rule.conditions, r)
        ]
        assert rule.weight == len(met)
        if met and isinstance(rule.stats, ClassCounts):
            assert list(rule.stats.weights) == [
                met.count(place) for place in range(len(rules.labels))
            ]
        elif met:
            assert isinstance(rule.stats, Moments)
            assert rule.stats.mean == pytest.approx(np.mean(met))


X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
COLOUR = Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "green", "blue"))
LABELS = ("no", "yes")


def rule(number: int, value: str, *conditions: Condition) -> Rule:
    counts = ClassCounts((1.0, 2.0))
    return Rule(f"R{number}", conditions, value, counts, counts.weight)


def list_of(*rules: Rule) -> RuleSet:
    default = Rule("default", (), "no", ClassCounts((2.0, 1.0)), 0.0)
    return RuleSet((X, COLOUR), LABELS, rules, default)


ABOVE = Condition(0, Op.GT, 1.0, missing=True)
RED = Condition(1, Op.IN, ("red",), missing=False)


def columns(x: list[float], colour: list[int]) -> tuple[NDArray[Any], NDArray[Any]]:
    return np.array(x), np.array(colour, dtype=np.int32)


def test_a_rule_that_no_row_meets_stays_whole_and_comes_last() -> None:
    rules = list_of(
        rule(1, "yes", ABOVE, RED),
        rule(2, "no", Condition(0, Op.LE, 1.0, missing=False), RED),
    )
    cases = Cases(columns([0.0, 0.5], [0, 0]), np.array([0, 0], dtype=np.int32))
    result = prune_on_validation(rules, cases)
    assert [rule.value for rule in result.rules] == ["yes"]
    assert result.rules[0].conditions == (ABOVE, RED)
    assert result.rules[0].weight == 0  # what it rests on is borrowed
    # The other lost all its conditions, and is what the default says.
    assert result.default.value == "no"
    assert result.default.weight == 2


def test_a_condition_that_stays_keeps_its_flag() -> None:
    rules = list_of(rule(1, "yes", ABOVE, RED))
    cases = Cases(
        columns([np.nan, 2.0, 0.0], [1, 2, 1]), np.array([1, 1, 0], dtype=np.int32)
    )
    # No row is red: nothing is known about the rule.
    assert prune_on_validation(rules, cases).rules[0].conditions == (ABOVE, RED)
    cases = Cases(
        columns([np.nan, 2.0, 0.0], [0, 2, 1]), np.array([1, 1, 0], dtype=np.int32)
    )
    (only,) = prune_on_validation(rules, cases).rules
    assert only.conditions == (ABOVE,)
    assert only.stats == ClassCounts((0.0, 2.0))


# ---------------------------------------------------------------- c4.5rules


def test_strict_conditions_name_what_they_take() -> None:
    rest = Condition(1, Op.NOT_IN, ("red",), missing=True)
    assert strict(rest, COLOUR) == Condition(1, Op.IN, ("green", "blue"), False)
    assert strict(ABOVE, X) == Condition(0, Op.GT, 1.0, missing=False)


def test_a_regression_is_refused() -> None:
    default = Rule("default", (), 1.0, Moments(1.0, 1.0, 0.0), 0.0)
    rules = RuleSet((X,), (), (), default)
    with pytest.raises(OptionError, match="is for labels"):
        c45rules(rules, Cases((np.zeros(1),), np.zeros(1)))


def slow_length(
    takes: NDArray[Any],
    is_label: NDArray[Any],
    bits: NDArray[Any],
    chosen: tuple[int, ...],
) -> float:
    """The description length of a set of rules, counted case by case."""
    cases = len(is_label)
    taken = [any(takes[r][c] for r in chosen) for c in range(cases)]
    fires = sum(taken)
    wrong = sum(t and not y for t, y in zip(taken, is_label, strict=True))
    missed = sum(y and not t for t, y in zip(taken, is_label, strict=True))

    def named(n: int, e: int, x: float) -> float:
        if x < 1e-6:
            return 0.0 if e == 0 else 1e6
        if x > n - 1e-6:
            return 0.0 if e == n else 1e6
        return -e * log2(x / n) - (n - e) * log2(1 - x / n)

    half = (wrong + missed) / 2
    x, y = (half, missed) if fires > cases / 2 else (wrong, half)
    exceptions = log2(cases) + named(fires, wrong, x) + named(cases - fires, missed, y)
    orders = sum(log2(k) for k in range(1, len(chosen) + 1))
    return float(0.5 * (sum(bits[r] for r in chosen) - orders) + exceptions)


def lines(takes: NDArray[Any]) -> NDArray[Any]:
    return np.stack([packed(line) for line in takes])


def a_choice(seed: int, count: int) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    random = np.random.default_rng(seed)
    is_label = random.random(70) < 0.4
    takes = random.random((count, 70)) < np.where(is_label, 0.3, 0.06)
    return takes, is_label, random.uniform(4, 12, count)


@settings(max_examples=25, deadline=None)
@given(seeds)
def test_every_set_is_tried(seed: int) -> None:
    takes, is_label, bits = a_choice(seed, 6)
    found = choose_rules(lines(takes), is_label, bits, 10**9)
    sets = [s for size in range(7) for s in combinations(range(6), size)]
    best = min(slow_length(takes, is_label, bits, s) for s in sets)
    length = slow_length(takes, is_label, bits, tuple(np.flatnonzero(found)))
    assert length == pytest.approx(best)


@settings(max_examples=15, deadline=None)
@given(seeds)
def test_beyond_ten_rules_no_change_of_one_rule_is_better(seed: int) -> None:
    takes, is_label, bits = a_choice(seed, 14)
    packed = lines(takes)
    found = choose_rules(packed, is_label, bits, 10**9)
    assert (found == choose_rules(packed, is_label, bits, 10**9)).all()
    chosen = set(np.flatnonzero(found).tolist())
    length = slow_length(takes, is_label, bits, tuple(chosen))
    for place in range(14):
        other = tuple(chosen ^ {place})
        assert slow_length(takes, is_label, bits, other) >= length - 1e-6


def test_the_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    takes, is_label, bits = a_choice(1, 40)
    steps = 0
    climb = description_length._RuleChoice.climb

    def counted(self, chosen):  # type: ignore[no-untyped-def]
        nonlocal steps
        for length in climb(self, chosen):
            steps += 1
            yield length

    monkeypatch.setattr(description_length._RuleChoice, "climb", counted)
    choose_rules(lines(takes), is_label, bits, 5 * 40 * 2)
    assert steps == 5


def test_the_bits_of_a_rule() -> None:
    """By hand: 4 cases, x has 3 different values, colour is red twice and blue once."""
    x, colour = np.array([1.0, 2.0, 2.0, np.nan]), np.array([0, 0, 2, -1])
    coding = RuleCoding((X, COLOUR), bits_of_tests((X, COLOUR), (x, colour)))
    of_x = 1 + log2(3) / 2
    of_colour = 2 / 4 * log2(2) + 1 / 4 * log2(4)
    assert coding.tests == pytest.approx([of_x, of_colour])
    p, q = of_x / (of_x + of_colour), of_colour / (of_x + of_colour)
    which = -p * log2(p) - q * log2(q)
    assert coding.rule([ABOVE]) == pytest.approx(which + of_x)
    assert coding.rule([ABOVE, RED]) == pytest.approx(
        2 * which + of_x + of_colour + 1 - 1
    )
    group = Condition(1, Op.IN, ("red", "blue"), missing=False)
    assert coding.rule([group]) == pytest.approx(which + 3)
    assert log2_factorial(4) == pytest.approx(log2(24))


def test_what_was_said_to_be_impossible_is_dear() -> None:
    one = np.array([1.0])
    assert exception_bits(10, 0 * one, 0 * one, 0 * one)[0] == pytest.approx(log2(10))
    (bits,) = exception_bits(10, 9 * one, one, 0 * one)
    assert bits < 1e5
    (bits,) = exception_bits(10, 9 * one, 0 * one, one)  # all of the rest, as expected
    assert bits < 1e5


def candidates(*described: tuple[int, float, str]) -> list[CandidateRule]:
    """Label, error, and the cases that are taken as ones: "0110"."""
    return [
        CandidateRule(
            number,
            label,
            (),
            error,
            packed(np.array([digit == "1" for digit in takes])),
        )
        for number, (label, error, takes) in enumerate(described, start=1)
    ]


def test_labels_are_ordered_by_the_cases_that_they_wrongly_take() -> None:
    cases = Cases((), np.array([0, 0, 1, 1, 2, 2]))
    rules = candidates(
        (0, 0.3, "110100"), (1, 0.2, "001000"), (1, 0.1, "000100"), (2, 0.1, "011011")
    )
    # Label 1 takes nothing wrongly; then label 0 has no wrong one left, label 2 one.
    assert [r.number for r in in_order(rules, cases, 3)] == [3, 2, 1, 4]


def test_the_default_is_what_is_left_most() -> None:
    cases = Cases((), np.array([0, 0, 0, 1, 1]))
    assert default_label(candidates((0, 0.1, "11000")), cases, 2) == 1
    assert default_label(candidates((0, 0.1, "11010")), cases, 2) == 0  # a tie
    assert default_label([], Cases((), np.array([1, 1, 0, 0])), 2) == 0


def test_the_first_rule_that_does_harm_goes_and_all_is_looked_at_again() -> None:
    cases = Cases((), np.array([1, 1, 1]))
    rules = candidates((0, 0.1, "110"), (0, 0.1, "111"), (1, 0.2, "111"))
    # Without the first the second would be as wrong. The second is wrong where the
    # third is right, and once it is gone, so is the first.
    assert [r.number for r in without_harm(rules, 0, cases)] == [3]
    both = candidates((0, 0.1, "110"), (0, 0.1, "110"), (1, 0.2, "111"))
    assert [r.number for r in without_harm(both, 0, cases)] == [1, 2, 3]
    # One helped, one harmed: it stays.
    two = Cases((), np.array([0, 1]))
    assert len(without_harm(candidates((0, 0.1, "11")), 1, two)) == 1
