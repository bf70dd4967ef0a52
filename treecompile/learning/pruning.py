"""Prunes by risk: finds the smallest tree with the least risk + alpha x leaves.

With the risk on the training cases this is cost-complexity pruning. With the risk on
other rows, and alpha 0, it is reduced-error pruning.

In training, the risk of a leaf is the weight of the cases it predicts wrongly, or for
numbers the sum of their squared errors. Alpha is relative to the risk of the root, like
`cp` in rpart: with 0.01, a split stays if each additional leaf saves 1 % of the root's
risk. The module `alpha` chooses alpha by cross-validation.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush

from treecompile.learning.held_out import node_losses, parents_of
from treecompile.model.arrays import Array, Floats
from treecompile.model.batch import Columns
from treecompile.model.errors import OptionError
from treecompile.model.ir import ClassCounts, Leaf, Moments, Node, Split, Tree
from treecompile.model.semantics import answer

TIE = 1e-12  # risks that differ by less, relative to the root's, count as equal


@dataclass(frozen=True, slots=True)
class PruningStep:
    """One tree of the nested sequence, and the smallest alpha that produces it."""

    alpha: float
    leaves: int
    risk: float  # relative to the root's


def cost_complexity(tree: Tree, alpha: float) -> Tree:
    """Prune a tree; among equally good trees, take the smallest."""
    risks = [risk(node) for node in tree.nodes]
    return smallest(tree, risks, alpha * risks[0])


def reduced_error(
    tree: Tree, columns: Columns, y: Array, weights: Floats | None = None
) -> Tree:
    """Replace each split that does not reduce the errors on these rows by a leaf.

    This works from the leaves upwards. A split that no row reaches is replaced too.
    """
    return smallest(tree, node_losses(tree, columns, y, weights), price=0.0)


def smallest(tree: Tree, risks: Sequence[float], price: float) -> Tree:
    """Return the smallest tree with the least sum of risk + price over its leaves."""
    below, leaves = [*risks], [1] * len(risks)  # of the best subtree at each node
    tie = TIE * risks[0]
    cut = set()
    for position in reversed(range(len(risks))):  # children before their parents
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            continue
        children = [branch.then for branch in node.branches]
        rest = sum(below[child] for child in children)
        count = sum(leaves[child] for child in children)
        if risks[position] <= rest + price * (count - 1) + tie:
            cut.add(position)
        else:
            below[position], leaves[position] = rest, count
    return collapse(tree, cut)


def risk(node: Node) -> float:
    """Return the risk of the node as a leaf."""
    if isinstance(node, Leaf) and not node.weight:
        return 0.0  # no case reaches it, and its statistics are those of its parent
    if isinstance(node.stats, ClassCounts):
        return node.stats.weight - max(node.stats.weights)
    return node.stats.sse or 0.0


def collapse(tree: Tree, cut: set[int]) -> Tree:
    """Return the tree with leaves in place of the splits in `cut`."""
    kept, stack = [], [0]
    while stack:
        position = stack.pop()
        kept.append(position)
        node = tree.nodes[position]
        if isinstance(node, Split) and position not in cut:
            stack += [branch.then for branch in reversed(node.branches)]
    places = {position: place for place, position in enumerate(kept)}
    nodes: list[Node] = []
    for position in kept:
        node = tree.nodes[position]
        if isinstance(node, Leaf):
            nodes.append(node)
        elif position in cut:
            weight = node.stats.weight
            nodes.append(Leaf(answer(node.stats, tree.labels), node.stats, weight))
        else:
            moved = (replace(each, then=places[each.then]) for each in node.branches)
            nodes.append(replace(node, branches=tuple(moved)))
    return replace(tree, nodes=tuple(nodes))


def weakest_links(tree: Tree) -> list[PruningStep]:
    """Return the nested sequence of all pruned trees, down to the root alone."""
    for node in tree.nodes:
        if isinstance(node.stats, Moments) and node.stats.sse is None:
            raise OptionError(
                "cost-complexity pruning needs the squared error of every node, which a"
                " tree that was grown by another criterion does not have"
            )
    return links(tree)[0]


def links(tree: Tree) -> tuple[list[PruningStep], list[float]]:
    """Return the nested sequence, and the alpha at which each node is closed.

    A closed node is a leaf, or no longer in the tree. Each step closes the weakest
    link: the node whose subtree saves the least risk per additional leaf.
    """
    risks = [risk(node) for node in tree.nodes]
    below, leaves, parents = risks[:], [1] * len(risks), parents_of(tree).tolist()
    is_split = [isinstance(node, Split) for node in tree.nodes]
    for position in reversed(range(len(risks))):
        node = tree.nodes[position]
        if isinstance(node, Split):
            children = [branch.then for branch in node.branches]
            below[position] = sum(below[child] for child in children)
            leaves[position] = sum(leaves[child] for child in children)

    def link(position: int) -> tuple[float, int]:
        saved = risks[position] - below[position]
        return saved / (leaves[position] - 1), position

    whole = risks[0] or 1.0
    queue = [link(position) for position, split in enumerate(is_split) if split]
    heapify(queue)
    alpha, steps = 0.0, [PruningStep(0.0, leaves[0], below[0] / whole)]
    closing = [0.0] * len(risks)
    while queue:
        entry = heappop(queue)
        position = entry[1]
        if not is_split[position]:
            continue  # closed already
        if link(position) > entry:
            # Nodes below it were closed since then, which can only strengthen a link.
            heappush(queue, link(position))
            continue
        strength = entry[0]
        if strength > alpha + TIE * whole:
            alpha = strength
        else:
            steps.pop()  # this link closes in the same step as the one before
        for closed in _close(tree, position, is_split):
            closing[closed] = alpha / whole
        saved, fewer = risks[position] - below[position], leaves[position] - 1
        while position >= 0:
            below[position] += saved
            leaves[position] -= fewer
            position = parents[position]
        steps.append(PruningStep(alpha / whole, leaves[0], below[0] / whole))
    return steps, closing


def _close(tree: Tree, position: int, is_split: list[bool]) -> Iterator[int]:
    """Mark a node and all splits below it as closed; yield those that were open."""
    stack = [position]
    while stack:
        here = stack.pop()
        node = tree.nodes[here]
        if is_split[here] and isinstance(node, Split):
            is_split[here] = False
            stack += [branch.then for branch in node.branches]
            yield here
