"""Writes every rule: its conditions, its conclusion, and the cases it rests on.

A few rules get a section each. Many rules become rows of tables (see `groups`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from treecompile.emit.markdown import md
from treecompile.emit.markdown.conditions import PlainTests
from treecompile.emit.markdown.survey import ShownRules
from treecompile.emit.options import NO_ENTRY, Glossary
from treecompile.model import ir, words
from treecompile.model.evidence import NOTHING, counted_rows, total
from treecompile.model.paths import DEFAULT_ID, rule_ids
from treecompile.model.sharing import Group
from treecompile.rules.language.evidence import has_counts

BY_HAND = "No case was counted for this rule: it was written or edited by hand."
EVIDENCE_NOTES = {
    True: (
        "Coverage is the share of all {} cases that the rule decides."
        " Confidence is the share of these that have the rule's answer. Lift is"
        " confidence divided by the share of that answer among all cases."
        " Answers that are not listed did not occur."
    ),
    False: (
        "Coverage is the share of all {} cases that the rule decides."
        " Mean and standard deviation describe these cases."
    ),
}


@dataclass(frozen=True, slots=True)
class RuleText:
    level: str  # marks of the heading: ###, or #### in a group
    heading: str  # R1: play = no
    conditions: str  # a table of the tests; "" if there are none
    conclusion: str  # then **play = no**.; or: Always **play = no**.
    evidence: str  # a table, or a sentence if no case reached the rule


class RuleWriter:
    """Writes rules for readers who do not program."""

    def __init__(
        self,
        program: ir.Program,
        shown: ShownRules,
        glossary: Glossary,
    ) -> None:
        body = program.body
        is_exact = shown.is_summary
        self.rules = shown.rules
        self.survey = shown.survey  # of all rules
        self.tests = PlainTests(shown, glossary, is_exact=is_exact)
        unit = glossary.get(program.target, NO_ENTRY).unit
        self.unit = f" {md.prose(unit)}" if unit and not body.labels else ""
        self.is_exact = is_exact
        self.target = md.name(program.target)
        self.ordered = isinstance(body, ir.RuleSet)  # the first rule that holds decides
        self.whose, _ = counted_rows(program)
        self.rows = {DEFAULT_ID: NOTHING, **shown.rows}  # what each rule decides
        self.all = total(program)
        self.body = body

    def note(self) -> str:
        return EVIDENCE_NOTES[bool(self.rules.labels)].format(self.whose)

    def distribution(self) -> str:
        if not self.lifts or self.whose != "training":
            return ""  # the section is about the training data
        pairs = zip(self.rules.labels, self.all.answers, strict=True)
        rows = [
            [md.value(label), words.amount(count), md.share(count, self.all.rows)]
            for label, count in pairs
        ]
        return md.table([self.target, "Cases", "Share"], rows)

    @cached_property
    def last(self) -> dict[str, ir.Feature]:
        """The feature of the last test of each rule of a tree."""
        return _last_tests(self.body) if isinstance(self.body, ir.Tree) else {}

    def reading(self) -> str:
        text = "Exactly one rule applies to every case, so their order does not matter."
        if self.ordered:
            text = (
                "Read from the top: the first rule whose conditions all hold decides."
            )
        if dropped := self.survey.dropped:
            text += f" Left out, because no case can meet them: {md.listing(dropped)}."
        if self.survey.compares:
            text += " A value equal to a threshold meets ≤ and not >."
        if self.tests.rounding.shortens or self._has_rounded_answers():
            text += " Long numbers are rounded here; the rules as source are exact."
        return text

    def _has_rounded_answers(self) -> bool:
        return not (self.is_exact or self.rules.labels) and any(
            md.answer(rule.value, ()) != md.value(rule.value)
            for rule in self.rules.rules
        )

    # ------------------------------------------------------------ one by one

    def rule(
        self, place: int, rule: ir.Rule, common: Sequence[ir.Condition] = ()
    ) -> RuleText:
        """Return a section; tests in `common` stand at the head of the group."""
        conclusion = self.conclusion(rule)
        tests = self._own(rule.conditions, common)
        opening = "Otherwise, if" if self.ordered and place > 1 else "If"
        if common:
            opening = "And if"
        always = "Then" if common else "Always"
        return RuleText(
            level="####" if common else "###",
            heading=f"{f'{place}. ' if self.ordered else ''}{rule.id}: {conclusion}",
            conditions=self.tests.table(opening, tests) if tests else "",
            conclusion=f"{'then' if tests else always} **{conclusion}**.",
            evidence=self.evidence(rule) or self.stand_in(rule),
        )

    def conclusion(self, rule: ir.Rule) -> str:
        return f"{self.target} = {self.answer(rule)}"

    def answer(self, rule: ir.Rule) -> str:
        shown = md.value(rule.value)
        if not self.is_exact:
            shown = md.answer(rule.value, self.rules.labels)
        return f"{shown}{self.unit}"

    @staticmethod
    def _own(
        conditions: Sequence[ir.Condition], common: Sequence[ir.Condition]
    ) -> Sequence[Group]:
        """Return the tests of each feature, without those in `common`."""
        groups = words.by_feature(conditions)
        if not common:
            return groups
        shared = set(map(id, words.by_feature(common)))  # both are paths of one tree
        return [group for group in groups if id(group) not in shared]

    # ------------------------------------------------------------ in few words

    def common(self, conditions: Sequence[ir.Condition]) -> tuple[str, str]:
        """Return the tests a group shares, and what they do with missing values."""
        tests = self.tests.of(words.by_feature(conditions))
        return self.tests.brief(tests), self.tests.remark(tests)

    def heads(self) -> list[str]:
        """Return the head of a table of rules."""
        heads = ["Rule", "If", self.target, *self.tests.taking, "Coverage"]
        if not self.rules.labels:
            return [*heads, "Standard deviation"]
        return [*heads, "Confidence", "By answer"]

    def row(self, rule: ir.Rule, common: Sequence[ir.Condition]) -> list[str]:
        """Return a rule as a row of the table of rules."""
        tests = self.tests.of(self._own(rule.conditions, common))
        row = [rule.id, self.tests.brief(tests) or "always", self.answer(rule)]
        row += self.tests.takers(tests)
        own = self.rows[rule.id]
        if not own.rows:
            width = len(self.heads()) - len(row)
            return [*row, "no case", *[""] * (width - 1)]
        row.append(words.amount(own.rows))
        if self.all.rows:
            row[-1] += f" ({md.share(own.rows, self.all.rows)})"
        if not self.rules.labels:
            return [*row, md.figure(own.deviation)]
        answers = md.by_answer(own, self.rules.labels)
        return [*row, md.share(own.right, own.rows), answers]

    @property
    def lifts(self) -> bool:
        """Whether the frequency of each answer is known."""
        return bool(self.all.rows and self.all.answers)

    def lift(self, rule: ir.Rule) -> str:
        label = self.rules.labels.index(rule.value)
        usual, own = self.all.answers[label] / self.all.rows, self.rows[rule.id]
        return f"{own.right / own.rows / usual:.2f}" if usual else "undefined"

    # ------------------------------------------------------------ evidence

    def evidence(self, rule: ir.Rule) -> str:
        """Return a table of the cases that a rule decides; "" if there are none."""
        own = self.rows[rule.id]
        if not own.rows:
            return ""
        cells = {"Coverage": words.quantity(own.rows)}
        if self.all.rows:
            cells["Coverage"] = (
                f"{words.amount(own.rows)} of {words.quantity(self.all.rows)}"
                f" ({md.share(own.rows, self.all.rows)})"
            )
        if self.rules.labels:
            cells["Confidence"] = (
                f"{words.evidence(own, self.rules.labels)}"
                f" ({md.share(own.right, own.rows)})"
            )
            if self.lifts:
                cells["Lift"] = self.lift(rule)
            cells["Cases by answer"] = md.by_answer(own, self.rules.labels)
        else:
            cells["Mean"] = md.figure(own.mean)
            cells["Standard deviation"] = md.figure(own.deviation)
        return md.table_of([cells])

    def stand_in(self, rule: ir.Rule) -> str:
        """Say which cases a rule rests on that no case reached."""
        is_assumed = not has_counts(rule, self.rules.labels)
        if is_assumed and self.ordered and not self.rows[rule.id].counted:
            return BY_HAND
        text = f"No {self.whose} case reached this rule."
        if rule.weight:
            return f"{text} Its answer rests on parts of divided cases."
        if not rule.stats.weight or (is_assumed and self.ordered):
            return text
        whose = "other cases"
        if rule.id in self.last:
            last = self.last[rule.id]
            whose = f"cases that reached the test of {md.name(last.name)}"
        return (
            f"{text} Its answer rests on the {words.amount(rule.stats.weight)} {whose}:"
            f" {md.spread(rule.stats, self.rules.labels)}."
        )

    def default(self) -> tuple[str, str]:
        if not self.ordered:
            return "The rules cover every case, so no default is ever used.", ""
        rule = self.rules.default
        text = f"A case that meets no rule gets **{self.conclusion(rule)}**."
        if evidence := self.evidence(rule):
            return text, evidence
        return f"{text} No {self.whose} case reached it.", ""


def _last_tests(tree: ir.Tree) -> dict[str, ir.Feature]:
    """Return the feature of the split above each leaf, by the id of the leaf's rule."""
    ids = rule_ids(tree)
    return {
        ids[branch.then]: tree.features[branch.when.feature]
        for node in tree.nodes
        if isinstance(node, ir.Split)
        for branch in node.branches
        if branch.then in ids
    }
