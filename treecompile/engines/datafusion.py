"""DataFusion, in this process and in memory; it only runs artefacts."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from treecompile.engines.base import (
    LOADED,
    ArrowConnection,
    Connection,
    arrow_table,
    driver,
    rows_of,
)
from treecompile.model.ir import Row


class DataFusion(ArrowConnection):
    def arrow(self, query: str) -> Any:
        return self.connection.sql(query).to_arrow_table()

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        """A query cannot be cancelled: it runs in a thread that may be left behind."""
        options = driver("datafusion").SQLOptions()
        for refuse in ("with_allow_ddl", "with_allow_dml", "with_allow_statements"):
            options = getattr(options, refuse)(False)
        done: Future[list[tuple[Any, ...]]] = Future()

        def run() -> None:
            try:
                frame = self.connection.sql_with_options(query, options).limit(most)
                done.set_result(rows_of(frame.to_arrow_table()))
            except BaseException as error:
                done.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        return done.result(self.seconds)

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        self.connection.from_arrow(arrow_table(rows), LOADED)
        self.execute(f"INSERT INTO {table} SELECT * FROM {LOADED}")
        self.connection.deregister_table(LOADED)


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    package = driver("datafusion")
    config = package.SessionConfig().with_target_partitions(1)
    # Its errors have no class of their own.
    yield DataFusion(package.SessionContext(config), Exception)
