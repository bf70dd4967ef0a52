"""Remove a rule that accepts exactly the rows of an earlier one: it never decides.

It does not matter how its tests are ordered and written, nor what it answers.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import Rule, RuleSet
from treecompile.regions.region import Region, rule_regions


def duplicates(rules: RuleSet) -> RuleSet:
    first: dict[frozenset[tuple[int, Region]], Rule] = {}
    for rule in rules.rules:
        key = frozenset(rule_regions(rule, rules.features).items())
        first.setdefault(key, rule)
    return replace(rules, rules=tuple(first.values()))
