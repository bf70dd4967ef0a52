"""DuckDB: a database file, or Parquet files as they are; can exceed the memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import numpy as np

from treecompile.engines.base import (
    Connection,
    SqlStore,
    Store,
    StoredColumn,
    database_file,
    driver,
    first_line,
)
from treecompile.model.errors import EngineError

LOCKED = {  # for artefacts
    "threads": 1,  # for few rows, more take longer to start than they save
    "enable_external_access": "false",  # no files, no extensions, no other databases
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",  # no variables of this process as tables
    "lock_configuration": "true",
}


class DuckDB(SqlStore):
    key = "duckdb"

    def __init__(self, connection: Any, *errors: type[Exception]) -> None:
        super().__init__(connection, *errors)
        self.made: set[str] = set()  # temporary tables

    def columns(self, relation: str) -> list[StoredColumn]:
        found = self.ask(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        return [StoredColumn(name, kind) for name, kind, *_ in found]

    def arrays(self, query: str) -> list[np.ndarray]:
        with self.one_line_errors():
            # DuckDB does some of the work only when the rows are fetched.
            found = self.connection.execute(query).fetchnumpy()
        return [_without_mask(column) for column in found.values()]

    def make(self, name: str, query: str) -> None:
        self.ask(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {query}")
        self.made.add(name)

    def cancel(self) -> None:
        self.connection.interrupt()

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        with _interrupts():
            return super().fetch(query, most)

    @contextmanager
    def one_line_errors(self) -> Iterator[None]:
        with _interrupts(), super().one_line_errors():
            yield


@contextmanager
def _interrupts() -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:  # DuckDB's own exception for Ctrl-C
        if "nterrupt" in str(error):
            raise KeyboardInterrupt from None
        raise


def _without_mask(column: Any) -> np.ndarray:
    """With NaN for a missing number, and None for any other missing value."""
    if not np.ma.is_masked(column):
        return np.asarray(np.ma.getdata(column))
    if column.dtype.kind in "iuf":
        return np.where(column.mask, np.nan, column.data.astype(np.float64))
    plain: np.ndarray = column.data.astype(object)
    plain[column.mask] = None
    return plain


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    duckdb = driver("duckdb")
    with closing(duckdb.connect(":memory:", config=LOCKED)) as connection:
        yield DuckDB(connection, duckdb.Error)


@contextmanager
def open_duckdb(url: str, memory_limit: str, writes: bool) -> Iterator[Store]:
    """`url` is duckdb:// followed by the path of a database file, or by nothing."""
    duckdb = driver("duckdb")
    path = database_file(url, is_optional=True)
    with tempfile.TemporaryDirectory(prefix="treecompile-") as folder:
        settings = {"temp_directory": folder, "preserve_insertion_order": "false"}
        if memory_limit:
            settings["memory_limit"] = memory_limit
        try:
            connection = duckdb.connect(
                path or ":memory:",
                read_only=bool(path) and not writes,
                config=settings,
            )
        except duckdb.Error as error:
            what = f"open {path!r}" if path else "start DuckDB"
            raise EngineError(f"cannot {what}: {first_line(error)}") from None
        with closing(connection):
            # It would go to standard output, and so may the model.
            connection.execute("SET enable_progress_bar = false")
            yield DuckDB(connection, duckdb.Error)


@contextmanager
def borrow_duckdb(connection: Any) -> Iterator[Store]:
    """A connection that the user keeps: temporary tables are dropped at the end."""
    store = DuckDB(connection, driver("duckdb").Error)
    try:
        yield store
    finally:
        with suppress(EngineError):
            for name in store.made:
                store.ask(f"DROP TABLE IF EXISTS temp.{name}")
