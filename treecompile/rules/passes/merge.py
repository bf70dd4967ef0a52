"""Merge the tests of one feature within a rule: `x > 3 and x > 5` becomes `x > 5`.

The merged test takes the place of the feature's first test. A rule that no row can
match is dropped.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import Condition, RuleSet
from treecompile.model.words import by_feature
from treecompile.regions.region import intersect


def merge(rules: RuleSet) -> RuleSet:
    kept = []
    for rule in rules.rules:
        merged: list[Condition] = []
        for conditions in by_feature(rule.conditions):
            simpler = intersect(conditions, rules.features[conditions[0].feature])
            if simpler is None:
                break
            merged.extend(simpler)
        else:
            kept.append(replace(rule, conditions=tuple(merged)))
    return replace(rules, rules=tuple(kept))
