"""Tree -> RuleSet: every path from the root to a leaf becomes a rule."""

from __future__ import annotations

from dataclasses import replace

from treecompile.ir import Body, Condition, Leaf, Rule, RuleSet, Split, Tree
from treecompile.semantics import answer, leaf_positions

DEFAULT_ID = "default"


def rule_ids(tree: Tree) -> dict[int, str]:
    """The id of the rule of each leaf: R1, R2, ... in reading order."""
    return {p: f"R{n}" for n, p in enumerate(leaf_positions(tree), start=1)}


def path(tree: Tree, leaf: int) -> tuple[Condition, ...]:
    """The conditions on the way from the root to a node."""
    above = {
        branch.then: (position, branch.when)
        for position, node in enumerate(tree.nodes[:leaf])
        if isinstance(node, Split)
        for branch in node.branches
    }
    conditions = []
    while leaf:
        leaf, when = above[leaf]
        conditions.append(when)
    return tuple(reversed(conditions))


def extract(tree: Tree) -> RuleSet:
    """Flatten a tree into rules that are mutually exclusive and complete.

    The default closes the list as in every rule set, though here it never decides.
    """
    paths: list[tuple[Condition, ...]] = [()] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            for branch in node.branches:
                paths[branch.then] = (*paths[position], branch.when)
    rules = tuple(
        replace(rule, conditions=paths[position])
        for position, rule in outcomes(tree).items()
    )
    root = tree.nodes[0].stats
    default = Rule(DEFAULT_ID, (), answer(root, tree.labels), root, 0.0)
    return RuleSet(tree.features, tree.labels, rules, default)


def outcomes(body: Body) -> dict[int, Rule]:
    """What each position that decides (see `batch.deciders`) stands for.

    The rules of a tree come without their conditions, which the tree itself tests.
    """
    if isinstance(body, RuleSet):
        return dict(enumerate((*body.rules, body.default)))
    result = {}
    for position, identity in rule_ids(body).items():
        leaf = body.nodes[position]
        assert isinstance(leaf, Leaf)
        result[position] = Rule(identity, (), leaf.value, leaf.stats, leaf.weight)
    return result
