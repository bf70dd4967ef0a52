"""Spark, through the session of this process; what is made is cached, not written.

On a cluster the session is the cluster's: where there is one already, it is used.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from treecompile.errors import EngineError, OptionError
from treecompile.packages import driver
from treecompile.stores.base import Phrases, Store, StoredColumn, as_array
from treecompile.targets import read_dialect
from treecompile.verify.drivers.spark import start

SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
# On one machine a task for each core does: the answers are small.
LOCAL = {"spark.sql.shuffle.partitions": str(os.cpu_count() or 1)}
FILES = re.compile(r"`parquet`\.`((?:[^`]|``)+)`")
LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
WHOLE_STAGE = "spark.sql.codegen.wholeStage"
HERE = "local[*]"  # the master, if neither the address nor a session names one
CANCELLED = 5.0  # seconds that a job has to end when it is cancelled
Found = TypeVar("Found")


def stacked(table: str, kept: Sequence[str], pairs: Sequence[tuple[str, str]]) -> str:
    """One job for all features, where each query takes a tenth of a second to begin.

    What is worked out of them comes behind, in code that is the same for all: there is
    little of it, however many features there are.
    """
    cells = ", ".join(
        f"named_struct('c', CAST({code} AS INT), 'x', {number})"
        for code, number in pairs
    )
    names = ", ".join(kept)
    return (
        f"(SELECT {names}, p, v.c AS c, v.x AS x FROM (SELECT {names},"
        f" posexplode(array({cells})) AS (p, v) FROM {table}))"
    )


class Spark:
    phrases = Phrases(
        list="array({})",
        item="get({list}, {place} - 1)",  # NULL where there is none
        round="rint({})",
        round_even="rint({})",
        updates=False,
        stacked=stacked,
        checksum="CAST(sum(CAST(xxhash64({}) AS DECIMAL(38, 0))) AS STRING)",
    )

    def __init__(self, session: Any, errors: tuple[type[Exception], ...]) -> None:
        self.session, self.errors = session, errors
        self.dialect = read_dialect("spark")
        self.made: dict[str, Any] = {}

    def wait(self, work: Callable[[], Found]) -> Found:
        """What is found, by a thread of its own.

        Ctrl-C cancels all jobs by the connection of this thread, which must be free.
        """
        from pyspark import InheritableThread

        found: list[Found] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                found.append(work())
            except BaseException as error:
                failed.append(error)

        try:
            thread = InheritableThread(run, session=self.session)
            thread.daemon = True
            thread.start()
        except AssertionError:  # there is no context any more
            raise EngineError("Spark: the session has ended") from None
        try:
            thread.join()
        except KeyboardInterrupt:
            thread.join(CANCELLED)
            raise
        if failed:
            if isinstance(failed[0], self.errors):
                raise _said(failed[0]) from None
            raise failed[0]
        return found[0]

    def columns(self, relation: str) -> list[StoredColumn]:
        query = f"SELECT * FROM {relation} LIMIT 0"
        found = self.wait(lambda: self.session.sql(query).dtypes)
        return [StoredColumn(name, kind) for name, kind in found]

    def arrays(self, query: str) -> list[np.ndarray]:
        with warnings.catch_warnings():
            # It leaves the sockets of its results for others to close.
            warnings.simplefilter("ignore", ResourceWarning)
            table = self.wait(lambda: self.session.sql(query).toArrow())
        return [_plain(column) for column in table.columns]

    def make(self, name: str, query: str) -> None:
        if name not in self.made:
            self._check_free(name)
        with self._in_small_methods():
            # A checkpoint, or each plan would hold those of all levels before it.
            frame = self.wait(
                lambda: self.session.sql(query).localCheckpoint(eager=True)
            )
        frame.createOrReplaceTempView(name)
        if former := self.made.get(name):
            _release(former)
        self.made[name] = frame

    def discard(self, name: str) -> None:
        self.session.catalog.dropTempView(name)
        _release(self.made.pop(name))

    def _check_free(self, name: str) -> None:
        """A view that the user has made would be replaced."""
        try:
            is_taken = self.session.catalog.getTable(name).isTemporary
        except self.errors:
            return
        if is_taken:
            raise EngineError(
                f"Spark: the session has a temporary view {name!r}, which is a name"
                " that is needed: give it another"
            )

    @contextmanager
    def _in_small_methods(self) -> Iterator[None]:
        """Have what many columns are worked out by divided into many methods.

        As one, Java would not compile it: beyond 8 KB not to machine code, and beyond
        64 KB not at all.
        """
        conf = self.session.conf
        was = conf.get(WHOLE_STAGE, None)
        conf.set(WHOLE_STAGE, "false")
        try:
            yield
        finally:
            conf.unset(WHOLE_STAGE) if was is None else conf.set(WHOLE_STAGE, was)

    def update(self, statement: str) -> None:
        raise NotImplementedError  # see phrases.updates

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
            if is_new:  # what is left of it is an empty folder
                self._path(folder, remove=True)
            raise

    def _path(self, folder: str, *, remove: bool = False) -> bool:
        """Whether there is such a folder; or remove it."""
        context = self.session.sparkContext
        path = context._jvm.org.apache.hadoop.fs.Path(folder)
        system = path.getFileSystem(context._jsc.hadoopConfiguration())
        return bool(system.delete(path, True) if remove else system.exists(path))

    def close(self) -> None:
        for name, frame in self.made.items():
            self.session.catalog.dropTempView(name)
            _release(frame)


def _release(frame: Any) -> None:
    """Free what a checkpoint holds; unpersist() would leave it to Java's collector."""
    if hasattr(frame, "_jdf"):  # else by a server, which frees it with the frame
        frame._jdf.queryExecution().logical().rdd().unpersist(False)


def _plain(column: Any) -> np.ndarray:
    if str(column.type).startswith(("int", "double", "float")):
        plain: np.ndarray = column.to_numpy()  # NaN for what is missing
        return plain
    return as_array(column.to_pylist())


def _said(error: BaseException) -> EngineError:
    text = " ".join(str(error).split("\n")[0].split())
    return EngineError(f"Spark: {text}")


@contextmanager
def open_spark(
    url: str, memory_limit: str = "", writes: bool = False
) -> Iterator[Store]:
    """`url` is spark: and a master such as local[2], or spark://HOST:PORT."""
    if memory_limit:
        raise OptionError("--memory-limit is for DuckDB: Spark has its own settings")
    driver("pyspark", "Spark", "spark")
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    warehouse = Path("spark-warehouse")  # an empty folder that a new session may make
    is_ours = session is None and not warehouse.exists()
    if session is None:
        master = url.removeprefix("spark:") or HERE
        local = LOCAL if master.startswith("local") else {}
        settings = {**SETTINGS, **local}
        session = start(url if master.startswith("//") else master, settings)
    try:
        with borrow_spark(session) as store:
            yield store
    finally:
        if is_ours:
            with suppress(OSError):
                warehouse.rmdir()


@contextmanager
def borrow_spark(session: Any) -> Iterator[Store]:
    """A session that goes on; what was cached in it is released."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    store = Spark(session, (PySparkException, Py4JError))
    # It would write each error to standard error, with a page of where it comes from.
    log = PySparkLogger.getLogger("SQLQueryContextLogger")
    was, log.disabled = log.disabled, True
    try:
        with no_logs():
            yield store
    finally:
        log.disabled = was
        store.close()


@contextmanager
def no_logs() -> Iterator[None]:
    """Errors are ours to tell: PySpark would log each with its stack, too."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # before 4.0
        yield
        return
    loggers = [PySparkLogger.getLogger(name) for name in LOGGERS]
    were = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, was in zip(loggers, were, strict=True):
            logger.disabled = was
