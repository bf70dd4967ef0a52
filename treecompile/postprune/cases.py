"""Rows with known answers, as post-pruning looks at them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns
from treecompile.bits import ConditionBits
from treecompile.ir import ClassCounts, Label, Moments, Rule, RuleSet, Stats

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Columns as `data.encode` makes them, and an answer for every row."""

    columns: Columns
    y: NDArray[Any]  # codes into the labels, or doubles

    @property
    def rows(self) -> int:
        return len(self.y)

    def bits(self, rules: RuleSet) -> ConditionBits:
        return ConditionBits(rules.features, self.columns, self.rows)

    def errors(self, value: Label, rules: RuleSet) -> Doubles:
        """What an answer costs on each row: 1 if wrong, or the squared difference."""
        if rules.labels:
            return np.asarray(self.y != rules.labels.index(value), np.float64)
        assert isinstance(value, float)
        return np.asarray((self.y - value) ** 2, np.float64)

    def stats(self, mask: NDArray[Any], rules: RuleSet) -> Stats | None:
        """What the answers of some rows are like; None if there are none."""
        answers = self.y[mask]
        if not len(answers):
            return None
        if rules.labels:
            counts = np.bincount(answers, minlength=len(rules.labels))
            return ClassCounts(tuple(map(float, counts)))
        mean = float(answers.mean())
        return Moments(float(len(answers)), mean, float(((answers - mean) ** 2).sum()))


def known_cases(columns: Columns, y: NDArray[Any], labels: int) -> Cases:
    """Leave out rows whose answer is missing, or a label that the model does not know."""
    known = (y >= 0) & (y < labels) if labels else ~np.isnan(y)
    if known.all():
        return Cases(columns, y)
    kept = [None if column is None else column[known] for column in columns]
    return Cases(kept, y[known])


def with_evidence(rules: RuleSet, cases: Cases) -> RuleSet:
    """The rules, each with the statistics of the rows that meet its conditions.

    One that no row meets keeps the statistics it has, as borrowed ones. The default
    has those of the rows that no rule takes.
    """
    bits = cases.bits(rules)
    left = np.ones(cases.rows, np.bool_)
    counted: list[Rule] = []
    for rule in rules.rules:
        mask = bits.mask(rule.conditions)
        left &= ~mask
        stats = cases.stats(mask, rules)
        counted.append(_resting_on(rule, stats))
    default = _resting_on(rules.default, cases.stats(left, rules))
    return replace(rules, rules=tuple(counted), default=default)


def _resting_on(rule: Rule, stats: Stats | None) -> Rule:
    if stats is None:
        return replace(rule, weight=0.0)
    return replace(rule, stats=stats, weight=stats.weight)
