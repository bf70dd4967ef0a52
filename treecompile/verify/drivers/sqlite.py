"""SQLite, as it comes with Python, in memory."""

from __future__ import annotations

import sqlite3
from contextlib import AbstractContextManager, closing

from treecompile.verify.drivers.base import Connection, Driver, insert_by_row


def connect(url: str) -> AbstractContextManager[Connection]:
    return closing(sqlite3.connect(":memory:"))


DRIVER = Driver(connect, insert_by_row, lambda: (sqlite3.Error,), schema="")
