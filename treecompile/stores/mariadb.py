"""MariaDB, by pymysql; what is made there is temporary and goes with the session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from treecompile.errors import EngineError, OptionError
from treecompile.packages import driver
from treecompile.stores.base import (
    NoTemporaryTableError,
    Phrases,
    Store,
    StoredColumn,
)
from treecompile.stores.dbapi import DbApi
from treecompile.targets import read_dialect
from treecompile.verify.drivers.mariadb import arguments, said, shown

# Blanks and backslashes mean what they do by default, whatever the server is set to;
# what is assigned in an UPDATE does not change what is assigned behind it.
MODE = "STRICT_TRANS_TABLES,SIMULTANEOUS_ASSIGNMENT"
# To make temporary tables: in this database, in this transaction, on this server.
NO_RIGHT = (1044, 1792, 1290)
TEXTS = (
    *("STRING", "VAR_STRING", "VARCHAR"),
    *("BLOB", "TINY_BLOB", "MEDIUM_BLOB", "LONG_BLOB"),
)
TYPES = {  # as its protocol calls them, and as its users do
    "TINY": "tinyint",
    "SHORT": "smallint",
    "INT24": "mediumint",
    "LONG": "int",
    "LONGLONG": "bigint",
    "NEWDECIMAL": "decimal",
    **dict.fromkeys(TEXTS, "text"),
}


class MariaDB(DbApi):
    phrases = Phrases(
        sample="SELECT {columns} FROM {relation} WHERE rand() < {share}",
        byte="SIGNED",
        long="SIGNED",
        list="{}",
        item="(ELT({place}, {list}) + 0e0)",
        names_values=False,
        checksum="CAST(sum(crc32(json_array({}))) AS CHAR)",
    )
    # A third of the time that rows with transactions take.
    create = "CREATE TEMPORARY TABLE {name} ENGINE=MyISAM AS {query}"

    def __init__(self, connection: Any, pymysql: Any) -> None:
        super().__init__(connection, pymysql.Error)
        self.dialect = read_dialect("mariadb")
        codes = vars(pymysql.constants.FIELD_TYPE)
        self.names: dict[int, str] = {}
        for name, code in codes.items():
            if name.isupper():
                self.names.setdefault(code, name)  # CHAR is another name for TINY

    def make(self, name: str, query: str) -> None:
        try:
            super().make(name, query)
        except EngineError as error:
            if getattr(error.__cause__, "args", (0,))[0] in NO_RIGHT:
                raise NoTemporaryTableError(str(error)) from None
            raise

    def columns(self, relation: str) -> list[StoredColumn]:
        described = self.ask(f"SELECT * FROM {relation} LIMIT 0").description
        found = [(name, self.names.get(code, "other")) for name, code, *_ in described]
        binary = self._binary([name for name, kind in found if kind in TEXTS], relation)
        return [
            StoredColumn(
                name, "binary" if name in binary else TYPES.get(kind, kind.lower())
            )
            for name, kind in found
        ]

    def _binary(self, names: list[str], relation: str) -> set[str]:
        """Which columns hold bytes: the protocol calls those and texts the same."""
        if not names:
            return set()
        quoted = ("`" + name.replace("`", "``") + "`" for name in names)
        asked = ", ".join(f"charset({column})" for column in quoted)
        row = self.ask(f"SELECT {asked} FROM {relation} LIMIT 1").fetchone()
        return {
            n for n, kind in zip(names, row or (), strict=False) if kind == "binary"
        }


@contextmanager
def open_mariadb(
    url: str, memory_limit: str = "", writes: bool = False
) -> Iterator[Store]:
    """`url` is mysql://user:password@host:port/database."""
    if memory_limit:
        raise OptionError("--memory-limit is for DuckDB: a server has its own")
    pymysql = driver("pymysql", "MariaDB", "mariadb")
    database = unquote(urlsplit(url).path.strip("/"))
    if not database:
        raise OptionError(
            f"--from {shown(url)}: say which database, as mysql://user@host/shop"
        )
    try:
        connection = pymysql.connect(
            **arguments(url),
            database=database,
            charset="utf8mb4",
            autocommit=True,
            init_command=f"SET SESSION sql_mode = '{MODE}'",
        )
    except (pymysql.Error, OSError) as error:
        raise EngineError(f"cannot connect to {shown(url)}: {said(error)}") from None
    with closing(connection):
        version = connection.get_server_info()
        if "mariadb" not in version.lower():
            raise EngineError(
                f"{shown(url)} is MySQL {version}: of its kind only MariaDB is learned"
                " in; learn from a file, or a part of the table in one"
            )
        yield MariaDB(connection, pymysql)
