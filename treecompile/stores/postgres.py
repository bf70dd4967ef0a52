"""PostgreSQL, by psycopg; what is made there is temporary and goes with the session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from treecompile.errors import EngineError, OptionError
from treecompile.packages import driver
from treecompile.stores.base import (
    NoTemporaryTableError,
    Phrases,
    Store,
    StoredColumn,
    as_array,
)
from treecompile.stores.postgres_columns import columns_of, query_of_columns
from treecompile.targets import read_dialect

# What it says to who may not make a table: no right to, or no transaction that writes.
READ_ONLY = ("42501", "25006")


class PostgreSQL:
    phrases = Phrases(
        list="ARRAY[{}]",
        replaces=True,
        once="WITH {name} AS MATERIALIZED ({query})",
        checksum="CAST(sum(hashtextextended(CAST(ROW({}) AS TEXT), 0)) AS TEXT)",
    )

    def __init__(self, connection: Any, errors: type[Exception]) -> None:
        self.connection, self.errors = connection, errors
        self.dialect = read_dialect("postgres")

    def columns(self, relation: str) -> list[StoredColumn]:
        described = self._ask(f"SELECT * FROM {relation} LIMIT 0").description
        types = self.connection.adapters.types
        found = []
        for column in described:
            known = types.get(column.type_code)
            found.append(StoredColumn(column.name, known.name if known else "other"))
        return found

    def arrays(self, query: str) -> list[np.ndarray]:
        types = [column.type for column in self.columns(f"({query}) AS q")]
        if whole := query_of_columns(query, types):
            found = columns_of(self._ask(whole).fetchone(), types)
            if found is not None:
                return found
        cursor = self._ask(query)
        rows = cursor.fetchall()
        if not rows:
            return [np.zeros(0) for _ in cursor.description]
        return [as_array(column) for column in zip(*rows, strict=True)]

    def make(self, name: str, query: str) -> None:
        try:
            self._ask(f"CREATE TEMPORARY TABLE {name}_made AS {query}")
        except EngineError as error:
            if getattr(error.__cause__, "sqlstate", None) in READ_ONLY:
                raise NoTemporaryTableError(str(error)) from None
            raise
        self._ask(f"DROP TABLE IF EXISTS pg_temp.{name}")
        self._ask(f"ALTER TABLE pg_temp.{name}_made RENAME TO {name}")

    def discard(self, name: str) -> None:
        self._ask(f"DROP TABLE pg_temp.{name}")

    def update(self, statement: str) -> None:
        self._ask(statement)

    def save(self, name: str, query: str) -> None:
        self._ask(f"CREATE TABLE {name} AS {query}")

    def _ask(self, query: str) -> Any:
        try:
            # As bytes: a percent sign is no place to fill.
            return self.connection.execute(query.encode(), binary=True)
        except self.errors as error:
            said = " ".join(str(error).split("\n")[0].split())
            raise EngineError(f"PostgreSQL: {said}") from error


@contextmanager
def open_postgres(
    url: str, memory_limit: str = "", writes: bool = False
) -> Iterator[Store]:
    """`url` is one as libpq takes it."""
    if memory_limit:
        raise OptionError("--memory-limit is for DuckDB: a server has its own")
    psycopg = driver("psycopg", "PostgreSQL", "postgres")
    try:
        connection = psycopg.connect(url, autocommit=True)
    except psycopg.Error as error:
        said = " ".join(str(error).split())
        raise EngineError(f"cannot connect to PostgreSQL: {said}") from None
    try:
        yield PostgreSQL(connection, psycopg.Error)
    finally:
        connection.close()
