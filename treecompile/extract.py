"""Tree -> RuleSet: every path from the root to a leaf becomes a rule."""

from __future__ import annotations

from dataclasses import replace

from treecompile.ir import Body, Condition, Leaf, Rule, RuleSet, Split, Stats, Tree
from treecompile.semantics import answer, is_fractional, leaf_positions

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
    lent = stand_ins(tree)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            for branch in node.branches:
                paths[branch.then] = (*paths[position], branch.when)
    rules = tuple(
        replace(
            rule,
            conditions=paths[position],
            stats=lent.get(position, rule.stats),
        )
        for position, rule in outcomes(tree).items()
    )
    return RuleSet(tree.features, tree.labels, rules, default_rule(tree))


def default_rule(tree: Tree) -> Rule:
    """What closes the rules of a tree, and is never needed."""
    root = tree.nodes[0].stats
    return Rule(DEFAULT_ID, (), answer(root, tree.labels), root, 0.0)


def stand_ins(tree: Tree) -> dict[int, Stats]:
    """What leaves of a fractional tree that no case reached rest on, as rules."""
    if not is_fractional(tree):
        return {}
    splits = (node for node in tree.nodes if isinstance(node, Split))
    return {
        position: stats
        for split in splits
        for position, stats in _stand_ins(tree, split).items()
    }


def _stand_ins(tree: Tree, split: Split) -> dict[int, Stats]:
    """The cases of a split for its leaves that no case reached.

    Where shares are added up such a leaf adds its class alone; on its own, it
    rests on the cases beside it.
    """
    leaves = ((branch.then, tree.nodes[branch.then]) for branch in split.branches)
    return {
        position: split.stats
        for position, leaf in leaves
        if isinstance(leaf, Leaf)
        and not leaf.weight
        and leaf.value == answer(split.stats, tree.labels)
    }


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
