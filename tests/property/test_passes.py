"""Every pass, and all of them together, keep every answer on hostile random models."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import random_row, random_rules, random_tree
from treecompile.model.file.read import loads
from treecompile.model.file.write import dumps
from treecompile.model.ir import (
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Op,
    Program,
    Row,
    Rule,
    RuleSet,
    ValueType,
)
from treecompile.model.semantics import decider, predict, probabilities
from treecompile.rules.extract import extract
from treecompile.rules.passes import (
    PRUNED_PASSES,
    RULE_PASSES,
    SIMPLIFYING_PASSES,
    apply_rule_passes,
)

seeds = st.integers(0, 2**32)
ALL = tuple(dict.fromkeys((*RULE_PASSES, *SIMPLIFYING_PASSES, *PRUNED_PASSES)))


def few_answers(random: Random, rules: RuleSet) -> RuleSet:
    """The same rules with few different answers and tests that often touch."""
    answers = [rule.value for rule in rules.rules[:2]] or [rules.default.value]
    changed = [replace(rule, value=random.choice(answers)) for rule in rules.rules]
    return replace(rules, rules=tuple(changed))


def small_rules(random: Random) -> RuleSet:
    """Rules over few values, so that siblings, twins and dead rules are common."""
    features = (
        Feature("x", Kind.NUMERIC, ValueType.FLOAT),
        Feature("c", Kind.CATEGORICAL, ValueType.STR, ("a", "b", "c")),
        Feature("o", Kind.ORDINAL, ValueType.STR, ("S", "M", "L")),
        Feature("b", Kind.CATEGORICAL, ValueType.BOOL, (False, True)),
        Feature("t", Kind.CATEGORICAL, ValueType.BOOL, (True,)),
    )
    labels = ("no", "yes")

    def condition() -> Condition:
        where = random.randrange(len(features))
        feature, missing = features[where], random.random() < 0.4
        if feature.kind is Kind.CATEGORICAL:
            chosen = tuple(c for c in feature.categories if random.random() < 0.5)
            return Condition(where, random.choice((Op.IN, Op.NOT_IN)), chosen, missing)
        values = (0.0, 1.0, 2.0, inf) if where == 0 else feature.categories
        op = random.choice((Op.LE, Op.GT))
        return Condition(where, op, random.choice(values), missing)

    pool = [condition() for _ in range(6)]
    pool += [replace(c, op=op, missing=m) for c in pool for op, m in _turned(c)]
    rules = []
    for place in range(random.randint(0, 10)):
        tests = tuple(random.choice(pool) for _ in range(random.randint(0, 3)))
        counts = ClassCounts((float(random.randint(0, 3)), 1.0))
        weight = random.choice((0.0, counts.weight))
        rules.append(Rule(f"R{place}", tests, random.choice(labels), counts, weight))
    default = Rule("default", (), "no", ClassCounts((1.0, 1.0)), 0.0)
    return RuleSet(features, labels, tuple(rules), default)


def _turned(condition: Condition) -> list[tuple[Op, bool]]:
    turned = {Op.LE: Op.GT, Op.GT: Op.LE, Op.IN: Op.NOT_IN, Op.NOT_IN: Op.IN}
    return [(turned[condition.op], not condition.missing)]


def small_rows() -> list[Row]:
    numbers = (None, -1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, inf)
    return [
        (x, c, o, b, t)
        for x in numbers
        for c in (None, "a", "b", "c", "unseen")
        for o in (None, "S", "M", "L", "unseen")
        for b in (None, False, True)
        for t in (None, False, True)
    ]


SMALL_ROWS = small_rows()


def drawn(seed: int, kind: str) -> tuple[RuleSet, list[Row]]:
    random = Random(seed)
    if kind == "small":
        rules = small_rules(random)
        return rules, random.sample(SMALL_ROWS, 60)
    if kind == "tree":
        rules = few_answers(random, extract(random_tree(random)))
    else:
        rules = few_answers(random, random_rules(random))
    return rules, [random_row(random, rules) for _ in range(40)]


kinds = st.sampled_from(["small", "tree", "overlapping"])


@pytest.mark.parametrize("rule_pass", ALL, ids=lambda rule_pass: rule_pass.__name__)
@settings(max_examples=150, deadline=None)
@given(seeds, kinds)
def test_a_pass_keeps_every_answer(rule_pass, seed: int, kind: str) -> None:  # type: ignore[no-untyped-def]
    rules, rows = drawn(seed, kind)
    result = rule_pass(rules)
    assert len(result.rules) <= len(rules.rules)
    assert result.default == rules.default
    for row in rows:
        assert repr(predict(result, row)) == repr(predict(rules, row))
    assert rule_pass(result) == result  # there is nothing more to do


@settings(max_examples=300, deadline=None)
@given(seeds, kinds, st.sampled_from([SIMPLIFYING_PASSES, PRUNED_PASSES]))
def test_all_passes_keep_every_answer(seed, kind, passes) -> None:  # type: ignore[no-untyped-def]
    rules, rows = drawn(seed, kind)
    result = apply_rule_passes(rules, passes)
    for row in rows:
        assert repr(predict(result, row)) == repr(predict(rules, row))
    ids = [rule.id for rule in result.rules]
    assert ids == [f"R{place}" for place in range(1, len(ids) + 1)]
    for rule in result.rules:
        tested = [(c.feature, c.op) for c in rule.conditions]
        assert len(set(tested)) == len(tested)
    program = Program("y", "random", result)
    assert loads(dumps(program)) == program


@settings(max_examples=200, deadline=None)
@given(seeds, kinds)
def test_passes_for_showing_keep_the_rule_that_decides(seed: int, kind: str) -> None:
    rules, rows = drawn(seed, kind)
    result = apply_rule_passes(rules)
    before, after = (*rules.rules, rules.default), (*result.rules, result.default)
    for row in rows:
        old = before[decider(rules, row)]
        new = after[decider(result, row)]
        assert replace(new, conditions=()) == replace(old, conditions=())


@settings(max_examples=200, deadline=None)
@given(seeds)
def test_merging_loses_and_invents_no_case(seed: int) -> None:
    """Of a tree, all cases are still there, each label with its own."""
    rules, _ = drawn(seed, "tree")
    result = apply_rule_passes(rules, SIMPLIFYING_PASSES)
    if not rules.labels:
        return
    reachable = apply_rule_passes(rules)

    def totals(some: RuleSet) -> list[float]:
        counted = [rule.stats for rule in some.rules if rule.weight]
        weights = [stats.weights for stats in counted if isinstance(stats, ClassCounts)]
        return [sum(column) for column in zip(*weights, strict=True)]

    assert totals(result) == pytest.approx(totals(reachable))
    for rule in result.rules:
        assert sum(probabilities(rule.stats)) == pytest.approx(1)
