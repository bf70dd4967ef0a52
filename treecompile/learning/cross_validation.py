"""k-fold cross-validation of a way of learning.

The types of the columns are decided once, on the whole table. Each fold is predicted by
a tree that was grown and pruned without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np

from treecompile.learning.options import LearnOptions, Progress, check_options
from treecompile.learning.training import (
    ToPruneBy,
    default_algorithm,
    grow_tree,
    read_dataset,
    split_off,
)
from treecompile.measure.quality import accuracy, measure
from treecompile.model.batch import answers
from treecompile.model.ir import ClassQuality, Label, Leaf, Quality, Tree
from treecompile.tables.dataset import Dataset, fold_of, take
from treecompile.tables.options import DataOptions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class Fold:
    """The size of the tree that was grown without a fold, and its quality on it."""

    quality: Quality
    nodes: int
    leaves: int


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """The folds, and all their predictions together."""

    target: str
    algorithm: str
    labels: tuple[Label, ...]  # empty for regression
    seed: int
    folds: tuple[Fold, ...]
    quality: Quality  # on all rows, each predicted by a tree that has not seen it
    notes: tuple[str, ...]

    @property
    def scores(self) -> tuple[float, ...]:
        """The accuracy, or the root mean squared error, of each fold."""
        return tuple(map(_score, (fold.quality for fold in self.folds)))

    @property
    def mean(self) -> float:
        """The mean of the scores."""
        return fmean(self.scores)

    @property
    def deviation(self) -> float:
        """The standard deviation of the scores."""
        return stdev(self.scores)

    @property
    def mean_nodes(self) -> float:
        return fmean(fold.nodes for fold in self.folds)

    @property
    def mean_leaves(self) -> float:
        return fmean(fold.leaves for fold in self.folds)


def _score(quality: Quality) -> float:
    if isinstance(quality, ClassQuality):
        return accuracy(quality) or 0.0
    return quality.root_mean_squared_error


def cross_validate(
    data: str | Path | pd.DataFrame,
    columns: DataOptions,
    options: LearnOptions = LearnOptions(),
    k: int = 10,
    progress: Callable[[int], Progress] | None = None,
) -> CrossValidation:
    """Learn k times, each time without one of k folds, and predict that fold."""
    check_options(options)
    whole = read_dataset(data, columns, options)
    algorithm = options.algorithm or default_algorithm(whole)
    number_of = fold_of(whole, k, options.seed, "--cv")
    tell = (progress or _silent)(len(whole.y) * (k - 1))
    predicted = np.empty(len(whole.y), np.intp if whole.labels else np.float64)
    folds = []
    for number in range(k):
        here = number_of == number
        tree = _without(take(whole, ~here), algorithm, options)
        held_out = take(whole, here)
        predicted[here] = answers(tree, held_out.columns, len(held_out.y))
        quality = measure(whole.labels, predicted[here], held_out.y)
        leaves = sum(isinstance(node, Leaf) for node in tree.nodes)
        folds.append(Fold(quality, len(tree.nodes), leaves))
        tell(int((~here).sum()))
    chosen = () if options.algorithm else (f"algorithm: {algorithm}",)
    return CrossValidation(
        whole.target,
        algorithm,
        whole.labels,
        options.seed,
        tuple(folds),
        measure(whole.labels, predicted, whole.y),
        (*whole.notes, *chosen),
    )


def _without(data: Dataset, algorithm: str, options: LearnOptions) -> Tree:
    """The tree from the rows outside a fold; some may be held out to prune by."""
    training, held_out = split_off(data, options)

    def to_prune_by(tree: Tree) -> ToPruneBy:
        assert held_out is not None
        return held_out.columns, held_out.y, held_out.weights

    tree, _ = grow_tree(training, algorithm, options, _silent, to_prune_by)
    return tree


def _silent(rows: int) -> Progress:
    return lambda settled: None
