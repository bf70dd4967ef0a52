"""Remove a rule that accepts exactly the rows of one before it: it never decides.

In whatever order and words its tests are, and whatever it answers.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.accepts import Region, regions_of
from treecompile.ir import Rule, RuleSet


def duplicates(rules: RuleSet) -> RuleSet:
    first: dict[frozenset[tuple[int, Region]], Rule] = {}
    for rule in rules.rules:
        key = frozenset(regions_of(rule, rules.features).items())
        first.setdefault(key, rule)
    return replace(rules, rules=tuple(first.values()))
