"""Imports forests of scikit-learn, exactly as it evaluates them.

Random forests, extremely randomised trees, bagged trees and AdaBoost. A leaf adds its
shares of the classes, its mean or its weighted vote. Boosted trees are in `boosting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from treecompile.importers.sklearn.boosting import gradient_boosting, hist_boosting
from treecompile.importers.sklearn.features import numeric
from treecompile.importers.sklearn.trees import (
    SUPPORTED,
    check_outputs,
    column_names,
    labels_of,
    nodes_of,
    refuse_categorical,
)
from treecompile.model import forests, ir
from treecompile.model.errors import DataError

Made = tuple[ir.Forest, list[str]]
TREES = (*SUPPORTED, "ExtraTreeClassifier", "ExtraTreeRegressor")


def import_forest(
    estimator: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[ir.Label] | None = None,
    *,
    inner: bool = False,
) -> ir.NotedForest:
    """Turn a fitted ensemble of trees into a program.

    The columns of an `inner` ensemble, the last step of a pipeline, need no names.
    """
    kind = type(estimator).__name__
    if not hasattr(estimator, "estimators_") and not hasattr(estimator, "_predictors"):
        raise DataError(f"the {kind} is not fitted: call fit first")
    check_outputs(estimator)
    names = column_names(estimator, feature_names, inner=inner)
    forest, notes = KINDS[kind](estimator, names, _labels(estimator, class_names))
    if problem := forests.problem(forest):
        raise DataError(f"cannot import the {kind}: {problem}")
    program = ir.ForestProgram("prediction", f"scikit-learn {kind}", forest)
    return ir.NotedForest(program, tuple(notes))


def _labels(
    estimator: Any, class_names: Sequence[ir.Label] | None
) -> tuple[ir.Label, ...]:
    labels = labels_of(estimator, class_names)
    if len(labels) == 1:
        kind = type(estimator).__name__
        raise DataError(f"the {kind} knows only the class {labels[0]!r}: use more rows")
    return labels


# ---------------------------------------------------------------- means of trees


def _mean(estimator: Any, names: Sequence[str], labels: tuple[ir.Label, ...]) -> Made:
    """Import a random forest, or bagged trees: the mean of their shares or numbers.

    The sums start at 0, and the trees are added in their order.
    """
    features = numeric(names)
    members = []
    for tree, columns in _trees(estimator):
        outputs = _outputs(tree, len(labels)) if labels else (0,)
        values = tree.tree_.value[:, 0, : len(outputs)].tolist()
        nodes = nodes_of(tree.tree_, values, columns)
        members.append(forests.member(features, outputs, nodes))
    start = (0.0,) * (len(labels) or 1)
    forest = ir.Forest(
        features, labels, tuple(members), start, divisor=float(len(members))
    )
    return forest, _parallel(estimator)


def _outputs(tree: Any, labels: int) -> tuple[int, ...]:
    """Return the places of the classes a tree knows; a bagged one may lack some."""
    if len(tree.classes_) == labels:
        return tuple(range(labels))
    return tuple(int(place) for place in tree.classes_)


def _parallel(estimator: Any) -> list[str]:
    if getattr(estimator, "n_jobs", None) in (None, 1):
        return []
    return [
        f"with n_jobs={estimator.n_jobs}, a {type(estimator).__name__} adds its trees"
        " in changing order, and the last bits of its sums change; the model adds them"
        " as with n_jobs=1"
    ]


def _trees(estimator: Any) -> Iterator[tuple[Any, list[int] | None]]:
    """Yield the trees, and which columns each of them reads; None: all."""
    chosen = getattr(estimator, "estimators_features_", None)
    for place, tree in enumerate(estimator.estimators_):
        kind = type(tree).__name__
        if kind not in TREES:
            raise DataError(
                f"cannot import a {type(estimator).__name__} of {kind}: expected one of"
                f" {', '.join(TREES)}"
            )
        check_outputs(tree)
        refuse_categorical(tree)
        yield tree, None if chosen is None else np.asarray(chosen[place]).tolist()


# ---------------------------------------------------------------- weighted votes


def _votes(estimator: Any, names: Sequence[str], labels: tuple[ir.Label, ...]) -> Made:
    """Import AdaBoost: a tree adds its weight to its class, and subtracts it elsewhere.

    The sums are divided by the sum of the weights. With two classes, the sum of the
    first is the negated sum of the second, and the margin is their difference.
    """
    features = numeric(names)
    is_pair = len(labels) == 2
    outputs = (0,) if is_pair else tuple(range(len(labels)))
    weights = estimator.estimator_weights_
    members = []
    for (tree, columns), weight in zip(
        _trees(estimator), weights[: len(estimator.estimators_)].tolist(), strict=True
    ):
        less = -1 / (len(labels) - 1) * weight
        values = []
        for place in tree.tree_.value[:, 0, :].argmax(axis=1).tolist():
            votes = [less] * len(labels)
            votes[place] = weight  # every tree knows all classes
            values.append(votes[1:] if is_pair else votes)
        nodes = nodes_of(tree.tree_, values, columns)
        members.append(forests.member(features, outputs, nodes))
    forest = ir.Forest(
        features,
        labels,
        tuple(members),
        (0.0,) * len(outputs),
        divisor=float(weights.sum()),
    )
    if is_pair:
        return replace(forest, scale=2.0, link=ir.Link.LOGISTIC, cut=0.0), []
    note = (
        "there are no probabilities of an AdaBoostClassifier of more than two classes"
    )
    return replace(forest, link=ir.Link.NONE), [note]


Importer = Callable[[Any, Sequence[str], tuple[ir.Label, ...]], Made]
KINDS: dict[str, Importer] = {
    **dict.fromkeys(
        (
            *("RandomForestClassifier", "RandomForestRegressor"),
            *("ExtraTreesClassifier", "ExtraTreesRegressor"),
            *("BaggingClassifier", "BaggingRegressor"),
        ),
        _mean,
    ),
    **dict.fromkeys(
        ("GradientBoostingClassifier", "GradientBoostingRegressor"), gradient_boosting
    ),
    **dict.fromkeys(
        ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
        hist_boosting,
    ),
    "AdaBoostClassifier": _votes,
}
