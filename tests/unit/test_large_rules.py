"""`check` and `diff` of large and of trivial lists of rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from treecompile.inspect.check import Fault, check
from treecompile.inspect.diff import diff
from treecompile.model.ir import Program, RuleSet
from treecompile.rules.language.document import loads

LABELS = "predict y: a, b\n"


def written(text: str) -> Program:
    return loads(f"{LABELS}{text}\notherwise a")


def rules_of(program: Program) -> RuleSet:
    assert isinstance(program.body, RuleSet)
    return program.body


def test_features_that_no_rule_tests_take_no_memory() -> None:
    unread = "\n".join(f"from u{n}: number" for n in range(5_000))
    rules = "\n".join(f"if {n} < x <= {n + 1} then b" for n in range(2_000))
    program = written(f"{unread}\nfrom x: number\n{rules}\nif x = 3 then b")
    result = check(program, listed=1)
    assert result.body is program.body
    assert result.counts[Fault.SHADOWED] == 1
    assert result.counts[Fault.OVERLAP] == 1
    assert result.findings[0].row == {"x": 3.0}


def test_each_rule_reads_another_feature() -> None:
    features = "\n".join(f"from x{n}: number" for n in range(4_000))
    rules = "\n".join(f"if x{n} > {n} then b" for n in range(4_000))
    program = written(f"{features}\n{rules}")
    result = check(program)
    assert not result.findings
    assert len(result.undecided) == 3
    assert "too many rules" in result.undecided[0]
    other = replace(program, body=replace(rules_of(program), rules=()))
    assert not diff(program, other).complete


def test_many_categories_are_checked_within_the_memory() -> None:
    known = ", ".join(f"k{n}" for n in range(20_000))
    rules = "\n".join(f"if c = k{n} then b" for n in range(300))
    program = written(f"from c: {known}\n{rules}\nif c = k7 then a")
    result = check(program)
    assert result.counts[Fault.CONFLICT] == result.counts[Fault.SHADOWED] == 1
    assert result.counts[Fault.INCOMPLETE] == 1
    assert not result.undecided


@pytest.mark.parametrize("budget", [1, 20])
def test_a_spent_budget_ends_the_check(budget: int) -> None:
    rules = "\n".join(f"if {n} < x <= {n + 1} then b" for n in range(200))
    result = check(written(f"from x: number\n{rules}"), budget=budget)
    assert any("overlap" in question for question in result.undecided)
