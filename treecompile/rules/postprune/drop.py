"""Drops conditions from rules and recounts rules, for both ways of post-pruning.

A rule without one of its conditions also takes the rows that fail only that condition.
So it is enough to count, for all conditions at once, the rows that fail exactly one.
For labels this is done on bits, 64 rows to a word. For numbers, whose squared errors
must be summed, it is done on the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from treecompile.measure.cases import Cases, as_words, packed
from treecompile.model.arrays import Array, Floats
from treecompile.model.ir import Rule, RuleSet, Stats

Progress = Callable[[int], None]  # takes the number of rows a rule was tried on

# How many rows a rule takes, and its errors on them (wrong answers, or the sum of
# squared errors): first for the whole rule, then without each of its conditions.
Counted = tuple[Floats, Floats]
# Returns which of the remaining conditions to drop; None to stop.
ChooseRemoval = Callable[[Floats, Floats], int | None]


@dataclass(frozen=True, slots=True)
class ShortenedRule:
    kept: tuple[int, ...]  # positions of the conditions that remain
    rows: float
    errors: float


class Dropping:
    """Drops conditions from the rules of a list, judged by some cases."""

    def __init__(self, rules: RuleSet, cases: Cases) -> None:
        self.rules, self.cases = rules, cases
        self.bits = cases.bits(rules)

    def drop(self, rule: Rule, choose: ChooseRemoval) -> ShortenedRule:
        """Drop one condition after the other until `choose` stops."""
        count = self._counter(rule)
        kept = list(range(len(rule.conditions)))
        rows, errors = count(kept)
        while kept:
            chosen = choose(rows, errors)
            if chosen is None:
                break
            del kept[chosen]
            rows, errors = count(kept)
        return ShortenedRule(tuple(kept), float(rows[0]), float(errors[0]))

    def _counter(self, rule: Rule) -> Callable[[Sequence[int]], Counted]:
        """Return a function that counts a rule with some of its conditions."""
        errors = self.cases.errors(rule.value, self.rules)
        if not self.rules.labels:
            fails = self.bits.table(rule.conditions) ^ 1
            return lambda kept: _count_rows(fails[list(kept)], errors)
        every = self.bits.of_all(())
        # With a line of ones at either end, the first and the last condition are no
        # special cases.
        lines = [every, *map(self.bits.of, rule.conditions), every]
        truth, wrong = as_words(np.stack(lines)), as_words(packed(errors > 0))
        return lambda kept: _count_bits(truth[[0, *(k + 1 for k in kept), -1]], wrong)


def _count_bits(truth: NDArray[np.uint64], wrong: NDArray[np.uint64]) -> Counted:
    """Count for labels, from the rows that meet each condition and are wrong."""
    before = np.bitwise_and.accumulate(truth, axis=0)
    after = np.bitwise_and.accumulate(truth[::-1], axis=0)[::-1]
    # First the rows that meet all conditions, then those that meet all but one.
    taken = np.concatenate([before[-1:], before[:-2] & after[2:]])
    rows = np.bitwise_count(taken).sum(axis=1, dtype=np.int64)
    taken &= wrong
    errors = np.bitwise_count(taken).sum(axis=1, dtype=np.int64)
    return rows.astype(np.float64), errors.astype(np.float64)


def _count_rows(fails: Array, errors: Floats) -> Counted:
    """Count for numbers, from the conditions each row fails."""
    failed = fails.sum(axis=0, dtype=np.uint32)
    own, near = np.flatnonzero(failed == 0), np.flatnonzero(failed == 1)
    own_rows, own_errors = float(len(own)), float(errors[own].sum())
    if not len(fails):
        return np.array([own_rows]), np.array([own_errors])
    which = fails[:, near].argmax(axis=0)
    more_rows = np.bincount(which, minlength=len(fails))
    more_errors = np.bincount(which, errors[near], minlength=len(fails))
    rows, costs = np.append(0.0, more_rows), np.append(0.0, more_errors)
    return own_rows + rows, own_errors + costs


def recounted(rules: RuleSet, cases: Cases) -> RuleSet:
    """Return the rules, each with the statistics of the cases that meet it.

    A rule that no case meets keeps its statistics, with a weight of 0. The default gets
    the statistics of the cases that no rule takes.
    """
    bits = cases.bits(rules)
    left = np.ones(cases.rows, np.bool_)
    counted: list[Rule] = []
    for rule in rules.rules:
        mask = bits.mask(rule.conditions)
        left &= ~mask
        counted.append(_with_stats(rule, cases.stats(mask, rules)))
    default = _with_stats(rules.default, cases.stats(left, rules))
    return replace(rules, rules=tuple(counted), default=default)


def _with_stats(rule: Rule, stats: Stats | None) -> Rule:
    if stats is None:
        return replace(rule, weight=0.0)
    return replace(rule, stats=stats, weight=stats.weight)
