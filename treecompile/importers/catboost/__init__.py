"""Imports models of CatBoost from their JSON files, exactly as CatBoost evaluates them.

    model.save_model("model.json", format="json")

CatBoost rounds every number to a 32-bit float, and asks whether it is above a border.
Of a category it asks whether the 32-bit hash of its text is a given one. In a symmetric
tree, all nodes of a level ask the same: the answers are the bits of the number of the
leaf, the first one the lowest. The values of the leaves are added as doubles, in the
order of the trees, from 0. The sum is multiplied by a scale, and a bias is added.

A file has the texts of the categories only if CatBoost was given rows to save it:

    model.save_model("model.json", format="json", pool=pool)
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from typing import Any

from treecompile.importers.boosted import check_object
from treecompile.importers.catboost.answers import scale_and_bias, with_answers
from treecompile.importers.catboost.categories import (
    CategoriesOf,
    Known,
    hashed_by,
    in_file,
)
from treecompile.importers.catboost.features import columns_of
from treecompile.importers.catboost.trees import members
from treecompile.model import forests, ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import checks, limits

__all__ = ["from_object", "is_model", "names_of", "read"]

WHAT = "a JSON model of CatBoost"


def is_model(beginning: bytes) -> bool:
    """Whether a file may be a JSON model of CatBoost, by its first bytes."""
    return beginning.lstrip().startswith(b"{") and (
        b'"features_info"' in beginning or b'"ctr_data"' in beginning
    )


def from_object(
    model: Any,
    target: str = "",
    labels: Sequence[ir.Label] | None = None,
    categories: CategoriesOf | None = None,
) -> ir.NotedForest:
    """Return the forest of a fitted model, from the file that CatBoost writes of it.

    `categories` returns the categories of a feature; CatBoost hashes them.
    """
    _check_fitted(model)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.json")
        model.save_model(path, format="json")
        with open(path, "rb") as file:
            data = file.read()
    return read(data, target, labels, hashed_by(model, categories))


def names_of(model: Any) -> list[str]:
    """Return the names of all columns of a fitted model."""
    _check_fitted(model)
    # CatBoost calls columns without names 0, 1, ...; its files leave these out.
    return [
        f"x{place}" if name == str(place) else name
        for place, name in enumerate(model.feature_names_)
    ]


def _check_fitted(model: Any) -> None:
    check_object(model)
    kind = type(model).__name__
    if not hasattr(model, "is_fitted") or not hasattr(model, "save_model"):
        raise DataError(f"cannot import a {kind}: expected a model of CatBoost")
    if not model.is_fitted():
        raise DataError(f"the {kind} is not fitted: call fit first")


def read(
    data: bytes,
    target: str = "",
    labels: Sequence[ir.Label] | None = None,
    known: Known = in_file,
) -> ir.NotedForest:
    """Read the forest of a file; `known` finds the categories behind its hashes."""
    limits.check_text(data)
    model = checks.as_object(checks.parsed(data, WHAT), WHAT)
    info = checks.as_object(model.get("model_info", {}), "model_info")
    columns, notes = columns_of(model, known)
    scale, bias = scale_and_bias(model)
    if not model.keys() & {"oblivious_trees", "trees"}:
        raise ModelFileError(f"not {WHAT}: it has no trees")
    forest = ir.Forest(
        columns.features,
        (),
        members(model, columns, len(bias)),
        (0.0,) * len(bias),
        scale=scale,
        offset=() if not any(bias) else bias,
    )
    forest = with_answers(forest, info, labels)
    if problem := forests.problem(forest):
        raise ModelFileError(f"cannot import the model: {problem}")
    limits.check_size(forest)
    program = ir.ForestProgram(target or "prediction", "CatBoost", forest)
    return ir.NotedForest(program, tuple(notes))
