"""Put the tests of every rule into one order, so that rules can be compared by eye.

Features keep the order of their first test in the list: for the rules of a tree, that
of the root comes first. The rules themselves keep their order, which is their meaning.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import Condition, RuleSet


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
