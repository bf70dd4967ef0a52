"""How good a model is on a set of rows with known answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns, answers, deciders
from treecompile.cases import Cases, known_cases
from treecompile.data import encode, encode_answers, encode_features
from treecompile.errors import DataError
from treecompile.extract import outcomes
from treecompile.ir import (
    Body,
    ClassQuality,
    Label,
    Program,
    Quality,
    Rule,
    RuleTally,
    ValueQuality,
)
from treecompile.read import Table
from treecompile.rule_statistics import tallies
from treecompile.semantics import required_features


@dataclass(frozen=True, slots=True)
class RuleQuality:
    """What one rule did on the rows."""

    rule: Rule
    rows: int  # those whose values lead to it; its own only where none was divided
    right: int  # of these, how many the model answers right; 0 for regression
    squared_error: float  # mean over its rows; 0 for classification
    tally: RuleTally


@dataclass(frozen=True, slots=True)
class Evaluation:
    quality: Quality
    rules: tuple[RuleQuality, ...]
    unknown: int  # rows left out: their answer is missing, or a label never learned

    @property
    def tallies(self) -> tuple[RuleTally, ...]:
        return tuple(entry.tally for entry in self.rules)


def evaluate(body: Body, columns: Columns, y: NDArray[Any]) -> Evaluation:
    """Compare the predictions with the answers, over all rows and rule by rule."""
    cases = known_cases(columns, y, body)
    where = deciders(body, cases.columns, cases.rows)
    predicted = answers(body, cases.columns, cases.rows)
    if body.labels:
        actual = cases.y.astype(np.intp)
        errors = np.asarray(predicted != actual, np.float64)
        quality = measure(body.labels, predicted, actual)
    else:
        errors = (predicted - cases.y) ** 2
        quality = measure((), predicted, cases.y)
    rules = outcomes(body)
    counted = tallies(body, rules, cases, where, errors)
    return summed_up(body, quality, counted, len(y) - cases.rows)


def summed_up(
    body: Body, quality: Quality, counted: Sequence[RuleTally], unknown: int
) -> Evaluation:
    """What was counted of all rows and of each rule."""
    pairs = zip(outcomes(body).values(), counted, strict=True)
    measured = tuple(_rule(rule, tally, body) for rule, tally in pairs)
    return Evaluation(quality, measured, unknown)


def _rule(rule: Rule, tally: RuleTally, body: Body) -> RuleQuality:
    if body.labels:
        right = tally.decided - int(tally.errors)
        return RuleQuality(rule, tally.decided, right, 0.0, tally)
    mean = tally.errors / max(1, tally.decided)
    return RuleQuality(rule, tally.decided, 0, mean, tally)


def read_cases(
    program: Program,
    table: Table,
    na_values: tuple[str, ...] = (),
    *,
    with_all: bool = False,
) -> Cases:
    """The rows of a table whose answer is known, of what a program reads.

    `with_all` takes every feature, also those that the program never tests.
    """
    if not table.rows:
        raise DataError(f"{_called(table)} has no row: expected rows with the target")
    body, na = program.body, (*program.na_values, *na_values)
    required = range(len(body.features)) if with_all else required_features(body)
    columns = encode(body.features, table, required, na)
    cases = known_cases(columns, encode_answers(program, table, na_values), body)
    if not cases.rows:
        known = f"a label of the model ({body.labels[0]!r}, ...)" if body.labels else ""
        raise DataError(
            f"no row has a known {program.target!r} in {_called(table)}: expected "
            + (known or "numbers")
        )
    return cases


def _called(table: Table) -> str:
    return table.source or "the table"


def evaluate_on(
    program: Program, table: Table, na_values: tuple[str, ...] = ()
) -> Evaluation:
    """Measure a program on a table that has the target column."""
    if not table.rows:
        raise DataError("there is no row to evaluate on")
    columns = encode_features(program, table, na_values)
    actual = encode_answers(program, table, na_values)
    return evaluate(program.body, columns, actual)


def measured(
    program: Program, training: Cases | None, validation: Cases | None
) -> Program:
    """The program with what it does on both sets of cases, as far as they are given."""
    if program.training is None:
        return program
    first, second = (
        None if cases is None else evaluate(program.body, cases.columns, cases.y)
        for cases in (training, validation)
    )
    summary = replace(
        program.training,
        quality=first.quality if first else None,
        validation=second.quality if second else None,
        rules=first.tallies if first else (),
        validation_rules=second.tallies if second else (),
    )
    return replace(program, training=summary)


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
    spread = 0.0
    if count > 0 and actual.min() < actual.max():
        mean = actual.mean()
        mean += (actual - mean).mean()  # what rounding left out, far from zero
        spread = float(((actual - mean) ** 2).sum())
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
