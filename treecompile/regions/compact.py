"""Drops untested features of rules, and says if their boxes fit into memory.

A search through the boxes of rules keeps a region for each rule and each feature. So
features that no rule tests are left out first, and lists of rules that would still take
gigabytes are not searched.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TypeVar

from treecompile.model.ir import (
    Body,
    Condition,
    Feature,
    Kind,
    Leaf,
    Node,
    Op,
    RuleSet,
    Tree,
)
from treecompile.model.semantics import conditions, membership, required_features

Anybody = TypeVar("Anybody", Tree, RuleSet, Body)
MOST_REGIONS = 10_000_000  # rules x tested features
MOST_SET_BYTES = 1 << 26  # for the different sets, with a bit per category


def tested_only(rules: RuleSet) -> tuple[RuleSet, tuple[int, ...]]:
    """Return the rules over only the features they test, and the features' indices."""
    kept = required_features(rules)
    return over(rules, tuple(rules.features[index] for index in kept)), kept


def over(body: Anybody, features: tuple[Feature, ...]) -> Anybody:
    """Return the same body over other features, matched by name.

    They may lack what no condition tests. Where an ordinal feature has another order,
    its tests become sets of categories.
    """
    if body.features == features:
        return body
    indices = {feature.name: index for index, feature in enumerate(features)}

    @cache
    def translated(test: Condition) -> Condition:
        own = body.features[test.feature]
        index = indices[own.name]
        if own.kind is not Kind.ORDINAL or features[index].kind is own.kind:
            return replace(test, feature=index)
        inside, chosen, missing = membership(test, own)
        return Condition(index, Op.IN if inside else Op.NOT_IN, chosen, missing)

    def moved(node: Node) -> Node:
        if isinstance(node, Leaf):
            return node
        branches = (replace(b, when=translated(b.when)) for b in node.branches)
        return replace(node, branches=tuple(branches))

    if isinstance(body, Tree):
        return replace(body, features=features, nodes=tuple(map(moved, body.nodes)))
    rules = (
        replace(rule, conditions=tuple(map(translated, rule.conditions)))
        for rule in body.rules
    )
    return replace(body, features=features, rules=tuple(rules))


def is_searchable(rules: RuleSet) -> bool:
    """Whether the boxes of the rules fit into memory."""
    if len(required_features(rules)) * len(rules.rules) > MOST_REGIONS:
        return False
    tested = (rules.features[test.feature] for test in set(conditions(rules)))
    bits = sum(len(f.categories) for f in tested if f.kind is Kind.CATEGORICAL)
    return bits <= 8 * MOST_SET_BYTES
