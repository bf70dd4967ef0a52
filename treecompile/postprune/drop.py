"""Drop conditions from one rule, again and again the one whose loss does least harm.

Without a condition, a rule also takes the rows that fail that one and no other. To
count them for every condition at once is all there is to do: for labels on bits, 64
rows to a word, for numbers on the rows themselves, whose errors must be added up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from treecompile.bits import as_words, packed
from treecompile.cases import Cases
from treecompile.ir import Rule, RuleSet

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A rule as it is, and without each of its conditions in turn."""

    rows: float
    errors: float  # wrong answers, or the sum of the squared differences
    rows_without: Doubles
    errors_without: Doubles


# Which condition to drop, by its place among those left; None to stop.
Choice = Callable[[Trial], int | None]


@dataclass(frozen=True, slots=True)
class Dropped:
    kept: tuple[int, ...]  # places of the conditions that stay
    rows: float
    errors: float


class Attempts(Protocol):
    """What a rule does with some of its conditions; the others are gone."""

    def trial(self, kept: Sequence[int]) -> Trial: ...


class Dropping:
    """Drops conditions from the rules of a list, judged by some cases."""

    def __init__(self, rules: RuleSet, cases: Cases) -> None:
        self.rules, self.cases = rules, cases
        self.bits = cases.bits(rules)

    def drop(self, rule: Rule, choose: Choice) -> Dropped:
        """Drop conditions of a rule as long as there is one to choose."""
        attempts = self.attempts(rule)
        kept = list(range(len(rule.conditions)))
        trial = attempts.trial(kept)
        while kept:
            chosen = choose(trial)
            if chosen is None:
                break
            del kept[chosen]
            trial = attempts.trial(kept)
        return Dropped(tuple(kept), trial.rows, trial.errors)

    def attempts(self, rule: Rule) -> Attempts:
        errors, counts = self.cases.errors(rule.value, self.rules), self.cases.counts
        if not self.rules.labels or counts is not None:
            return _Sums(self.bits.table(rule.conditions), errors, counts)
        truth = [as_words(self.bits.of(c)) for c in rule.conditions]
        wrong = as_words(packed(errors > 0))
        return _Counts(truth, wrong, as_words(self.bits.of_all(())))


class _Counts:
    """For labels: which rows satisfy each condition, and which are answered wrongly."""

    def __init__(
        self,
        truth: Sequence[NDArray[np.uint64]],
        wrong: NDArray[np.uint64],
        everything: NDArray[np.uint64],
    ) -> None:
        # Lines of ones around the conditions spare the ends a case of their own.
        self.truth = np.stack([everything, *truth, everything])
        self.wrong = wrong

    def trial(self, kept: Sequence[int]) -> Trial:
        truth = self.truth[[0, *(place + 1 for place in kept), -1]]
        before = np.bitwise_and.accumulate(truth, axis=0)
        behind = np.bitwise_and.accumulate(truth[::-1], axis=0)[::-1]
        # All rows of the rule; then those that satisfy all conditions but one.
        taken = np.concatenate([before[-1:], before[:-2] & behind[2:]])
        rows = np.bitwise_count(taken).sum(axis=1, dtype=np.int64)
        taken &= self.wrong
        errors = np.bitwise_count(taken).sum(axis=1, dtype=np.int64)
        return Trial(
            float(rows[0]),
            float(errors[0]),
            rows[1:].astype(np.float64),
            errors[1:].astype(np.float64),
        )


class _Sums:
    """For numbers, and for rows that stand for many: how many conditions each fails,
    what its answer costs, and how many it is."""

    def __init__(
        self, truth: NDArray[np.uint8], errors: Doubles, counts: Doubles | None
    ) -> None:
        self.fails, self.errors, self.counts = truth ^ 1, errors, counts

    def trial(self, kept: Sequence[int]) -> Trial:
        fails = self.fails[list(kept)]
        failed = fails.sum(axis=0, dtype=np.uint32)
        own, near = np.flatnonzero(failed == 0), np.flatnonzero(failed == 1)
        counts = self.counts
        rows = float(len(own) if counts is None else counts[own].sum())
        cost = float(self.errors[own].sum())
        if not kept:
            return Trial(rows, cost, np.zeros(0), np.zeros(0))
        which = fails[:, near].argmax(axis=0)
        times = None if counts is None else counts[near]
        more = np.bincount(which, times, minlength=len(kept))
        dearer = np.bincount(which, self.errors[near], minlength=len(kept))
        return Trial(
            rows,
            cost,
            np.asarray(rows + more, np.float64),
            np.asarray(cost + dearer, np.float64),
        )
