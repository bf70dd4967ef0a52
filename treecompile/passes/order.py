"""Put the tests of every rule into one order, so that rules can be read in parallel.

A feature that comes up earlier in the list stands before one that comes up later: for
the rules of a tree, that of its root comes first. The order of the rules themselves is
their meaning and stays: rules from a tree stand in the order of its branches.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.ir import Condition, RuleSet


def order(rules: RuleSet) -> RuleSet:
    places: dict[int, int] = {}
    for rule in rules.rules:
        for condition in rule.conditions:
            places.setdefault(condition.feature, len(places))

    def place(condition: Condition) -> int:
        return places[condition.feature]

    ordered = (
        replace(rule, conditions=tuple(sorted(rule.conditions, key=place)))
        for rule in rules.rules
    )
    return replace(rules, rules=tuple(ordered))
