"""Turns a tree into a rule set: every path from the root to a leaf becomes a rule.

`extract` keeps the tests of each path as they are. `flatten` merges the tests of each
feature on a path, as the pass `merge` does, but once at each split and not again for
every leaf below it.
"""

from __future__ import annotations

from collections.abc import Callable

from treecompile.model.ir import Body, Condition, Leaf, Rule, RuleSet, Split, Tree
from treecompile.model.paths import default_rule, paths, rule_ids
from treecompile.model.sharing import Group, SharedPath
from treecompile.regions.region import intersect
from treecompile.rules.passes.merge import merge

Tests = dict[int, Group]  # merged tests by feature, in order of testing


def extract(body: Body) -> RuleSet:
    """Return the rules of a tree; exactly one of them holds for every row.

    Every rule set ends with a default, which here never decides. A list of rules is
    returned as it is.
    """
    if isinstance(body, RuleSet):
        return body
    return _rules(body, paths(body).__getitem__)


def flatten(body: Body) -> RuleSet:
    """Return the rules of a body with merged tests, without rules that match no row."""
    if isinstance(body, RuleSet):
        return merge(body)
    found = merged_tests(body)

    def path(position: int) -> SharedPath | None:
        own = found[position]
        return None if own is None else shared_path(own)

    return _rules(body, path)


def shared_path(tests: Tests) -> SharedPath:
    """Return merged tests as conditions, without those that always hold."""
    return SharedPath.of([group for group in tests.values() if group])


def merged_tests(tree: Tree) -> list[Tests | None]:
    """Return the merged tests on the way to each node; None if no row reaches it."""
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


def _rules(
    tree: Tree,
    path: Callable[[int], tuple[Condition, ...] | None],
) -> RuleSet:
    """Make a rule of each leaf that has a path."""
    rules = []
    for position, identity in rule_ids(tree).items():
        conditions = path(position)
        if conditions is not None:
            leaf = tree.nodes[position]
            assert isinstance(leaf, Leaf)
            rule = Rule(identity, conditions, leaf.value, leaf.stats, leaf.weight)
            rules.append(rule)
    return RuleSet(tree.features, tree.labels, tuple(rules), default_rule(tree))
