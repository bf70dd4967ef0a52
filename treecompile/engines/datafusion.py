"""DataFusion, in this process and in memory; it only runs artefacts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from treecompile.engines.base import ArrowConnection, Connection, arrow_table, driver
from treecompile.model.ir import Row

LOADED = "treecompile_loaded"


class DataFusion(ArrowConnection):
    def arrow(self, query: str) -> Any:
        return self.connection.sql(query).to_arrow_table()

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        self.connection.from_arrow(arrow_table(rows), LOADED)
        self.execute(f"INSERT INTO {table} SELECT * FROM {LOADED}")
        self.connection.deregister_table(LOADED)


@contextmanager
def sandbox(url: str) -> Iterator[Connection]:
    datafusion = driver("datafusion")
    config = datafusion.SessionConfig().with_target_partitions(1)
    # Its errors have no class of their own.
    yield DataFusion(datafusion.SessionContext(config), Exception)
