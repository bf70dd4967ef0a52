"""Reads how an objective of LightGBM makes answers of margins."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp
from typing import Any

from treecompile.importers import boosted
from treecompile.importers.lightgbm.text import NUMBER, Document
from treecompile.importers.thresholds import last_double
from treecompile.model import ir
from treecompile.model.errors import ModelFileError

LINKS = {
    "regression": ir.Link.IDENTITY,
    "regression_l1": ir.Link.IDENTITY,
    "huber": ir.Link.IDENTITY,
    "fair": ir.Link.IDENTITY,
    "quantile": ir.Link.IDENTITY,
    "mape": ir.Link.IDENTITY,
    "lambdarank": ir.Link.IDENTITY,
    "rank_xendcg": ir.Link.IDENTITY,
    "custom": ir.Link.IDENTITY,
    "poisson": ir.Link.EXP,
    "gamma": ir.Link.EXP,
    "tweedie": ir.Link.EXP,
    "cross_entropy": ir.Link.LOGISTIC,
    "cross_entropy_lambda": ir.Link.SOFTPLUS,
    "binary": ir.Link.LOGISTIC,
    "multiclass": ir.Link.SOFTMAX,
    "multiclassova": ir.Link.LOGISTIC,
}
SEVERAL = ("multiclass", "multiclassova")
WITH_SLOPE = ("binary", "multiclassova")
CUSTOM = "custom"  # no objective is in the file: a function of the user


def objective(document: Document, labels: Iterable[Any] | None) -> boosted.Objective:
    name, *options = document.header.lines.get("objective", CUSTOM).split(" ")
    outputs = document.header.integer("num_tree_per_iteration")
    if name not in LINKS:
        raise ModelFileError(
            f"objective={name}: cannot import it: expected one of"
            f" {', '.join(sorted(LINKS))}"
        )
    if not 1 <= outputs <= boosted.MOST_LABELS or ((outputs > 1) != (name in SEVERAL)):
        raise ModelFileError(
            f"objective={name} with {outputs} trees in each iteration: cannot import"
            " it: expected one tree, or a multiclass objective of LightGBM"
        )
    link = LINKS[name]
    if "sqrt" in options:
        link = ir.Link.SIGNED_SQUARE
    slope = _slope(options) if name in WITH_SLOPE else 1.0
    cut = None
    if name == "binary":
        found, cut = boosted.labels_of(labels, 2), cut_of(slope)
    elif name in SEVERAL:
        found = boosted.labels_of(labels, outputs)
    else:
        found = boosted.no_labels(labels, name)
    start = (0.0,) * outputs
    return boosted.Objective(name, link, start, found, cut, slope)


def _slope(options: list[str]) -> float:
    for option in options:
        key, _, value = option.partition(":")
        if key == "sigmoid" and NUMBER.fullmatch(value) and 0 < float(value) < 1e30:
            return float(value)
    raise ModelFileError("objective: expected sigmoid: and a number above 0")


def cut_of(slope: float) -> float:
    """Return the greatest margin at which the first of two labels is the answer.

    The second one is if its probability is the greater one, of [1 - p, p].
    """

    def is_first(margin: float) -> bool:
        share = 1 / (1 + exp(-slope * margin))
        return not share > 1 - share

    return last_double(is_first, 0.0, 1 / slope)
