"""Drop what the known values of a feature imply: a boolean has no third value.

`flag not in {true}` becomes `flag in {false}`, and `flag in {false, true}` asks only
whether the value is known. Of other types a value that was never seen may always come,
so a test that names every category still says something and stays.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.accepts import conditions_of, regions_of
from treecompile.ir import Condition, RuleSet, ValueType


def known(rules: RuleSet) -> RuleSet:
    if all(feature.type is not ValueType.BOOL for feature in rules.features):
        return rules
    kept = []
    for rule in rules.rules:
        conditions: list[Condition] = []
        for where, region in regions_of(rule, rules.features).items():
            if rules.features[where].type is not ValueType.BOOL:
                conditions += (c for c in rule.conditions if c.feature == where)
                continue
            simpler = conditions_of(region, where, rules.features[where])
            if simpler is None:
                break
            conditions += simpler
        else:
            kept.append(replace(rule, conditions=tuple(conditions)))
    return replace(rules, rules=tuple(kept))
