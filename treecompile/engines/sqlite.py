"""SQLite, as it comes with Python: a database file, opened for reading.

A column can hold values of any type, so the values are examined.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from treecompile.engines.base import (
    Connection,
    SqlStore,
    Store,
    StoredColumn,
    database_file,
)
from treecompile.model.errors import EngineError
from treecompile.model.ir import Row

VIEW = "treecompile_columns"
STEPS = 1_000_000  # of SQLite's virtual machine: a few hundredths of a second
TIMES = ("DATE", "TIME")  # declared types that are kept: the values are text or numbers


class SQLite(SqlStore):
    schema = ""
    key = "sqlite"

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        marks = ", ".join("?" * len(types))
        self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)

    @contextmanager
    def read_only(self, seconds: float) -> Iterator[None]:
        self.connection.set_authorizer(_allow_reading)
        try:
            yield
        finally:
            self.connection.set_authorizer(None)

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        return list(islice(self.execute(query), most))

    def cancel(self) -> None:
        self.connection.interrupt()

    @contextmanager
    def one_line_errors(self) -> Iterator[None]:
        try:
            with super().one_line_errors():
                yield
        except EngineError as error:
            if str(error.__cause__) == "interrupted":
                raise KeyboardInterrupt from None
            raise

    def columns(self, relation: str) -> list[StoredColumn]:
        self.ask(f"CREATE TEMPORARY VIEW {VIEW} AS SELECT * FROM {relation}")
        try:
            declared = self.ask(f"PRAGMA temp.table_info({VIEW})").fetchall()
            return [
                StoredColumn(name, self._type(name, kind or ""))
                for _, name, kind, *_ in declared
            ]
        finally:
            self.ask(f"DROP VIEW temp.{VIEW}")

    def _type(self, name: str, declared: str) -> str:
        """By the values of a column: SQLite does not enforce the declared type."""
        if declared.upper().startswith(TIMES):
            return declared
        column = "`" + name.replace("`", "``") + "`"
        found = self.ask(
            f"SELECT DISTINCT typeof({column}) FROM {VIEW} WHERE {column} IS NOT NULL"
        ).fetchall()
        types = {kind for (kind,) in found}
        if types == {"integer"} and declared.upper().startswith("BOOL"):
            query = f"SELECT count(*) FROM {VIEW} WHERE {column} NOT IN (0, 1)"
            if self.ask(query).fetchone() == (0,):
                return "boolean"
        if types == {"integer", "real"}:
            return "real"
        if len(types) > 1:
            return f"mixed ({' and '.join(sorted(types))})"
        return "".join(types) or "null"


READING = (  # actions that an artefact may do
    *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ),
    *(sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE),
)


def _allow_reading(action: int, *_: str | None) -> int:
    return sqlite3.SQLITE_OK if action in READING else sqlite3.SQLITE_DENY


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        # sqlite3.Warning: that a text has several statements.
        yield SQLite(connection, sqlite3.Error, sqlite3.Warning)


@contextmanager
def open_sqlite(url: str, memory_limit: str, writes: bool) -> Iterator[Store]:
    """`url` is sqlite:// followed by the path of a database file."""
    path = database_file(url)
    uri = f"{Path(path).resolve().as_uri()}?mode={'rw' if writes else 'ro'}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema")
        except sqlite3.Error as error:
            raise EngineError(f"cannot open {path!r}: {error}") from None
        connection.create_function("floor", 1, _floor, deterministic=True)
        # Calls Python now and then, which only then sees Ctrl-C and ends the query.
        connection.set_progress_handler(lambda: 0, STEPS)
        yield SQLite(connection, sqlite3.Error)


def _floor(value: float | None) -> float | None:
    return value if value is None or math.isinf(value) else float(math.floor(value))
