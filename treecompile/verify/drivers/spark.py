"""Spark, started on this machine, or on the master that the URL names.

Starting it takes seconds, so one session serves all runs of a process. Tables are files
in a folder of its own, each run in a schema of its own.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from typing import Any

from treecompile.errors import EngineError
from treecompile.ir import Row
from treecompile.packages import driver
from treecompile.verify.drivers.base import (
    Connection,
    Driver,
    Fetched,
    arrow_columns,
    arrow_rows,
)

NUMBERS = count()
SETTINGS = {
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def _pyspark() -> Any:
    return driver("pyspark", "Spark", "spark")


@cache
def started(master: str) -> Any:
    """The session of this process; it ends with it."""
    folder = tempfile.mkdtemp(prefix="treecompile-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session = start(master, {**SETTINGS, "spark.sql.warehouse.dir": folder})
    atexit.register(session.stop)
    return session


def start(master: str, settings: Mapping[str, str]) -> Any:
    """A session, or an error that says what it may lack."""
    _pyspark()
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("treecompile").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with no_chatter():
            session = builder.getOrCreate()
    except Exception as error:
        first = str(error).strip().splitlines()[0]
        raise EngineError(
            f"Spark does not start (it needs Java 17 or later): {first}"
        ) from None
    session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def no_chatter() -> Iterator[None]:
    """Keep what Java and Spark print when they start from standard error."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


class Session:
    def __init__(self, spark: Any) -> None:
        self.spark = spark

    def execute(self, query: str, parameters: Any = None) -> Fetched:
        with warnings.catch_warnings():
            # It leaves the sockets of its results for others to close.
            warnings.simplefilter("ignore", ResourceWarning)
            return arrow_rows(self.spark.sql(query).toArrow())


@contextmanager
def connect(url: str) -> Iterator[Connection]:
    session = Session(started(url or "local[1]"))
    name = f"treecompile_{os.getpid()}_{next(NUMBERS)}"
    session.execute(f"CREATE SCHEMA {name}")
    try:
        session.execute(f"USE {name}")
        yield session
    finally:
        session.execute("USE default")
        session.execute(f"DROP SCHEMA {name} CASCADE")


def insert(
    connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
) -> None:
    assert isinstance(connection, Session)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        frame = connection.spark.createDataFrame(arrow_columns(rows))
    frame.createOrReplaceTempView("treecompile_loaded")
    connection.execute(f"INSERT INTO {table} SELECT * FROM treecompile_loaded")


def errors() -> tuple[type[Exception], ...]:
    _pyspark()
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError)


DRIVER = Driver(
    connect, insert, errors, create="CREATE TABLE {} ({}) USING parquet", schema=None
)
