"""Tree -> RuleSet: every path from the root to a leaf becomes a rule.

`extract` keeps the tests of each path as they are. `flatten` merges those of a feature,
as the pass `merge` does, but once at each split and not again for every leaf below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from treecompile.model.ir import Body, Condition, Rule, RuleSet, Split, Tree
from treecompile.model.paths import default_rule, outcomes, paths, stand_ins
from treecompile.model.sharing import Group, SharedPath
from treecompile.regions.region import intersect
from treecompile.rules.passes.merge import merge

Tests = dict[int, Group]  # merged, by feature, in order of testing


def extract(body: Body) -> RuleSet:
    """The rules of a tree, of which exactly one holds for every row.

    Every rule set ends with a default. Here the default never decides. A list of rules
    stays as it is.
    """
    if isinstance(body, RuleSet):
        return body
    return _rules(body, paths(body).__getitem__)


def flatten(body: Body, tests: Sequence[Tests | None] = ()) -> RuleSet:
    """The rules of a body, merged, without those that no row can match.

    `tests` are the merged tests of a tree, if they are known already.
    """
    if isinstance(body, RuleSet):
        return merge(body)
    tests = tests or merged_tests(body)

    def path(position: int) -> SharedPath | None:
        own = tests[position]
        if own is None:
            return None
        return SharedPath.of([group for group in own.values() if group])

    return _rules(body, path)


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


def _rules(tree: Tree, path: Callable[[int], tuple[Condition, ...] | None]) -> RuleSet:
    """A rule for each leaf that has a path."""
    borrowed = stand_ins(tree)
    rules = []
    for position, rule in outcomes(tree).items():
        conditions = path(position)
        if conditions is not None:
            stats = borrowed.get(position, rule.stats)
            rules.append(Rule(rule.id, conditions, rule.value, stats, rule.weight))
    return RuleSet(tree.features, tree.labels, tuple(rules), default_rule(tree))
