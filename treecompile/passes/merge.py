"""Merge the tests of one feature within a rule: `x > 3 and x > 5` becomes `x > 5`.

The merged test stands where the feature is first tested. A rule that no row can match
is dropped.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.ir import Condition, RuleSet
from treecompile.semantics import intersect


def merge(rules: RuleSet) -> RuleSet:
    kept = []
    for rule in rules.rules:
        by_feature: dict[int, list[Condition]] = {}
        for condition in rule.conditions:
            by_feature.setdefault(condition.feature, []).append(condition)
        merged: list[Condition] = []
        for where, conditions in by_feature.items():
            simpler = intersect(conditions, rules.features[where])
            if simpler is None:
                break
            merged.extend(simpler)
        else:
            kept.append(replace(rule, conditions=tuple(merged)))
    return replace(rules, rules=tuple(kept))
