"""Rows as Python has them -> a frame: one row, a list of rows, or an array; answers.

From there they are read as every frame is, so that None and NaN are missing, and types
and unseen categories mean the same in every form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treecompile.api.rows import Data, in_memory
from treecompile.database.locations import Table
from treecompile.model.arrays import Array
from treecompile.model.batch import Columns, margins
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import AnyBody, AnyProgram, Forest, Label
from treecompile.model.semantics import required_features
from treecompile.model.suggestions import similar
from treecompile.tables.dataset import encode_features
from treecompile.tables.options import ReadOptions
from treecompile.tables.polars import is_polars
from treecompile.tables.raw import counted, listed
from treecompile.tables.read import read_table

if TYPE_CHECKING:
    import pandas as pd

Row: TypeAlias = "Mapping[Any, Any] | pd.Series[Any]"
Rows: TypeAlias = "Data | Sequence[Row] | Sequence[Sequence[Any]] | np.ndarray"


def is_row(data: Any) -> bool:
    """Whether it is one row: its values by the names of its columns."""
    import pandas as pd

    return isinstance(data, (Mapping, pd.Series))


def as_data(program: AnyProgram, data: Any) -> Data:
    """Rows in any form as a frame; files, frames and tables as they are."""
    import pandas as pd

    if is_row(data):
        return _from_rows(program, [data])
    if isinstance(data, (list, tuple)):
        if data and all(map(is_row, data)):
            return _from_rows(program, data)
        return _from_values(program, data)
    if hasattr(data, "__array__") and not (
        isinstance(data, pd.DataFrame) or is_polars(data)
    ):
        return _from_array(program, np.asarray(data))
    found: Data = data
    return found


def encoded(
    program: AnyProgram, data: Row | Rows, how: ReadOptions
) -> tuple[Columns, int]:
    """The columns of rows as a model reads them, and the number of rows."""
    if isinstance(data, Table):
        raise OptionError(
            "predict needs the rows in memory, not a Table: use score, which writes"
            " the predictions into another table"
        )
    table = read_table(in_memory(as_data(program, data), "predict"), how)
    return encode_features(program, table, how.na_values), table.rows


def as_row(program: AnyProgram, data: Any) -> dict[str, Any]:
    """One row by the names of its columns, also from a table of one row.

    Texts that mean missing to the model are None.
    """
    if not is_row(data):
        table = read_table(in_memory(as_data(program, data), "one row"))
        if table.rows != 1:
            raise DataError(f"expected one row, not {table.rows}: choose one")
        cells = (next(iter(column)) for column in table.columns)
        data = dict(zip(table.names, cells, strict=True))
    row = _checked(data, _read_columns(program), "the row")
    return {
        name: None if isinstance(value, str) and value in program.na_values else value
        for name, value in row.items()
    }


def _from_rows(program: AnyProgram, rows: Sequence[Row]) -> pd.DataFrame:
    read = _read_columns(program)
    many = len(rows) > 1
    named = [
        _checked(row, read, f"row {at}" if many else "the row")
        for at, row in enumerate(rows, start=1)
    ]
    return _frame({name: [row[name] for row in named] for name in read}, len(rows))


def _read_columns(program: AnyProgram) -> list[str]:
    """The columns that some test reads; others are ignored, and may be absent."""
    read = required_features(program.body)
    return [program.body.features[i].name for i in sorted(read)]


def _checked(given: Row, read: Sequence[str], which: str) -> dict[str, Any]:
    """A row by the texts of its names, with a value for every column that is read."""
    row = {str(name): value for name, value in given.items()}
    for name in read:
        if name not in row:
            near = similar(name, [other for other in row if other not in read])
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise DataError(
                f"{which} has no column {name!r}{hint}: add it, as None if it is"
                " missing"
            )
        if isinstance(row[name], (list, tuple, np.ndarray)) or is_row(row[name]):
            raise DataError(
                f"{which} has a {type(row[name]).__name__} in {name!r}, and a mapping"
                " is one row: for many, give a DataFrame or a list of mappings"
            )
    return row


def _from_values(program: AnyProgram, rows: Sequence[Any]) -> pd.DataFrame:
    """Rows that are lists, in the order of the features."""
    names = [feature.name for feature in program.body.features]
    for at, row in enumerate(rows):
        if not isinstance(row, (list, tuple, np.ndarray)) or np.ndim(row) > 1:
            found = type(row).__name__
            raise DataError(
                f"row {at + 1} is of type {found}: expected a list of rows, each a"
                " mapping or a list of values"
            )
        if len(row) != len(names):
            raise _wrong_width(f"row {at + 1} has {counted(len(row), 'value')}", names)
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    return _frame(columns, len(rows))


def _from_array(program: AnyProgram, array: np.ndarray) -> pd.DataFrame:
    import pandas as pd

    names = [feature.name for feature in program.body.features]
    if array.ndim != 2:
        raise DataError(
            f"the array has the shape {array.shape}: expected rows of {len(names)}"
            " columns"
        )
    if array.shape[1] != len(names):
        raise _wrong_width(f"the array has {counted(array.shape[1], 'column')}", names)
    return pd.DataFrame(array, columns=names)


def _wrong_width(said: str, names: Sequence[str]) -> DataError:
    return DataError(
        f"{said}, and the model has {len(names)} ({listed(names)}): give these, in"
        " this order"
    )


def _frame(columns: Mapping[str, Sequence[Any]], rows: int) -> pd.DataFrame:
    """Columns of objects, so that no value changes its type beside another one."""
    import pandas as pd

    if not columns:  # of a model that tests nothing
        columns = {"": [None] * rows}
    return pd.DataFrame(
        {name: pd.Series(values, dtype=object) for name, values in columns.items()}
    )


# ---------------------------------------------------------------- answers


def answers_to(
    data: Any, found: Array, labels: Sequence[Label]
) -> pd.Series[Any] | Label:
    """The answers, with the index of a frame; one row has one, as a plain value."""
    import pandas as pd

    if is_row(data):
        alone: Label = found.tolist()[0]
        return alone
    dtype = {str: "str", bool: "bool", int: "int64", float: "float64"}[
        type(labels[0]) if labels else float
    ]
    if any(isinstance(v, int) and not -(2**63) <= v < 2**63 for v in labels):
        dtype = "object"
    return pd.Series(found, index=_index(data), name="prediction", dtype=dtype)


def shares_of(
    data: Any, found: Array, labels: Sequence[Label]
) -> pd.DataFrame | dict[Label, float]:
    """The probability of each label likewise."""
    import pandas as pd

    if is_row(data):
        return dict(zip(labels, found[0].tolist(), strict=True))
    return pd.DataFrame(found, index=_index(data), columns=list(labels))


def margins_of(data: Any, body: AnyBody, columns: Columns, rows: int) -> pd.DataFrame:
    """The margin of each label likewise, or the only one."""
    import pandas as pd

    if not isinstance(body, Forest):
        raise OptionError("only a forest has margins: use predict or predict_proba")
    names = list(body.labels) if len(body.start) > 1 else ["margin"]
    found = margins(body, columns, rows)
    return pd.DataFrame(found, index=_index(data), columns=pd.Index(names))


def _index(data: object) -> pd.Index[Any] | None:
    """The index of a frame; a str and a list have a method of that name."""
    import pandas as pd

    return data.index if isinstance(data, pd.DataFrame) else None
