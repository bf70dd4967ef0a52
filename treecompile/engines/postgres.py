"""PostgreSQL, through psycopg.

Columns of numbers are fetched whole: each is sent as one value that already is an
array. That takes a fraction of the time of rows, whose every value becomes a Python
object.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any

import numpy as np

from treecompile.engines.base import Connection, SqlStore, Store, StoredColumn, driver
from treecompile.model.errors import EngineError

MARK = "treecompile_artefact"  # names a savepoint and a cursor
INTEGERS = (">i8", "int8send({})")  # the dtype of the bytes sent, and how to send them
FLOATS = (">f8", "float8send(coalesce({}, 'NaN'))")
SENT = {
    **dict.fromkeys(("int2", "int4", "int8"), INTEGERS),
    **dict.fromkeys(("float4", "float8"), FLOATS),
}


class PostgreSQL(SqlStore):
    create = "CREATE TEMPORARY TABLE {} ({})"
    key = "postgres"
    mark = "%s"

    def columns(self, relation: str) -> list[StoredColumn]:
        described = self.ask(f"SELECT * FROM {relation} LIMIT 0").description
        types = self.connection.adapters.types
        return [
            StoredColumn(column.name, known.name if known else "other")
            for column in described
            for known in [types.get(column.type_code)]
        ]

    def arrays(self, query: str) -> list[np.ndarray]:
        types = [column.type for column in self.columns(f"({query}) AS q")]
        if whole := query_of_columns(query, types):
            found = columns_of(self.ask(whole).fetchone(), types)
            if found is not None:
                return found
        return super().arrays(query)

    def make(self, name: str, query: str) -> None:
        made = f"{name}_made"  # the query may read the table that is replaced
        self.ask(f"CREATE TEMPORARY TABLE {made} AS {query}")
        self.ask(f"DROP TABLE IF EXISTS pg_temp.{name}")
        self.ask(f"ALTER TABLE pg_temp.{made} RENAME TO {name}")

    @contextmanager
    def read_only(self, seconds: float) -> Iterator[None]:
        self.execute(f"SAVEPOINT {MARK}")
        self.execute("SET TRANSACTION READ ONLY")
        self.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000) + 1}")
        try:
            yield
        finally:
            self.execute(f"ROLLBACK TO SAVEPOINT {MARK}")

    def cancel(self) -> None:
        self.connection.cancel()

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        """With a cursor on the server, which takes nothing but a query."""
        with self.connection.cursor(MARK) as cursor:
            cursor.execute(query.encode())
            found: list[Sequence[Any]] = cursor.fetchmany(most)
            return found

    def ask(self, query: str) -> Any:
        with self.one_line_errors():
            return self.connection.execute(query.encode(), binary=True)


def query_of_columns(query: str, types: Sequence[str]) -> str:
    """A query for the columns of another in one row; "" unless all are numbers."""
    if not types or not set(types) <= set(SENT):
        return ""
    names = [f"k{place}" for place in range(len(types))]
    sent = (
        f"string_agg({SENT[kind][1].format(name)}, '')"
        for kind, name in zip(types, names, strict=True)
    )
    rows = f"({query}) AS q({', '.join(names)})"
    return f"SELECT count(*), {', '.join(sent)} FROM {rows}"


def columns_of(
    row: Sequence[int | bytes | None], types: Sequence[str]
) -> list[np.ndarray] | None:
    """The columns from that query's row; None if an integer is missing."""
    count, *columns = row
    found = []
    for sent, kind in zip(columns, types, strict=True):
        assert sent is None or isinstance(sent, bytes)
        column = np.frombuffer(sent or b"", SENT[kind][0])
        if len(column) != count:
            return None
        found.append(column.astype(column.dtype.newbyteorder("=")))
    return found


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    psycopg = driver("psycopg")
    if not url:
        raise EngineError("postgres needs url, such as postgresql://user@host/database")
    # Never committed: closing it rolls back the table and everything else.
    with closing(_connect(url)) as connection:
        yield PostgreSQL(connection, psycopg.Error)


@contextmanager
def open_postgres(url: str, memory_limit: str, writes: bool) -> Iterator[Store]:
    """`url` is a connection URI of libpq."""
    with closing(_connect(url, autocommit=True)) as connection:
        yield PostgreSQL(connection, driver("psycopg").Error)


def _connect(url: str, *, autocommit: bool = False) -> Any:
    psycopg = driver("psycopg")
    try:
        return psycopg.connect(url, autocommit=autocommit)
    except psycopg.Error as error:
        said = " ".join(str(error).split())
        raise EngineError(f"cannot connect to PostgreSQL: {said}") from None
