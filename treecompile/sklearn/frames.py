"""X of scikit-learn -> a frame that the learners read.

scikit-learn's own validation checks the names and the number of columns. Texts,
categories, booleans and missing values stay what they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from treecompile.model.values import is_missing
from treecompile.tables.polars import from_polars, is_polars

REPEATED = 3  # times that a label must occur, or scikit-learn doubts that it is one
CELLS = (str, Number, Decimal, np.generic)


def checked_frame(estimator: Any, X: Any, *, reset: bool) -> pd.DataFrame:
    """The rows of X, after the checks of scikit-learn.

    `reset` records the names and the number of columns; otherwise they must be those
    that the estimator was fitted on.
    """
    if is_polars(X):
        X = from_polars(X)
    if isinstance(X, pd.DataFrame):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _check_size(estimator, X)
        return X.set_axis([str(name) for name in X.columns], axis=1)
    array = validate_data(
        estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan"
    )
    names = names_of(estimator)
    if array.dtype != object:
        return pd.DataFrame(array, columns=names)
    columns = {name: _typed(array[:, i]) for i, name in enumerate(names)}
    return pd.DataFrame(columns, columns=names)


def names_of(estimator: Any) -> list[str]:
    """The names of the columns, x0, x1, ... if they have none."""
    given = getattr(estimator, "feature_names_in_", None)
    if given is not None:
        return [str(name) for name in given]
    return [f"x{i}" for i in range(estimator.n_features_in_)]


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with underscores if a column is called so."""
    while name in taken:
        name += "_"
    return name


def kinds_of(frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Which columns hold numbers and which categories.

    Nothing is left to be guessed: a column that looks like an identifier is a feature
    like any other, since the caller chose the columns.
    """
    numeric, categorical = [], []
    for name, column in frame.items():
        dtype = column.dtype
        is_number = pd.api.types.is_numeric_dtype(dtype)
        if is_number and not pd.api.types.is_bool_dtype(dtype):
            numeric.append(str(name))
        elif not _is_ordered(dtype) and not column.isna().all():
            categorical.append(str(name))
    return {"numeric": tuple(numeric), "categorical": tuple(categorical)}


def coded_labels(y: np.ndarray) -> tuple[np.ndarray, pd.Categorical]:
    """The classes in their order, and the labels as codes."""
    codes, values = pd.factorize(y, use_na_sentinel=False)
    # Sorting all rows, as the check does, would take longer than learning from them.
    is_many = len(y) <= REPEATED * len(values)
    check_classification_targets(y if is_many else np.tile(values, REPEATED))
    classes, places = np.unique(values, return_inverse=True)
    return classes, pd.Categorical.from_codes(places[codes], classes.tolist())


def _is_ordered(dtype: Any) -> bool:
    return isinstance(dtype, pd.CategoricalDtype) and bool(dtype.ordered)


def _check_size(estimator: Any, frame: pd.DataFrame) -> None:
    """What `check_array` says about arrays without rows or columns."""
    what = f"a minimum of 1 is required by {type(estimator).__name__}."
    if not len(frame.columns):
        shape = f"(shape={frame.shape})"
        raise ValueError(f"Found array with 0 feature(s) {shape} while {what}")
    if not len(frame):
        raise ValueError(
            f"Found array with 0 sample(s) (shape={frame.shape}) while {what}"
        )


def _typed(cells: np.ndarray) -> pd.Series[Any]:
    """A column of an array of objects: numbers if all cells are, else categories."""
    for cell in cells:
        if not isinstance(cell, CELLS) and not is_missing(cell):
            raise TypeError(
                "every argument must be a string, a boolean, a number or missing, not"
                f" {type(cell).__name__!r}"
            )
    return pd.Series(cells).infer_objects()
