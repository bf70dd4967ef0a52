"""The leaves of a tree as rules: the path to each, its id, its statistics."""

from __future__ import annotations

from treecompile.model.ir import (
    Body,
    Condition,
    Label,
    Leaf,
    Node,
    Rule,
    RuleSet,
    Split,
    Stats,
    Tree,
)
from treecompile.model.semantics import answer, is_fractional, leaf_positions

DEFAULT_ID = "default"


def rule_ids(tree: Tree) -> dict[int, str]:
    """The id of the rule of each leaf: R1, R2, ... in reading order."""
    return {p: f"R{n}" for n, p in enumerate(leaf_positions(tree), start=1)}


def path(tree: Tree, position: int) -> tuple[Condition, ...]:
    """The conditions on the way from the root to a node."""
    above = {
        branch.then: (parent, branch.when)
        for parent, node in enumerate(tree.nodes[:position])
        if isinstance(node, Split)
        for branch in node.branches
    }
    conditions = []
    while position:
        position, when = above[position]
        conditions.append(when)
    return tuple(reversed(conditions))


def default_rule(tree: Tree) -> Rule:
    """The default of the rules of a tree. No row comes to it."""
    root = tree.nodes[0].stats
    return Rule(DEFAULT_ID, (), answer(root, tree.labels), root, 0.0)


def stand_ins(tree: Tree) -> dict[int, Stats]:
    """Statistics for leaves of a fractional tree that no case reached, as rules.

    Where shares are added up such a leaf adds only its class. As a rule of its own, it
    has the statistics of its parent.
    """
    if not is_fractional(tree):
        return {}
    return {
        branch.then: split.stats
        for split in tree.nodes
        if isinstance(split, Split)
        for branch in split.branches
        if _is_empty(tree.nodes[branch.then], answer(split.stats, tree.labels))
    }


def _is_empty(node: Node, usual: Label) -> bool:
    return isinstance(node, Leaf) and not node.weight and node.value == usual


def outcomes(body: Body) -> dict[int, Rule]:
    """The rule of each position that decides (see `semantics.decider`).

    The rules of a tree have no conditions, since the tree itself tests them.
    """
    if isinstance(body, RuleSet):
        return dict(enumerate((*body.rules, body.default)))
    result = {}
    for position, identity in rule_ids(body).items():
        leaf = body.nodes[position]
        assert isinstance(leaf, Leaf)
        result[position] = Rule(identity, (), leaf.value, leaf.stats, leaf.weight)
    return result


def leaf_count(body: Body) -> int:
    """The number of leaves, or of rules without the default."""
    if isinstance(body, RuleSet):
        return len(body.rules)
    return sum(isinstance(node, Leaf) for node in body.nodes)


def depth(body: Body) -> int:
    """The maximum number of tests for one row."""
    if isinstance(body, RuleSet):
        return max((len(rule.conditions) for rule in body.rules), default=0)
    depths = [0] * len(body.nodes)
    for position, node in enumerate(body.nodes):
        for branch in getattr(node, "branches", ()):
            depths[branch.then] = depths[position] + 1
    return max(depths)


def size(body: Body) -> str:
    """`5 leaves, depth 2`."""
    count = leaf_count(body)
    return f"{count} {'leaf' if count == 1 else 'leaves'}, depth {depth(body)}"
