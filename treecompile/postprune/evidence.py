"""What pruned rules rest on: the cases that meet their conditions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treecompile.cases import Cases
from treecompile.ir import Rule, RuleSet, Stats


def with_evidence(rules: RuleSet, cases: Cases) -> RuleSet:
    """The rules, each with the statistics of the cases that meet its conditions.

    One that no case meets keeps the statistics it has, as borrowed ones. The default
    has those of the cases that no rule takes.
    """
    bits = cases.bits(rules)
    left = np.ones(cases.rows, np.bool_)
    counted: list[Rule] = []
    for rule in rules.rules:
        mask = bits.mask(rule.conditions)
        left &= ~mask
        counted.append(_resting_on(rule, cases.stats(mask, rules)))
    default = _resting_on(rules.default, cases.stats(left, rules))
    return replace(rules, rules=tuple(counted), default=default)


def _resting_on(rule: Rule, stats: Stats | None) -> Rule:
    if stats is None:
        return replace(rule, weight=0.0)
    return replace(rule, stats=stats, weight=stats.weight)
