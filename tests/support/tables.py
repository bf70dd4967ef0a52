"""Tables in a database, made from typed columns or a data frame."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from math import isfinite
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.databases import DATABASES, mariadb_url, postgres_url
from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.emit.sql.text import Quoting
from treecompile.engines.mariadb import arguments
from treecompile.model.ir import ValueType

ARROW = {
    ValueType.FLOAT: pa.float64(),
    ValueType.STR: pa.string(),
    ValueType.INT: pa.int64(),
    ValueType.BOOL: pa.bool_(),
}
DTYPES = {ValueType.FLOAT: "float64"}

KINDS = {
    "f": ValueType.FLOAT,
    "i": ValueType.INT,
    "u": ValueType.INT,
    "b": ValueType.BOOL,
}

Typed = Mapping[str, tuple[ValueType, list[Any]]]  # type and values of each column


def frame_of(columns: Typed) -> pd.DataFrame:
    """The same table as a data frame."""
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=DTYPES.get(type_, "object"))
            for name, (type_, values) in columns.items()
        }
    )


def typed(frame: pd.DataFrame) -> Typed:
    """The columns of a data frame: plain Python values, None for a missing one."""
    return {
        str(name): (
            KINDS.get(column.dtype.kind, ValueType.STR),
            [None if pd.isna(each) else each for each in column.astype(object)],
        )
        for name, column in frame.items()
    }


def as_held(store: str, columns: Typed) -> Typed:
    """The columns without the values that the database lacks: infinities in MariaDB."""
    if store != "mariadb":
        return columns

    def held(value: Any) -> Any:
        return None if isinstance(value, float) and not isfinite(value) else value

    return {
        name: (type_, [held(value) for value in values])
        for name, (type_, values) in columns.items()
    }


@contextmanager
def table_of(
    store: str, table: Typed | pd.DataFrame, folder: Path, name: str = "t"
) -> Iterator[tuple[str, str]]:
    """The URL of a database that holds the table, and the name of the table in it."""
    columns = typed(table) if isinstance(table, pd.DataFrame) else table
    if store in OTHERS:
        with OTHERS[store](columns, folder, name) as found:
            yield found
        return
    arrays = [pa.array(values, ARROW[type_]) for type_, values in columns.values()]
    path = folder / f"{name}.parquet"
    pq.write_table(pa.table(arrays, names=list(columns)), path)
    if store == "spark":
        DATABASES["spark"]()  # starts it as the other tests do
        yield "spark:local[1]", f'parquet."{path}"'
        return
    with duckdb.connect(str(folder / "data.db")) as connection:
        connection.execute(f"CREATE TABLE {name} AS FROM '{path}'")
    yield f"duckdb://{folder / 'data.db'}", name


def _made(columns: Typed, dialect: Dialect) -> str:
    """The columns of a CREATE TABLE, with their types."""
    quoted = Quoting(dialect).name
    return ", ".join(
        f"{quoted(column)} {dialect.types.of(type_)}"
        for column, (type_, _) in columns.items()
    )


def _rows(columns: Typed) -> list[tuple[Any, ...]]:
    return list(zip(*(values for _, values in columns.values()), strict=True))


@contextmanager
def _postgres(columns: Typed, folder: Path, table: str) -> Iterator[tuple[str, str]]:
    import psycopg

    url, dialect = postgres_url(), read_dialect("postgres")
    name = f"{table}_{folder.name}"
    quoted = Quoting(dialect).name(name)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE {quoted} ({_made(columns, dialect)})".encode()
        )
        try:
            copy = f"COPY {quoted} FROM STDIN".encode()
            with connection.cursor().copy(copy) as rows:
                for row in _rows(columns):
                    rows.write_row(row)
            yield url, name
        finally:
            connection.execute(f"DROP TABLE {quoted}".encode())


@contextmanager
def _sqlite(columns: Typed, folder: Path, table: str) -> Iterator[tuple[str, str]]:
    path, made = folder / "data.sqlite", _made(columns, read_dialect("sqlite"))
    marks = ", ".join("?" * len(columns))
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(f"CREATE TABLE {table} ({made})")
        file.executemany(f"INSERT INTO {table} VALUES ({marks})", _rows(columns))
    yield f"sqlite://{path}", table


@contextmanager
def _mariadb(columns: Typed, folder: Path, table: str) -> Iterator[tuple[str, str]]:
    import pymysql

    url, made = mariadb_url(), _made(columns, read_dialect("mariadb"))
    name = f"made_{uuid4().hex}"
    rows = _rows(columns)
    server = pymysql.connect(**arguments(url), charset="utf8mb4", autocommit=True)
    with closing(server), server.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE `{name}` CHARACTER SET utf8mb4")
        try:
            cursor.execute(f"CREATE TABLE `{name}`.`{table}` ({made})")
            marks = ", ".join(["%s"] * len(columns))
            cursor.executemany(f"INSERT INTO `{name}`.`{table}` VALUES ({marks})", rows)
            before, mark, query = url.partition("?")
            yield f"{before.rstrip('/')}/{name}{mark}{query}", table
        finally:
            cursor.execute(f"DROP DATABASE `{name}`")


OTHERS = {"postgres": _postgres, "sqlite": _sqlite, "mariadb": _mariadb}
