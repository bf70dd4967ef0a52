"""Spark, through the session of this process; what is made is cached, not written.

On a cluster the session is the cluster's: where there is one already, it is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from treecompile.errors import EngineError, OptionError
from treecompile.packages import driver
from treecompile.stores.base import Phrases, Store, StoredColumn, as_array
from treecompile.targets import read_dialect
from treecompile.verify.drivers.spark import start

SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
HERE = "local[*]"  # the master, if neither the address nor a session names one


def stacked(table: str, kept: Sequence[str], pairs: Sequence[tuple[str, str]]) -> str:
    """One job for all features, where each query takes a tenth of a second to begin."""
    cells = ", ".join(
        f"named_struct('k', {key}, 'x', {number})" for key, number in pairs
    )
    return f"(SELECT {', '.join(kept)}, inline(array({cells})) AS (k, x) FROM {table})"


class Spark:
    phrases = Phrases(
        list="array({})",
        item="element_at({list}, {place})",
        updates=False,
        stacked=stacked,
        checksum="CAST(sum(CAST(xxhash64({}) AS DECIMAL(38, 0))) AS STRING)",
    )

    def __init__(self, session: Any, errors: tuple[type[Exception], ...]) -> None:
        self.session, self.errors = session, errors
        self.dialect = read_dialect("spark")
        self.made: dict[str, Any] = {}

    def columns(self, relation: str) -> list[StoredColumn]:
        found = self._ask(f"SELECT * FROM {relation} LIMIT 0").dtypes
        return [StoredColumn(name, kind) for name, kind in found]

    def arrays(self, query: str) -> list[np.ndarray]:
        frame = self._ask(query)
        try:
            with warnings.catch_warnings():
                # It leaves the sockets of its results for others to close.
                warnings.simplefilter("ignore", ResourceWarning)
                table = frame.toArrow()
        except self.errors as error:
            raise _said(error) from None
        return [as_array(column.to_pylist()) for column in table.columns]

    def make(self, name: str, query: str) -> None:
        try:
            # A checkpoint, or the plan of each level would hold those of all before it.
            frame = self._ask(query).localCheckpoint(eager=True)
        except self.errors as error:
            raise _said(error) from None
        frame.createOrReplaceTempView(name)
        if former := self.made.get(name):
            former.unpersist()
        self.made[name] = frame

    def update(self, statement: str) -> None:
        raise NotImplementedError  # see phrases.updates

    def _ask(self, query: str) -> Any:
        try:
            return self.session.sql(query)
        except self.errors as error:
            raise _said(error) from None

    def close(self) -> None:
        for name, frame in self.made.items():
            self.session.catalog.dropTempView(name)
            frame.unpersist()


def _said(error: Exception) -> EngineError:
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
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        master = url.removeprefix("spark:") or HERE
        session = start(url if master.startswith("//") else master, SETTINGS)
    store = Spark(session, (PySparkException, Py4JError))
    try:
        yield store
    finally:
        store.close()
