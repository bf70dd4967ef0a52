"""Computes the loss of each node, taken as a leaf, on rows that did not grow the tree.

Pruning (`pruning`, `alpha`) compares these losses. A row goes down the tree as in
prediction, and counts at its leaf and at every node above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.batch import Columns, deciders
from treecompile.model.ir import ClassCounts, Leaf, Split, Stats, Tree
from treecompile.model.semantics import answer

# For rows at nodes: the node; the row's loss there, 1 for a wrong label or the squared
# error; and the weight of the row.
Losses = tuple[Positions, Floats, Floats]


def parents_of(tree: Tree) -> Positions:
    """Return the position of the parent of every node; -1 for the root."""
    parents = np.full(len(tree.nodes), -1, dtype=np.intp)
    for position, node in enumerate(tree.nodes):
        if isinstance(node, Split):
            parents[[branch.then for branch in node.branches]] = position
    return parents


def losses(
    tree: Tree, columns: Columns, y: Array, weights: Floats | None
) -> Iterator[Losses]:
    """Yield the losses of all rows, at their leaves first, then at the nodes above."""
    values, parents = _values(tree), parents_of(tree)
    nodes = deciders(tree, columns, len(y))
    if weights is None:
        weights = np.ones(len(y))
    while len(nodes):
        said = values[nodes]
        loss = y != said if tree.labels else (y - said) ** 2
        yield nodes, loss.astype(np.float64), weights
        nodes = parents[nodes]
        left = nodes >= 0
        y, nodes, weights = y[left], nodes[left], weights[left]


def node_losses(
    tree: Tree, columns: Columns, y: Array, weights: Floats | None
) -> list[float]:
    """Return the weighted sum of the losses at each node."""
    sums = np.zeros(len(tree.nodes))
    for nodes, loss, own in losses(tree, columns, y, weights):
        np.add.at(sums, nodes, loss * own)
    found: list[float] = sums.tolist()
    return found


def counted_losses(tree: Tree, actual: Mapping[int, Stats]) -> list[float]:
    """Return `node_losses` from the statistics of the rows at each leaf.

    For numbers, the sums are the rows, and the sum and the sum of squares of their
    differences from the node's answer.
    """
    values, parents = _values(tree), parents_of(tree)
    sums = np.zeros((len(tree.nodes), len(tree.labels) or 3))
    for position, found in actual.items():
        if isinstance(found, ClassCounts):
            sums[position] = found.weights
        else:
            off = found.mean - values[position]
            squares = (found.sse or 0.0) + found.weight * off**2
            sums[position] = found.weight, found.weight * off, squares
    for position in range(len(tree.nodes) - 1, 0, -1):  # children before their parents
        above = parents[position]
        own = sums[position]
        if not tree.labels:
            own = _moved(own, values[position] - values[above])
        sums[above] += own
    if not tree.labels:
        return [float(squares) for squares in sums[:, 2]]
    right = sums[np.arange(len(tree.nodes)), values]
    return [float(wrong) for wrong in sums.sum(axis=1) - right]


def _moved(sums: Floats, by: float) -> Floats:
    """Convert counts of numbers to those for an answer that is lower by `by`."""
    rows, total, squares = sums
    return np.array([rows, total + rows * by, squares + by * (2 * total + rows * by)])


def _values(tree: Tree) -> Array:
    """Return the answer of each node as a leaf: a label's position, or a number."""
    said = [
        node.value if isinstance(node, Leaf) else answer(node.stats, tree.labels)
        for node in tree.nodes
    ]
    if not tree.labels:
        return np.array(said, dtype=np.float64)
    places = {label: place for place, label in enumerate(tree.labels)}
    return np.array([places[label] for label in said], dtype=np.intp)
