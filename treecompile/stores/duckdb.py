"""DuckDB: a database file, or Parquet files as they are; spills beyond its memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from treecompile.errors import EngineError
from treecompile.packages import driver
from treecompile.stores.base import Phrases, Store, StoredColumn
from treecompile.targets import Dialect, read_dialect

PHRASES = Phrases(
    round_even="round_even({}, 0)",
    byte="UTINYINT",
    checksum="CAST(sum(hash({}) % 4294967296) AS VARCHAR)",
    sample="SELECT {columns} FROM {relation} USING SAMPLE reservoir({rows} ROWS)",
)


class DuckDB:
    dialect: Dialect
    phrases = PHRASES

    def __init__(self, connection: Any, errors: type[Exception]) -> None:
        self.connection, self.errors = connection, errors
        self.dialect = read_dialect("duckdb")
        self.made: set[str] = set()  # temporary tables

    def columns(self, relation: str) -> list[StoredColumn]:
        found = self._ask(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        return [StoredColumn(name, kind) for name, kind, *_ in found]

    def arrays(self, query: str) -> list[np.ndarray]:
        with self._told():
            # Some of the work is only done as the rows are fetched.
            found = self.connection.execute(query).fetchnumpy()
        return [_plain(column) for column in found.values()]

    def make(self, name: str, query: str) -> None:
        self._ask(f"CREATE OR REPLACE TEMPORARY TABLE {name} AS {query}")
        self.made.add(name)

    def discard(self, name: str) -> None:
        self._ask(f"DROP TABLE temp.{name}")
        self.made.remove(name)

    def update(self, statement: str) -> None:
        self._ask(statement)

    def save(self, name: str, query: str) -> None:
        self._ask(f"CREATE TABLE {name} AS {query}")

    def _ask(self, query: str) -> Any:
        with self._told():
            return self.connection.execute(query)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What goes wrong meanwhile is told in one line."""
        try:
            yield
        except self.errors as error:
            said = str(error).partition("\n")[0]
            raise EngineError(f"DuckDB: {said}") from None
        except RuntimeError as error:  # it has an exception of its own for Ctrl-C
            if "nterrupt" in str(error):
                raise KeyboardInterrupt from None
            raise


def _plain(column: Any) -> np.ndarray:
    """Without a mask: NaN for a missing number, None for anything else."""
    if not np.ma.isMaskedArray(column):
        return np.asarray(column)
    if not np.ma.is_masked(column):
        return np.asarray(column.data)
    if column.dtype.kind in "iuf":
        return np.where(column.mask, np.nan, column.data.astype(np.float64))
    plain = column.data.astype(object)
    plain[column.mask] = None
    return plain


@contextmanager
def open_duckdb(
    url: str, memory_limit: str = "", writes: bool = False
) -> Iterator[Store]:
    """`url` is duckdb:// and the path of a database file, or no path for none."""
    address = url.removeprefix("duckdb:").removeprefix("//")
    duckdb = driver("duckdb", "DuckDB", "duckdb")
    if address and not Path(address).is_file():
        raise EngineError(f"{address!r}: there is no such database file")
    with tempfile.TemporaryDirectory(prefix="treecompile-") as folder:
        settings = {"temp_directory": folder, "preserve_insertion_order": "false"}
        if memory_limit:
            settings["memory_limit"] = memory_limit
        try:
            connection = duckdb.connect(
                address or ":memory:",
                read_only=bool(address) and not writes,
                config=settings,
            )
        except duckdb.Error as error:
            said = str(error).partition("\n")[0]
            what = f"open {address!r}" if address else "start DuckDB"
            raise EngineError(f"cannot {what}: {said}") from None
        try:
            # It would go to standard output, where the model may go.
            connection.execute("SET enable_progress_bar = false")
            yield DuckDB(connection, duckdb.Error)
        finally:
            connection.close()


@contextmanager
def borrow_duckdb(connection: Any) -> Iterator[Store]:
    """A connection that the user goes on with: what was made there is removed."""
    duckdb = driver("duckdb", "DuckDB", "duckdb")
    store = DuckDB(connection, duckdb.Error)
    try:
        yield store
    finally:
        with suppress(duckdb.Error):
            for name in store.made:
                connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
