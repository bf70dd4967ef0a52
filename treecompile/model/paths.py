"""The leaves of a tree as rules: the path to each, its id, its statistics.

A row is divided if it comes to a split on an unknown value and the tree is fractional.
Then several rules share the decision, and its id is "divided".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeGuard

from treecompile.model import ir
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


def rule_ids(tree: ir.Tree) -> dict[int, str]:
    """The id of the rule of each leaf: R1, R2, ... in reading order."""
    return {p: f"R{n}" for n, p in enumerate(leaf_positions(tree), start=1)}


def upwards(tree: ir.Tree) -> Iterator[tuple[int, ir.Node]]:
    """The nodes with their positions, children before their parents."""
    return zip(range(len(tree.nodes) - 1, -1, -1), reversed(tree.nodes), strict=True)


def paths(tree: ir.Tree) -> list[tuple[ir.Condition, ...]]:
    """The conditions on the way from the root to each node."""
    found: list[tuple[ir.Condition, ...]] = [()] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, ir.Split):
            for branch in node.branches:
                found[branch.then] = (*found[position], branch.when)
    return found


def default_rule(tree: ir.Tree) -> ir.Rule:
    """The default of the rules of a tree. No row comes to it."""
    root = tree.nodes[0].stats
    return ir.Rule(DEFAULT_ID, (), answer(root, tree.labels), root, 0.0)


def stand_ins(tree: ir.Tree) -> dict[int, ir.Stats]:
    """Statistics for leaves of a fractional tree that no case reached, as rules.

    Where shares are added up such a leaf adds only its class. As a rule of its own, it
    has the statistics of its parent.
    """
    if not is_fractional(tree):
        return {}
    return {
        branch.then: split.stats
        for split in tree.nodes
        if isinstance(split, ir.Split)
        for branch in split.branches
        if _is_empty(tree.nodes[branch.then], answer(split.stats, tree.labels))
    }


def _is_empty(node: ir.Node, usual: ir.Label) -> bool:
    return isinstance(node, ir.Leaf) and not node.weight and node.value == usual


def outcomes(body: ir.Body) -> dict[int, ir.Rule]:
    """The rule of each position that decides (see `semantics.decider`).

    The rules of a tree have no conditions, since the tree itself tests them.
    """
    if isinstance(body, ir.RuleSet):
        return dict(enumerate((*body.rules, body.default)))
    result = {}
    for position, identity in rule_ids(body).items():
        leaf = body.nodes[position]
        assert isinstance(leaf, ir.Leaf)
        result[position] = ir.Rule(identity, (), leaf.value, leaf.stats, leaf.weight)
    return result


def deciding(
    body: ir.Body, rules: Mapping[int, ir.Rule] | None = None
) -> dict[int, ir.Rule]:
    """The rules that whole rows are counted for, by position: all, or some `rules`.

    A row that a tree divides is counted for no leaf, but for a rule of its own behind
    the last node.
    """
    found = outcomes(body) if rules is None else dict(rules)
    if divisible(body):
        root = body.nodes[0].stats
        value = answer(root, body.labels)
        found[len(body.nodes)] = ir.Rule(DIVIDED, (), value, root, 0.0)
    return found


KINDS = {ir.Tree: "tree", ir.RuleSet: "rules", ir.Forest: "forest"}


def kind_of(body: ir.AnyBody) -> str:
    """What a model is, in a word."""
    return KINDS[type(body)]


def node_count(body: ir.AnyBody) -> int:
    """The number of splits and leaves, or of rules including the default."""
    if isinstance(body, ir.Forest):
        return sum(len(member.tree.nodes) for member in body.members)
    return len(body.nodes) if isinstance(body, ir.Tree) else len(body.rules) + 1


def leaf_count(body: ir.AnyBody) -> int:
    """The number of leaves of all trees, or of rules without the default."""
    if isinstance(body, ir.Forest):
        return sum(len(member.values) for member in body.members)
    if isinstance(body, ir.RuleSet):
        return len(body.rules)
    return sum(isinstance(node, ir.Leaf) for node in body.nodes)


def leaves_below(tree: ir.Tree) -> list[int]:
    """The number of leaves below each node; 1 for a leaf."""
    counts = [1] * len(tree.nodes)
    for position, node in upwards(tree):
        if isinstance(node, ir.Split):
            counts[position] = sum(counts[branch.then] for branch in node.branches)
    return counts


def depth(body: ir.AnyBody) -> int:
    """The maximum number of tests for one row, in one tree."""
    if isinstance(body, ir.Forest):
        return max((max(depths(each.tree)) for each in body.members), default=0)
    if isinstance(body, ir.RuleSet):
        return max((len(rule.conditions) for rule in body.rules), default=0)
    return max(depths(body))


def depths(tree: ir.Tree) -> list[int]:
    """The number of tests from the root to each node."""
    found = [0] * len(tree.nodes)
    for position, node in enumerate(tree.nodes):
        for branch in getattr(node, "branches", ()):
            found[branch.then] = found[position] + 1
    return found


def size(body: ir.AnyBody) -> str:
    """`5 leaves, depth 2`, `3 rules of at most 2 tests`, `9 trees, 40 leaves, ...`."""
    count = leaf_count(body)
    if isinstance(body, ir.Forest):
        trees = f"{len(body.members):,} tree{'s' * (len(body.members) != 1)}"
        return f"{trees}, {count:,} leaves, depth {depth(body)}"
    if isinstance(body, ir.Tree):
        return f"{count:,} {'leaf' if count == 1 else 'leaves'}, depth {depth(body)}"
    tests = f" of at most {depth(body)} test{'s' * (depth(body) != 1)}" * (count > 0)
    return f"{count:,} rule{'s' * (count != 1)}{tests}"


# ---------------------------------------------------------------- trees that divide


def divisible(body: ir.AnyBody) -> TypeGuard[ir.Tree]:
    """Whether the body divides some row."""
    return is_fractional(body) and isinstance(body.nodes[0], ir.Split)


def settled(body: ir.Body) -> ir.Body:
    """The same body, with the leaves of a dividing tree labelled by their shares.

    Such a tree answers by shares, not by the values of its leaves. The two may differ
    in a leaf made by hand, or where the shares tie but the counts do not.
    """
    if not is_fractional(body) or not body.labels:
        return body
    nodes = []
    for node in body.nodes:
        if isinstance(node, ir.Leaf):
            shares = certain(node)
            node = replace(node, value=body.labels[shares.index(max(shares))])
        nodes.append(node)
    return replace(body, nodes=tuple(nodes))


def unknown(index: int, feature: ir.Feature) -> ir.Condition:
    """The condition "the value is missing or unseen"."""
    match feature.kind:
        case ir.Kind.NUMERIC:
            return is_missing(index, feature)
        case ir.Kind.ORDINAL:  # no category is above the last one
            return ir.Condition(index, ir.Op.GT, feature.categories[-1], missing=True)
    return ir.Condition(index, ir.Op.NOT_IN, feature.categories, missing=True)


def exposed(tree: ir.Tree) -> tuple[ir.Tree, dict[int, ir.Rule]]:
    """A tree that asks before each split if its value is known, with a leaf for "no".

    It divides no row. The rules are those of its leaves; where the given tree divides a
    row, the id is DIVIDED.
    """
    moved, count = [], 0  # the new position of each node
    for node in tree.nodes:
        moved.append(count)
        count += 3 if isinstance(node, ir.Split) else 1
    decided = outcomes(tree)
    nodes: list[ir.Node] = []
    rules: dict[int, ir.Rule] = {}
    for position, (node, at) in enumerate(zip(tree.nodes, moved, strict=True)):
        if isinstance(node, ir.Leaf):
            rules[at] = decided[position]
            nodes.append(node)
            continue
        index = node.branches[0].when.feature
        test = unknown(index, tree.features[index])
        asked = (ir.Branch(test, at + 1, 0.0), ir.Branch(negate(test), at + 2, 0.0))
        value = answer(node.stats, tree.labels)
        rules[at + 1] = ir.Rule(DIVIDED, (), value, node.stats, 0.0)
        branches = tuple(replace(b, then=moved[b.then]) for b in node.branches)
        nodes += [
            ir.Split(asked, node.stats, 0.0),
            ir.Leaf(value, node.stats, 0.0),
            replace(node, branches=branches),
        ]
    return replace(tree, nodes=tuple(nodes), missing=ir.MissingPolicy.BRANCH), rules


def exposed_places(tree: ir.Tree) -> tuple[ir.Tree, list[int]]:
    """The same tree, and the place in `deciding` of each of its nodes (0: of none)."""
    made, rules = exposed(tree)
    place_of = {rule.id: place for place, rule in deciding(tree).items()}
    places = [0] * len(made.nodes)
    for position, rule in rules.items():
        places[position] = place_of[rule.id]
    return made, places
