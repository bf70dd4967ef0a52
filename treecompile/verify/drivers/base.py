"""What a driver of a database is, and what several of them share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from treecompile.ir import Row

if TYPE_CHECKING:
    import pyarrow as pa


class Connection(Protocol):
    """What the drivers here, and most others, have in common."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Driver:
    """How to reach a database, which is left as it was found."""

    connect: Callable[[str], AbstractContextManager[Connection]]  # takes a URL or ""
    insert: Callable[[Connection, str, Sequence[str], Sequence[Row]], None]
    errors: Callable[[], tuple[type[Exception], ...]]
    create: str = "CREATE TABLE {} ({})"  # a temporary one where it can be
    # How a schema is made for a table that is in one: "" where it is there already,
    # None where it could not be taken back.
    schema: str | None = "CREATE SCHEMA IF NOT EXISTS {}"


def insert_by_row(
    connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
) -> None:
    marks = ", ".join("?" * len(types))
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)


def insert_by_column(mark: str) -> Callable[..., None]:
    """Whole columns as lists, where row by row takes a millisecond each."""

    def insert(
        connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
    ) -> None:
        lists = ", ".join(f"unnest({mark}::{kind}[])" for kind in types)
        columns = [list(column) for column in zip(*rows, strict=True)]
        connection.execute(f"INSERT INTO {table} SELECT {lists}", columns)

    return insert


@dataclass(frozen=True, slots=True)
class Fetched:
    """A result of which everything is there already."""

    rows: list[tuple[Any, ...]]

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.rows


def arrow_columns(rows: Sequence[Row]) -> pa.Table:
    """Rows as an Arrow table; inserting it gives each column the type it has there."""
    import pyarrow as pa

    columns = zip(*rows, strict=True)
    return pa.table({f"c{n}": pa.array(column) for n, column in enumerate(columns)})


def arrow_rows(table: pa.Table) -> Fetched:
    columns = [column.to_pylist() for column in table.columns]
    return Fetched(list(zip(*columns, strict=True)))
