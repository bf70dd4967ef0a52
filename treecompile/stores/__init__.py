"""Databases as places to learn in, by their addresses."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from treecompile.errors import OptionError
from treecompile.stores.base import Borrow, Open, Store
from treecompile.stores.duckdb import borrow_duckdb, open_duckdb
from treecompile.stores.mariadb import open_mariadb
from treecompile.stores.postgres import open_postgres
from treecompile.stores.spark import borrow_spark, open_spark
from treecompile.stores.sqlite import open_sqlite

STORES: dict[str, Open] = {  # by the first word of an address
    "duckdb": open_duckdb,
    "postgresql": open_postgres,
    "postgres": open_postgres,
    "spark": open_spark,
    "sqlite": open_sqlite,
    "mysql": open_mariadb,
    "mariadb": open_mariadb,
}
EXPECTED = "duckdb://FILE, postgresql://..., spark:, sqlite://FILE or mysql://..."


BORROWED: dict[str, Borrow] = {  # by the class of a connection
    "DuckDBPyConnection": borrow_duckdb,
    "SparkSession": borrow_spark,
}


def opened(
    source: Any, memory_limit: str = "", *, writes: bool = False
) -> AbstractContextManager[Store]:
    """The database at an address, or behind a connection that stays open."""
    if isinstance(source, str):
        return open_store(source, memory_limit, writes=writes)
    kind = type(source).__name__
    if kind not in BORROWED:
        raise OptionError(
            f"a database is an address, as 'duckdb://FILE', a connection of DuckDB or a"
            f" session of Spark, not {kind}"
        )
    if memory_limit:
        raise OptionError("memory_limit is for an address: a connection has its own")
    return BORROWED[kind](source)


def open_store(
    url: str, memory_limit: str = "", *, writes: bool = False
) -> AbstractContextManager[Store]:
    """Connect to the database at an address, to read it or to write as well."""
    word = url.partition(":")[0]
    if word not in STORES or word == url:
        raise OptionError(f"--from {word!r}: expected {EXPECTED}")
    return STORES[word](url, memory_limit, writes)
