"""Folds for cross-validation: seeded, and stratified where there are labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treecompile.data import Dataset
from treecompile.errors import OptionError


def fold_of(data: Dataset, count: int, seed: int, option: str) -> NDArray[np.intp]:
    """The fold of each row, from 0.

    Folds differ by one row at most in size, and in how many rows they have of a label.
    `option` is what an error names.
    """
    rows = len(data.y)
    if not 2 <= count <= rows:
        raise OptionError(
            f"{option} {count}: expected 2 or more folds, and no more than there are"
            f" rows to learn from ({rows})"
        )
    order = np.random.default_rng(seed).permutation(rows)
    if data.labels:
        order = order[np.argsort(data.y[order], kind="stable")]
    folds = np.empty(rows, dtype=np.intp)
    folds[order] = np.arange(rows) % count
    return folds
