"""Reads how CatBoost makes answers of its sums: scale and bias, links, labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import Any

from treecompile.model import ir
from treecompile.model.errors import ModelFileError
from treecompile.model.file import checks

IDENTITY = (
    *("RMSE", "MAE", "Quantile", "LogLinQuantile", "MAPE", "Lq", "Huber", "Expectile"),
    *("LogCosh", "RMSPE"),
)
LINKS = {
    **dict.fromkeys(IDENTITY, ir.Link.IDENTITY),
    **dict.fromkeys(("Poisson", "Tweedie"), ir.Link.EXP),
    **dict.fromkeys(("Logloss", "CrossEntropy"), ir.Link.LOGISTIC),
    "MultiClass": ir.Link.SOFTMAX,
    "MultiClassOneVsAll": ir.Link.LOGISTIC,
}
TWO = ("Logloss", "CrossEntropy")
SEVERAL = ("MultiClass", "MultiClassOneVsAll")
LEAST_SHARE = 1e-300


def scale_and_bias(model: dict[str, Any]) -> tuple[float, tuple[float, ...]]:
    where = "scale_and_bias"
    pair = checks.as_list(model.get(where, [1.0, [0.0]]), where)
    if len(pair) != 2:
        raise ModelFileError(f"{where}: expected a scale and the biases")
    biases = pair[1] if isinstance(pair[1], list) else [pair[1]]
    if not biases:
        raise ModelFileError(f"{where}: expected a bias for each output")
    return (
        checks.number(pair[0], where),
        tuple(checks.number(bias, where) for bias in biases),
    )


def with_answers(
    forest: ir.Forest, info: dict[str, Any], given: Sequence[ir.Label] | None
) -> ir.Forest:
    """Return the forest with its labels and its link, by its loss function."""
    loss = _loss(info)
    if loss not in LINKS:
        raise ModelFileError(
            f"cannot import a model with the loss function {loss!r}: expected one of"
            f" {', '.join(LINKS)}"
        )
    forest = replace(forest, link=LINKS[loss])
    if loss not in (*TWO, *SEVERAL):
        if given is not None:
            raise ModelFileError("labels: the model has no classes: leave them out")
        return forest
    count = 2 if loss in TWO else len(forest.start)
    labels = _labels(info, given, count)
    cut = _cut(info) if loss in TWO else None
    return replace(forest, labels=labels, cut=cut)


def _loss(info: dict[str, Any]) -> str:
    params = info.get("params", {})
    if isinstance(params, str):  # as older versions write it
        params = checks.parsed(params, "model_info.params")
    params = checks.as_object(params, "model_info.params")
    where = "model_info.params.loss_function"
    return checks.text(
        checks.as_object(params.get("loss_function"), where).get("type"), where
    )


def _labels(
    info: dict[str, Any], given: Sequence[ir.Label] | None, count: int
) -> tuple[ir.Label, ...]:
    where = "model_info.class_params.class_names"
    if given is None:
        params = checks.as_object(info.get("class_params", {}), "class_params")
        # The classes of CrossEntropy, whose targets are probabilities, have no names.
        given = checks.as_list(params.get("class_names") or list(range(count)), where)
        if params.get("class_label_type") == "Float":  # 1.0 is written as 1
            given = [checks.number(label, where) for label in given]
    labels = tuple(checks.scalar(label, where) for label in given)
    if len(labels) != count:
        raise ModelFileError(f"{where}: {len(labels)} classes: expected {count}")
    if len({type(label) for label in labels}) > 1:
        raise ModelFileError(f"{where}: the classes are of several types")
    checks.distinct(labels, where, "a class is twice")
    return labels


def _cut(info: dict[str, Any]) -> float:
    """Return the margin above which the second label is the answer."""
    where = "model_info.binclass_probability_threshold"
    given = info.get("binclass_probability_threshold")
    if given is None:
        return 0.0
    try:
        share = float(given)
    except (TypeError, ValueError, OverflowError):
        share = -1.0
    if not LEAST_SHARE < share < 1:
        raise ModelFileError(f"{where}: expected a number between 0 and 1")
    return -log(1 / share - 1) + 0.0
