"""Spark, through the session of this process; what is made there is cached, not written.

On a cluster the session is the cluster's: `SparkSession.builder.getOrCreate()` finds it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from treecompile.errors import EngineError
from treecompile.stores.base import Phrases, Store, StoredColumn, as_array, module
from treecompile.targets import read_dialect


class Spark:
    phrases = Phrases(
        list="array({})", item="element_at({list}, {place})", updates=False
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
            table = frame.toArrow()
        except self.errors as error:
            raise _said(error) from None
        return [as_array(column.to_pylist()) for column in table.columns]

    def make(self, name: str, query: str) -> None:
        # A checkpoint, or the plan of each level would hold those of all before it.
        frame = self._ask(query).localCheckpoint(eager=True)
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
def open_spark(address: str, memory_limit: str = "") -> Iterator[Store]:
    """`address` is a master such as local[2], or "" for the session that there is."""
    if memory_limit:
        raise EngineError("--memory-limit is for DuckDB: Spark has settings of its own")
    pyspark = module("pyspark", "Spark", "spark")
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    builder = module("pyspark.sql", "Spark", "spark").SparkSession.builder
    if address:
        builder = builder.master(address)
    session = builder.getOrCreate()
    store = Spark(session, (PySparkException, Py4JError))
    try:
        yield store
    finally:
        store.close()
