"""Writes every rule: its conditions, its conclusion, and the cases it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from treecompile.emit.markdown import md
from treecompile.emit.markdown.conditions import PlainTests
from treecompile.emit.markdown.survey import RuleSurvey
from treecompile.model import ir, words
from treecompile.model.evidence import NOTHING, by_id, counted_rows, total
from treecompile.model.paths import DEFAULT_ID, rule_ids
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
    heading: str  # R1: play = no
    conditions: str  # a table of the tests; "" if there are none
    conclusion: str  # then **play = no**.; or: Always **play = no**.
    evidence: str  # a table, or a sentence if no case reached the rule


class RuleWriter:
    """Writes rules for readers who do not program."""

    def __init__(
        self, program: ir.Program, rules: ir.RuleSet, survey: RuleSurvey
    ) -> None:
        body = program.body
        self.rules = rules
        self.survey = survey
        self.tests = PlainTests(rules, survey)
        self.target = md.name(program.target)
        self.ordered = isinstance(body, ir.RuleSet)  # the first rule that holds decides
        self.whose, _ = counted_rows(program)
        self.rows = {DEFAULT_ID: NOTHING, **by_id(program)}  # what each rule decides
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
        return not self.rules.labels and any(
            md.answer(rule.value, ()) != md.value(rule.value)
            for rule in self.rules.rules
        )

    # ------------------------------------------------------------ one by one

    def all_rules(self) -> list[RuleText]:
        return [self._rule(at, rule) for at, rule in enumerate(self.rules.rules, 1)]

    def _rule(self, place: int, rule: ir.Rule) -> RuleText:
        conclusion = self.conclusion(rule)
        tests = words.by_feature(rule.conditions)
        opening = "Otherwise, if" if self.ordered and place > 1 else "If"
        return RuleText(
            heading=f"{f'{place}. ' if self.ordered else ''}{rule.id}: {conclusion}",
            conditions=self.tests.table(opening, tests) if tests else "",
            conclusion=f"{'then' if tests else 'Always'} **{conclusion}**.",
            evidence=self.evidence(rule) or self.stand_in(rule),
        )

    def conclusion(self, rule: ir.Rule) -> str:
        return f"{self.target} = {md.answer(rule.value, self.rules.labels)}"

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
