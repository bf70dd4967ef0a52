"""One nested decision gives every row the rule that the ordered list gives it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.random_models import random_row, random_rules
from tests.support.small_models import every_row, small_rules
from treecompile.emit import steps
from treecompile.emit.steps import Nested, decision_steps, nest
from treecompile.model.ir import RuleSet, Split
from treecompile.model.semantics import (
    conditions,
    decider,
    holds,
    is_partition,
)
from treecompile.verify.cells import probe_rows

SEEDS = st.integers(0, 2**32)


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """However much larger than the list: the meaning is in question, not the size."""
    monkeypatch.setattr(steps, "FACTOR", 1000)
    nest.cache_clear()


def nested(rules: RuleSet) -> Nested:
    found = nest(rules)
    assert found is not None
    return found


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_every_row_keeps_its_rule(seed: int) -> None:
    rules = small_rules(Random(seed))
    found = nested(rules)
    for row in every_row():
        outcome = found.outcomes[decider(found.tree, row)]
        assert outcome == decider(rules, row), row


@given(SEEDS)
@settings(max_examples=60, deadline=None)
def test_hostile_rules_keep_their_rows(seed: int) -> None:
    random = Random(seed)
    rules = random_rules(random)
    found = nested(rules)
    rows = [random_row(random, rules) for _ in range(40)]
    for row in (*rows, *probe_rows(rules, budget=200).rows):
        outcome = found.outcomes[decider(found.tree, row)]
        assert outcome == decider(rules, row), row


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_it_is_a_tree_without_a_leaf_that_no_row_reaches(seed: int) -> None:
    rules = small_rules(Random(seed))
    found = nested(rules)
    splits = [node for node in found.tree.nodes if isinstance(node, Split)]
    assert all(is_partition(split, rules.features) for split in splits)
    reached = {decider(found.tree, row) for row in every_row()}
    assert reached == set(found.outcomes)


@given(SEEDS)
@settings(max_examples=40, deadline=None)
def test_the_steps_of_the_decision_answer_with_rules(seed: int) -> None:
    """As a target writes them: arms in order, blocks that close."""
    rules = small_rules(Random(seed))
    steps = list(decision_steps(rules, 2))
    assert set(conditions(rules)) or len(steps) == 1
    for row in every_row()[::7]:
        depth, outcome = 0, None
        for step in steps:
            if step.depth != depth:
                continue  # in a block that was not entered
            if all(
                holds(test, rules.features[test.feature], row[test.feature])
                for test in step.tests
            ):
                outcome, depth = step.outcome, depth + 1
                if outcome is not None:
                    break
        assert outcome == decider(rules, row)
