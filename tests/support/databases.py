"""The databases that the engine tests run on; each is started when it is first needed.

Where one cannot be started, its tests are skipped, with the reason. They fail instead
if TREECOMPILE_ALL_ENGINES is set.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from tests.support.servers import address_of, start_mariadb, start_postgres
from treecompile.engines.addresses import ENGINES
from treecompile.engines.base import Connection, Engine
from treecompile.engines.sqlite import SQLite
from treecompile.model.errors import EngineError


def unavailable(engine: str, why: object) -> Any:
    if os.environ.get("TREECOMPILE_ALL_ENGINES"):
        pytest.fail(f"{engine} must run here: {why}")
    pytest.skip(f"{engine}: {why}")


def in_process(engine: str, package: str) -> Callable[[], Engine]:
    """A database that is part of a Python package."""

    @cache
    def start() -> Engine:
        try:
            import_module(package)
        except ImportError as error:
            return unavailable(engine, error)  # type: ignore[no-any-return]
        return ENGINES[engine]

    return start


def _newer_sqlite() -> Engine:
    """The SQLite inside apsw, years newer than that of most Pythons."""
    try:
        import apsw
    except ImportError as error:
        return unavailable("apsw", error)  # type: ignore[no-any-return]

    @contextmanager
    def sandbox(url: str) -> Iterator[Connection]:
        with closing(apsw.Connection(":memory:")) as connection:
            yield SQLite(connection, apsw.Error)

    return Engine("sqlite", sandbox)


def _postgres() -> Engine:
    return ENGINES["postgres"].at(postgres_url())


@cache
def postgres_url() -> str:
    """A database for this process on the server of the tests, unless one is given.

    So the processes of a test run see neither the tables nor the sessions of others.
    """
    given = os.environ.get("TREECOMPILE_POSTGRES_URL")
    if given:
        return given
    try:
        import psycopg

        url = address_of("postgres", start_postgres)
    except Exception as error:
        return unavailable("postgres", error)  # type: ignore[no-any-return]
    name = f"tests_{os.getpid()}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}".encode())
    return url.replace("/postgres?", f"/{name}?")


@cache
def mariadb_url() -> str:
    """The server of the tests, unless one is given."""
    given = os.environ.get("TREECOMPILE_MARIADB_URL")
    if given:
        return given
    try:
        import pymysql  # noqa: F401

        return address_of("mariadb", start_mariadb)
    except (ImportError, OSError, subprocess.CalledProcessError) as error:
        return unavailable("mariadb", error)  # type: ignore[no-any-return]


def _mariadb() -> Engine:
    return ENGINES["mariadb"].at(mariadb_url())


def _spark() -> Engine:
    database = in_process("spark", "pyspark")()
    try:
        with database.sandbox(""):
            return database
    except EngineError as error:
        return unavailable("spark", error)  # type: ignore[no-any-return]


# What connects to each, starting it if need be. Called by every test, so they remember.
DATABASES: dict[str, Callable[[], Engine]] = {
    "sqlite": in_process("sqlite", "sqlite3"),
    "sqlite, newer": _newer_sqlite,
    "duckdb": in_process("duckdb", "duckdb"),
    "postgres": _postgres,
    "mariadb": _mariadb,
    "clickhouse": in_process("clickhouse", "chdb"),
    "spark": cache(_spark),
    "datafusion": in_process("datafusion", "datafusion"),
}
# A query takes half a second, so these get fewer of the random cases than the others.
SLOW = ("spark",)
