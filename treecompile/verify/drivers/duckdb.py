"""DuckDB, in this process and in memory."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from typing import Any

from treecompile.packages import driver
from treecompile.verify.drivers.base import (
    Connection,
    Driver,
    insert_by_column,
)


def _duckdb() -> Any:
    return driver("duckdb", "DuckDB", "duckdb")


def connect(url: str) -> AbstractContextManager[Connection]:
    # Several threads take longer to start than they can save here.
    return closing(_duckdb().connect(":memory:", config={"threads": 1}))


DRIVER = Driver(connect, insert_by_column("?"), lambda: (_duckdb().Error,))
