"""MariaDB and MySQL, on the server that the URL names, in a database of its own.

They commit whatever makes or drops a table, so nothing can be rolled back: a database
is made for the run and dropped behind it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from treecompile.errors import EngineError
from treecompile.ir import Row
from treecompile.packages import driver
from treecompile.verify.drivers.base import Connection, Driver

EXAMPLE = "mysql://user:password@host:3306"


def _pymysql() -> Any:
    return driver("pymysql", "MariaDB and MySQL", "mariadb")


class Session:
    """A connection with `execute`, which this driver has on cursors only."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def execute(self, query: str, parameters: Any = None) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(query, parameters)
        return cursor


@contextmanager
def connect(url: str) -> Iterator[Connection]:
    pymysql = _pymysql()
    name = f"treecompile_{uuid.uuid4().hex}"
    try:
        connection = pymysql.connect(
            **arguments(url), charset="utf8mb4", autocommit=True
        )
    except (pymysql.Error, OSError) as error:
        raise EngineError(f"cannot connect to {shown(url)}: {said(error)}") from None
    with closing(connection):
        session = Session(connection)
        try:
            session.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        except pymysql.Error as error:
            raise EngineError(
                f"{shown(url)}: verify works in a database of its own, which this user"
                f" may not make: {said(error)}"
            ) from None
        try:
            session.execute(f"USE {name}")
            yield session
        finally:
            session.execute(f"DROP DATABASE {name}")


def arguments(url: str) -> dict[str, Any]:
    """What the driver wants to know, from a URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("mysql", "mariadb"):
        raise EngineError(f"MariaDB and MySQL need --url, such as {EXAMPLE}")
    try:
        port = parts.port
    except ValueError as error:
        raise EngineError(f"{shown(url)}: {error}") from None
    found: dict[str, Any] = {
        "host": parts.hostname,
        "port": port,
        "user": unquote(parts.username or ""),
        "password": unquote(parts.password or ""),
        "unix_socket": parse_qs(parts.query).get("unix_socket", [""])[0],
    }
    return {key: value for key, value in found.items() if value}


def shown(url: str) -> str:
    """The URL without its password."""
    before, at, rest = url.rpartition("@")
    scheme, _, user = before.partition("://")
    return f"{scheme}://{user.partition(':')[0]}@{rest}" if at else url


def said(error: Exception) -> str:
    return " ".join(str(error.args[-1] if error.args else error).split())


def insert(
    connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
) -> None:
    assert isinstance(connection, Session)
    marks = ", ".join(["%s"] * len(types))
    # There is no NaN here: it is stored as NULL, as SQLite does.
    known = [[None if value != value else value for value in row] for row in rows]
    text = f"INSERT INTO {table} VALUES ({marks})"
    connection.connection.cursor().executemany(text, known)


DRIVER = Driver(connect, insert, lambda: (_pymysql().Error,), schema=None)
