"""What C4.5 release 8 printed, and our trees in the same form.

A printed tree is a list of branches in the order of the lines:

    {"depth": 1, "attribute": "humidity", "op": "<=", "value": 75.0,
     "class": "Play", "cases": 2.0}

A branch to a subtree has no class; "errors" is left out where none are printed. C4.5
prints the branches to leaves before the branches to subtrees.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.reference import results
from treecompile.measure.statistics import added_errors
from treecompile.model.ir import ClassCounts, Feature, Kind, Leaf, Op, Split, Tree
from treecompile.model.semantics import members

SETS = ("golf", "labor-neg", "vote", "hypo", "monk1")
CF = 0.25

Entry = dict[str, Any]


def printed_trees(name: str, option: str) -> Any:
    """The grown and the pruned tree, and the figures that are printed below them."""
    return results("c45_trees")[name][option or "default"]


def as_printed(tree: Tree, *, is_pruned: bool) -> list[Entry]:
    """Our tree as a list of branches."""
    possible: dict[int, frozenset[object]] = {
        index: frozenset(feature.categories)
        for index, feature in enumerate(tree.features)
        if feature.categories
    }
    root = tree.nodes[0]
    assert isinstance(root, Split)
    entries: list[Entry] = []
    stack = _branches(tree, root, 0, possible)
    while stack:
        position, entry, possible = stack.pop()
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            entry |= _shown(node, tree, is_pruned)
        else:
            stack += _branches(tree, node, entry["depth"] + 1, possible)
        entries.append(entry)
    return entries


Waiting = tuple[int, Entry, dict[int, frozenset[object]]]


def _branches(
    tree: Tree, split: Split, depth: int, possible: dict[int, frozenset[object]]
) -> list[Waiting]:
    """The branches of a split, the first one last: it is taken off a stack first."""
    found: list[Waiting] = []
    for branch in split.branches:
        index = branch.when.feature
        feature, below = tree.features[index], possible
        entry = {"depth": depth, "attribute": feature.name}
        if feature.kind is Kind.NUMERIC:
            threshold = float(f"{branch.when.value:g}")  # six digits are printed
            entry |= {"op": str(branch.when.op), "value": threshold}
        else:
            chosen: frozenset[object] = frozenset(members(branch.when))
            if branch.when.op is Op.NOT_IN:
                chosen = possible[index] - chosen
            below = {**possible, index: chosen}
            entry |= {"op": "in", "value": in_order(feature, chosen)}
        found.append((branch.then, entry, below))
    leaves = [one for one in found if isinstance(tree.nodes[one[0]], Leaf)]
    rest = [one for one in found if not isinstance(tree.nodes[one[0]], Leaf)]
    return [*reversed(rest), *reversed(leaves)]


def in_order(feature: Feature, chosen: frozenset[object]) -> list[str]:
    return [str(category) for category in feature.categories if category in chosen]


def _shown(leaf: Leaf, tree: Tree, is_pruned: bool) -> Entry:
    """Class, cases and errors: those counted, or those expected if it is pruned."""
    shown: Entry = {"class": leaf.value, "cases": one_digit(leaf.weight)}
    errors = expected_errors(leaf, tree) if is_pruned else counted_errors(leaf, tree)
    return {**shown, "errors": one_digit(errors)} if errors > 1e-6 else shown


def one_digit(number: float) -> float:
    return float(f"{number:.1f}")


def counted_errors(leaf: Leaf, tree: Tree) -> float:
    assert isinstance(leaf.stats, ClassCounts)
    right = leaf.stats.weights[tree.labels.index(leaf.value)]
    return leaf.weight - right if leaf.weight else 0.0


def expected_errors(leaf: Leaf, tree: Tree) -> float:
    """C4.5's pessimistic estimate: the counted errors and what is added to them."""
    if not leaf.weight:
        return 0.0
    counted = counted_errors(leaf, tree)
    return counted + float(added_errors(np.array(leaf.weight), np.array(counted), CF))
