"""What rows tell about a model that was learned elsewhere: quality, counts, ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from treecompile.measure.cases import Cases, known_cases
from treecompile.measure.quality import Measured, measured, read_cases
from treecompile.model import ir
from treecompile.model.batch import Columns
from treecompile.model.errors import DataError
from treecompile.model.evidence import MEASURED
from treecompile.tables.dataset import encode_answers, encode_features
from treecompile.tables.features import summaries
from treecompile.tables.raw import RawTable
from treecompile.tables.read import read_table

if TYPE_CHECKING:
    import pandas as pd


def measured_forest(
    program: ir.ForestProgram, table: RawTable, na_values: tuple[str, ...] = ()
) -> ir.ForestProgram:
    """The forest with its quality on the rows of a table, and the ranges of these."""
    program = named_as(program, table.names)
    cases = read_cases(program, table, na_values, with_all=True)
    return measured(as_measured(program, table, cases), cases, None)


def as_measured(program: Measured, table: RawTable, cases: Cases) -> Measured:
    """The program that names a table as the data of all its figures."""
    options = {**dict(program.options), MEASURED: table.source or "a table in memory"}
    ranges = _ranges(program, cases.columns)
    training = ir.Training(table.source, cases.rows, ranges)
    return replace(program, options=tuple(options.items()), training=training)


def named_as(program: Measured, names: Sequence[str]) -> Measured:
    """The program with the names of the columns, where LightGBM has changed blanks.

    It writes "sepal length" as "sepal_length".
    """
    written = Counter(name.replace(" ", "_") for name in names)
    own = {name.replace(" ", "_"): name for name in names}
    features = tuple(
        (
            replace(each, name=own[each.name])
            if each.name not in names and written[each.name] == 1
            else each
        )
        for each in program.body.features
    )
    if features == program.body.features:
        return program
    return replace(program, body=replace(program.body, features=features))


def _ranges(program: ir.AnyProgram, columns: Columns) -> tuple[ir.ColumnSummary, ...]:
    known = (column for column in columns if column is not None)
    return summaries(program.body.features, known)


def as_frame(X: Any, names: Sequence[str]) -> pd.DataFrame:
    """Rows as a frame; those of an array get these names."""
    import pandas as pd

    if not isinstance(X, pd.DataFrame):
        shape = np.shape(X)
        if len(shape) != 2 or shape[1] != len(names):
            raise DataError(
                f"X has the shape {shape}: expected rows of {len(names)} columns"
            )
        X = pd.DataFrame(X, columns=list(names))
    frame: pd.DataFrame = X.set_axis([str(name) for name in X.columns], axis=1)
    return frame


def with_data(program: Measured, X: Any, y: Any = None) -> Measured:
    """The program, measured on the rows that it was learned from.

    Without `y`, only the columns are summarised.
    """
    import pandas as pd

    frame = as_frame(X, [feature.name for feature in program.body.features])
    program = named_as(program, list(frame.columns))
    columns = encode_features(program, read_table(frame), with_all=True)
    ranges = _ranges(program, columns)
    known = replace(program, training=ir.Training("", len(frame), ranges))
    if y is None:
        return known
    if len(y) != len(frame):
        raise DataError(
            f"X has {len(frame)} rows, and y has {len(y)}: give the same number"
        )
    answers = pd.DataFrame({program.target: list(y)})
    codes = encode_answers(program, read_table(answers))
    cases: Cases = known_cases(columns, codes, program.body)
    return measured(known, cases, None)
