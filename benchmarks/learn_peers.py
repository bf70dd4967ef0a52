"""The peers of learn.py: scikit-learn, YDF, and LightGBM and XGBoost with one tree.

Those that are not installed are left out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from os import cpu_count
from typing import Any

import numpy as np
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


@dataclass(frozen=True, slots=True)
class Problem:
    """One learning problem, in the forms that the peers take."""

    codes: Any  # categories, one column per feature
    x: Any  # numbers
    y: Any
    is_labels: bool
    depth: int | None
    is_c45: bool = False  # entropy, and at least two cases in each leaf


# Learns a tree and returns its number of nodes.
Run = Callable[[], int]


def sklearn_run(problem: Problem) -> Run:
    def run() -> int:
        x = problem.x
        if problem.codes.size:
            wide = OneHotEncoder(sparse_output=False).fit_transform(problem.codes)
            x = np.hstack([wide, x])
        options: dict[str, Any] = {"max_depth": problem.depth, "random_state": 0}
        if problem.is_c45:
            options |= {"criterion": "entropy", "min_samples_leaf": 2}
        kind = DecisionTreeClassifier if problem.is_labels else DecisionTreeRegressor
        return int(kind(**options).fit(x, problem.y).tree_.node_count)

    return run


def ydf_run(problem: Problem) -> Run | None:
    """YDF's CART; converting the data to its format is not timed."""
    if find_spec("ydf") is None:
        return None
    import ydf

    ydf.verbose(0)
    logging.getLogger("absl").setLevel(logging.ERROR)
    columns: dict[str, Any] = {
        f"x{j}": problem.x[:, j].astype(np.float32) for j in range(problem.x.shape[1])
    }
    for j in range(problem.codes.shape[1] if problem.codes.size else 0):
        columns[f"c{j}"] = np.char.add("c", problem.codes[:, j].astype(str))
    columns["y"] = problem.y
    task = ydf.Task.CLASSIFICATION if problem.is_labels else ydf.Task.REGRESSION
    learner = ydf.CartLearner(
        label="y",
        task=task,
        max_depth=-1 if problem.depth is None else problem.depth + 1,
        min_examples=2 if problem.is_c45 else 1,
        validation_ratio=0.0,  # no pruning
    )
    data = ydf.create_vertical_dataset(
        columns,
        columns=[ydf.Column("y", _semantic(ydf, problem))],
        include_all_columns=True,
        max_vocab_count=-1,
    )

    def run() -> int:
        return int(learner.train(data).num_nodes())

    return run


def _semantic(ydf: Any, problem: Problem) -> Any:
    if problem.is_labels:
        return ydf.Semantic.CATEGORICAL
    return ydf.Semantic.NUMERICAL


def lightgbm_run(problem: Problem) -> Run | None:
    """One tree over 255 bins, so not exact.

    It is not grown to full depth: its memory grows with the allowed leaves, and that
    takes minutes.
    """
    if find_spec("lightgbm") is None or problem.codes.size or problem.depth is None:
        return None
    import lightgbm

    options = {
        "objective": "binary" if problem.is_labels else "regression",
        "num_leaves": 2**problem.depth,
        "max_depth": problem.depth,
        "num_threads": cpu_count(),
        "min_data_in_leaf": 2 if problem.is_c45 else 1,
        "min_sum_hessian_in_leaf": 0.0,
        "verbose": -1,
    }

    def run() -> int:
        data = lightgbm.Dataset(problem.x, problem.y)
        made = lightgbm.train(options, data, num_boost_round=1)
        leaves = int(made.dump_model()["tree_info"][0]["num_leaves"])
        return 2 * leaves - 1

    return run


def xgboost_run(problem: Problem) -> Run | None:
    """One tree by all thresholds, as here: `tree_method="exact"`."""
    if find_spec("xgboost") is None or problem.codes.size or problem.depth is None:
        return None
    import xgboost

    options = {
        "objective": "binary:logistic" if problem.is_labels else "reg:squarederror",
        "tree_method": "exact",
        "max_depth": problem.depth,
        "nthread": cpu_count(),
        "min_child_weight": 0,
        "lambda": 0,
    }

    def run() -> int:
        data = xgboost.DMatrix(problem.x, problem.y)
        made = xgboost.train(options, data, num_boost_round=1)
        return len(made.trees_to_dataframe())

    return run


PEERS: dict[str, Callable[[Problem], Run | None]] = {
    "scikit-learn": sklearn_run,
    "YDF": ydf_run,
    "LightGBM": lightgbm_run,
    "XGBoost, exact": xgboost_run,
}


def versions() -> str:
    """The installed versions, on one line."""
    known = []
    for package in ("scikit-learn", "ydf", "lightgbm", "xgboost-cpu", "numpy"):
        try:
            known.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            known.append(f"no {package}")
    return ", ".join(known)
