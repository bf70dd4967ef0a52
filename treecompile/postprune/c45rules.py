"""Rules from a tree and its training cases alone, as c4.5rules makes them.

Conditions are dropped while the pessimistic or the actual error on the training cases
does not rise; for each label the set of rules with the shortest description is chosen;
labels are ordered by the cases that their rules wrongly take, rules by their error; the
default answers what is most common among the cases left; rules that do more harm than
good go last. In all this a missing value, or one never seen, meets no condition, and so
it stays: the rules that come out have no mark for missing values.

The work is bounded. Dropping conditions is linear in rules x conditions x cases; the
choice of rules stops after `choice.BUDGET`, the removal of harmful rules after
`arrange.BUDGET`. Both count steps, not seconds: the result does not depend on the
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treecompile.cases import Cases
from treecompile.errors import OptionError
from treecompile.ir import Condition, Feature, Op, Rule, RuleSet
from treecompile.learners.c45_errors import added_errors
from treecompile.passes import RULE_PASSES, apply_rule_passes
from treecompile.passes.number import number
from treecompile.postprune import choice
from treecompile.postprune.arrange import (
    Candidate,
    default_label,
    in_order,
    without_harm,
)
from treecompile.postprune.choice import choose_rules
from treecompile.postprune.coding import RuleCoding, bits_of_tests
from treecompile.postprune.drop import Dropping, Trial
from treecompile.postprune.evidence import with_evidence
from treecompile.semantics import members

Progress = Callable[[int], None]  # takes the rows that a rule was tried on

Doubles = NDArray[np.float64]

DIGITS = 12
WORST = 0.7  # a rule with a greater error never decides
LEAST = 1.0  # cases that a leaf needs for a rule


def c45rules(
    rules: RuleSet,
    cases: Cases,
    cf: float = 0.25,
    seed: int = 0,
    progress: Progress = lambda done: None,
    tests: Sequence[float] | None = None,
) -> RuleSet:
    """Prune the rules of a tree by the cases that it was learned from.

    `tests` has the bits of a test of each feature, if the cases do not tell: they stand
    for others, whose values are not known.
    """
    check_labels(rules)
    if tests is None:
        tests = bits_of_tests(rules.features, cases.columns)
    cases = replace(cases, y=cases.y.astype(np.intp))
    candidates = _candidates(rules, cases, cf, progress)
    chosen = _chosen(candidates, RuleCoding(rules.features, tests), rules, cases, seed)
    ordered = in_order(chosen, cases, len(rules.labels))
    default = default_label(ordered, cases, len(rules.labels))
    firing = [rule for rule in ordered if rule.error <= WORST]
    final = without_harm(firing, default, cases)
    made = replace(
        rules,
        rules=tuple(
            Rule(
                f"R{place}",
                rule.conditions,
                rules.labels[rule.label],
                rules.default.stats,
                0.0,
            )
            for place, rule in enumerate(final, start=1)
        ),
        default=replace(rules.default, value=rules.labels[default]),
    )
    return with_evidence(number(apply_rule_passes(made, RULE_PASSES)), cases)


def check_labels(rules: RuleSet) -> None:
    if not rules.labels:
        raise OptionError(
            "c4.5rules is for labels, and the model predicts a number: prune against"
            " a validation set"
        )


def strict(condition: Condition, feature: Feature) -> Condition:
    """The condition with nothing beside what it names: no missing, no unseen value."""
    op, value = condition.op, condition.value
    if op is Op.NOT_IN:
        barred = set(members(condition))
        op, value = Op.IN, tuple(c for c in feature.categories if c not in barred)
    return Condition(condition.feature, op, value, missing=False)


def _candidates(
    rules: RuleSet, cases: Cases, cf: float, progress: Progress
) -> list[Candidate]:
    """The pruned rules that are worth anything, each once, numbered in order."""
    dropping = Dropping(rules, cases)
    frequency = cases.by_label(np.ones(cases.rows, np.bool_), len(rules.labels))
    found: dict[tuple[int, frozenset[Condition]], Candidate] = {}
    for rule in rules.rules:
        progress(cases.rows)
        if rule.weight < LEAST - 1e-9:
            continue
        label = rules.labels.index(rule.value)
        worst = 1 - (float(frequency[label]) + 1) / (cases.total + 2)
        conditions = [strict(c, rules.features[c.feature]) for c in rule.conditions]
        estimate = _Estimate(worst, cf)
        left = dropping.drop(
            replace(rule, conditions=tuple(conditions)), estimate.choose
        )
        kept = tuple(
            sorted((conditions[place] for place in left.kept), key=lambda c: c.feature)
        )
        counts = np.array([left.rows]), np.array([left.errors])
        error = float(estimate.pessimistic(*counts)[0])
        if not kept or not left.rows or error >= worst:
            continue
        key = label, frozenset(kept)
        if key in found:
            error = max(error, found[key].error)
            found[key] = replace(found[key], error=error)
            continue
        takes = dropping.bits.of_all(kept)
        found[key] = Candidate(len(found) + 1, label, kept, error, takes, cases.rows)
    return list(found.values())


class _Estimate:
    """The errors to expect of a rule, from those it makes in training."""

    def __init__(self, worst: float, cf: float) -> None:
        self.worst, self.cf = worst, cf

    def pessimistic(self, rows: Doubles, errors: Doubles) -> Doubles:
        """As shares of the rows; that of the default where there is no row."""
        some = np.maximum(rows, 1.0)
        expected = (errors + added_errors(some, errors, self.cf)) / some
        # Powers differ in their last bits between processors: the rules must not.
        return np.where(rows > 0, expected, self.worst).round(DIGITS)

    def choose(self, trial: Trial) -> int | None:
        """Drop the condition without which the least error is to be expected."""
        rows = np.append(trial.rows_without, trial.rows)
        errors = np.append(trial.errors_without, trial.errors)
        expected = self.pessimistic(rows, errors)
        seen = errors / np.maximum(rows, 1.0)
        least = expected[:-1].min()
        if least > expected[-1] and seen[:-1].min() > seen[-1]:
            return None
        return int(np.flatnonzero(expected[:-1] == least)[-1])


def _chosen(
    candidates: list[Candidate],
    coding: RuleCoding,
    rules: RuleSet,
    cases: Cases,
    seed: int,
) -> list[Candidate]:
    """For each label the set of rules with the shortest description."""
    groups = [
        [rule for rule in candidates if rule.label == label]
        for label in range(len(rules.labels))
    ]
    searched = sum(len(group) > choice.EXHAUSTIVE for group in groups)
    result: list[Candidate] = []
    for label, group in enumerate(groups):
        if not group:
            continue
        takes = np.stack([rule.takes for rule in group])
        bits = np.array([coding.rule(rule.conditions) for rule in group])
        budget = choice.BUDGET // max(1, searched)
        is_label = cases.y == label
        kept = choose_rules(takes, is_label, bits, seed, budget, cases.counts)
        result += [rule for rule, keep in zip(group, kept, strict=True) if keep]
    return result
