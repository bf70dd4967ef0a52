"""Every rule: its conditions, its conclusion, and the cases it rests on.

A few rules get a section each. Many rules become rows of tables (see `groups`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from treecompile.emit.markdown import md
from treecompile.emit.markdown.quality import counted
from treecompile.model import ir, words
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import is_fractional
from treecompile.model.words import Rounding, rounded
from treecompile.rules.language.evidence import has_counts

BY_HAND = "No case was counted for this rule: it was written or edited by hand."
EVIDENCE_NOTES = {
    True: (
        "Coverage is the share of all {} cases that meet the conditions."
        " Confidence is the share of these that have the rule's answer. Lift is"
        " confidence divided by the share of that answer among all cases."
        " Answers that are not listed did not occur."
    ),
    False: (
        "Coverage is the share of all {} cases that meet the conditions."
        " Mean and standard deviation are those of these cases."
    ),
}


@dataclass(frozen=True, slots=True)
class RuleText:
    heading: str  # R1: play = no
    opening: str  # If; or: Otherwise, if; or: Always **play = no**.
    conditions: tuple[str, ...]  # ("outlook = sunny", "and humidity > 75")
    conclusion: str  # **play = no**
    evidence: str  # a table, or a sentence if no case reached the rule


class RuleWriter:
    """Writes rules for readers who do not program."""

    def __init__(
        self, program: ir.Program, rules: ir.RuleSet, base: ir.Stats | None
    ) -> None:
        body = program.body
        self.rules = rules
        self.rounding = Rounding(c for rule in rules.rules for c in rule.conditions)
        self.target = md.name(program.target)
        self.ordered = isinstance(body, ir.RuleSet)  # the first rule that holds decides
        self.fractional = is_fractional(body)  # missing values are divided
        # The cases that were counted, their statistics (or None) and number (or 0).
        self.whose, self.base, self.total = counted(program, base)
        self.last = _last_tests(body) if isinstance(body, ir.Tree) else {}
        self.phrase = cache(self._phrase)

    def note(self) -> str:
        return EVIDENCE_NOTES[bool(self.rules.labels)].format(self.whose)

    def distribution(self) -> str:
        if not isinstance(self.base, ir.ClassCounts) or not self.total:
            return ""
        if self.whose != "training":
            return ""  # the section is about the training data
        pairs = zip(self.rules.labels, self.base.weights, strict=True)
        rows = [
            [md.value(label), words.amount(weight), md.share(weight, self.total)]
            for label, weight in pairs
        ]
        return md.table([self.target, "Cases", "Share"], rows)

    def reading(self, dropped: Sequence[str]) -> str:
        whom = "case whose values are known" if self.fractional else "case"
        text = (
            f"Exactly one rule applies to every {whom}, so their order does not matter."
        )
        if self.ordered:
            text = (
                "Read from the top: the first rule whose conditions all hold decides."
            )
        if dropped:
            text += f" Left out, because no case can meet them: {md.listing(dropped)}."
        tests = (test for rule in self.rules.rules for test in rule.conditions)
        if any(test.op in (ir.Op.LE, ir.Op.GT) for test in tests):
            text += " A value equal to a threshold meets ≤ and not >."
        return text

    # ------------------------------------------------------------ one by one

    def rule(self, place: int, rule: ir.Rule) -> RuleText:
        conclusion = self.conclusion(rule)
        tests = [self.tests(group) for group in words.by_feature(rule.conditions)]
        opening = "Otherwise, if" if self.ordered and place > 1 else "If"
        return RuleText(
            heading=f"{f'{place}. ' if self.ordered else ''}{rule.id}: {conclusion}",
            opening=opening if tests else f"Always **{self.exactly(rule)}**.",
            conditions=(*tests[:1], *(f"and {test}" for test in tests[1:])),
            conclusion=f"**{self.exactly(rule)}**",
            evidence=self.evidence(rule) if rule.weight else self.stand_in(rule),
        )

    def tests(self, tests: Sequence[ir.Condition]) -> str:
        """Tests of one feature: "heat > 20.3 (exactly 20.299999)"."""
        index = tests[0].feature
        feature, figure = self.rules.features[index], self.rounding.figure(index)
        exact = words.phrase(tests, feature, md.shown)
        short = words.phrase(tests, feature, md.shown, figure)
        if short == exact:
            return exact
        edges = [t.value for t in tests if isinstance(t.value, float)]
        numbers = " and ".join(words.number(edge) for edge in edges)
        return f"{short} (exactly {numbers})"

    def conclusion(self, rule: ir.Rule) -> str:
        return f"{self.target} = {md.answer(rule.value, self.rules.labels)}"

    def exactly(self, rule: ir.Rule) -> str:
        """The conclusion; behind a rounded answer follows the exact one."""
        exact, said = md.value(rule.value), self.conclusion(rule)
        return said if said.endswith(f"= {exact}") else f"{said} (exactly {exact})"

    # ------------------------------------------------------------ in few words

    def brief(
        self, conditions: Sequence[ir.Condition], common: Sequence[ir.Condition] = ()
    ) -> str:
        """Conditions on one line, exact, without those in `common`."""
        shared = set(words.by_feature(common))
        groups = (g for g in words.by_feature(conditions) if g not in shared)
        return " and ".join(map(self.phrase, groups))

    def _phrase(self, tests: tuple[ir.Condition, ...]) -> str:
        return words.phrase(tests, self.rules.features[tests[0].feature], md.shown)

    def heads(self) -> list[str]:
        """The head of a table of rules."""
        heads = ["Rule", "If", self.target, "Coverage"]
        if not self.rules.labels:
            return [*heads, "Standard deviation"]
        return [*heads, "Confidence", *(["Lift"] if self.lifts else []), "By answer"]

    def row(self, rule: ir.Rule, common: Sequence[ir.Condition]) -> list[str]:
        """A rule as a row of that table."""
        tests = self.brief(rule.conditions, common)
        said = md.answer(rule.value, self.rules.labels)
        row = [rule.id, tests or "always", said]
        stats = rule.stats
        if not rule.weight:
            width = len(self.heads()) - len(row)
            return [*row, *[""] * (width - 1), self.stand_in(rule)]
        row.append(words.amount(rule.weight))
        if self.total:
            row[-1] += f" ({md.share(rule.weight, self.total)})"
        if isinstance(stats, ir.Moments):
            return [*row, md.deviation(stats)]
        right = stats.weights[self.rules.labels.index(rule.value)]
        lift = [self.lift(rule)] if self.lifts else []
        answers = md.spread(stats, self.rules.labels)
        return [*row, md.share(right, stats.weight), *lift, answers]

    @property
    def lifts(self) -> bool:
        """Whether the frequency of each answer is known."""
        return isinstance(self.base, ir.ClassCounts) and self.base.weight > 0

    def lift(self, rule: ir.Rule) -> str:
        assert isinstance(self.base, ir.ClassCounts)
        assert isinstance(rule.stats, ir.ClassCounts)
        label = self.rules.labels.index(rule.value)
        usual = self.base.weights[label] / self.base.weight
        own = rule.stats.weights[label] / rule.stats.weight
        return f"{own / usual:.2f}" if usual else "undefined"

    # ------------------------------------------------------------ evidence

    def evidence(self, rule: ir.Rule) -> str:
        cells = {"Coverage": words.quantity(rule.weight)}
        if self.total:
            cells["Coverage"] = (
                f"{words.amount(rule.weight)} of {words.quantity(self.total)}"
                f" ({md.share(rule.weight, self.total)})"
            )
        stats = rule.stats
        if isinstance(stats, ir.Moments):
            cells["Mean"] = rounded(stats.mean)
            cells["Standard deviation"] = md.deviation(stats)
        else:
            right = stats.weights[self.rules.labels.index(rule.value)]
            cells["Confidence"] = (
                f"{words.amount(right)} of {words.quantity(stats.weight)}"
                f" ({md.share(right, stats.weight)})"
            )
            if self.lifts:
                cells["Lift"] = self.lift(rule)
            cells["Cases by answer"] = md.spread(stats, self.rules.labels)
        return md.table_of([cells])

    def stand_in(self, rule: ir.Rule) -> str:
        """A sentence for a rule that no case reached: which cases it rests on."""
        if not has_counts(rule, self.rules.labels) and self.ordered:
            return BY_HAND
        text = f"No {self.whose} case reached this rule."
        if not rule.stats.weight:
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
        text = f"A case that meets no rule gets **{self.exactly(rule)}**."
        if rule.weight:
            return text, self.evidence(rule)
        return f"{text} No {self.whose} case reached it.", ""


def _last_tests(tree: ir.Tree) -> dict[str, ir.Feature]:
    """The feature of the split above each leaf, by the id of the leaf's rule."""
    ids = rule_ids(tree)
    return {
        ids[branch.then]: tree.features[branch.when.feature]
        for node in tree.nodes
        if isinstance(node, ir.Split)
        for branch in node.branches
        if branch.then in ids
    }
