"""A table with the predictions of a model, as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from treecompile.batch import answers
from treecompile.data import encode_features
from treecompile.errors import DataError
from treecompile.ir import Label, Program
from treecompile.read import Table, read_table
from treecompile.values import is_boolean, is_missing

PREDICTION = "prediction"


def scored_csv(program: Program, data: str, na_values: tuple[str, ...] = ()) -> str:
    """The rows of a file and, in a last column, what the model predicts for each."""
    table = read_table(data)
    if PREDICTION in table.names:
        raise DataError(
            f"there is a column {PREDICTION!r} already: rename or remove it"
        )
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow([*table.names, PREDICTION])
    columns = [c if table.text else map(_cell, c) for c in table.columns]
    for *fields, answer in zip(
        *columns, predictions(program, table, na_values), strict=True
    ):
        writer.writerow([*fields, answer])
    return lines.getvalue()


def _cell(value: Any) -> Any:
    """A typed value as CSV has it: nothing where it is missing."""
    if is_missing(value):
        return ""
    return str(value).lower() if is_boolean(value) else value


def predictions(
    program: Program, table: Table, na_values: tuple[str, ...] = ()
) -> Iterator[Label]:
    """What the model predicts for each row, booleans as the text that we also read."""
    body = program.body
    columns = encode_features(program, table, na_values)
    found = answers(body, columns, table.rows).tolist()
    if not body.labels:
        return iter(found)
    texts = [str(x).lower() if isinstance(x, bool) else x for x in body.labels]
    return (texts[place] for place in found)
