"""Chooses the rules that a document shows, and collects facts about all rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest

from treecompile.emit.options import MOST_RULES
from treecompile.model import ir
from treecompile.model.evidence import Evidence, by_id, rows_of_leaves
from treecompile.model.paths import leaf_count, outcomes, rule_ids
from treecompile.model.semantics import conditions, required_features
from treecompile.rules.extract import (
    Tests,
    flatten,
    merged_tests,
    reachable,
    rules_of_leaves,
)

SHOWN = 100  # rules in a summary
COMPARISONS = (ir.Op.LE, ir.Op.GT)


@dataclass(frozen=True, slots=True)
class RuleSurvey:
    """Facts about all rules, including those that are not shown."""

    ids: list[str]  # in their order, without the default
    dropped: list[str]  # ids of rules that no row can meet
    features: list[int]  # those that some rule tests, in the order of columns
    compares: bool  # whether some test is <= or >
    takes_missing: bool  # whether a missing value passes some test


@dataclass(frozen=True, slots=True)
class ShownRules:
    rules: ir.RuleSet  # in a summary of a tree, the most frequent ones
    rows: Mapping[str, Evidence]  # what each of them decides
    survey: RuleSurvey
    tests: Sequence[Tests | None]  # for each node of a tree; () in a summary
    is_summary: bool


def shown_rules(program: ir.Program, *, is_full: bool) -> ShownRules:
    """Return the rules of the document.

    No pass joins or reorders them: each rule has the same id as in all other artefacts
    of the model.
    """
    body = program.body
    tests: Sequence[Tests | None] = ()
    if isinstance(body, ir.Tree):
        if not is_full and leaf_count(body) > MOST_RULES:
            leaves = LeafSurvey(body)
            rules, rows = leaves.frequent(program)
            survey = leaves.survey()
            if len(survey.ids) > MOST_RULES:
                return ShownRules(rules, rows, survey, (), is_summary=True)
        tests = merged_tests(body)
    rules = flatten(body, tests)
    is_summary = not is_full and len(rules.rules) > MOST_RULES
    return ShownRules(rules, by_id(program), _survey(body, rules), tests, is_summary)


def _survey(body: ir.Body, rules: ir.RuleSet) -> RuleSurvey:
    """Survey rules that are all at hand; other rules of the body count as dropped."""
    ids = [rule.id for rule in rules.rules]
    kept = {*ids, rules.default.id}
    # The rules of a tree share most of their tests.
    tests = {id(test): test for rule in rules.rules for test in rule.conditions}
    return RuleSurvey(
        ids,
        [rule.id for rule in outcomes(body).values() if rule.id not in kept],
        sorted({test.feature for test in tests.values()}),
        any(test.op in COMPARISONS for test in tests.values()),
        any(test.missing for test in tests.values()),
    )


class LeafSurvey:
    """Surveys a large tree, whose rules are never in memory all at once."""

    def __init__(self, tree: ir.Tree) -> None:
        self.tree = tree
        self.ids = rule_ids(tree)
        self.leaves: list[int] = []  # those that some row reaches
        self.features: set[int] = set()
        self.compares = self.takes_missing = False

    def frequent(self, program: ir.Program) -> tuple[ir.RuleSet, dict[str, Evidence]]:
        """Return the rules that decide most rows, in order, and what each decides."""
        rows = rows_of_leaves(program, self.tree)
        found = dict(nlargest(SHOWN, self._seen(), key=lambda each: rows[each[0]]))
        chosen = {leaf: self.ids[leaf] for leaf in self.leaves if leaf in found}
        rules = rules_of_leaves(self.tree, found, chosen)
        shown = dict(zip(chosen, rules.rules, strict=True))
        return rules, by_id(program, shown)

    def _seen(self) -> Iterator[tuple[int, Tests]]:
        required = len(required_features(self.tree))
        # Merged tests accept a missing value only if all of them did.
        is_asked = any(test.missing for test in conditions(self.tree))
        for leaf, tests in reachable(self.tree):
            self.leaves.append(leaf)
            if len(self.features) < required:
                self.features |= {index for index, group in tests.items() if group}
            if not self.compares:
                merged = (test for group in tests.values() for test in group)
                self.compares = any(test.op in COMPARISONS for test in merged)
            if is_asked and not self.takes_missing:
                merged = (test for group in tests.values() for test in group)
                self.takes_missing = any(test.missing for test in merged)
            yield leaf, tests.copy()

    def survey(self) -> RuleSurvey:
        """Return the facts that `frequent` has collected."""
        kept = set(self.leaves)
        return RuleSurvey(
            [self.ids[leaf] for leaf in self.leaves],
            [name for leaf, name in self.ids.items() if leaf not in kept],
            sorted(self.features),
            self.compares,
            self.takes_missing,
        )
