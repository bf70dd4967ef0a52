"""Chooses the alpha of cost-complexity pruning by cross-validation, for `training`.

As in CART, each tree of the nested sequence is judged by the trees of the folds: these
are pruned at the geometric mean of its alpha and the next, and predict the rows that
did not grow them. The chosen tree has the least error, or by the 1-SE rule it is the
smallest tree whose error is within one standard error of the least.

A large table is divided only once, to grow two trees instead of eleven.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, sqrt

import numpy as np

from treecompile.learning.folds import (
    ALWAYS,
    divided,
    estimate_of,
    first_of,
    fold_of,
    predicted,
)
from treecompile.learning.held_out import losses, parents_of
from treecompile.learning.options import (
    COST_COMPLEXITY,
    CV,
    ENOUGH,
    ONE_SE,
    LearnOptions,
    chosen,
)
from treecompile.learning.pruning import (
    TIE,
    PruningStep,
    cost_complexity,
    links,
    risk,
    weakest_links,
)
from treecompile.model.arrays import Floats, Positions
from treecompile.model.ir import Estimate, Tree
from treecompile.tables.dataset import Dataset, take

FOLDS = 10
MOST_CELLS = 500_000  # rows x features with which ten more trees take some seconds


@dataclass(frozen=True, slots=True)
class Validated:
    """A tree of the sequence, and its error in cross-validation."""

    step: PruningStep
    error: float  # relative to the risk of the root
    deviation: float  # the standard error of `error`


@dataclass(frozen=True, slots=True)
class AlphaChoice:
    """The whole sequence, and the position of the chosen tree."""

    table: tuple[Validated, ...]
    place: int
    rule: str  # CV or ONE_SE
    estimate: Estimate  # of the chosen tree, by the trees of the folds

    @property
    def alpha(self) -> float:
        return self.table[self.place].step.alpha


def rule_of(options: LearnOptions, algorithm: str, rows: int) -> str:
    """Return the rule by which alpha is chosen: CV, ONE_SE, or "" for none."""
    if chosen(options, "prune", algorithm) != COST_COMPLEXITY:
        return ""
    if options.alpha in (CV, ONE_SE):
        return str(options.alpha)
    is_default = not options.prune and options.alpha is None
    return ONE_SE if is_default and rows >= ENOUGH else ""


def folds_of(data: Dataset, options: LearnOptions) -> Positions:
    """Assign folds to rows; in a large table only the first fold is ever left out."""
    folds = fold_of(data, FOLDS, options.seed, "alpha: folds")
    is_asked = options.alpha is not None
    if is_asked or len(data.y) * len(data.features) <= MOST_CELLS:
        return folds
    return first_of(folds)


def choose_alpha(
    data: Dataset,
    tree: Tree,
    grow: Callable[[Positions], Tree],  # grows a tree from some of the rows
    folds: Positions,
    rule: str,
) -> AlphaChoice:
    """Validate all trees of the sequence, and choose one by the rule.

    `data` must have the weights with which the tree was grown.
    """
    weights = np.ones(len(data.y)) if data.weights is None else data.weights
    total = float(weights.sum())
    judged = float(weights[folds != ALWAYS].sum())
    steps = weakest_links(tree)
    root = risk(tree.nodes[0]) or 1.0
    alphas = [step.alpha * root for step in steps]
    between = np.array([*(sqrt(a * b) for a, b in pairwise(alphas)), inf])
    sums, squares = np.zeros(len(steps)), np.zeros(len(steps))
    grown = []
    for others, here in divided(folds):
        share = float(weights[others].sum()) / total
        other = grow(others)
        found = _errors(other, take(data, here), weights[here], between * share)
        sums += found[0]
        squares += found[1]
        grown.append((other, here, share))
    whole = root * (judged / total)
    spread = np.sqrt(np.maximum(squares - sums**2 / judged, 0.0))
    table = tuple(
        Validated(step, error / whole, deviation / whole)
        for step, error, deviation in zip(
            steps, sums.tolist(), spread.tolist(), strict=True
        )
    )
    place = _chosen(table, rule)
    limit = float(between[place])
    pruned = [
        (here, cost_complexity(other, limit * share / (risk(other.nodes[0]) or 1.0)))
        for other, here, share in grown
    ]
    said = [(here, predicted(data, here, tree)) for here, tree in pruned]
    return AlphaChoice(table, place, rule, estimate_of(data, said))


def _errors(
    tree: Tree, held_out: Dataset, weights: Floats, alphas: Floats
) -> tuple[Floats, Floats]:
    """Sum the losses and their squares, for the tree pruned at each alpha.

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
