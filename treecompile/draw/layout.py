"""Where the nodes of a tree stand: from left to right, leaves below one another.

A leaf takes a row of its own and a split stands halfway between its first and last
child, so nothing overlaps; every depth has a column as wide as its widest text. Rows
and text run the way people read, whatever the number of leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.ir import Split, Tree


@dataclass(frozen=True, slots=True)
class Spot:
    position: int  # of the node
    parent: int  # of its parent; -1 for the root
    depth: int
    row: float  # of leaves: 0, 1, 2, ...
    hidden: int  # leaves below that are not drawn


def spots(tree: Tree, max_depth: int | None) -> list[Spot]:
    """The nodes that are drawn, parents before their children."""
    below = _leaves_below(tree)
    order: list[tuple[int, int, int]] = []  # node, parent, depth, in reading order
    stack = [(0, -1, 0)]
    while stack:
        position, parent, depth = stack.pop()
        order.append((position, parent, depth))
        for child in reversed(_children(tree, position, depth, max_depth)):
            stack.append((child, position, depth + 1))
    rows: dict[int, float] = {}
    last = 0
    for position, _, depth in order:
        if not _children(tree, position, depth, max_depth):
            rows[position] = float(last)
            last += 1
    for position, _, depth in reversed(order):
        children = _children(tree, position, depth, max_depth)
        if children:
            rows[position] = (rows[children[0]] + rows[children[-1]]) / 2
    return [
        Spot(position, parent, depth, rows[position], hidden)
        for position, parent, depth in order
        for hidden in [_hidden(tree, position, depth, max_depth, below)]
    ]


def _children(
    tree: Tree, position: int, depth: int, max_depth: int | None
) -> Sequence[int]:
    node = tree.nodes[position]
    if not isinstance(node, Split) or (max_depth is not None and depth >= max_depth):
        return ()
    return [branch.then for branch in node.branches]


def _hidden(
    tree: Tree, position: int, depth: int, max_depth: int | None, below: Sequence[int]
) -> int:
    is_cut = isinstance(tree.nodes[position], Split) and not _children(
        tree, position, depth, max_depth
    )
    return below[position] if is_cut else 0


def _leaves_below(tree: Tree) -> list[int]:
    counts = [1] * len(tree.nodes)
    for position in range(len(tree.nodes) - 1, -1, -1):
        node = tree.nodes[position]
        if isinstance(node, Split):
            counts[position] = sum(counts[branch.then] for branch in node.branches)
    return counts
