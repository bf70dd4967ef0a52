"""k-fold cross-validation of a learner, and an estimate of its quality on new rows.

The types of the columns are decided once, from the whole table. Each fold is predicted
by a model that was learned without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeVar

import numpy as np

from treecompile.learning.checks import check_options
from treecompile.learning.folds import (
    divided,
    estimate_of,
    first_of,
    fold_of,
    predicted,
)
from treecompile.learning.options import LearnOptions, Progress
from treecompile.learning.training import (
    ToPruneBy,
    default_algorithm,
    grow_tree,
    read_dataset,
    split_off,
)
from treecompile.measure.quality import accuracy, measure
from treecompile.model.arrays import Array, Positions
from treecompile.model.display import Display, Shown, confusion_table, quality_line
from treecompile.model.ir import Body, ClassQuality, Estimate, Label, Quality, Tree
from treecompile.model.paths import leaf_count
from treecompile.tables.dataset import Dataset, take
from treecompile.tables.options import DataOptions
from treecompile.tables.read import Source

AnyBody = TypeVar("AnyBody", bound=Body)


@dataclass(frozen=True, slots=True)
class Fold:
    """The size of the tree that was grown without a fold, and its quality on it."""

    quality: Quality
    nodes: int
    leaves: int


@dataclass(frozen=True, slots=True, repr=False)
class CrossValidation(Shown):
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

    def _display(self) -> Display:
        line = f"{len(self.folds)}-fold cross-validation of {self.algorithm}: "
        if self.labels:
            line += f"accuracy {100 * self.mean:.1f} % +/- {100 * self.deviation:.1f}"
        else:
            line += f"root mean squared error {self.mean:.6g} +/- {self.deviation:.4g}"
        lines = [
            f"{line}, {self.mean_leaves:.1f} leaves",
            f"all folds together: {quality_line(self.quality)}",
        ]
        return Display(lines, confusion_table(self.labels, self.quality))


def _score(quality: Quality) -> float:
    if isinstance(quality, ClassQuality):
        return accuracy(quality) or 0.0
    return quality.root_mean_squared_error


def cross_validate(
    data: Source,
    columns: DataOptions,
    options: LearnOptions = LearnOptions(),
    k: int = 10,
    progress: Callable[[int], Progress] | None = None,
) -> CrossValidation:
    """Learn k times, each time without one of k folds, and predict that fold."""
    check_options(options)
    whole = read_dataset(data, columns, options)
    algorithm = options.algorithm or default_algorithm(whole)
    number_of = fold_of(whole, k, options.seed, "cv")
    tell = (progress or _silent)(len(whole.y) * (k - 1))
    answers = np.empty(len(whole.y), np.intp if whole.labels else np.float64)
    folds = []
    for here, tree, said in out_of_fold(
        whole, number_of, tree_learner(algorithm, options)
    ):
        answers[here] = said
        quality = measure(whole.labels, said, whole.y[here])
        folds.append(Fold(quality, len(tree.nodes), leaf_count(tree)))
        tell(len(whole.y) - len(here))
    chosen = () if options.algorithm else (f"algorithm: {algorithm}",)
    return CrossValidation(
        whole.target,
        algorithm,
        whole.labels,
        options.seed,
        tuple(folds),
        measure(whole.labels, answers, whole.y),
        (*whole.notes, *chosen),
    )


def tree_learner(algorithm: str, options: LearnOptions) -> Callable[[Dataset], Tree]:
    """Return a function that learns a tree; it may hold out rows for pruning."""

    def learn(data: Dataset) -> Tree:
        training, held_out = split_off(data, options)

        def to_prune_by(tree: Tree) -> ToPruneBy:
            assert held_out is not None
            return held_out.columns, held_out.y, held_out.weights

        tree, _ = grow_tree(training, algorithm, options, _silent, to_prune_by)
        return tree

    return learn


def out_of_fold(
    data: Dataset, folds: Positions, learn: Callable[[Dataset], AnyBody]
) -> Iterator[tuple[Positions, AnyBody, Array]]:
    """Yield for each fold its rows, a body learned without them, and its answers.

    A row in no fold (`ALWAYS`) is never left out.
    """
    for others, here in divided(folds):
        body = learn(take(data, others))
        yield here, body, predicted(data, here, body)


# --- the quality to expect ------------------------------------------------------------

FOLDS = 10
FEW = 2 * FOLDS  # rows; with fewer, an estimate says nothing
MANY = 300_000  # rows x features with which ten models take some seconds
TOO_MANY = 5_000_000  # rows x features with which one more model takes some seconds
PART = 5  # in a table with more than MANY, one row in five is held out


def estimate_folds(data: Dataset, seed: int) -> Positions | None:
    """Choose folds for `estimate`; None if rows are too few or the table too large.

    The choice depends on the size of the table, never on measured time.
    """
    rows = len(data.y)
    cells = rows * len(data.features)
    if rows < FEW or cells > TOO_MANY:
        return None
    if cells <= MANY:
        return fold_of(data, FOLDS, seed, "cv")
    return first_of(fold_of(data, PART, seed, "cv"))


def estimate(
    data: Dataset, folds: Positions, learn: Callable[[Dataset], Body]
) -> Estimate:
    """Estimate quality on new rows: each fold is predicted by a model without it."""
    found = out_of_fold(data, folds, learn)
    return estimate_of(data, ((here, said) for here, _, said in found))


def _silent(rows: int) -> Progress:
    return lambda settled: None
