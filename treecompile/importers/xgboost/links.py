"""Reads how an objective of XGBoost makes answers of margins, and the sums' start."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import exp
from typing import Any

import numpy as np

from treecompile.importers import boosted
from treecompile.importers.thresholds import last_single
from treecompile.importers.xgboost.document import Section, single
from treecompile.importers.xgboost.logarithm import log_single
from treecompile.model import ir
from treecompile.model.errors import ModelFileError

SINGLE = np.float32


def _same(score: float) -> float:
    return score


def _logit(score: float) -> float:
    """Return the margin of a probability, rounded to 32 bits after every operation."""
    odds = float(SINGLE(1) / SINGLE(score) - SINGLE(1)) if 0 < score < 1 else 0.0
    if not odds > 0:
        raise ModelFileError(
            f"base_score: {score!r} is no probability between 0 and 1: set base_score"
            " and train again"
        )
    return -log_single(odds)


def _log(score: float) -> float:
    if not score > 0:
        raise ModelFileError(
            f"base_score: {score!r} is not above 0: set base_score and train again"
        )
    return log_single(score)


# The link of each objective, and the function from base_score to a margin.
LINKS: dict[str, tuple[ir.Link, Callable[[float], float]]] = {
    "binary:logistic": (ir.Link.LOGISTIC, _logit),
    "binary:logitraw": (ir.Link.IDENTITY, _same),
    "binary:hinge": (ir.Link.NONE, _same),
    "multi:softprob": (ir.Link.SOFTMAX, _same),
    "multi:softmax": (ir.Link.SOFTMAX, _same),
    "reg:squarederror": (ir.Link.IDENTITY, _same),
    "reg:squaredlogerror": (ir.Link.IDENTITY, _same),
    "reg:absoluteerror": (ir.Link.IDENTITY, _same),
    "reg:pseudohubererror": (ir.Link.IDENTITY, _same),
    "reg:quantileerror": (ir.Link.IDENTITY, _same),
    "reg:logistic": (ir.Link.LOGISTIC, _logit),
    "reg:gamma": (ir.Link.EXP, _log),
    "reg:tweedie": (ir.Link.EXP, _log),
    "count:poisson": (ir.Link.EXP, _log),
    "survival:cox": (ir.Link.EXP, _log),
    "survival:aft": (ir.Link.EXP, _log),
    "rank:pairwise": (ir.Link.IDENTITY, _same),
    "rank:ndcg": (ir.Link.IDENTITY, _same),
    "rank:map": (ir.Link.IDENTITY, _same),
}
SEVERAL = ("multi:softprob", "multi:softmax")
TWO = ("binary:logistic", "binary:hinge")


def objective(learner: Section, labels: Iterable[Any] | None) -> boosted.Objective:
    name = learner.part("objective").text("name")
    if name not in LINKS:
        raise ModelFileError(
            f"objective {name!r}: cannot import it: expected one of"
            f" {', '.join(sorted(LINKS))}"
        )
    parameters = learner.part("learner_model_param")
    targets = parameters.integer("num_target", "1")
    if targets != 1:
        raise ModelFileError(
            f"{targets} targets at once: cannot import it: train a model for each"
        )
    outputs = parameters.integer("num_class", "0")
    if (outputs > 1) != (name in SEVERAL) or outputs > boosted.MOST_LABELS:
        raise ModelFileError(
            f"objective {name!r} with num_class {outputs}: expected from 2 to"
            f" {boosted.MOST_LABELS:,} classes for a multi: objective, and none for"
            " another"
        )
    outputs = max(1, outputs)
    link, margin = LINKS[name]
    start = tuple(map(margin, _scores(parameters, outputs)))
    if name in TWO:
        cut = _cut() if link is ir.Link.LOGISTIC else 0.0
        return boosted.Objective(name, link, start, boosted.labels_of(labels, 2), cut)
    if name in SEVERAL:
        found = boosted.labels_of(labels, outputs)
    else:
        found = boosted.no_labels(labels, name)
    return boosted.Objective(name, link, start, found, None)


def _scores(parameters: Section, outputs: int) -> list[float]:
    """Return base_score for each output; before XGBoost 3.1, it is one number."""
    text = parameters.text("base_score")
    where = "learner_model_param.base_score"
    if not text.startswith("["):
        return [single(text, where)] * outputs
    found = [single(each, where) for each in text[1:].removesuffix("]").split(",")]
    if len(found) not in (1, outputs):
        raise ModelFileError(f"{where}: {len(found)} numbers for {outputs} outputs")
    return found * outputs if len(found) == 1 else found


def _cut() -> float:
    """Return the greatest margin whose probability, in 32 bits, is not above 0.5."""

    def is_first(margin: float) -> bool:
        return not SINGLE(1) / (SINGLE(exp(-margin)) + SINGLE(1)) > SINGLE(0.5)

    return last_single(is_first, 0.0, 1.0)
