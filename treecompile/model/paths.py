"""The leaves of a tree as rules: the path to each, its id, its statistics."""

from __future__ import annotations

from collections.abc import Iterator

from treecompile.model import ir
from treecompile.model.semantics import answer, is_missing, leaf_positions

DEFAULT_ID = "default"


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


def unknown(index: int, feature: ir.Feature) -> ir.Condition:
    """The condition "the value is missing or unseen"."""
    match feature.kind:
        case ir.Kind.NUMERIC:
            return is_missing(index, feature)
        case ir.Kind.ORDINAL:  # no category is above the last one
            return ir.Condition(index, ir.Op.GT, feature.categories[-1], missing=True)
    return ir.Condition(index, ir.Op.NOT_IN, feature.categories, missing=True)
