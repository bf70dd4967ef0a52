"""Collects facts about all rules of a document."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile.model import ir
from treecompile.model.paths import outcomes

COMPARISONS = (ir.Op.LE, ir.Op.GT)


@dataclass(frozen=True, slots=True)
class RuleSurvey:
    dropped: list[str]  # ids of rules that no row can meet
    features: list[int]  # those that some rule tests, in the order of columns
    compares: bool  # whether some test is <= or >
    takes_missing: bool  # whether a missing value passes some test


def survey(body: ir.Body, rules: ir.RuleSet) -> RuleSurvey:
    """Survey the merged rules of a body; its other rules count as dropped."""
    kept = {rule.id for rule in (*rules.rules, rules.default)}
    # The rules of a tree share most of their tests.
    tests = {id(test): test for rule in rules.rules for test in rule.conditions}
    return RuleSurvey(
        [rule.id for rule in outcomes(body).values() if rule.id not in kept],
        sorted({test.feature for test in tests.values()}),
        any(test.op in COMPARISONS for test in tests.values()),
        any(test.missing for test in tests.values()),
    )
