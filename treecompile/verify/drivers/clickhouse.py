"""ClickHouse, in this process and in memory, by chdb."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from treecompile.ir import Row
from treecompile.packages import driver
from treecompile.verify.drivers.base import (
    Connection,
    Driver,
    Fetched,
    arrow_columns,
    arrow_rows,
)

SETTINGS = (
    # What a user has to set as well for a text as long as that of a large tree.
    *("max_query_size = 1000000000", "max_ast_elements = 100000000"),
    *("max_expanded_ast_elements = 100000000", "max_parser_backtracks = 1000000000"),
    # Rows are inserted by position, not by name.
    "use_structure_from_insertion_table_in_table_functions = 0",
)


def _chdb() -> Any:
    return driver("chdb", "ClickHouse", "clickhouse")


class Session:
    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, query: str, parameters: Any = None) -> Fetched:
        import pyarrow as pa

        found = self.connection.query(query, "ArrowStream").bytes()
        if not found:
            return Fetched([])
        return arrow_rows(pa.ipc.open_stream(found).read_all())


@contextmanager
def connect(url: str) -> Iterator[Connection]:
    # After an error what was left of its output would precede the next answer: every
    # run has a connection of its own.
    with closing(_chdb().connect(":memory:")) as connection:
        session = Session(connection)
        session.execute(f"SET {', '.join(SETTINGS)}")
        yield session


def insert(
    connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
) -> None:
    import pyarrow as pa

    columns = arrow_columns(rows)
    with tempfile.TemporaryDirectory(prefix="treecompile-") as folder:
        path = Path(folder) / "rows"
        with (
            pa.OSFile(str(path), "wb") as file,
            pa.ipc.new_stream(file, columns.schema) as stream,
        ):
            stream.write_table(columns)
        source = f"file('{path}', 'ArrowStream')"
        connection.execute(f"INSERT INTO {table} SELECT * FROM {source}")


def errors() -> tuple[type[Exception], ...]:
    _chdb()
    return (RuntimeError, ValueError)


DRIVER = Driver(
    connect,
    insert,
    errors,
    create="CREATE TABLE {} ({}) ENGINE = Memory",
    schema="CREATE DATABASE IF NOT EXISTS {}",
)
