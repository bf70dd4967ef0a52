"""The databases that the engine tests run on, started when first asked for.

What cannot be started skips its tests, with the reason; where TREECOMPILE_ALL_ENGINES
is set, it fails them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import cache
from typing import Any

import pytest

from treecompile.targets import read_dialect
from treecompile.verify.engines import Connection, Database, Driver, insert_by_row


def unavailable(engine: str, why: object) -> Any:
    if os.environ.get("TREECOMPILE_ALL_ENGINES"):
        pytest.fail(f"{engine} must run here: {why}")
    pytest.skip(f"{engine}: {why}")


def _sqlite() -> Database:
    return Database.named("sqlite")


def _duckdb() -> Database:
    try:
        import duckdb  # noqa: F401
    except ImportError as error:
        return unavailable("duckdb", error)  # type: ignore[no-any-return]
    return Database.named("duckdb")


def _newer_sqlite() -> Database:
    """The SQLite that apsw brings along, years newer than that of most Pythons."""
    try:
        import apsw
    except ImportError as error:
        return unavailable("apsw", error)  # type: ignore[no-any-return]

    def connect(url: str) -> AbstractContextManager[Connection]:
        return closing(apsw.Connection(":memory:"))

    driver = Driver(connect, insert_by_row, lambda: (apsw.Error,))
    return Database(read_dialect("sqlite"), driver)


def _postgres() -> Database:
    return Database.named("postgres", postgres_url())


@cache
def postgres_url() -> str:
    """A server of our own, unless the environment names one."""
    given = os.environ.get("TREECOMPILE_POSTGRES_URL")
    if given:
        return given
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pgserver
            import psycopg  # noqa: F401

            folder = tempfile.mkdtemp(prefix="treecompile-postgres-")
            server = pgserver.get_server(  # type: ignore[attr-defined]
                folder, cleanup_mode="stop"
            )
    except Exception as error:
        return unavailable("postgres", error)  # type: ignore[no-any-return]

    def stop() -> None:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return str(server.get_uri())


DATABASES: dict[str, Callable[[], Database]] = {
    "sqlite": _sqlite,
    "sqlite, newer": _newer_sqlite,
    "duckdb": _duckdb,
    "postgres": _postgres,
}
