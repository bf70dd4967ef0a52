"""The databases that the engine tests run on, started when first asked for.

What cannot be started skips its tests, with the reason; where TREECOMPILE_ALL_ENGINES
is set, it fails them.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.engines.watchdog import watch
from treecompile.errors import EngineError
from treecompile.targets import read_dialect
from treecompile.verify.drivers.base import Connection, Driver, insert_by_row
from treecompile.verify.engines import Database


def unavailable(engine: str, why: object) -> Any:
    if os.environ.get("TREECOMPILE_ALL_ENGINES"):
        pytest.fail(f"{engine} must run here: {why}")
    pytest.skip(f"{engine}: {why}")


def in_process(engine: str, package: str) -> Callable[[], Database]:
    """A database that its Python package brings along."""

    @cache
    def start() -> Database:
        try:
            import_module(package)
        except ImportError as error:
            return unavailable(engine, error)  # type: ignore[no-any-return]
        return Database.named(engine)

    return start


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

    watch(Path(folder), "postmaster.pid")

    def stop() -> None:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return str(server.get_uri())


@cache
def mariadb_url() -> str:
    """A server of our own, on a socket, unless the environment names one."""
    given = os.environ.get("TREECOMPILE_MARIADB_URL")
    if given:
        return given
    folder = Path(tempfile.mkdtemp(prefix="treecompile-mariadb-"))
    socket = folder / "socket"
    data = f"--datadir={folder / 'data'}"
    user = "--user=root" if os.getuid() == 0 else "--skip-name-resolve"
    install = ["--auth-root-authentication-method=normal", "--skip-test-db"]
    serve = [f"--socket={socket}", f"--pid-file={folder / 'pid'}", "--skip-networking"]
    try:
        import pymysql  # noqa: F401

        subprocess.run(
            [program("mariadb-install-db"), "--no-defaults", data, user, *install],
            check=True,
            capture_output=True,
        )
        server = subprocess.Popen(
            [program("mariadbd"), "--no-defaults", data, user, *serve],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (ImportError, OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        return unavailable("mariadb", error)  # type: ignore[no-any-return]

    watch(folder, "pid")

    def stop() -> None:
        server.terminate()
        server.wait()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    end = time.monotonic() + 60
    while not socket.exists():
        if time.monotonic() > end or server.poll() is not None:
            return unavailable("mariadb", "it does not start")  # type: ignore[no-any-return]
        time.sleep(0.1)
    return f"mysql://root@localhost?unix_socket={socket}"


def program(name: str) -> str:
    """Where a server program is; those are not on everybody's path."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    found = shutil.which(name, path=path)
    if not found:
        raise FileNotFoundError(
            f"no program {name}: install the package mariadb-server"
        )
    return found


def _mariadb() -> Database:
    return Database.named("mariadb", mariadb_url())


def _spark() -> Database:
    database = in_process("spark", "pyspark")()
    try:
        with database.driver.connect(""):
            return database
    except EngineError as error:
        return unavailable("spark", error)  # type: ignore[no-any-return]


# Where each is; what starts it is asked again by every test, and remembers.
DATABASES: dict[str, Callable[[], Database]] = {
    "sqlite": in_process("sqlite", "sqlite3"),
    "sqlite, newer": _newer_sqlite,
    "duckdb": in_process("duckdb", "duckdb"),
    "postgres": _postgres,
    "mariadb": _mariadb,
    "clickhouse": in_process("clickhouse", "chdb"),
    "spark": cache(_spark),
    "datafusion": in_process("datafusion", "datafusion"),
}
# Half a second for each query, so it gets fewer of the random cases than the others.
SLOW = ("spark",)
