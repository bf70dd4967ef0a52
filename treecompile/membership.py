"""Categorical and ordinal tests as plain sets, as targets write them."""

from __future__ import annotations

from treecompile.ir import Category, Condition, Feature, Kind, Op
from treecompile.semantics import members, rank


def membership(
    test: Condition, feature: Feature
) -> tuple[bool, tuple[Category, ...], bool]:
    """Whether "in" or "not in", which categories, and the truth for a missing value."""
    if feature.kind is Kind.ORDINAL:
        place = rank(feature, test.value) + 1
        low, high = feature.categories[:place], feature.categories[place:]
        true, false = (low, high) if test.op is Op.LE else (high, low)
        # An unseen value goes with the missing one: name the side that has neither.
        return (False, false, True) if test.missing else (True, true, False)
    return test.op is Op.IN, members(test), test.missing


def truth_table(test: Condition, feature: Feature) -> list[bool]:
    """The truth for each category in order, then for unseen, then for missing."""
    inside, chosen, missing = membership(test, feature)
    members = set(chosen)
    truth = [(category in members) == inside for category in feature.categories]
    return [*truth, not inside, missing]
