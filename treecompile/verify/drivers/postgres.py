"""PostgreSQL, on the server that the URL names, within one transaction."""

from __future__ import annotations

from contextlib import AbstractContextManager, closing
from typing import Any

from treecompile.errors import EngineError
from treecompile.packages import driver
from treecompile.verify.drivers.base import (
    Connection,
    Driver,
    insert_by_column,
)


def _psycopg() -> Any:
    return driver("psycopg", "PostgreSQL", "postgres")


def connect(url: str) -> AbstractContextManager[Connection]:
    psycopg = _psycopg()
    if not url:
        raise EngineError(
            "postgres needs --url, such as postgresql://user@host/database"
        )
    try:
        # Never committed: closing it takes back the table and whatever else was made.
        return closing(psycopg.connect(url))
    except psycopg.Error as error:
        message = " ".join(str(error).split())
        raise EngineError(f"cannot connect to {url}: {message}") from None


DRIVER = Driver(
    connect,
    insert_by_column("%s"),
    lambda: (_psycopg().Error,),
    create="CREATE TEMPORARY TABLE {} ({})",
)
