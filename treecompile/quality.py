"""How good a model is on a set of rows with known answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns, answers, deciders
from treecompile.data import encode_answers, encode_features
from treecompile.errors import DataError
from treecompile.extract import outcomes
from treecompile.ir import (
    Body,
    ClassQuality,
    Label,
    Program,
    Quality,
    Rule,
    ValueQuality,
)
from treecompile.read import Table


@dataclass(frozen=True, slots=True)
class RuleQuality:
    """What one rule did on the rows."""

    rule: Rule
    rows: int  # those whose values lead to it; its own only where none was divided
    right: int  # of these, how many the model answers right; 0 for regression
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
    predicted = answers(body, columns, len(y))
    is_classes = bool(body.labels)
    known = (y >= 0) & (y < len(body.labels)) if is_classes else ~np.isnan(y)
    where, predicted, unknown = where[known], predicted[known], int((~known).sum())
    if is_classes:
        actual = y[known].astype(np.intp)
        return _classes(body, decided, where, predicted, actual, unknown)
    numbers = y[known].astype(np.float64)
    return _numbers(decided, where, predicted, numbers, unknown)


def evaluate_on(
    program: Program, table: Table, na_values: tuple[str, ...] = ()
) -> Evaluation:
    """Measure a program on a table that has the target column."""
    if not table.rows:
        raise DataError("there is no row to evaluate on")
    columns = encode_features(program, table, na_values)
    actual = encode_answers(program, table, na_values)
    return evaluate(program.body, columns, actual)


def _classes(
    body: Body,
    decided: Mapping[int, Rule],
    where: NDArray[np.intp],
    predicted: NDArray[np.intp],
    actual: NDArray[np.intp],
    unknown: int,
) -> Evaluation:
    deciding = max(decided) + 1
    rows = np.bincount(where, minlength=deciding)
    right = np.bincount(where[predicted == actual], minlength=deciding)
    return Evaluation(
        measure(body.labels, predicted, actual),
        tuple(
            RuleQuality(rule, int(rows[p]), int(right[p]), 0.0)
            for p, rule in decided.items()
        ),
        unknown,
    )


def _numbers(
    decided: Mapping[int, Rule],
    where: NDArray[np.intp],
    predicted: NDArray[np.float64],
    actual: NDArray[np.float64],
    unknown: int,
) -> Evaluation:
    errors = predicted - actual
    deciding = max(decided) + 1
    rows = np.bincount(where, minlength=deciding)
    sums = np.bincount(where, weights=errors**2, minlength=deciding)
    return Evaluation(
        measure((), predicted, actual),
        tuple(
            RuleQuality(rule, int(rows[p]), 0, float(sums[p]) / max(1, int(rows[p])))
            for p, rule in decided.items()
        ),
        unknown,
    )


def measure(
    labels: Sequence[Label], predicted: NDArray[Any], actual: NDArray[Any]
) -> Quality:
    """Compare predictions with known answers: places in the labels, or numbers."""
    if labels:
        size = len(labels)
        confusion = np.bincount(actual * size + predicted, minlength=size * size)
        rows = confusion.reshape(size, size)
        return ClassQuality(tuple(tuple(map(int, row)) for row in rows))
    errors = predicted - actual
    count = len(actual)
    squared = float((errors**2).sum())
    varies = count > 0 and actual.min() < actual.max()
    spread = float(((actual - actual.mean()) ** 2).sum()) if varies else 0.0
    return ValueQuality(
        rows=count,
        mean_absolute_error=float(np.abs(errors).mean()) if count else 0.0,
        root_mean_squared_error=(squared / count) ** 0.5 if count else 0.0,
        r_squared=1.0 - squared / spread if spread else None,
    )


def accuracy(quality: ClassQuality) -> float | None:
    """The share of right answers; None where there is no row."""
    total = sum(map(sum, quality.confusion))
    right = sum(row[i] for i, row in enumerate(quality.confusion))
    return right / total if total else None
