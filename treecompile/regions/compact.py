"""Drops untested features of rules, and says if their boxes fit into memory.

A search through the boxes of rules keeps a region for each rule and each feature. So
features that no rule tests are left out first, and lists of rules that would still take
gigabytes are not searched.
"""

from __future__ import annotations

from dataclasses import replace

from treecompile.model.ir import Kind, RuleSet
from treecompile.model.semantics import conditions, required_features

MOST_REGIONS = 10_000_000  # rules x tested features
MOST_SET_BYTES = 1 << 26  # for the different sets, with a bit per category


def tested_only(rules: RuleSet) -> tuple[RuleSet, tuple[int, ...]]:
    """Return the rules over only the features they test, and the features' indices."""
    kept = required_features(rules)
    if len(kept) == len(rules.features):
        return rules, kept
    index = {old: new for new, old in enumerate(kept)}
    moved = {c: replace(c, feature=index[c.feature]) for c in conditions(rules)}
    return (
        replace(
            rules,
            features=tuple(rules.features[old] for old in kept),
            rules=tuple(
                replace(rule, conditions=tuple(map(moved.__getitem__, rule.conditions)))
                for rule in rules.rules
            ),
        ),
        kept,
    )


def is_searchable(rules: RuleSet) -> bool:
    """Whether the boxes of the rules fit into memory."""
    if len(required_features(rules)) * len(rules.rules) > MOST_REGIONS:
        return False
    tested = (rules.features[test.feature] for test in set(conditions(rules)))
    bits = sum(len(f.categories) for f in tested if f.kind is Kind.CATEGORICAL)
    return bits <= 8 * MOST_SET_BYTES
