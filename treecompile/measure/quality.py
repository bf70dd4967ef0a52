"""Measures a model on rows with known answers, and writes its predictions as CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from treecompile.measure.cases import (
    Cases,
    check_squares,
    known_cases,
    squared_errors,
)
from treecompile.measure.statistics import tallies
from treecompile.model import ir, words
from treecompile.model.arrays import Array
from treecompile.model.batch import Columns, answers, deciders
from treecompile.model.display import (
    Display,
    DisplayTable,
    Shown,
    confusion_table,
    quality_line,
)
from treecompile.model.errors import DataError
from treecompile.model.evidence import right_rows, rows_of
from treecompile.model.paths import outcomes
from treecompile.model.values import is_boolean, is_missing
from treecompile.tables.dataset import encode_answers, encode_features
from treecompile.tables.raw import RawTable

if TYPE_CHECKING:
    import pandas as pd

Measured = TypeVar("Measured", ir.Program, ir.ForestProgram)


@dataclass(frozen=True, slots=True)
class RuleQuality:
    """The quality of one rule."""

    rule: ir.Rule
    rows: int  # the number of rows that the rule decides
    right: int  # how many of them get the right answer; 0 for regression
    squared_error: float  # mean over these rows; 0 for classification
    tally: ir.RuleTally

    def cells(self, labels: Sequence[ir.Label]) -> list[str]:
        """Return the rule, its answer, its rows, and how well it does."""
        figure = f"{self.right:,}" if labels else f"{self.squared_error**0.5:.4g}"
        said = words.answer(self.rule.value, labels)
        return [self.rule.id, said, f"{self.rows:,}", figure if self.rows else ""]


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation(Shown):
    """How well a model predicts rows with known answers."""

    quality: ir.Quality  # a ClassQuality or a ValueQuality, on all rows
    rules: tuple[RuleQuality, ...]
    unknown: int  # rows left out: their target is missing or not a known label
    labels: tuple[ir.Label, ...] = ()  # empty for regression

    @property
    def tallies(self) -> tuple[ir.RuleTally, ...]:
        return tuple(entry.tally for entry in self.rules)

    @property
    def accuracy(self) -> float:
        """The share of right answers; NaN without rows."""
        found = accuracy(self._of_labels)
        return nan if found is None else found

    @property
    def confusion(self) -> pd.DataFrame:
        """The rows by actual label (down) and predicted label (across)."""
        import pandas as pd

        names = pd.Index(list(self.labels), dtype=object)
        return pd.DataFrame(
            np.array(self._of_labels.confusion),
            index=names.rename("actual"),
            columns=names.rename("predicted"),
        )

    @property
    def by_label(self) -> pd.DataFrame:
        """Precision, recall, F1 and the number of rows, for each label."""
        import pandas as pd

        counts = np.array(self._of_labels.confusion, dtype=np.float64)
        right, actual, predicted = counts.diagonal(), counts.sum(1), counts.sum(0)
        table = {
            "precision": _shares(right, predicted),
            "recall": _shares(right, actual),
            "f1": _shares(2 * right, predicted + actual),
            "rows": actual.astype(np.int64),
        }
        return pd.DataFrame(table, index=pd.Index(list(self.labels), dtype=object))

    @property
    def f1(self) -> float:
        """The mean of the F1 of all labels, each as important as the others."""
        return float(self.by_label["f1"].mean())

    @property
    def rmse(self) -> float:
        """The root mean squared error."""
        return self._of_numbers.root_mean_squared_error

    @property
    def mae(self) -> float:
        """The mean absolute error."""
        return self._of_numbers.mean_absolute_error

    @property
    def r2(self) -> float:
        """The share of the variance that is explained; NaN if there is none."""
        found = self._of_numbers.r_squared
        return nan if found is None else found

    @property
    def _of_labels(self) -> ir.ClassQuality:
        if isinstance(self.quality, ir.ClassQuality):
            return self.quality
        raise AttributeError("the model predicts numbers: use rmse, mae or r2")

    @property
    def _of_numbers(self) -> ir.ValueQuality:
        if isinstance(self.quality, ir.ValueQuality):
            return self.quality
        raise AttributeError("the model predicts labels: use accuracy, confusion or f1")

    def _display(self) -> Display:
        lines = [quality_line(self.quality)]
        if self.unknown:
            lines.append(f"left out: {self.unknown:,} rows whose answer is not known")
        figure = "right" if self.labels else "root mean squared error"
        head = ["rule", "answer", "rows", figure]
        rows = [entry.cells(self.labels) for entry in self.rules]
        tables = list(confusion_table(self.labels, self.quality))
        if rows:  # a forest has none
            said = "rules, and the rows that they decide"
            tables.append(DisplayTable(said, head, rows, 2))
        return Display(lines, tables)


def _shares(parts: Array, wholes: Array) -> Array:
    """Return the quotients; 0 for 0 divided by 0, as in scikit-learn."""
    return np.divide(parts, wholes, out=np.zeros_like(parts), where=wholes > 0)


def evaluate(body: ir.AnyBody, columns: Columns, y: Array) -> Evaluation:
    """Compare predictions and answers, over all rows and rule by rule."""
    cases = known_cases(columns, y, body)
    if isinstance(body, ir.Forest):
        predicted = answers(body, cases.columns, cases.rows)
        actual = cases.y.astype(np.intp) if body.labels else cases.y
        quality = measure(body.labels, predicted, actual)
        return Evaluation(quality, (), len(y) - cases.rows, body.labels)
    where = deciders(body, cases.columns, cases.rows)
    predicted = answers(body, cases.columns, cases.rows, where)
    actual = cases.y.astype(np.intp) if body.labels else cases.y
    errors = predicted != actual if body.labels else squared_errors(actual, predicted)
    quality = measure(body.labels, predicted, actual)
    counted = tallies(body, cases, where, errors.astype(np.float64))
    return summed_up(body, quality, counted, len(y) - cases.rows)


def summed_up(
    body: ir.Body, quality: ir.Quality, counted: Sequence[ir.RuleTally], unknown: int
) -> Evaluation:
    """Make an evaluation from the tallies of all rules."""
    rules = []
    for rule, tally in zip(outcomes(body).values(), counted, strict=True):
        right = tally.decided - int(tally.errors) if body.labels else 0
        squared_error = 0.0 if body.labels else tally.errors / max(1, tally.decided)
        rules.append(RuleQuality(rule, tally.decided, right, squared_error, tally))
    return Evaluation(quality, tuple(rules), unknown, body.labels)


def read_cases(
    program: ir.AnyProgram,
    table: RawTable,
    na_values: tuple[str, ...] = (),
    *,
    with_all: bool = False,
) -> Cases:
    """Read the rows of a table with a known answer, and the columns a program reads.

    `with_all` includes features that the program never tests.
    """
    if not table.rows:
        raise no_row(_called(table))
    columns = encode_features(program, table, na_values, with_all=with_all)
    y = encode_answers(program, table, na_values)
    cases = known_cases(columns, y, program.body)
    if not cases.rows:
        raise no_known_answer(program.target, program.body.labels, _called(table))
    return cases


def no_row(source: str) -> DataError:
    return DataError(f"{source} has no rows: expected rows with known targets")


def nothing_to_evaluate() -> DataError:
    return DataError(
        "there are no rows to evaluate on: expected rows with known targets"
    )


def no_known_answer(target: str, labels: Sequence[ir.Label], source: str) -> DataError:
    known = f"a label of the model ({labels[0]!r}, ...)" if labels else "numbers"
    return DataError(f"no row has a known {target!r} in {source}: expected {known}")


def _called(table: RawTable) -> str:
    return table.source or "the table"


def evaluate_on(
    program: ir.AnyProgram, table: RawTable, na_values: tuple[str, ...] = ()
) -> Evaluation:
    """Measure a program on a table with the target column."""
    if not table.rows:
        raise nothing_to_evaluate()
    columns = encode_features(program, table, na_values)
    actual = encode_answers(program, table, na_values)
    return evaluate(program.body, columns, actual)


def measured(
    program: Measured, training: Cases | None, validation: Cases | None
) -> Measured:
    """Return the program with its quality on the given sets of cases."""
    if program.training is None:
        return program
    evaluations = (
        None if cases is None else evaluate(program.body, cases.columns, cases.y)
        for cases in (training, validation)
    )
    return with_quality(program, *evaluations)


def with_quality(
    program: Measured, training: Evaluation | None, validation: Evaluation | None
) -> Measured:
    """Return the program with its quality on training and validation rows."""
    assert program.training is not None
    summary = replace(
        program.training,
        quality=training.quality if training else None,
        validation=validation.quality if validation else None,
        rules=training.tallies if training else (),
        validation_rules=validation.tallies if validation else (),
    )
    return replace(program, training=summary)


def measure(labels: Sequence[ir.Label], predicted: Array, actual: Array) -> ir.Quality:
    """Compare predictions with known answers: codes into the labels, or numbers."""
    if labels:
        size = len(labels)
        confusion = np.bincount(actual * size + predicted, minlength=size * size)
        return quality_of_counts(confusion.reshape(size, size))
    count = len(actual)
    squared = float(squared_errors(actual, predicted).sum())
    absolute = float(np.abs(predicted - actual).sum())
    spread = 0.0
    if count > 0 and actual.min() < actual.max():
        mean = actual.mean()
        mean += (actual - mean).mean()  # corrects rounding far from zero
        spread = float(((actual - mean) ** 2).sum())
    return quality_of_sums(count, absolute, squared, spread)


def quality_of_counts(confusion: Array) -> ir.ClassQuality:
    """Return the quality for labels, from the rows by actual and predicted label."""
    return ir.ClassQuality(tuple(tuple(map(int, row)) for row in confusion))


def quality_of_sums(
    rows: int, absolute: float, squared: float, spread: float
) -> ir.ValueQuality:
    """Return the quality of numbers, from sums over the rows.

    `absolute` and `squared` sum the errors, `spread` the squared distances of the
    answers from their mean.
    """
    check_squares(squared)
    return ir.ValueQuality(
        rows=rows,
        mean_absolute_error=absolute / rows if rows else 0.0,
        root_mean_squared_error=(squared / rows) ** 0.5 if rows else 0.0,
        r_squared=1.0 - squared / spread if spread else None,
    )


def accuracy(quality: ir.ClassQuality) -> float | None:
    """Return the share of right answers; None without rows."""
    total = rows_of(quality)
    return right_rows(quality) / total if total else None


PREDICTION = "prediction"


def scored_csv(
    program: ir.AnyProgram, table: RawTable, na_values: tuple[str, ...] = ()
) -> str:
    """Return the rows of a table as CSV, with the predictions in a last column."""
    if PREDICTION in table.names:
        raise DataError(
            f"there is a column {PREDICTION!r} already: rename or remove it"
        )
    written = UnixLines()
    writer = csv.writer(written)
    writer.writerow([*table.names, PREDICTION])
    cells = [c if table.text else map(_cell, c) for c in table.columns]
    columns = encode_features(program, table, na_values)
    predicted = answers(program.body, columns, table.rows).tolist()
    if labels := list(map(_cell, program.body.labels)):
        predicted = [labels[place] for place in predicted]
    writer.writerows(zip(*cells, predicted, strict=True))
    return "".join(written.lines)


class UnixLines:
    """Lines of CSV that end in a line feed.

    A field with a carriage return is quoted only if lines end in one, too. Otherwise it
    would be read as two.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        self.lines.append(f"{line[:-2]}\n")


def _cell(value: Any) -> Any:
    """Return a value as CSV writes it; "" if it is missing."""
    if is_missing(value):
        return ""
    return str(value).lower() if is_boolean(value) else value
