"""DataFusion, in this process and in memory; it only runs artefacts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from treecompile.engines.base import (
    LOADED,
    ArrowConnection,
    Connection,
    arrow_table,
    driver,
)
from treecompile.model.ir import Row


class DataFusion(ArrowConnection):
    def arrow(self, query: str) -> Any:
        return self.connection.sql(query).to_arrow_table()

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
