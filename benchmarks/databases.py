"""The databases of the SQL benchmark.

Each runs on one thread. PostgreSQL is started by pgserver and MariaDB from its
installed programs, unless TREECOMPILE_POSTGRES_URL or TREECOMPILE_MARIADB_URL names a
server.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from peers import TABLE

from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.engines import addresses

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


@dataclass(frozen=True, slots=True)
class Engine:
    name: str
    load: Callable[[pd.DataFrame], None]  # into TABLE, which is replaced
    fetch: Callable[[str], list[Any]]
    rows: int = 1_000_000  # at most; fewer where loading or running is slow

    @property
    def dialect(self) -> Dialect:
        return read_dialect(self.name)


def types(frame: pd.DataFrame, dialect: Dialect) -> Iterator[str]:
    for name in frame:
        if name == "row_id":
            yield dialect.types.integer
        elif frame[name].dtype.kind == "f":
            yield dialect.types.number
        else:
            yield dialect.types.text


def columns(frame: pd.DataFrame, dialect: Dialect) -> str:
    """The columns of CREATE TABLE, as written in its parentheses."""
    quote = dialect.names.quote
    pairs = zip(frame, types(frame, dialect), strict=True)
    return ", ".join(f"{quote}{name}{quote} {kind}" for name, kind in pairs)


def records(frame: pd.DataFrame, nan: object) -> Iterable[tuple[Any, ...]]:
    """The rows; missing numbers alternate between NaN and None if `nan` is given."""
    found = []
    for name in frame:
        values = frame[name].astype(object)
        known = frame[name].notna().to_numpy()
        if frame[name].dtype.kind == "f":
            known = known | (np.arange(len(frame)) % 2 == 0) & (nan is not None)
        found.append(np.where(known, values, None).tolist())
    return zip(*found, strict=True)


def sqlite() -> Engine:
    connection = sqlite3.connect(":memory:")

    def load(frame: pd.DataFrame) -> None:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
        declared = columns(frame, read_dialect("sqlite"))
        connection.execute(f"CREATE TABLE {TABLE} ({declared})")
        marks = ", ".join("?" * len(frame.columns))
        rows = records(frame, None)
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", rows)

    return Engine("sqlite", load, lambda query: connection.execute(query).fetchall())


def duckdb() -> Engine:
    import duckdb

    connection = duckdb.connect(":memory:", config={"threads": 1})

    def load(frame: pd.DataFrame) -> None:
        import pyarrow as pa

        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
        declared = columns(frame, read_dialect("duckdb"))
        connection.execute(f"CREATE TABLE {TABLE} ({declared})")
        found = zip(*records(frame, np.nan), strict=True)
        rows = pa.table({n: list(c) for n, c in zip(frame, found, strict=True)})
        connection.register("loaded", rows)
        connection.execute(f"INSERT INTO {TABLE} SELECT * FROM loaded")

    return Engine("duckdb", load, lambda query: connection.execute(query).fetchall())


def postgres() -> Engine:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver
    import psycopg

    url = os.environ.get("TREECOMPILE_POSTGRES_URL", "")
    if not url:
        folder = tempfile.mkdtemp(prefix="treecompile-postgres-")
        server = pgserver.get_server(folder, cleanup_mode="stop")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        atexit.register(server.cleanup)
        url = server.get_uri()
    connection = psycopg.connect(url, autocommit=True)
    connection.execute("SET max_parallel_workers_per_gather = 0")

    def load(frame: pd.DataFrame) -> None:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
        declared = columns(frame, read_dialect("postgres"))
        connection.execute(f"CREATE TEMP TABLE {TABLE} ({declared})")
        with connection.cursor().copy(f"COPY {TABLE} FROM STDIN") as copy:
            for row in records(frame, np.nan):
                copy.write_row(row)
        connection.execute(f"ANALYZE {TABLE}")

    return Engine("postgres", load, lambda query: connection.execute(query).fetchall())


def sandboxed(
    name: str, url: str = "", rows: int = 1_000_000, first: str = ""
) -> Engine:
    """A database that `verify` connects to, kept open until the benchmark ends."""
    dialect = read_dialect(name)
    stack = ExitStack()
    connection = stack.enter_context(addresses.ENGINES[name].sandbox(url))
    atexit.register(stack.close)
    if first:
        connection.execute(first)

    def load(frame: pd.DataFrame) -> None:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
        connection.execute(connection.create.format(TABLE, columns(frame, dialect)))
        held = list(records(frame, np.nan))
        connection.insert(TABLE, list(types(frame, dialect)), held)

    return Engine(name, load, lambda query: connection.execute(query).fetchall(), rows)


def mariadb() -> Engine:
    from tests.support.databases import mariadb_url

    return sandboxed("mariadb", mariadb_url(), rows=200_000)


ENGINES: dict[str, Callable[[], Engine]] = {
    "duckdb": duckdb,
    "sqlite": sqlite,
    "postgres": postgres,
    "mariadb": mariadb,
    "clickhouse": lambda: sandboxed("clickhouse", first="SET max_threads = 1"),
    "datafusion": lambda: sandboxed("datafusion"),
    "spark": lambda: sandboxed("spark", rows=200_000),
}
