"""MariaDB, through pymysql; MySQL runs artefacts, but its tables are not scored.

Both commit whenever a table is created or dropped, so nothing can be rolled back:
artefacts run in a database that is created for the run and dropped after it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from treecompile.engines.base import Connection, SqlStore, Store, StoredColumn, driver
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import Row

EXAMPLE = "mysql://user:password@host:3306"
# Blanks and backslashes have their default meaning whatever the server's setting.
MODE = "STRICT_TRANS_TABLES"
TEXTS = (
    *("STRING", "VAR_STRING", "VARCHAR"),
    *("BLOB", "TINY_BLOB", "MEDIUM_BLOB", "LONG_BLOB"),
)
TYPES = {  # what the protocol calls a type: what its users call it
    "TINY": "tinyint",
    "SHORT": "smallint",
    "INT24": "mediumint",
    "LONG": "int",
    "LONGLONG": "bigint",
    "NEWDECIMAL": "decimal",
    **dict.fromkeys(TEXTS, "text"),
}


def _message(error: BaseException) -> str:
    """Without the number that comes first in pymysql's errors."""
    return " ".join(str(error.args[-1] if error.args else error).split())


class MariaDB(SqlStore):
    schema = None
    key = "mariadb"
    message = staticmethod(_message)

    def execute(self, query: str, *parameters: Any) -> Any:
        cursor = self.connection.cursor()
        cursor.execute(query, *parameters)
        return cursor

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        marks = ", ".join(["%s"] * len(types))
        # MariaDB has no NaN: it is stored as NULL, as in SQLite.
        known = [[None if value != value else value for value in row] for row in rows]
        text = f"INSERT INTO {table} VALUES ({marks})"
        self.connection.cursor().executemany(text, known)

    @contextmanager
    def read_only(self, seconds: float) -> Iterator[None]:
        if "mariadb" in self.connection.get_server_info().lower():
            limit = f"max_statement_time = {seconds:f}"
        else:
            limit = f"max_execution_time = {int(seconds * 1000) + 1}"
        self.execute(f"SET SESSION {limit}")
        self.execute("START TRANSACTION READ ONLY")
        try:
            yield
        finally:
            self.execute("ROLLBACK")
            self.execute(f"SET SESSION {limit.partition(' ')[0]} = DEFAULT")

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        self.execute(f"SET SESSION sql_select_limit = {most}")
        return super().fetch(query, most)

    def columns(self, relation: str) -> list[StoredColumn]:
        names = _type_names()
        described = self.ask(f"SELECT * FROM {relation} LIMIT 0").description
        found = [(name, names.get(code, "other")) for name, code, *_ in described]
        binary = self._binary([name for name, kind in found if kind in TEXTS], relation)
        return [
            StoredColumn(
                name, "binary" if name in binary else TYPES.get(kind, kind.lower())
            )
            for name, kind in found
        ]

    def _binary(self, names: list[str], relation: str) -> set[str]:
        """Which columns hold bytes: the protocol has one type for bytes and text."""
        if not names:
            return set()
        quoted = ("`" + name.replace("`", "``") + "`" for name in names)
        asked = ", ".join(f"charset({column})" for column in quoted)
        row = self.ask(f"SELECT {asked} FROM {relation} LIMIT 1").fetchone()
        return {
            n for n, kind in zip(names, row or (), strict=False) if kind == "binary"
        }


def _type_names() -> dict[int, str]:
    """By code; if two types have one code, the first: TINY, not CHAR."""
    codes = vars(driver("pymysql").constants.FIELD_TYPE)
    return {code: name for name, code in reversed(codes.items()) if name.isupper()}


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    name = f"treecompile_{uuid.uuid4().hex}"
    with closing(_connect(url)) as connection:
        error_class = driver("pymysql").Error
        session = MariaDB(connection, error_class)
        try:
            session.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
        except error_class as error:
            raise EngineError(
                f"{shown(url)}: verify needs a database of its own, which this user"
                f" may not create: {_message(error)}"
            ) from None
        try:
            session.execute(f"USE {name}")
            yield session
        finally:
            session.execute(f"DROP DATABASE {name}")


@contextmanager
def open_mariadb(url: str, memory_limit: str, writes: bool) -> Iterator[Store]:
    """`url` is mysql://user:password@host:port/database."""
    database = unquote(_split(url).path.strip("/"))
    if not database:
        raise OptionError(
            f"from={shown(url)}: name the database, as in mysql://user@host/shop"
        )
    mode = f"SET SESSION sql_mode = '{MODE}'"
    with closing(_connect(url, database=database, init_command=mode)) as connection:
        version = connection.get_server_info()
        if "mariadb" not in version.lower():
            raise EngineError(
                f"{shown(url)} is MySQL {version}, and treecompile evaluates and scores"
                " only in MariaDB: export the table, or a part of it, to a file"
            )
        yield MariaDB(connection, driver("pymysql").Error)


def _connect(url: str, **more: str) -> Any:
    pymysql = driver("pymysql")
    try:
        return pymysql.connect(
            **arguments(url), **more, charset="utf8mb4", autocommit=True
        )
    except (pymysql.Error, OSError) as error:
        said = _message(error)
        raise EngineError(f"cannot connect to {shown(url)}: {said}") from None


def arguments(url: str) -> dict[str, Any]:
    """What pymysql.connect takes, from a URL."""
    parts = _split(url)
    if parts.scheme not in ("mysql", "mariadb"):
        raise EngineError(f"MariaDB and MySQL need url, such as {EXAMPLE}")
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


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise EngineError(f"{shown(url)}: {error}") from None


def shown(url: str) -> str:
    """The URL without its password."""
    before, at, rest = url.rpartition("@")
    scheme, _, user = before.partition("://")
    return f"{scheme}://{user.partition(':')[0]}@{rest}" if at else url
