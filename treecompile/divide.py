"""Trees that divide missing and unseen values, as targets and `verify` see them.

`semantics` says what such a tree answers. Here is which single rule decides a row, if
one does: only a row that comes to a split on an unknown value is divided, and then
several rules share the decision, which goes by the id "divided".
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from treecompile.extract import outcomes
from treecompile.ir import (
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
from treecompile.semantics import answer, certain, is_fractional, is_missing, negate

DIVIDED = "divided"


def divisible(body: Body) -> bool:
    """Whether there is a row that the body divides."""
    return (
        isinstance(body, Tree)
        and is_fractional(body)
        and isinstance(body.nodes[0], Split)
    )


def settled(body: Body) -> Body:
    """The same body, each leaf of a tree that divides named after its own shares.

    Such a tree answers by the shares, whatever value its leaves carry; the two differ
    where a leaf was made by hand, or where shares tie that the counts did not.
    """
    if not isinstance(body, Tree) or not is_fractional(body) or not body.labels:
        return body
    nodes = []
    for node in body.nodes:
        if isinstance(node, Leaf):
            shares = certain(node)
            node = replace(node, value=body.labels[shares.index(max(shares))])
        nodes.append(node)
    return replace(body, nodes=tuple(nodes))


def unknown(where: int, feature: Feature) -> Condition:
    """The condition "the value is missing or was never seen"."""
    match feature.kind:
        case Kind.NUMERIC:
            return is_missing(where, feature)
        case Kind.ORDINAL:  # above the last category is nothing that has a place
            return Condition(where, Op.GT, feature.categories[-1], missing=True)
    return Condition(where, Op.NOT_IN, feature.categories, missing=True)


@dataclass(frozen=True, slots=True)
class Exposed:
    """A tree that divides, with its divisions as leaves of a tree that does not."""

    tree: Tree
    rules: dict[int, Rule]  # of each leaf; DIVIDED where the row is divided


def exposed(tree: Tree) -> Exposed:
    """Ask before each split whether its value is known; a leaf stands where not."""
    place, count = [], 0
    for node in tree.nodes:
        place.append(count)
        count += 3 if isinstance(node, Split) else 1
    decided = outcomes(tree)
    nodes: list[Node] = []
    rules: dict[int, Rule] = {}
    for position, (node, at) in enumerate(zip(tree.nodes, place, strict=True)):
        if isinstance(node, Leaf):
            rules[at] = decided[position]
            nodes.append(node)
            continue
        where = node.branches[0].when.feature
        test = unknown(where, tree.features[where])
        asked = (Branch(test, at + 1, 0.0), Branch(negate(test), at + 2, 0.0))
        value = answer(node.stats, tree.labels)
        rules[at + 1] = Rule(DIVIDED, (), value, node.stats, 0.0)
        branches = tuple(replace(b, then=place[b.then]) for b in node.branches)
        nodes += [
            Split(asked, node.stats, 0.0),
            Leaf(value, node.stats, 0.0),
            replace(node, branches=branches),
        ]
    plain = replace(tree, nodes=tuple(nodes), missing=MissingPolicy.BRANCH)
    return Exposed(plain, rules)
