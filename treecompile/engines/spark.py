"""Spark: learning in the active session, if there is one, else in a new one.

Starting takes seconds, so one session runs all artefacts of a process, each run in a
schema of its own, whose tables are files in a temporary folder. Tables made for
learning are cached, not written.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from treecompile.emit.sql.dialect import read_dialect
from treecompile.engines.base import (
    LOADED,
    ArrowConnection,
    Connection,
    Store,
    StoredColumn,
    arrow_table,
    as_array,
    driver,
    first_line,
    rows_of,
)
from treecompile.model.errors import EngineError
from treecompile.model.ir import Row

QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
# For sessions that run artefacts. Spark's parser caches something of every text it has
# read. If memory runs out, the thread that sends results dies and a query never ends.
ROOMY = {
    "spark.driver.memory": "4g",
    "spark.driver.extraJavaOptions": "-XX:+ExitOnOutOfMemoryError",
}
ARTEFACT = "treecompile_artefact"  # the group of the jobs that run an artefact
FILES_AS_TABLES = "spark.sql.runSQLOnFiles"  # FROM csv.`path`
PARTITIONS = "spark.sql.shuffle.partitions"
WAREHOUSE = "spark.sql.warehouse.dir"
WHOLE_STAGE = "spark.sql.codegen.wholeStage"
ALL_CORES = "local[*]"  # the master, if neither the address nor a session names one
FILES = re.compile(r"`parquet`\.`((?:[^`]|``)+)`")
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
CANCELLED = 5.0  # seconds that a cancelled job has to end
SCHEMA_NUMBERS = count()
Found = TypeVar("Found")


class Spark(ArrowConnection):
    create = "CREATE TABLE {} ({}) USING parquet"
    schema = None

    def __init__(self, session: Any, *errors: type[Exception]) -> None:
        super().__init__(session, *errors)
        self.session = session
        self.dialect = read_dialect("spark")
        self.made: dict[str, Any] = {}  # temporary views

    def arrow(self, query: str) -> Any:
        with _open_sockets():
            return self.session.sql(query).toArrow()

    @contextmanager
    def read_only(self, seconds: float) -> Iterator[None]:
        with self._set(FILES_AS_TABLES, "false"):
            yield

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        context = self.session.sparkContext
        context.setJobGroup(ARTEFACT, "an artefact", interruptOnCancel=True)
        try:
            with _open_sockets():
                return rows_of(self.session.sql(query).limit(most).toArrow())
        finally:
            context.setLocalProperty("spark.jobGroup.id", None)

    def cancel(self) -> None:
        self.session.sparkContext.cancelJobGroup(ARTEFACT)

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        with _open_sockets():
            frame = self.session.createDataFrame(arrow_table(rows))
        frame.createOrReplaceTempView(LOADED)
        self.execute(f"INSERT INTO {table} SELECT * FROM {LOADED}")

    def columns(self, relation: str) -> list[StoredColumn]:
        query = f"SELECT * FROM {relation} LIMIT 0"
        found = self.wait(lambda: self.session.sql(query).dtypes)
        return [StoredColumn(name, kind) for name, kind in found]

    def arrays(self, query: str) -> list[np.ndarray]:
        table = self.wait(lambda: self.arrow(query))
        return [_plain(column) for column in table.columns]

    def make(self, name: str, query: str) -> None:
        if name not in self.made:
            self._check_free(name)
        with self._in_small_methods():
            # A checkpoint: otherwise each plan contains those of all earlier levels.
            frame = self.wait(
                lambda: self.session.sql(query).localCheckpoint(eager=True)
            )
        frame.createOrReplaceTempView(name)
        if former := self.made.get(name):
            _release(former)
        self.made[name] = frame

    def run(self, statement: str) -> None:
        self.wait(lambda: self.session.sql(statement))

    def save(self, name: str, query: str) -> None:
        """In the catalog of the session, or as files: parquet.`/path`."""
        files = FILES.fullmatch(name)
        folder = files[1].replace("``", "`") if files else ""
        is_new = bool(folder) and not self.wait(lambda: self._path(folder))

        def write() -> None:
            writer = self.session.sql(query).write
            (writer.parquet(folder) if folder else writer.saveAsTable(name))

        try:
            self.wait(write)
        except (EngineError, KeyboardInterrupt):
            if is_new:  # an empty folder is left
                self._path(folder, remove=True)
            raise

    def close(self) -> None:
        for name, made in self.made.items():
            self.session.catalog.dropTempView(name)
            _release(made)

    def wait(self, work: Callable[[], Found]) -> Found:
        """Do some work in another thread.

        Ctrl-C cancels all jobs through this thread's connection, which must be free.
        """
        from pyspark import InheritableThread

        done: Future[Found] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        try:
            thread = InheritableThread(run, session=self.session)
            thread.daemon = True
            thread.start()
        except AssertionError:  # there is no Spark context any more
            raise EngineError("Spark: the session has ended: start a new one") from None
        try:
            thread.join()
        except KeyboardInterrupt:
            thread.join(CANCELLED)
            raise
        try:
            return done.result()
        except self.errors as error:
            raise EngineError(f"Spark: {first_line(error)}") from None

    def _check_free(self, name: str) -> None:
        """Refuse to replace a view of the user."""
        try:
            is_taken = self.session.catalog.getTable(name).isTemporary
        except self.errors:
            return
        if is_taken:
            raise EngineError(
                f"Spark: the session has a temporary view {name!r}, a name that is"
                " needed here: rename the view"
            )

    def _in_small_methods(self) -> AbstractContextManager[None]:
        """Have Spark generate many small Java methods for the many columns.

        Java compiles no method above 8 KB to machine code, and none above 64 KB at all.
        """
        return self._set(WHOLE_STAGE, "false")

    @contextmanager
    def _set(self, option: str, value: str) -> Iterator[None]:
        conf = self.session.conf
        was = conf.get(option, None)
        conf.set(option, value)
        try:
            yield
        finally:
            conf.unset(option) if was is None else conf.set(option, was)

    def _path(self, folder: str, *, remove: bool = False) -> bool:
        """Whether a folder exists; or remove it."""
        context = self.session.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(folder)
        system = path.getFileSystem(context._jsc.hadoopConfiguration())
        return bool(system.delete(path, True) if remove else system.exists(path))


def _release(frame: Any) -> None:
    """Free a checkpoint now; unpersist() would leave that to Java's collector."""
    if hasattr(frame, "_jdf"):  # else Spark Connect, whose server frees it
        frame._jdf.queryExecution().logical().rdd().unpersist(False)


def _plain(column: Any) -> np.ndarray:
    if str(column.type).startswith(("int", "double", "float")):
        plain: np.ndarray = column.to_numpy()  # a missing value becomes NaN
        return plain
    return as_array(column.to_pylist())


def _open_sockets() -> AbstractContextManager[object]:
    """No warning about the sockets of results, which Spark does not close itself."""
    return warnings.catch_warnings(action="ignore", category=ResourceWarning)


# ---------------------------------------------------------------- sessions


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    spark = Spark(_session_for_artefacts(url or "local[1]"), *_errors())
    name = f"treecompile_{os.getpid()}_{next(SCHEMA_NUMBERS)}"
    spark.execute(f"CREATE SCHEMA {name}")
    try:
        spark.execute(f"USE {name}")
        yield spark
    finally:
        with suppress(*spark.errors):  # Spark itself may have ended
            spark.execute("USE default")
            spark.execute(f"DROP SCHEMA {name} CASCADE")


@cache
def _session_for_artefacts(master: str) -> Any:
    """One session for the whole process."""
    folder = tempfile.mkdtemp(prefix="treecompile-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session = _start(master, {**QUIET, **ROOMY, PARTITIONS: "1", WAREHOUSE: folder})
    atexit.register(_stop, session)
    return session


def _stop(session: Any) -> None:
    with suppress(*_errors()):
        session.stop()


@contextmanager
def open_spark(url: str, memory_limit: str, writes: bool) -> Iterator[Store]:
    """`url` is spark: followed by a master such as local[2], or spark://HOST:PORT."""
    driver("pyspark")
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    warehouse = Path("spark-warehouse")  # an empty folder that a new session may create
    is_ours = session is None and not warehouse.exists()
    if session is None:
        master = url.removeprefix("spark:") or ALL_CORES
        settings = dict(QUIET)
        if master.startswith("local"):  # answers are small: a task for each core
            settings[PARTITIONS] = str(os.cpu_count() or 1)
        session = _start(url if master.startswith("//") else master, settings)
    try:
        with borrow_spark(session) as store:
            yield store
    finally:
        if is_ours:
            with suppress(OSError):
                warehouse.rmdir()


@contextmanager
def borrow_spark(session: Any) -> Iterator[Store]:
    """A session that the user keeps; what was cached in it is released."""
    store = Spark(session, *_errors())
    try:
        with _no_logs():
            yield store
    finally:
        store.close()


def _errors() -> tuple[type[Exception], ...]:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return (PySparkException, Py4JError, ConnectionError)


def _start(master: str, settings: Mapping[str, str]) -> Any:
    """A new session, or an error that says what may be missing."""
    driver("pyspark")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("treecompile").master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _no_standard_error():
            session = builder.getOrCreate()
    except Exception as error:
        raise EngineError(
            f"Spark does not start (it needs Java 17 or later): {first_line(error)}"
        ) from None
    session.sparkContext.setLogLevel("OFF")
    return session


@contextmanager
def _no_standard_error() -> Iterator[None]:
    """Hide what Java and Spark print to standard error when they start."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


@contextmanager
def _no_logs() -> Iterator[None]:
    """Errors become ours: without this, PySpark also logs each with its stack."""
    from pyspark.logger import PySparkLogger

    with ExitStack() as stack:
        for logger in map(PySparkLogger.getLogger, LOGGERS):
            stack.callback(setattr, logger, "disabled", logger.disabled)
            logger.disabled = True
        yield
