"""Pruning by risk: the smallest tree with the least risk + alpha x leaves.

With the risk on the training cases this is cost-complexity pruning. With the risk on
other rows, and alpha 0, it is reduced-error pruning.

In training, the risk of a leaf is the weight of the cases it predicts wrongly, or for
numbers the sum of their squared errors. Alpha is relative to the risk of the root, like
`cp` in rpart: with 0.01, a split stays if each additional leaf saves 1 % of the root's
risk. It can be chosen by cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import heapify, heappop, heappush
from itertools import pairwise
from math import inf, sqrt

import numpy as np

from treecompile.learning.held_out import losses, node_losses, parents_of
from treecompile.learning.options import ONE_SE
from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.batch import Columns
from treecompile.model.errors import OptionError
from treecompile.model.ir import ClassCounts, Leaf, Moments, Node, Split, Tree
from treecompile.model.semantics import answer
from treecompile.tables.dataset import Dataset, take

TIE = 1e-12  # risks that differ by less, relative to the root's, are equal


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

    This works from the leaves upwards. A split that no row reaches is replaced, too.
    """
    return smallest(tree, node_losses(tree, columns, y, weights), price=0.0)


def smallest(tree: Tree, risks: Sequence[float], price: float) -> Tree:
    """The smallest tree with the least sum of the leaves' risks and their price."""
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
    """The risk of the node as a leaf."""
    if isinstance(node, Leaf) and not node.weight:
        return 0.0  # its statistics are its parent's, and no case reaches it
    if isinstance(node.stats, ClassCounts):
        return node.stats.weight - max(node.stats.weights)
    return node.stats.sse or 0.0


def collapse(tree: Tree, cut: set[int]) -> Tree:
    """The tree with leaves in place of the splits in `cut`."""
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
    """The nested sequence of all pruned trees, from the largest to the root alone."""
    for node in tree.nodes:
        if isinstance(node.stats, Moments) and node.stats.sse is None:
            raise OptionError(
                "the squared errors of its nodes are not known: a tree that was grown"
                " by another criterion has no such sequence"
            )
    return links(tree)[0]


def links(tree: Tree) -> tuple[list[PruningStep], list[float]]:
    """The nested sequence, and the alpha at which each node becomes a leaf or is gone.

    Each step closes the weakest link: the node whose leaves save least, per leaf.
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
            # Nodes below it have been closed since, which makes a link only stronger.
            heappush(queue, link(position))
            continue
        strength = entry[0]
        if strength > alpha + TIE * whole:
            alpha = strength
        else:
            steps.pop()  # the same step as the link before
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
    """Mark a node and all splits below it as closed."""
    stack = [position]
    while stack:
        here = stack.pop()
        node = tree.nodes[here]
        if is_split[here] and isinstance(node, Split):
            is_split[here] = False
            stack += [branch.then for branch in node.branches]
            yield here


# ---------------------------------------------------------------- choosing alpha
# As in CART, the trees of the folds stand for each tree of the nested sequence: pruned
# at the geometric mean of its alpha and the next, and judged on the rows that did not
# grow them. The best tree has the least error, or by the 1-SE rule is the smallest
# whose error is within one standard error of the least.


@dataclass(frozen=True, slots=True)
class Validated:
    """A tree of the sequence, and its error in cross-validation."""

    step: PruningStep
    error: float  # relative to the risk of the root
    deviation: float  # the standard error of that


@dataclass(frozen=True, slots=True)
class AlphaChoice:
    """The whole sequence, and the position of the chosen tree."""

    table: tuple[Validated, ...]
    place: int

    @property
    def alpha(self) -> float:
        return self.table[self.place].step.alpha


def choose_alpha(
    data: Dataset,
    tree: Tree,
    grow: Callable[[Positions], Tree],  # from some of the rows
    folds: Positions,
    rule: str,
) -> AlphaChoice:
    """Validate all trees of the sequence, and choose one by the rule.

    The data has the weights that the tree was grown with.
    """
    weights = np.ones(len(data.y)) if data.weights is None else data.weights
    total = float(weights.sum())
    steps = weakest_links(tree)
    whole = risk(tree.nodes[0]) or 1.0
    alphas = [step.alpha * whole for step in steps]
    between = np.array([*(sqrt(a * b) for a, b in pairwise(alphas)), inf])
    sums, squares = np.zeros(len(steps)), np.zeros(len(steps))
    for fold in range(int(folds.max()) + 1):
        others, here = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        share = float(weights[others].sum()) / total
        found = _errors(grow(others), take(data, here), weights[here], between * share)
        sums += found[0]
        squares += found[1]
    spread = np.sqrt(np.maximum(squares - sums**2 / total, 0.0))
    table = tuple(
        Validated(step, error / whole, deviation / whole)
        for step, error, deviation in zip(
            steps, sums.tolist(), spread.tolist(), strict=True
        )
    )
    return AlphaChoice(table, _chosen(table, rule))


def _errors(
    tree: Tree, held_out: Dataset, weights: Floats, alphas: Floats
) -> tuple[Floats, Floats]:
    """The sums of the losses and of their squares, for the tree pruned at each alpha.

    A node is a leaf from the alpha at which it closes until its parent closes.
    """
    whole = risk(tree.nodes[0]) or 1.0
    closing = np.array(links(tree)[1]) * whole
    first = np.searchsorted(alphas, closing)
    parents = parents_of(tree)
    last = np.where(parents >= 0, first[parents], len(alphas))
    steps = np.zeros((2, len(alphas) + 1))
    for nodes, loss, parts in losses(tree, held_out.columns, held_out.y, weights):
        for sums, power in zip(steps, (1, 2), strict=True):
            weighted = loss**power * parts
            np.add.at(sums, first[nodes], weighted)
            np.subtract.at(sums, last[nodes], weighted)
    sums, squares = np.cumsum(steps, axis=1)[:, :-1]
    return sums, squares


def _chosen(table: Sequence[Validated], rule: str) -> int:
    best = min(table, key=lambda entry: entry.error)
    most = best.error + TIE
    if rule == ONE_SE:
        most += best.deviation
    return max(place for place, entry in enumerate(table) if entry.error <= most)
