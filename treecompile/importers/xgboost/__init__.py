"""Imports models of XGBoost, exactly as it evaluates them.

They are read from the JSON that XGBoost saves, so it need not be installed.
It rounds every number to a 32-bit float before comparing it, and adds 32-bit floats.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan, nan
from typing import Any

from treecompile.importers import boosted
from treecompile.importers.xgboost.document import Section, is_model, parsed
from treecompile.importers.xgboost.features import columns, names_of
from treecompile.importers.xgboost.links import objective
from treecompile.importers.xgboost.trees import Addition, raw_tree, tree
from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError

__all__ = ["from_object", "is_model", "read"]

SUPPORTED = ("XGBClassifier", "XGBRegressor", "XGBRanker", "Booster")


def read(
    data: bytes,
    target: str = "",
    *,
    labels: Iterable[Any] | None = None,
    missing: float = nan,
    iterations: int | None = None,
) -> ir.NotedForest:
    """Read a model from the JSON that `save_model` writes.

    The file has no labels. Unless they are given, they are the numbers from 0. After
    early stopping, a file of XGBClassifier and the like is read up to its best
    iteration, and one of a Booster as a whole, as their `predict` does: `iterations`
    chooses another number.
    """
    learner = parsed(data)
    _check_missing(missing)
    if iterations is None:
        iterations = _best(learner)
    return _read(learner, target, labels, iterations, _is_of_sklearn(learner))


def from_object(
    model: Any,
    target: str = "",
    *,
    labels: Iterable[Any] | None = None,
    missing: float | None = None,
) -> ir.NotedForest:
    """Import a fitted Booster, XGBClassifier, XGBRegressor or XGBRanker.

    After early stopping, the trees that `predict` uses are imported: all of a Booster,
    and those up to the best iteration of the others. Unless `missing` is given, it is
    the parameter of the model.
    """
    kind = boosted.kind_of(model, "xgboost", SUPPORTED)
    is_wrapped = kind != "Booster"
    if is_wrapped and not model.__sklearn_is_fitted__():
        raise DataError(f"the {kind} is not fitted: call fit first")
    booster = model.get_booster() if is_wrapped else model
    if kind == "XGBClassifier":
        if callable(model.objective):
            raise DataError(
                "cannot import an XGBClassifier with an objective of your own: its"
                " labels do not follow from the sums"
            )
        labels = list(model.classes_) if labels is None else labels
    if missing is None:
        missing = float(getattr(model, "missing", nan))
    try:
        _check_missing(missing)
        learner = parsed(bytes(booster.save_raw("json")))
        iterations = _best(learner, always=True) if is_wrapped else None
        return _read(learner, target, labels, iterations, is_wrapped)
    except ModelFileError as error:
        raise DataError(f"cannot import the {kind}: {error}") from None


def _read(
    learner: Section,
    target: str,
    labels: Iterable[Any] | None,
    iterations: int | None,
    is_wrapped: bool,
) -> ir.NotedForest:
    goal = objective(learner, labels)
    names = names_of(learner)
    model, weights = _booster(learner)
    used = _used(model, len(goal.start), iterations)
    raw = [raw_tree(each, len(names)) for each in model.parts("trees")]
    outputs = model.integers("tree_info", len(raw))
    if not all(0 <= output < len(goal.start) for output in outputs):
        raise ModelFileError("tree_info: there is a tree for an unknown class")
    found = columns(
        learner, model, names, (test for each in raw for test in each.tests())
    )
    drops = weights.singles("weight_drop", len(raw)) if weights else []

    def added(place: int) -> Addition:
        if not drops:
            return Addition()
        return Addition(
            drops[place], goal.start[outputs[place]] if is_wrapped else None
        )

    forest = ir.Forest(
        found.features,
        goal.labels,
        tuple(
            tree(each, found, outputs[place], added(place))
            for place, each in enumerate(raw[:used])
        ),
        goal.start,
        ir.Arithmetic.SINGLE,
        link=goal.link,
        cut=goal.cut,
    )
    notes = []
    if used < len(raw):
        notes.append(
            f"{used:,} of {len(raw):,} trees: those up to the best iteration of early"
            " stopping, as predict uses them"
        )
    return ir.NotedForest(
        boosted.program("XGBoost", goal.name, target, forest), tuple(notes)
    )


def _check_missing(missing: float) -> None:
    if not isnan(missing):
        raise ModelFileError(
            f"missing={missing:g}: only NaN can mean missing: replace {missing:g} by"
            " NULL in the data, and give missing=nan"
        )


def _booster(learner: Section) -> tuple[Section, Section | None]:
    """Return the section of the trees and, for DART, the one with their weights."""
    booster = learner.part("gradient_booster")
    name = booster.text("name")
    if name == "dart":
        return booster.part("gbtree").part("model"), booster
    if name != "gbtree":
        raise ModelFileError(
            f"booster {name!r} has no trees: cannot import it: expected gbtree or dart"
        )
    return booster.part("model"), None


def _used(model: Section, outputs: int, iterations: int | None) -> int:
    """Return the number of trees in so many iterations; None: all of them."""
    trees = len(model.items("trees"))
    if iterations is None:
        return trees
    if "iteration_indptr" in model:
        bounds = model.integers("iteration_indptr")
    else:
        each = model.part("gbtree_model_param").integer("num_parallel_tree", "1")
        bounds = list(range(0, trees + 1, max(1, each) * outputs))
    if not 0 <= iterations < len(bounds) or not 0 <= bounds[iterations] <= trees:
        raise ModelFileError(
            f"{iterations:,} iterations: the model has {len(bounds) - 1:,}"
        )
    return bounds[iterations]


def _is_of_sklearn(learner: Section) -> bool:
    """Whether XGBClassifier or the like has saved the file."""
    return "attributes" in learner and "scikit_learn" in learner.part("attributes")


def _best(learner: Section, always: bool = False) -> int | None:
    """Return the iterations up to the best one, if `predict` stops there; or None."""
    if "attributes" not in learner or not (always or _is_of_sklearn(learner)):
        return None
    attributes = learner.part("attributes")
    if "best_iteration" not in attributes:
        return None
    return attributes.integer("best_iteration") + 1
