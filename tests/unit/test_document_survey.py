"""Which rules a document shows, and what it says about those that it does not show."""

from __future__ import annotations

from itertools import product

import pytest

from tests.support.samples import balanced, chain, every_type
from treecompile.emit.compiler import emit
from treecompile.emit.markdown import survey
from treecompile.emit.markdown.survey import shown_rules
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, Tree, ValueType
from treecompile.model.semantics import decider, holds
from treecompile.rules.extract import reachable

X, Y = (Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in "xy")


def with_a_dead_leaf() -> Program:
    """Nothing is above 5 and then at most 4; a missing x is nowhere below."""
    tests = [(0, Op.LE, 5.0), (1, Op.GT, 2.0), (0, Op.LE, 4.0), (1, Op.LE, 1.0)]
    conditions = tuple(Condition(*test, missing=False) for test in tests)
    return chain((X, Y), conditions, ("a", "b", "c", "d", "e"))


def tree_of(program: Program) -> Tree:
    assert isinstance(program.body, Tree)
    return program.body


@pytest.mark.parametrize("program", [with_a_dead_leaf(), every_type(), balanced(3)])
def test_a_leaf_is_reachable_if_some_row_comes_to_it(program: Program) -> None:
    tree = tree_of(program)
    values: list[tuple[str | float | None, ...]] = []
    for feature in tree.features:
        numbers = (None, *(step / 2 for step in range(-2, 16)))
        values.append((None, "unseen", *feature.categories))
        if feature.kind is Kind.NUMERIC:
            values[-1] = numbers
        elif feature.type is not ValueType.STR:
            values[-1] = (None, *feature.categories)
    rows = list(product(*values))
    reached: dict[int, list[tuple[object, ...]]] = {}
    for row in rows:
        reached.setdefault(decider(tree, row), []).append(row)
    found = {leaf: dict(tests) for leaf, tests in reachable(tree)}
    assert set(found) == set(reached)
    for leaf, tests in found.items():
        merged = [test for group in tests.values() for test in group]
        for row in rows[:: max(1, len(rows) // 500)]:
            passes = all(
                holds(test, tree.features[test.feature], row[test.feature])
                for test in merged
            )
            assert passes == (decider(tree, row) == leaf)


def test_a_summary_says_the_same_of_all_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    for program in (with_a_dead_leaf(), every_type(), balanced(3)):
        whole = shown_rules(program, is_full=True)
        monkeypatch.setattr(survey, "MOST_RULES", 3)
        monkeypatch.setattr(survey, "SHOWN", 2)
        part = shown_rules(program, is_full=False)
        monkeypatch.undo()
        assert part.is_summary
        assert not whole.is_summary
        assert part.survey == whole.survey
        assert len(part.rules.rules) == 2
        assert set(part.rules.rules) <= set(whole.rules.rules)
        for rule in part.rules.rules:
            assert part.rows[rule.id] == whole.rows[rule.id]
        least = min(part.rows[rule.id].rows for rule in part.rules.rules)
        others = set(whole.survey.ids) - {rule.id for rule in part.rules.rules}
        assert all(whole.rows[name].rows <= least for name in others)


def test_dropped_rules_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    program = with_a_dead_leaf()
    said = "Left out, because no case can meet them: R3."
    assert said in emit(program, "markdown").text
    monkeypatch.setattr(survey, "MOST_RULES", 3)
    text = emit(program, "markdown").text
    assert said in text
    assert "Of 4 rules, these 4 decide most cases:" in text
