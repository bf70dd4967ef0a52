"""Imports models of scikit-learn: trees, forests, and pipelines around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from treecompile.importers.boosted import check_object
from treecompile.importers.sklearn.folding import Imported, fold
from treecompile.importers.sklearn.forests import KINDS, import_forest
from treecompile.importers.sklearn.trees import (
    SUPPORTED,
    feature_names_of,
    import_tree,
)
from treecompile.model import ir
from treecompile.model.errors import DataError

LIBRARIES = ("lightgbm", "xgboost")  # each has a function from_NAME


def import_model(
    estimator: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[ir.Label] | None = None,
    target: str = "prediction",
) -> ir.NotedProgram | ir.NotedForest:
    """Turn a fitted tree or forest, or a pipeline that ends in one, into a program."""
    steps: list[Any] = []
    final = estimator
    while type(final).__name__ == "Pipeline":
        steps += [step for _, step in final.steps[:-1]]
        final = final.steps[-1][1]
    kind = type(final).__name__
    if kind in SUPPORTED:
        program = import_tree(final, feature_names, class_names, inner=bool(steps))
        tree, more = _folded(program, estimator, steps, feature_names)
        return ir.NotedProgram(replace(tree, target=target), tuple(more))
    if kind in KINDS:
        found = import_forest(final, feature_names, class_names, inner=bool(steps))
        forest, more = _folded(found.program, estimator, steps, feature_names)
        return ir.NotedForest(replace(forest, target=target), (*found.notes, *more))
    check_object(final)
    if library := _library(final):
        place = f"{kind} in a Pipeline" if steps else kind
        alone = "fit it without the Pipeline, and " if steps else ""
        raise DataError(f"cannot import a {place}: {alone}use from_{library}")
    known = ", ".join((*SUPPORTED, *KINDS))
    raise DataError(f"cannot import a {kind}: expected one of {known}")


def _library(model: object) -> str:
    """Return the library of a model, if it has its own importer; otherwise ""."""
    modules = {each.__module__.split(".")[0] for each in type(model).__mro__}
    return next((name for name in LIBRARIES if name in modules), "")


def _folded(
    program: Imported,
    estimator: Any,
    steps: Sequence[Any],
    feature_names: Sequence[str] | None,
) -> tuple[Imported, list[str]]:
    """Return the program over raw columns, if steps precede its trees; and notes."""
    if not steps:
        return program, []
    names = feature_names_of(estimator, feature_names)
    named = hasattr(estimator, "feature_names_in_")
    folded, notes = fold(program, names, steps, named=named)
    return replace(folded, algorithm=f"{program.algorithm} in a Pipeline"), notes
