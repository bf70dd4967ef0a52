"""What both methods of post-pruning share: dropping conditions, and recounting.

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
from treecompile.model.ir import Rule, RuleSet, Stats

Doubles = NDArray[np.float64]
Progress = Callable[[int], None]  # takes the number of rows a rule was tried on


@dataclass(frozen=True, slots=True, eq=False)
class Removals:
    """A rule as it is, and without each of its conditions in turn."""

    rows: float
    errors: float  # wrong answers, or the sum of squared errors
    rows_without: Doubles  # one number per condition
    errors_without: Doubles


# Which of the remaining conditions to drop; None to stop.
ChooseRemoval = Callable[[Removals], int | None]


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
        counter = self._counter(rule)
        kept = list(range(len(rule.conditions)))
        counted = counter.removals(kept)
        while kept:
            chosen = choose(counted)
            if chosen is None:
                break
            del kept[chosen]
            counted = counter.removals(kept)
        return ShortenedRule(tuple(kept), counted.rows, counted.errors)

    def _counter(self, rule: Rule) -> _BitCounter | _RowCounter:
        errors, counts = self.cases.errors(rule.value, self.rules), self.cases.counts
        if not self.rules.labels or counts is not None:
            return _RowCounter(self.bits.table(rule.conditions), errors, counts)
        truth = [as_words(self.bits.of(c)) for c in rule.conditions]
        wrong = as_words(packed(errors > 0))
        return _BitCounter(truth, wrong, as_words(self.bits.of_all(())))


class _BitCounter:
    """For labels: which rows meet each condition, and which are answered wrongly."""

    def __init__(
        self,
        truth: Sequence[NDArray[np.uint64]],
        wrong: NDArray[np.uint64],
        everything: NDArray[np.uint64],
    ) -> None:
        # A line of ones at either end: then the first and last condition are no
        # special cases.
        self.truth = np.stack([everything, *truth, everything])
        self.wrong = wrong

    def removals(self, kept: Sequence[int]) -> Removals:
        truth = self.truth[[0, *(position + 1 for position in kept), -1]]
        before = np.bitwise_and.accumulate(truth, axis=0)
        after = np.bitwise_and.accumulate(truth[::-1], axis=0)[::-1]
        # First the rows that meet all conditions, then those that meet all but one.
        taken = np.concatenate([before[-1:], before[:-2] & after[2:]])
        rows = np.bitwise_count(taken).sum(axis=1, dtype=np.int64)
        taken &= self.wrong
        errors = np.bitwise_count(taken).sum(axis=1, dtype=np.int64)
        return Removals(
            float(rows[0]),
            float(errors[0]),
            rows[1:].astype(np.float64),
            errors[1:].astype(np.float64),
        )


class _RowCounter:
    """For numbers, and for rows with counts: how many conditions each row fails."""

    def __init__(
        self, truth: NDArray[np.uint8], errors: Doubles, counts: Doubles | None
    ) -> None:
        self.fails, self.errors, self.counts = truth ^ 1, errors, counts

    def removals(self, kept: Sequence[int]) -> Removals:
        fails = self.fails[list(kept)]
        failed = fails.sum(axis=0, dtype=np.uint32)
        own, near = np.flatnonzero(failed == 0), np.flatnonzero(failed == 1)
        counts = self.counts
        rows = float(len(own) if counts is None else counts[own].sum())
        errors = float(self.errors[own].sum())
        if not kept:
            return Removals(rows, errors, np.zeros(0), np.zeros(0))
        which = fails[:, near].argmax(axis=0)
        weights = None if counts is None else counts[near]
        more_rows = np.bincount(which, weights, minlength=len(kept))
        more_errors = np.bincount(which, self.errors[near], minlength=len(kept))
        return Removals(
            rows,
            errors,
            np.asarray(rows + more_rows, np.float64),
            np.asarray(errors + more_errors, np.float64),
        )


def recounted(rules: RuleSet, cases: Cases) -> RuleSet:
    """The rules, each with the statistics of the cases that meet its conditions.

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
