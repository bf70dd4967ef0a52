"""Prunes the rules of a tree by its training cases alone, as c4.5rules does.

1. Each rule loses conditions while its pessimistic or its actual error rate on the
   training cases does not rise.
2. For each label, the set of rules with the minimum description length is chosen.
3. Labels are ordered by the cases their rules take wrongly; rules of a label, by their
   error rate.
4. The default is the most common label of the cases that no rule takes.
5. Rules that harm more cases than they help are removed.

A missing or unseen value meets no condition, here and in the resulting rules.

The work is bounded by steps and not by seconds, so the result does not depend on the
machine. Step 1 is linear in rules x conditions x cases, step 2 stops after
`description_length.BUDGET`, and step 5 after HARM_BUDGET.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecompile.measure.cases import Bits, Cases, unpacked
from treecompile.measure.statistics import added_errors
from treecompile.model.arrays import Floats, Mask
from treecompile.model.errors import OptionError
from treecompile.model.ir import Condition, Feature, Op, Rule, RuleSet
from treecompile.model.semantics import members
from treecompile.rules.passes import RULE_PASSES, apply_rule_passes
from treecompile.rules.passes.number import number
from treecompile.rules.postprune.description_length import (
    BUDGET,
    EXHAUSTIVE,
    RuleCoding,
    bits_of_tests,
    choose_rules,
)
from treecompile.rules.postprune.drop import Dropping, Progress, recounted

DIGITS = 12
MAX_ERROR = 0.7  # a rule with a greater error rate is never used
MIN_WEIGHT = 1.0  # cases that a leaf needs to become a rule
HARM_BUDGET = 5_000_000_000  # cells of rules x cases that step 5 looks at


@dataclass(frozen=True, slots=True, eq=False)
class CandidateRule:
    """A pruned rule for a label."""

    number: int
    label: int  # position in the labels
    conditions: tuple[Condition, ...]
    error: float  # pessimistic error rate
    takes: Bits  # the cases that meet its conditions


def c45rules(
    rules: RuleSet,
    cases: Cases,
    cf: float = 0.25,
    progress: Progress = lambda done: None,
) -> RuleSet:
    """Prune the rules of a tree by the cases it was learned from."""
    if not rules.labels:
        raise OptionError(
            "c4.5rules is for labels, and the model predicts a number: prune with a"
            " validation set"
        )
    cases = replace(cases, y=cases.y.astype(np.intp))
    labels = len(rules.labels)
    candidates = _candidates(rules, cases, cf, progress)
    tests = bits_of_tests(rules.features, cases.columns)
    coding = RuleCoding(rules.features, tests)
    ordered = in_order(_chosen(candidates, coding, labels, cases), cases, labels)
    default = default_label(ordered, cases, labels)
    usable = [rule for rule in ordered if rule.error <= MAX_ERROR]
    final = without_harm(usable, default, cases)
    stats = rules.default.stats  # recounted below
    made = replace(
        rules,
        rules=tuple(
            Rule(f"R{i}", rule.conditions, rules.labels[rule.label], stats, 0.0)
            for i, rule in enumerate(final, start=1)
        ),
        default=replace(rules.default, value=rules.labels[default]),
    )
    return recounted(number(apply_rule_passes(made, RULE_PASSES)), cases)


# ---------------------------------------------------------------- 1. conditions


def strict(condition: Condition, feature: Feature) -> Condition:
    """Return the condition without missing and unseen values: only named ones."""
    op, value = condition.op, condition.value
    if op is Op.NOT_IN:
        excluded = set(members(condition))
        op, value = Op.IN, tuple(c for c in feature.categories if c not in excluded)
    return Condition(condition.feature, op, value, missing=False)


def _candidates(
    rules: RuleSet, cases: Cases, cf: float, progress: Progress
) -> list[CandidateRule]:
    """Return the pruned rules that are better than the default, without duplicates."""
    dropping = Dropping(rules, cases)
    frequency = cases.by_label(np.ones(cases.rows, np.bool_), len(rules.labels))
    found: dict[tuple[int, frozenset[Condition]], CandidateRule] = {}
    for rule in rules.rules:
        progress(cases.rows)
        if rule.weight < MIN_WEIGHT - 1e-9:
            continue
        label = rules.labels.index(rule.value)
        default_error = 1 - (float(frequency[label]) + 1) / (cases.rows + 2)
        conditions = [strict(c, rules.features[c.feature]) for c in rule.conditions]
        estimate = _ErrorEstimate(default_error, cf)
        short = dropping.drop(
            replace(rule, conditions=tuple(conditions)), estimate.choose_removal
        )
        remaining = (conditions[position] for position in short.kept)
        kept = tuple(sorted(remaining, key=lambda c: c.feature))
        counts = np.array([short.rows]), np.array([short.errors])
        error = float(estimate.pessimistic(*counts)[0])
        if not kept or not short.rows or error >= default_error:
            continue
        key = label, frozenset(kept)
        if key in found:
            error = max(error, found[key].error)
            found[key] = replace(found[key], error=error)
            continue
        takes = dropping.bits.of_all(kept)
        found[key] = CandidateRule(len(found) + 1, label, kept, error, takes)
    return list(found.values())


class _ErrorEstimate:
    """Estimates the error rate to expect of a rule, from its errors in training."""

    def __init__(self, default_error: float, cf: float) -> None:
        self.default_error, self.cf = default_error, cf

    def pessimistic(self, rows: Floats, errors: Floats) -> Floats:
        """Return pessimistic error rates; without a row, that of the default."""
        some = np.maximum(rows, 1.0)
        expected = (errors + added_errors(some, errors, self.cf)) / some
        # Rounded, because the last bits of a power depend on the processor.
        return np.where(rows > 0, expected, self.default_error).round(DIGITS)

    def choose_removal(self, rows: Floats, errors: Floats) -> int | None:
        """Choose the condition without which the expected error rate is lowest."""
        expected = self.pessimistic(rows, errors)
        actual = errors / np.maximum(rows, 1.0)
        least = expected[1:].min()
        if least > expected[0] and actual[1:].min() > actual[0]:
            return None
        return int(np.flatnonzero(expected[1:] == least)[-1])


# ---------------------------------------------------------------- 2. choice


def _chosen(
    candidates: Sequence[CandidateRule], coding: RuleCoding, labels: int, cases: Cases
) -> list[CandidateRule]:
    """Choose the set of rules with the minimum description length for each label."""
    groups = _by_label(candidates, labels)
    searched = sum(len(group) > EXHAUSTIVE for group in groups.values())
    budget = BUDGET // max(1, searched)
    result: list[CandidateRule] = []
    for label, group in groups.items():
        takes = np.stack([rule.takes for rule in group])
        bits = np.array([coding.rule(rule.conditions) for rule in group])
        is_label = cases.y == label
        kept = choose_rules(takes, is_label, bits, budget)
        result += [rule for rule, keep in zip(group, kept, strict=True) if keep]
    return result


def _by_label(
    rules: Sequence[CandidateRule], labels: int
) -> dict[int, list[CandidateRule]]:
    groups = {label: [r for r in rules if r.label == label] for label in range(labels)}
    return {label: group for label, group in groups.items() if group}


# ---------------------------------------------------------------- 3, 4. order


def in_order(
    chosen: Sequence[CandidateRule], cases: Cases, labels: int
) -> list[CandidateRule]:
    """Sort the rules label by label, within a label by error; ties keep their order.

    The next label is the one whose rules wrongly take the fewest remaining cases.
    """
    y = cases.y
    groups = _by_label(chosen, labels)
    taken = {label: _taken(group, cases) for label, group in groups.items()}
    left = np.ones(len(y), np.bool_)
    result: list[CandidateRule] = []
    while groups:
        wrong = {
            label: np.count_nonzero(taken[label] & left & (y != label))
            for label in groups
        }
        label = min(groups, key=lambda other: (wrong[other], other))
        result += sorted(groups.pop(label), key=lambda rule: (rule.error, rule.number))
        left &= ~taken[label]
    return result


def _taken(rules: Sequence[CandidateRule], cases: Cases) -> Mask:
    """Mark the cases that meet the conditions of any of the rules."""
    return _mask(np.bitwise_or.reduce([rule.takes for rule in rules]), cases)


def _mask(takes: Bits, cases: Cases) -> Mask:
    return unpacked(takes, cases.rows).view(np.bool_)


def default_label(rules: Sequence[CandidateRule], cases: Cases, labels: int) -> int:
    """Return the most common label of cases no rule takes; ties: the more frequent."""
    every = np.ones(cases.rows, np.bool_)
    left = every & ~_taken(rules, cases) if rules else every
    free = cases.by_label(left, labels)
    frequency = cases.by_label(every, labels)
    return max(range(labels), key=lambda label: (free[label], frequency[label], -label))


# ---------------------------------------------------------------- 5. harm


def without_harm(
    rules: Sequence[CandidateRule], default: int, cases: Cases
) -> list[CandidateRule]:
    """Remove the first rule that harms more cases than it helps, and repeat.

    After HARM_BUDGET cells the remaining rules stay.
    """
    kept = list(rules)
    budget = HARM_BUDGET
    while kept and budget > 0:
        budget -= len(kept) * cases.rows
        harmful = _first_harmful(kept, default, cases)
        if harmful is None:
            break
        del kept[harmful]
    return kept


def _first_harmful(
    rules: Sequence[CandidateRule], default: int, cases: Cases
) -> int | None:
    y = cases.y
    decided = np.full(len(y), len(rules))
    for place in reversed(range(len(rules))):
        decided[_mask(rules[place].takes, cases)] = place
    otherwise = np.full(len(y), default)  # the answer of the later rules or the default
    found = None
    for place in reversed(range(len(rules))):
        rule = rules[place]
        own = np.flatnonzero(decided == place)
        right = y[own] == rule.label
        right_without = y[own] == otherwise[own]
        harmed, helped = own[right_without & ~right], own[right & ~right_without]
        if len(harmed) > len(helped):
            found = place
        otherwise[_mask(rule.takes, cases)] = rule.label
    return found
