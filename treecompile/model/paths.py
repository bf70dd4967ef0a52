"""The leaves of a tree as rules: the path to each, its id, its statistics.

A row is divided if it comes to a split on an unknown value and the tree is fractional.
Then several rules share the decision, and its id is "divided".
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from treecompile.model.ir import (
    Body,
    Branch,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    MissingPolicy,
    Node,
    Op,
    Rule,
    RuleSet,
    Split,
    Stats,
    Tree,
)
from treecompile.model.semantics import (
    answer,
    certain,
    is_fractional,
    is_missing,
    leaf_positions,
    negate,
)

DEFAULT_ID = "default"
DIVIDED = "divided"


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


# ---------------------------------------------------------------- trees that divide


def divisible(body: Body) -> TypeGuard[Tree]:
    """Whether the body divides some row."""
    return is_fractional(body) and isinstance(body.nodes[0], Split)


def settled(body: Body) -> Body:
    """The same body, with the leaves of a dividing tree labelled by their shares.

    Such a tree answers by shares, not by the values of its leaves. The two may differ
    in a leaf made by hand, or where the shares tie but the counts do not.
    """
    if not is_fractional(body) or not body.labels:
        return body
    nodes = []
    for node in body.nodes:
        if isinstance(node, Leaf):
            shares = certain(node)
            node = replace(node, value=body.labels[shares.index(max(shares))])
        nodes.append(node)
    return replace(body, nodes=tuple(nodes))


def unknown(index: int, feature: Feature) -> Condition:
    """The condition "the value is missing or unseen"."""
    match feature.kind:
        case Kind.NUMERIC:
            return is_missing(index, feature)
        case Kind.ORDINAL:  # no category is above the last one
            return Condition(index, Op.GT, feature.categories[-1], missing=True)
    return Condition(index, Op.NOT_IN, feature.categories, missing=True)


def exposed(tree: Tree) -> tuple[Tree, dict[int, Rule]]:
    """A tree that asks before each split if its value is known, with a leaf for "no".

    It divides no row. The rules are those of its leaves; where the given tree divides a
    row, the id is DIVIDED.
    """
    moved, count = [], 0  # the new position of each node
    for node in tree.nodes:
        moved.append(count)
        count += 3 if isinstance(node, Split) else 1
    decided = outcomes(tree)
    nodes: list[Node] = []
    rules: dict[int, Rule] = {}
    for position, (node, at) in enumerate(zip(tree.nodes, moved, strict=True)):
        if isinstance(node, Leaf):
            rules[at] = decided[position]
            nodes.append(node)
            continue
        index = node.branches[0].when.feature
        test = unknown(index, tree.features[index])
        asked = (Branch(test, at + 1, 0.0), Branch(negate(test), at + 2, 0.0))
        value = answer(node.stats, tree.labels)
        rules[at + 1] = Rule(DIVIDED, (), value, node.stats, 0.0)
        branches = tuple(replace(b, then=moved[b.then]) for b in node.branches)
        nodes += [
            Split(asked, node.stats, 0.0),
            Leaf(value, node.stats, 0.0),
            replace(node, branches=branches),
        ]
    return replace(tree, nodes=tuple(nodes), missing=MissingPolicy.BRANCH), rules
