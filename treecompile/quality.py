"""How good a model is on a set of rows with known answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns, deciders
from treecompile.extract import outcomes
from treecompile.ir import Body, ClassQuality, Quality, Rule, ValueQuality


@dataclass(frozen=True, slots=True)
class RuleQuality:
    """What one rule did on the rows."""

    rule: Rule
    rows: int
    right: int  # rows with the predicted label; 0 for regression
    squared_error: float  # mean over its rows; 0 for classification


@dataclass(frozen=True, slots=True)
class Evaluation:
    quality: Quality
    rules: tuple[RuleQuality, ...]
    unknown: int  # rows left out: their answer is missing, or a label never learned


def evaluate(body: Body, columns: Columns, y: NDArray[Any]) -> Evaluation:
    """Compare the predictions with the answers, over all rows and rule by rule."""
    decided = outcomes(body)
    where = deciders(body, columns, len(y))
    if body.labels:
        known = (y >= 0) & (y < len(body.labels))
        where, actual = where[known], y[known].astype(np.intp)
        return _classes(body, decided, where, actual, int((~known).sum()))
    known = ~np.isnan(y)
    where, numbers = where[known], y[known].astype(np.float64)
    return _numbers(decided, where, numbers, int((~known).sum()))


def _classes(
    body: Body,
    decided: Mapping[int, Rule],
    where: NDArray[np.intp],
    actual: NDArray[np.intp],
    unknown: int,
) -> Evaluation:
    size = len(body.labels)
    answers = np.zeros(max(decided) + 1, dtype=np.intp)
    for position, rule in decided.items():
        answers[position] = body.labels.index(rule.value)
    predicted = answers[where]
    confusion = np.bincount(actual * size + predicted, minlength=size * size)
    rows = np.bincount(where, minlength=len(answers))
    right = np.bincount(where[predicted == actual], minlength=len(answers))
    return Evaluation(
        ClassQuality(
            tuple(tuple(map(int, row)) for row in confusion.reshape(size, size))
        ),
        tuple(
            RuleQuality(rule, int(rows[p]), int(right[p]), 0.0)
            for p, rule in decided.items()
        ),
        unknown,
    )


def _numbers(
    decided: Mapping[int, Rule],
    where: NDArray[np.intp],
    actual: NDArray[np.float64],
    unknown: int,
) -> Evaluation:
    answers = np.zeros(max(decided) + 1)
    for position, rule in decided.items():
        answers[position] = rule.value
    errors = answers[where] - actual
    count = len(actual)
    squared = float((errors**2).sum())
    varies = count > 0 and actual.min() < actual.max()
    spread = float(((actual - actual.mean()) ** 2).sum()) if varies else 0.0
    quality = ValueQuality(
        rows=count,
        mean_absolute_error=float(np.abs(errors).mean()) if count else 0.0,
        root_mean_squared_error=(squared / count) ** 0.5 if count else 0.0,
        r_squared=1.0 - squared / spread if spread else None,
    )
    rows = np.bincount(where, minlength=len(answers))
    sums = np.bincount(where, weights=errors**2, minlength=len(answers))
    return Evaluation(
        quality,
        tuple(
            RuleQuality(rule, int(rows[p]), 0, float(sums[p]) / max(1, int(rows[p])))
            for p, rule in decided.items()
        ),
        unknown,
    )


def accuracy(quality: ClassQuality) -> float | None:
    """The share of right answers; None where there is no row."""
    total = sum(map(sum, quality.confusion))
    right = sum(row[i] for i, row in enumerate(quality.confusion))
    return right / total if total else None
