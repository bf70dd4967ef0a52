"""Models of scikit-learn: trees, forests, and pipelines around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from treecompile.importers.boosted import check_object
from treecompile.importers.sklearn.folding import fold, fold_forest
from treecompile.importers.sklearn.forests import KINDS, import_forest
from treecompile.importers.sklearn.trees import (
    SUPPORTED,
    feature_names_of,
    import_tree,
)
from treecompile.model import ir
from treecompile.model.errors import DataError

LIBRARIES = ("lightgbm", "xgboost", "catboost")  # each has a function from_NAME


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
        return _tree(estimator, final, steps, feature_names, class_names, target)
    if kind in KINDS:
        return _forest(estimator, final, steps, feature_names, class_names, target)
    check_object(final)
    if library := _library(final):
        place = f"{kind} in a Pipeline" if steps else kind
        alone = "fit it without the Pipeline, and " if steps else ""
        raise DataError(f"cannot import a {place}: {alone}use from_{library}")
    known = ", ".join((*SUPPORTED, *KINDS))
    raise DataError(f"cannot import a {kind}: expected one of {known}")


def _library(model: object) -> str:
    """The library with an importer of its own that a model is of; "" if of none."""
    modules = {each.__module__.split(".")[0] for each in type(model).__mro__}
    return next((name for name in LIBRARIES if name in modules), "")


def _tree(
    estimator: Any,
    final: Any,
    steps: list[Any],
    feature_names: Sequence[str] | None,
    class_names: Sequence[ir.Label] | None,
    target: str,
) -> ir.NotedProgram:
    if not steps:
        program = import_tree(final, feature_names, class_names)
        return ir.NotedProgram(replace(program, target=target))
    program = import_tree(final, None, class_names, inner=True)
    names = feature_names_of(estimator, feature_names)
    named = hasattr(estimator, "feature_names_in_")
    assert isinstance(program.body, ir.Tree)
    tree, notes = fold(program.body, names, steps, named=named)
    algorithm = f"{program.algorithm} in a Pipeline"
    made = replace(program, body=tree, target=target, algorithm=algorithm)
    return ir.NotedProgram(made, tuple(notes))


def _forest(
    estimator: Any,
    final: Any,
    steps: list[Any],
    feature_names: Sequence[str] | None,
    class_names: Sequence[ir.Label] | None,
    target: str,
) -> ir.NotedForest:
    if not steps:
        program, notes = import_forest(final, feature_names, class_names)
        return ir.NotedForest(replace(program, target=target), notes)
    program, notes = import_forest(final, None, class_names, inner=True)
    names = feature_names_of(estimator, feature_names)
    named = hasattr(estimator, "feature_names_in_")
    forest, more = fold_forest(program.body, names, steps, named=named)
    algorithm = f"{program.algorithm} in a Pipeline"
    made = replace(program, body=forest, target=target, algorithm=algorithm)
    return ir.NotedForest(made, (*notes, *more))
