"""The alpha of cost-complexity pruning, chosen by cross-validation as in CART.

Each tree of the nested sequence is judged by the trees of the folds, pruned at the
geometric mean of its alpha and the next, on the rows that did not grow them. The best
is the one with the least error, or by the 1-SE rule the smallest whose error is within
one standard error of the least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from treecompile.data import Dataset, take
from treecompile.ir import Tree
from treecompile.learners.held_out import losses, parents_of
from treecompile.learners.prune import Step, links, risk, weakest_links

CV, ONE_SE = "cv", "1se"
RULES = (CV, ONE_SE)
TIE = 1e-12  # errors that differ by less, relative to the root's, are equal

Doubles = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Validated:
    """A tree of the sequence, and its error on rows that it has not seen."""

    step: Step
    error: float  # relative to what the root gets wrong, as the risk of the step
    deviation: float  # the standard error of that


@dataclass(frozen=True, slots=True)
class Choice:
    """The whole sequence, and the place of the tree that a rule chooses."""

    table: tuple[Validated, ...]
    place: int

    @property
    def alpha(self) -> float:
        return self.table[self.place].step.alpha


def choose_alpha(
    data: Dataset,
    tree: Tree,
    grow: Callable[[NDArray[np.intp]], Tree],  # from some of the rows
    folds: NDArray[np.intp],
    rule: str,
) -> Choice:
    """Validate all trees of the sequence, and choose one by the rule.

    The rows of the data have the weights that the tree was grown with.
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
    return Choice(table, _chosen(table, rule))


def _errors(
    tree: Tree, held_out: Dataset, weights: Doubles, alphas: Doubles
) -> tuple[Doubles, Doubles]:
    """The sum of the losses, and of their squares, of the tree pruned at each alpha.

    A node is a leaf from the alpha at which it closes to that at which its parent does.
    """
    whole = risk(tree.nodes[0]) or 1.0
    closing = np.array(links(tree)[1]) * whole
    first = np.searchsorted(alphas, closing)
    parents = parents_of(tree)
    last = np.where(parents >= 0, first[parents], len(alphas))
    steps = np.zeros((2, len(alphas) + 1))
    for level in losses(tree, held_out.columns, held_out.y, weights):
        for sums, power in zip(steps, (1, 2), strict=True):
            loss = level.loss**power * level.parts
            np.add.at(sums, first[level.nodes], loss)
            np.subtract.at(sums, last[level.nodes], loss)
    sums, squares = np.cumsum(steps, axis=1)[:, :-1]
    return sums, squares


def _chosen(table: Sequence[Validated], rule: str) -> int:
    best = min(table, key=lambda entry: entry.error)
    most = best.error + TIE
    if rule == ONE_SE:
        most += best.deviation
    return max(place for place, entry in enumerate(table) if entry.error <= most)
