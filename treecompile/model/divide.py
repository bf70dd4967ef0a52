"""Trees that divide missing and unseen values, as targets and `verify` see them.

`semantics` defines the answers of such a tree. This module says which single rule
decides a row, if one does. A row is divided if it comes to a split on an unknown value;
then several rules share the decision, and its id is "divided".
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
    Leaf,
    MissingPolicy,
    Node,
    Op,
    Rule,
    Split,
    Tree,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    answer,
    certain,
    is_fractional,
    is_missing,
    negate,
)

DIVIDED = "divided"


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
