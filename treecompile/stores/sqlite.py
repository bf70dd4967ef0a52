"""SQLite, as it comes with Python: a database file, opened for reading.

What is made is in its temporary database, a file of its own that goes with the
connection. Its columns hold values of any type, so it is asked what they do hold.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from zlib import crc32

from treecompile.errors import EngineError, OptionError
from treecompile.stores.base import Phrases, Store, StoredColumn
from treecompile.stores.dbapi import DbApi
from treecompile.targets import read_dialect

VIEW = "treecompile_columns"
STEPS = 1_000_000  # of its machine, a few hundredths of a second
# What each type of value is called in refusals, and in `Family`.
TIMES = ("DATE", "TIME")


class SQLite(DbApi):
    phrases = Phrases(
        sample="SELECT {columns} FROM {relation} ORDER BY random() LIMIT {rows}",
        infinity="{sign}9e999",
        # Without a fraction is rounded down, where nothing is negative.
        within="CAST(min({most}, max({least}, {value})) AS INTEGER)",
        list="",
        whole="json_extract('[{list}]', '$[' || ({place} - 1) || ']')",
        names_values=False,
        join="CROSS JOIN",  # keeps the many rows outside, the few in an index
        checksum="sum(treecompile_digest({}))",
    )
    create = "CREATE TEMPORARY TABLE {name} AS {query}"
    drop = "DROP TABLE IF EXISTS temp.{name}"

    def __init__(self, connection: Any) -> None:
        super().__init__(connection, sqlite3.Error)
        self.dialect = read_dialect("sqlite")
        connection.create_function("floor", 1, _floor, deterministic=True)
        connection.create_function("treecompile_digest", -1, _digest)
        # Only while Python is at work can it see Ctrl-C, and that ends the query.
        connection.set_progress_handler(lambda: 0, STEPS)

    @contextmanager
    def told(self) -> Iterator[None]:
        try:
            with super().told():
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
        """By what a column holds; what it was declared for is a wish only."""
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


def _digest(*values: Any) -> int:
    """Of a row; the sum over all of them stays below what an integer holds."""
    return crc32(repr(values).encode())


def _floor(value: float | None) -> float | None:
    return value if value is None or math.isinf(value) else float(math.floor(value))


@contextmanager
def open_sqlite(
    url: str, memory_limit: str = "", writes: bool = False
) -> Iterator[Store]:
    """`url` is sqlite:// and the path of a database file."""
    if memory_limit:
        raise OptionError("--memory-limit is for DuckDB: SQLite needs little")
    address = url.removeprefix("sqlite:").removeprefix("//")
    path = Path(address)
    if not address or not path.is_file():
        raise EngineError(f"{address!r}: there is no such database file")
    uri = f"{path.resolve().as_uri()}?mode={'rw' if writes else 'ro'}"
    with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema")
        except sqlite3.Error as error:
            raise EngineError(f"cannot open {address!r}: {error}") from None
        yield SQLite(connection)
