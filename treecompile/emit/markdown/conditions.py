"""Writes the tests of rules for readers, with rounded thresholds.

Table columns such as "Missing values included" say whether a test accepts missing or
unseen values, instead of brackets behind every test. Thresholds are rounded here, and
exact in the block of rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treecompile.emit.markdown import md
from treecompile.emit.markdown.survey import RuleSurvey
from treecompile.model import ir, words
from treecompile.model.sharing import Texts
from treecompile.model.words import Rounding

MISSING, UNSEEN = "Missing values included", "Unseen values included"
Tests = tuple[ir.Condition, ...]  # of one feature


class TestText(NamedTuple):
    """The tests of one feature in a rule."""

    text: str  # 1 < bmi ≤ 28.2
    takes: tuple[str, ...]  # for each of `heads`, "yes", "no", or "" where none is


class PlainTests:
    """Writes tests for people."""

    def __init__(self, rules: ir.RuleSet, survey: RuleSurvey) -> None:
        self.features = rules.features
        every = (test for rule in rules.rules for test in rule.conditions)
        self.rounding = Rounding(every)
        used = survey.features
        has_categories = any(
            self.features[index].kind is not ir.Kind.NUMERIC for index in used
        )
        self.heads: list[str] = []
        if used:
            self.heads = [MISSING, *([UNSEEN] if has_categories else [])]
        self.texts = Texts(self._of)  # rules share most of their tests

    def of(self, groups: Sequence[Tests]) -> list[TestText]:
        """Return the tests of each feature."""
        return self.texts.of(groups)

    def _of(self, tests: Tests) -> TestText:
        index = tests[0].feature
        feature = self.features[index]
        text = words.phrase(
            tests,
            feature,
            md.shown,
            self.rounding.figure(index),
            marks=False,
        )
        missing, unseen = _missing(tests), _unseen(tests, feature)
        takes = (missing, unseen)[: len(self.heads)]
        return TestText(text, takes)

    def table(self, head: str, groups: Sequence[Tests]) -> str:
        """Write a table with a row per test, and if unknown values meet it."""
        rows = []
        for place, each in enumerate(self.of(groups)):
            rows.append([f"{'and ' if place else ''}{each.text}", *each.takes])
        return md.table([head, *self.heads], rows)


def _missing(tests: Tests) -> str:
    return "yes" if all(test.missing for test in tests) else "no"


def _unseen(tests: Tests, feature: ir.Feature) -> str:
    match feature.kind:
        case ir.Kind.NUMERIC:
            return ""
        case ir.Kind.ORDINAL:  # it has no place in the order
            return _missing(tests)
    return "yes" if all(test.op is ir.Op.NOT_IN for test in tests) else "no"
