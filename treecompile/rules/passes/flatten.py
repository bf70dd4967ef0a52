"""A tree as merged rules, the same that `merge` makes of its extracted rules.

Each test is merged once, at its split, and not again for every leaf below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treecompile.model.ir import Condition, RuleSet, Split, Tree
from treecompile.model.paths import default_rule, outcomes, stand_ins
from treecompile.regions.region import intersect

Tests = dict[int, tuple[Condition, ...]]  # merged, by feature, in order of testing


def merged_tests(tree: Tree) -> list[Tests | None]:
    """The merged tests on the way to each node; None if no row can reach it."""
    found: list[Tests | None] = [{}, *[None] * (len(tree.nodes) - 1)]
    for position, node in enumerate(tree.nodes):
        above = found[position]
        if above is None or not isinstance(node, Split):
            continue
        index = node.branches[0].when.feature
        feature, before = tree.features[index], above.get(index, ())
        for branch in node.branches:
            merged = intersect((*before, branch.when), feature)
            if merged is not None:
                found[branch.then] = {**above, index: merged}
    return found


def flatten(tree: Tree, tests: Sequence[Tests | None] = ()) -> RuleSet:
    """The rules of a tree, without those that no row can match.

    `tests` are its merged tests, if they are known already.
    """
    tests = tests or merged_tests(tree)
    lent = stand_ins(tree)
    rules = []
    for position, rule in outcomes(tree).items():
        own = tests[position]
        if own is not None:
            conditions = tuple(c for merged in own.values() for c in merged)
            stats = lent.get(position, rule.stats)
            rules.append(replace(rule, conditions=conditions, stats=stats))
    return RuleSet(tree.features, tree.labels, tuple(rules), default_rule(tree))
