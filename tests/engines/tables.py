"""Tables with any columns and values in a database, for tests that read them there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engines.databases import DATABASES, postgres_url
from treecompile.ir import ValueType
from treecompile.lower.sql_names import Quoting
from treecompile.targets import read_dialect

ARROW = {
    ValueType.FLOAT: pa.float64(),
    ValueType.STR: pa.string(),
    ValueType.INT: pa.int64(),
    ValueType.BOOL: pa.bool_(),
}
DTYPES = {ValueType.FLOAT: "float64"}
STORES = ("duckdb", "postgres", "spark")

Typed = Mapping[str, tuple[ValueType, list[Any]]]  # values by column


def frame_of(columns: Typed) -> pd.DataFrame:
    """The same table in memory."""
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=DTYPES.get(type_, "object"))
            for name, (type_, values) in columns.items()
        }
    )


@contextmanager
def table_of(
    store: str, columns: Typed, folder: Path, name: str = "t"
) -> Iterator[tuple[str, str]]:
    """The address of a database that has the columns, and the name of the table."""
    if store == "postgres":
        with _postgres(columns, f"{name}_{folder.name}") as found:
            yield found
        return
    arrays = [pa.array(values, ARROW[type_]) for type_, values in columns.values()]
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table(arrays, names=list(columns)), path)
    if store == "spark":
        DATABASES["spark"]()  # starts it as the other tests do
        yield "spark:local[1]", f'parquet."{path}"'
        return
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "data.db")) as connection:
        connection.execute(f"CREATE TABLE {name} AS FROM '{path}'")
    yield f"duckdb://{folder / 'data.db'}", name


@contextmanager
def _postgres(columns: Typed, name: str) -> Iterator[tuple[str, str]]:
    psycopg = pytest.importorskip("psycopg")
    url, dialect = postgres_url(), read_dialect("postgres")
    quoted = Quoting(dialect).name
    made = ", ".join(
        f"{quoted(column)} {dialect.types.of(type_)}"
        for column, (type_, _) in columns.items()
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE {quoted(name)} ({made})".encode())
        try:
            copy = f"COPY {quoted(name)} FROM STDIN".encode()
            with connection.cursor().copy(copy) as rows:
                values = (values for _, values in columns.values())
                for row in zip(*values, strict=True):
                    rows.write_row(row)
            yield url, name
        finally:
            connection.execute(f"DROP TABLE {quoted(name)}".encode())
