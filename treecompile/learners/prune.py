"""Pruning by risk: the smallest tree for which risk + alpha x leaves is least.

With the risk on the training cases that is cost-complexity pruning; with that on other
rows, and alpha 0, it is reduced-error pruning.

In training, the risk of a leaf is the weight of the cases it predicts wrongly, or for
numbers the sum of their squared errors. Alpha counts in risks of the root, as rpart's
`cp` does: at 0.01, a split stays if each leaf that it adds saves 1 % of what the root
gets wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns
from treecompile.errors import OptionError
from treecompile.ir import (
    Branch,
    ClassCounts,
    Leaf,
    Moments,
    Node,
    Split,
    Tree,
)
from treecompile.learners.held_out import node_losses
from treecompile.semantics import answer

TIE = 1e-12  # risks that differ by less, relative to the root's, are equal


@dataclass(frozen=True, slots=True)
class Step:
    """One tree of the nested sequence: it is the answer from this alpha on."""

    alpha: float
    leaves: int
    risk: float  # relative to the root's


def cost_complexity(tree: Tree, alpha: float) -> Tree:
    """Prune a tree; of trees that are equally good, the smallest."""
    risks = [risk(node) for node in tree.nodes]
    return smallest(tree, risks, alpha * risks[0])


def reduced_error(
    tree: Tree,
    columns: Columns,
    y: NDArray[Any],
    weights: NDArray[np.float64] | None = None,
) -> Tree:
    """Put a leaf in place of each split that does not lessen the errors on these rows.

    From the leaves upwards; a split that no row reaches goes as well.
    """
    return least_loss(tree, node_losses(tree, columns, y, weights))


def least_loss(tree: Tree, losses: Sequence[float]) -> Tree:
    """The same, given what each node as a leaf gets wrong on the rows."""
    return smallest(tree, losses, 0.0)


def smallest(tree: Tree, risks: Sequence[float], price: float) -> Tree:
    """The smallest tree with the least sum of its leaves' risks and their price."""
    below, leaves = [*risks], [1] * len(risks)  # of the best subtree of each node
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
    """What a leaf in place of the node would get wrong."""
    if isinstance(node, Leaf) and not node.weight:
        return 0.0  # its statistics are its parent's, and no case reaches it
    if isinstance(node.stats, ClassCounts):
        return node.stats.weight - max(node.stats.weights)
    return node.stats.sse or 0.0


def collapse(tree: Tree, cut: set[int]) -> Tree:
    """The tree with leaves in place of some splits."""
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
            nodes.append(replace(node, branches=_moved(node.branches, places)))
    return replace(tree, nodes=tuple(nodes))


def _moved(branches: Sequence[Branch], places: dict[int, int]) -> tuple[Branch, ...]:
    return tuple(replace(branch, then=places[branch.then]) for branch in branches)


def weakest_links(tree: Tree) -> list[Step]:
    """The nested sequence of all pruned trees, from the largest to the root alone."""
    for node in tree.nodes:
        if isinstance(node.stats, Moments) and node.stats.sse is None:
            raise OptionError(
                "the squared errors of its nodes are not known: a tree that was grown"
                " by another criterion has no such sequence"
            )
    return links(tree)[0]


def links(tree: Tree) -> tuple[list[Step], list[float]]:
    """The nested sequence, and the alpha from which on each node is a leaf or gone.

    Again and again the node goes whose leaves save least, each: the weakest link.
    """
    risks = [risk(node) for node in tree.nodes]
    below, leaves, parents = risks[:], [1] * len(risks), [-1] * len(risks)
    is_split = [isinstance(node, Split) for node in tree.nodes]
    for position in reversed(range(len(risks))):
        node = tree.nodes[position]
        if isinstance(node, Split):
            children = [branch.then for branch in node.branches]
            below[position] = sum(below[child] for child in children)
            leaves[position] = sum(leaves[child] for child in children)
            for child in children:
                parents[child] = position

    def link(position: int) -> tuple[float, int]:
        saved = risks[position] - below[position]
        return saved / (leaves[position] - 1), position

    whole = risks[0] or 1.0
    queue = [link(position) for position, split in enumerate(is_split) if split]
    heapify(queue)
    alpha, steps = 0.0, [Step(0.0, leaves[0], below[0] / whole)]
    closing = [0.0] * len(risks)
    while queue:
        entry = heappop(queue)
        position = entry[1]
        if not is_split[position]:
            continue  # it is gone
        if link(position) > entry:
            # What is below it has changed since, which only makes a link stronger.
            heappush(queue, link(position))
            continue
        strength = entry[0]
        if strength > alpha + TIE * whole:
            alpha = strength
        else:
            steps.pop()  # one step with the link before
        for closed in _close(tree, position, is_split):
            closing[closed] = alpha / whole
        saved, fewer = risks[position] - below[position], leaves[position] - 1
        while position >= 0:
            below[position] += saved
            leaves[position] -= fewer
            position = parents[position]
        steps.append(Step(alpha / whole, leaves[0], below[0] / whole))
    return steps, closing


def _close(tree: Tree, position: int, is_split: list[bool]) -> Iterator[int]:
    """Mark a node and all splits below it as no splits."""
    stack = [position]
    while stack:
        here = stack.pop()
        node = tree.nodes[here]
        if is_split[here] and isinstance(node, Split):
            is_split[here] = False
            stack += [branch.then for branch in node.branches]
            yield here
