"""DataFusion, in this process and in memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
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


def _datafusion() -> Any:
    return driver("datafusion", "DataFusion", "datafusion")


LOADED = "treecompile_loaded"


class Session:
    def __init__(self, context: Any) -> None:
        self.context = context

    def execute(self, query: str, parameters: Any = None) -> Fetched:
        return arrow_rows(self.context.sql(query).to_arrow_table())


def connect(url: str) -> AbstractContextManager[Connection]:
    datafusion = _datafusion()
    config = datafusion.SessionConfig().with_target_partitions(1)
    return nullcontext(Session(datafusion.SessionContext(config)))


def insert(
    connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
) -> None:
    assert isinstance(connection, Session)
    connection.context.from_arrow(arrow_columns(rows), LOADED)
    connection.execute(f"INSERT INTO {table} SELECT * FROM {LOADED}")
    connection.context.deregister_table(LOADED)


# What it raises for a query has no class of its own.
DRIVER = Driver(connect, insert, lambda: (Exception,))
