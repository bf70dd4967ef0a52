"""Models of scikit-learn: trees, and pipelines around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from treecompile.importers.sklearn.folding import fold
from treecompile.importers.sklearn.trees import feature_names_of, import_tree
from treecompile.model import ir


def import_model(
    estimator: Any,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[ir.Label] | None = None,
    target: str = "prediction",
) -> ir.NotedProgram:
    """Turn a fitted tree, or a pipeline that ends in one, into a program."""
    steps: list[Any] = []
    final = estimator
    while type(final).__name__ == "Pipeline":
        steps += [step for _, step in final.steps[:-1]]
        final = final.steps[-1][1]
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
