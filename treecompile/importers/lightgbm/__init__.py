"""Imports models of LightGBM, exactly as it evaluates them.

They are read from the text that LightGBM saves, so it need not be installed. It
computes with 64-bit floats. Numbers up to 1e-35 count as 0, for every feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from treecompile.importers import boosted
from treecompile.importers.lightgbm.features import ZERO, columns
from treecompile.importers.lightgbm.links import CUSTOM, objective
from treecompile.importers.lightgbm.text import is_model, parsed
from treecompile.importers.lightgbm.trees import raw_trees, tree
from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError

__all__ = ["from_object", "is_model", "read"]

CERTAIN = 30.0  # from here on, 1 / (1 + exp(-margin)) is 1, or nearly
SUPPORTED = ("LGBMClassifier", "LGBMRegressor", "LGBMRanker", "Booster")


def read(
    data: bytes, target: str = "", *, labels: Iterable[Any] | None = None
) -> ir.NotedForest:
    """Read a model from the text that `Booster.save_model` writes.

    The file has no labels. Unless they are given, they are the numbers from 0.
    """
    document = parsed(data)
    goal = objective(document, labels)
    features = document.header.integer("max_feature_idx") + 1
    outputs = len(goal.start)
    raw = list(raw_trees(document.trees, features))
    found, missing = columns(document, (test for each in raw for test in each.tests()))
    if len(raw) % outputs:
        raise ModelFileError(
            f"{len(raw):,} trees for {outputs} classes: expected as many for each:"
            " the file is damaged"
        )
    is_mean = "average_output" in document.header.lines
    forest = ir.Forest(
        found.features,
        goal.labels,
        tuple(
            tree(each, found, missing, place % outputs)
            for place, each in enumerate(raw)
        ),
        start=goal.start,
        divisor=float(max(1, len(raw) // outputs)) if is_mean else 1.0,
        link=goal.link,
        slope=goal.slope,
        cut=goal.cut,
        zero_is_missing=tuple(sorted(f for f in missing if missing[f] == ZERO)),
    )
    program = boosted.program("LightGBM", goal.name, target, forest)
    return ir.NotedForest(program, tuple(_notes(goal.name, forest)))


def _notes(objective: str, forest: ir.Forest) -> Iterator[str]:
    if objective == CUSTOM:
        yield (
            "the objective of this LightGBM model is not in it, so its answer is the"
            " sum of the trees"
        )
    if objective == "multiclassova" and _highest(forest) * forest.slope > CERTAIN:
        yield (
            "where two classes are nearly certain, LightGBM rounds both probabilities"
            " to 1 and answers the first class: here, the class with the greater sum is"
            " the answer"
        )


def _highest(forest: ir.Forest) -> float:
    """Return the second highest of the greatest sums that a row may have."""
    sums = list(forest.start)
    for each in forest.members:
        sums[each.outputs[0]] += max(values[0] for values in each.values)
    return sorted(sums)[-2] / forest.divisor


def from_object(
    model: Any, target: str = "", *, labels: Iterable[Any] | None = None
) -> ir.NotedForest:
    """Import a fitted Booster, LGBMClassifier, LGBMRegressor or LGBMRanker.

    After early stopping, the trees up to the best iteration are imported: those that
    `predict` uses.
    """
    kind = boosted.kind_of(model, "lightgbm", SUPPORTED)
    booster = model
    if kind != "Booster":
        if not getattr(model, "fitted_", False):
            raise DataError(f"the {kind} is not fitted: call fit first")
        booster = model.booster_
    if kind == "LGBMClassifier" and labels is None:
        labels = list(model.classes_)
    try:
        return read(booster.model_to_string().encode(), target, labels=labels)
    except ModelFileError as error:
        raise DataError(f"cannot import the {kind}: {error}") from None
