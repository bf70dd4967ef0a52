"""Every rule: its conditions, its conclusion, and what it rests on."""

from __future__ import annotations

from dataclasses import dataclass

from treecompile import words
from treecompile.ir import ClassCounts, Feature, Moments, Op, Rule, RuleSet, Stats
from treecompile.lower.markdown.text import (
    cases,
    deviation,
    listing,
    rounded,
    share,
    shown,
    shown_name,
    shown_value,
    spread,
    table,
)

EVIDENCE_NOTES = {
    True: (
        "Coverage is the share of all training cases that meet the conditions."
        " Confidence is the share of these whose answer is the rule's. Lift is how many"
        " times as common that answer is among them as among all."
        " Answers that are not counted did not occur."
    ),
    False: (
        "Coverage is the share of all training cases that meet the conditions."
        " The rule answers their mean; the standard deviation says how far they lie"
        " from it."
    ),
}


@dataclass(frozen=True, slots=True)
class RuleText:
    heading: str  # "R1: play = no"
    opening: str  # "If"
    conditions: tuple[str, ...]  # "outlook = sunny", "and humidity > 75"
    conclusion: str  # "**play = no**"
    evidence: str  # a table or a sentence


@dataclass(frozen=True, slots=True)
class Writer:
    """What every rule is written with."""

    target: str
    rules: RuleSet
    ordered: bool
    fractional: bool  # missing values are divided among the branches
    base: Stats | None
    total: float  # training weight; 0 where it is not known

    def distribution(self) -> str:
        if not isinstance(self.base, ClassCounts) or not self.total:
            return ""
        pairs = zip(self.rules.labels, self.base.weights, strict=True)
        rows = [
            [shown_value(label), words.amount(weight), share(weight, self.total)]
            for label, weight in pairs
        ]
        return table([self.target, "Cases", "Share"], rows)

    def reading(self, extracted: RuleSet) -> str:
        whom = "case whose values are known" if self.fractional else "case"
        text = (
            f"Exactly one rule applies to every {whom}, so their order does not matter."
        )
        if self.ordered:
            text = (
                "Read from the top: the first rule whose conditions all hold decides."
            )
        kept = {rule.id for rule in self.rules.rules}
        dropped = [rule.id for rule in extracted.rules if rule.id not in kept]
        if dropped:
            text += f" Left out, because no case can meet them: {listing(dropped)}."
        tests = [test for rule in self.rules.rules for test in rule.conditions]
        if any(test.op in (Op.LE, Op.GT) for test in tests):
            text += " A value equal to a threshold meets ≤ and not >."
        return text

    def all_rules(self, extracted: RuleSet) -> list[RuleText]:
        # Merged conditions no longer tell which test came last: the paths do.
        features = self.rules.features
        last = {
            rule.id: features[rule.conditions[-1].feature]
            for rule in extracted.rules
            if rule.conditions
        }
        return [
            self.rule(place, rule, last.get(rule.id))
            for place, rule in enumerate(self.rules.rules, start=1)
        ]

    def rule(self, place: int, rule: Rule, last: Feature | None) -> RuleText:
        conclusion = self.conclusion(rule)
        tests = words.conjunction(rule.conditions, self.rules.features, shown)
        opening = "Otherwise, if" if self.ordered and place > 1 else "If"
        return RuleText(
            heading=f"{f'{place}. ' if self.ordered else ''}{rule.id}: {conclusion}",
            opening=opening if tests else f"Always **{conclusion}**.",
            conditions=(*tests[:1], *(f"and {test}" for test in tests[1:])),
            conclusion=f"**{conclusion}**",
            evidence=self.evidence(rule) if rule.weight else self.stand_in(rule, last),
        )

    def conclusion(self, rule: Rule) -> str:
        return f"{self.target} = {shown_value(rule.value)}"

    def evidence(self, rule: Rule) -> str:
        cells = {"Coverage": cases(rule.weight)}
        if self.total:
            cells["Coverage"] = (
                f"{words.amount(rule.weight)} of {cases(self.total)}"
                f" ({share(rule.weight, self.total)})"
            )
        stats = rule.stats
        if isinstance(stats, Moments):
            cells["Mean"] = rounded(stats.mean)
            cells["Standard deviation"] = deviation(stats)
        else:
            label = self.rules.labels.index(rule.value)
            right = stats.weights[label]
            cells["Confidence"] = (
                f"{words.amount(right)} of {cases(stats.weight)}"
                f" ({share(right, stats.weight)})"
            )
            if isinstance(self.base, ClassCounts) and self.base.weights[label]:
                usual = self.base.weights[label] / self.base.weight
                cells["Lift"] = f"{right / stats.weight / usual:.2f}"
            cells["Cases by answer"] = spread(stats, self.rules.labels)
        return table(list(cells), [list(cells.values())])

    def stand_in(self, rule: Rule, last: Feature | None) -> str:
        """A rule that no training case reached rests on others."""
        text = "No training case reached this rule."
        if not rule.stats.weight:
            return text
        whose = "other cases"
        if last is not None and not self.ordered:
            whose = f"cases that reached the test of {shown_name(last.name)}"
        return (
            f"{text} Its answer rests on the {words.amount(rule.stats.weight)} {whose}:"
            f" {spread(rule.stats, self.rules.labels)}."
        )

    def default(self) -> tuple[str, str]:
        if not self.ordered:
            return "The rules cover every case, so no default is ever used.", ""
        rule = self.rules.default
        text = f"A case that meets no rule is answered **{self.conclusion(rule)}**."
        if rule.weight:
            return text, self.evidence(rule)
        return f"{text} No training case was left to it.", ""
