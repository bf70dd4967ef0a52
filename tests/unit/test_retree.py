"""Ordered rules as one nested decision: its size, its bounds, its note."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from random import Random
from time import process_time

import pytest

from tests.support.random_models import large_rows, large_tree
from tests.support.rule_lists import above, at_most, random_list, rule_set
from tests.support.small_models import small_rules
from treecompile.emit import steps
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.steps import (
    FACTOR,
    MOST,
    count_tests,
    decision_steps,
    nest,
    note,
)
from treecompile.model.ir import Program, Split
from treecompile.model.semantics import asks_presence, decider
from treecompile.regions.boxes import Boxes, Subproblem
from treecompile.rules.extract import extract
from treecompile.rules.passes import apply_rule_passes
from treecompile.verify.verification import verify

BEST = Boxes.best


def test_the_rules_of_a_tree_give_back_a_tree_of_about_its_size() -> None:
    tree = large_tree(300)
    rules = apply_rule_passes(extract(tree))
    nested = nest(rules)
    assert nested is not None
    assert len(rules.rules) - 1 <= nested.tests <= 1.5 * len(rules.rules)
    for row in large_rows(500):
        outcome = nested.outcomes[decider(nested.tree, row)]
        assert outcome == decider(rules, row)


def test_intervals_are_found_by_halving() -> None:
    cuts = [float(number) for number in range(257)]
    rules = rule_set(
        *(
            ((above(0, low), at_most(0, high)), "yes" if int(high) % 2 else "no")
            for low, high in pairwise(cuts)
        )
    )
    nested = nest(rules)
    assert nested is not None
    assert nested.tests <= 258
    depths = [0] * len(nested.tree.nodes)
    for position, node in enumerate(nested.tree.nodes):
        for branch in getattr(node, "branches", ()):
            depths[branch.then] = depths[position] + 1
    assert max(depths) <= 12


def test_a_test_that_is_implied_is_not_asked_again() -> None:
    rules = rule_set(
        ((at_most(0, 5.0),), "yes"), ((above(0, 3.0, True), at_most(1, 1.0)), "no")
    )
    nested = nest(rules)
    assert nested is not None
    assert nested.tests == 2  # x0 > 3 holds wherever the first rule failed


def test_a_list_that_would_grow_too_large_stays_a_list() -> None:
    rules = random_list(50, 12, 3)
    assert nest(rules) is None
    said = note(rules)
    assert said.startswith(
        "50 ordered rules with 150 tests are run one after the other"
    )
    assert f"over {FACTOR} times as many" in said
    artefact = emit(Program("y", "test", rules), "sql")
    assert artefact.notes == (f"the SQL uses the layout list: {said}",)
    assert said in artefact.text.splitlines()[0]
    assert artefact.text.count("WHEN") == 50


def test_it_is_noticed_early_that_a_list_would_grow_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After few of the splits that are allowed: the largest parts are split first."""
    rules = random_list(50, 12, 3)
    tried = []

    def best(boxes: Boxes, problem: Subproblem) -> object:
        tried.append(problem)
        return BEST(boxes, problem)

    monkeypatch.setattr(Boxes, "best", best)
    nest.cache_clear()
    assert nest(rules) is None
    assert 10 < len(tried) < FACTOR * count_tests(rules) / 10


@pytest.mark.parametrize(("count", "features", "each"), [(5000, 30, 3), (5000, 8, 6)])
def test_hostile_lists_of_thousands_are_given_up_soon(
    count: int, features: int, each: int
) -> None:
    rules = random_list(count, features, each)
    start = process_time()
    nested = nest(rules)
    assert process_time() - start < 60  # a second or so on an idle machine
    assert nested is None or nested.tests <= min(FACTOR * count_tests(rules), MOST)


def test_the_choice_is_in_the_note_and_in_the_head_of_the_artefact() -> None:
    rules = rule_set(((at_most(0, 5.0),), "yes"), ((at_most(1, 1.0),), "no"))
    program = Program("y", "test", rules)
    said = "2 ordered rules with 2 tests are run as one nested decision of 2 tests"
    assert note(rules) == said
    alone = rule_set(((at_most(0, 5.0),), "yes"))
    assert (
        note(alone)
        == "1 ordered rule with 1 test is run as one nested decision of 1 test"
    )
    for target in ("sql", "python"):
        artefact = emit(program, target, EmitOptions(layout="decision"))
        (told,) = artefact.notes
        assert told.endswith(f"uses the layout decision: {said}")
        assert said in artefact.text


def test_nothing_is_said_about_a_tree_or_a_list_without_tests() -> None:
    assert note(large_tree(5)) == ""
    assert note(rule_set(((), "yes"))) == ""
    nested = EmitOptions(layout="decision")
    assert emit(Program("y", "test", large_tree(5)), "sql", nested).notes == ()


def test_one_rule_for_all_decides_all() -> None:
    """The first that holds everywhere, though it is not the first of the list."""
    never = (at_most(0, 1.0), above(0, 2.0))
    rules = rule_set((never, "no"), ((at_most(0, float("inf"), True),), "yes"))
    program = Program("y", "test", rules)
    text = emit(program, "python").text
    assert verify(program, text).passed


def test_overlapping_rules_are_verified() -> None:
    flat = apply_rule_passes(extract(large_tree(40, seed=3)))
    dice = Random(2)
    rules = replace(
        flat,
        rules=tuple(
            replace(r, conditions=tuple(c for c in r.conditions if dice.random() < 0.8))
            for r in flat.rules
        ),
    )
    assert nest(rules) is not None
    program = Program("y", "test", rules)
    text = emit(program, "python").text
    report = verify(program, text, budget=3000)
    assert report.passed
    sql = emit(program, "sql").text
    assert verify(program, sql, "sqlite", budget=3000).passed


def test_the_tree_has_at_most_so_many_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exactly as many are allowed; the note names the bound that was passed."""
    rules = rule_set(((at_most(0, 5.0),), "yes"), ((at_most(1, 1.0),), "no"))
    nest.cache_clear()
    monkeypatch.setattr(steps, "MOST", 2)
    assert nest(rules) is not None
    nest.cache_clear()
    monkeypatch.setattr(steps, "MOST", 1)
    assert nest(rules) is None
    assert note(rules).endswith("a nested decision would need over 1 tests")
    monkeypatch.setattr(steps, "MOST", FACTOR * count_tests(rules))
    monkeypatch.setattr(steps, "HOPELESS", 0)
    nest.cache_clear()
    assert nest(rules) is None
    assert note(rules).endswith(f"need over {FACTOR * 2} tests")
    monkeypatch.setattr(steps, "MOST", FACTOR * count_tests(rules) + 1)
    assert note(rules).endswith(f"need over {FACTOR} times as many tests")
    nest.cache_clear()


def test_tests_behind_a_test_of_presence_say_nothing_about_missing_values() -> None:
    absent = above(0, float("inf"), True)
    rules = rule_set(
        ((absent,), "no"), ((above(0, 5.0),), "no"), ((at_most(1, 1.0),), "yes")
    )
    written = [test for step in decision_steps(rules) for test in step.tests]
    asked = [test for test in written if not asks_presence(test)]
    assert {test.feature for test in asked} == {0, 1}
    assert not any(test.missing for test in asked if test.feature == 0)
    for row in product((None, 2.0, 4.0, 6.0), (None, 0.0, 2.0), (None,)):
        nested = nest(rules)
        assert nested is not None
        assert nested.outcomes[decider(nested.tree, row)] == decider(rules, row)


@pytest.mark.parametrize("seed", range(60))
def test_no_question_leads_to_the_same_rule_either_way(seed: int) -> None:
    nested = nest(small_rules(Random(seed)))
    assert nested is not None
    below: dict[int, set[int]] = {}
    for position in reversed(range(len(nested.tree.nodes))):
        node = nested.tree.nodes[position]
        if isinstance(node, Split):
            sides = [below[branch.then] for branch in node.branches]
            below[position] = set.union(*sides)
            assert len(below[position]) > 1
        else:
            below[position] = {nested.outcomes[position]}


def test_a_list_that_takes_too_much_work_stays_a_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = rule_set(((above(0, 5.0),), "no"), ((at_most(1, 1.0),), "yes"))
    nest.cache_clear()
    assert nest(rules) is not None
    nest.cache_clear()
    monkeypatch.setattr(steps, "MOST_WORK", 10)
    assert nest(rules) is None
    nest.cache_clear()
