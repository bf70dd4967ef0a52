"""Divides rows into folds; each is predicted by a model that was learned without it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from treecompile.measure.quality import measure
from treecompile.model.arrays import Array, Positions
from treecompile.model.batch import answers
from treecompile.model.errors import OptionError
from treecompile.model.ir import Body, Estimate
from treecompile.tables.dataset import Dataset, take

ALWAYS = -1  # the "fold" of a row that is never left out


def fold_of(data: Dataset, count: int, seed: int, option: str) -> Positions:
    """Assign each row a fold, from 0: at random with a seed, stratified by label.

    The sizes of the folds, and their numbers of rows per label, differ by one at most.
    An error message names `option`.
    """
    rows = len(data.y)
    if not 2 <= count <= rows:
        raise OptionError(
            f"{option}={count}: expected 2 or more folds, and no more than there are"
            f" rows to learn from ({rows})"
        )
    order = np.random.default_rng(seed).permutation(rows)
    if data.labels:
        order = order[np.argsort(data.y[order], kind="stable")]
    folds = np.empty(rows, dtype=np.intp)
    folds[order] = np.arange(rows) % count
    return folds


def first_of(folds: Positions) -> Positions:
    """Keep only the first fold; rows of other folds are never left out."""
    return np.where(folds == 0, 0, ALWAYS)


def divided(folds: Positions) -> Iterator[tuple[Positions, Positions]]:
    """Yield for each fold the rows to learn from and the rows that are left out."""
    for number in range(int(folds.max()) + 1):
        yield np.flatnonzero(folds != number), np.flatnonzero(folds == number)


def predicted(data: Dataset, rows: Positions, body: Body) -> Array:
    """Return a model's answers for some rows."""
    part = take(data, rows)
    return answers(body, part.columns, len(rows))


def estimate_of(
    data: Dataset, predictions: Iterable[tuple[Positions, Array]]
) -> Estimate:
    """Estimate quality: each fold is predicted by the model learned without it."""
    rows, said = zip(*predictions, strict=True)
    actual = data.y[np.concatenate(rows)]
    return Estimate(len(rows), measure(data.labels, np.concatenate(said), actual))
