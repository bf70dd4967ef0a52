"""Writes the tests of rules for readers: rounded, with units.

Table columns such as "Missing values included" say whether a test accepts missing or
unseen values, instead of brackets behind every test. Thresholds are rounded here, and
exact in the block of rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from treecompile.emit.markdown import md
from treecompile.emit.markdown.survey import RuleSurvey, ShownRules
from treecompile.emit.options import NO_ENTRY, Glossary
from treecompile.model import ir, words
from treecompile.model.sharing import Texts
from treecompile.model.words import Rounding

MISSING, UNSEEN = "Missing values included", "Unseen values included"
Tests = tuple[ir.Condition, ...]  # of one feature


class TestText(NamedTuple):
    """The tests of one feature in a rule."""

    text: str  # 1 < bmi ≤ 28.2 kg/m²
    takes: tuple[str, ...]  # for each of `heads`, "yes", "no", or "" where none is
    taker: str  # bmi, bmi (missing) or bmi (unseen); "": unknown values go elsewhere


class PlainTests:
    """Writes tests for people."""

    def __init__(
        self,
        shown: ShownRules,
        glossary: Glossary,
        *,
        is_exact: bool,
    ) -> None:
        rules = shown.rules
        self.features = rules.features
        every = (test for rule in rules.rules for test in rule.conditions)
        self.rounding = Rounding([] if is_exact else every)
        self.units = [
            md.prose(glossary.get(feature.name, NO_ENTRY).unit)
            for feature in rules.features
        ]
        used = shown.survey.features
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
            self.units[index],
            marks=False,
        )
        missing, unseen = _missing(tests), _unseen(tests, feature)
        takes = (missing, unseen)[: len(self.heads)]
        name, taker = md.name(feature.name), ""
        if missing == "yes":
            taker = f"{name} (missing)" if unseen == "no" else name
        elif unseen == "yes":
            taker = f"{name} (unseen)"
        return TestText(text, takes, taker)

    def brief(self, tests: Sequence[TestText]) -> str:
        return " and ".join([each.text for each in tests])

    def table(self, head: str, groups: Sequence[Tests]) -> str:
        """Write a table with a row per test, and if unknown values meet it."""
        rows = []
        for place, each in enumerate(self.of(groups)):
            rows.append([f"{'and ' if place else ''}{each.text}", *each.takes])
        return md.table([head, *self.heads], rows)

    def takers(self, tests: Sequence[TestText]) -> list[str]:
        """Name the columns whose missing or unseen values go here, in one cell.

        A column of categories has both kinds: `sex`, or `sex (missing)` for one alone.
        """
        if not self.heads:
            return []
        return [", ".join([each.taker for each in tests if each.taker])]

    @property
    def taking(self) -> list[str]:
        """The head of that cell."""
        both = "Missing or unseen values included"
        return [both if UNSEEN in self.heads else MISSING] if self.heads else []

    def remark(self, tests: Sequence[TestText]) -> str:
        """Say what `takers` does in a sentence: " Missing values included: heat."."""
        pairs = zip(self.taking, self.takers(tests), strict=True)
        return "".join(f" {head}: {names}." for head, names in pairs if names)


def _missing(tests: Tests) -> str:
    return "yes" if all(test.missing for test in tests) else "no"


def _unseen(tests: Tests, feature: ir.Feature) -> str:
    match feature.kind:
        case ir.Kind.NUMERIC:
            return ""
        case ir.Kind.ORDINAL:  # it has no place in the order
            return _missing(tests)
    return "yes" if all(test.op is ir.Op.NOT_IN for test in tests) else "no"


def terms(body: ir.Body, survey: RuleSurvey, target: str, glossary: Glossary) -> str:
    """Explain the names in the rules: "bmi: body mass index (kg/m²); ..."."""
    names = [target, *(body.features[index].name for index in survey.features)]
    said = []
    for name in names:
        entry = glossary.get(name, NO_ENTRY)
        unit = f" ({md.prose(entry.unit)})" if entry.unit else ""
        if entry.description:
            said.append(f"{md.name(name)}: {md.prose(entry.description)}{unit}")
    return f"The names mean: {'; '.join(said)}." if said else ""
