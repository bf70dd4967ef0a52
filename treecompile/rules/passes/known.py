"""Simplify tests of booleans, which have no third value.

`flag not in {true}` becomes `flag in {false}`, and `flag in {false, true}` only asks
whether the value is known. A feature of another type may always have an unseen value,
so a test that names all its categories still says something and stays.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import RuleSet, ValueType
from treecompile.regions.region import rule_regions


def known(rules: RuleSet) -> RuleSet:
    features = rules.features
    if all(feature.type is not ValueType.BOOL for feature in features):
        return rules
    kept = []
    for rule in rules.rules:
        tests = [
            region.conditions(index, features[index])
            for index, region in rule_regions(rule, features).items()
        ]
        if None not in tests:
            conditions = tuple(c for some in tests for c in some or ())
            kept.append(replace(rule, conditions=conditions))
    return replace(rules, rules=tuple(kept))
