"""Databases as places to learn in, by their addresses."""

from __future__ import annotations

from contextlib import AbstractContextManager

from treecompile.errors import OptionError
from treecompile.stores.base import Open, Store
from treecompile.stores.duckdb import open_duckdb
from treecompile.stores.mariadb import open_mariadb
from treecompile.stores.postgres import open_postgres
from treecompile.stores.spark import open_spark
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


def open_store(
    url: str, memory_limit: str = "", *, writes: bool = False
) -> AbstractContextManager[Store]:
    """Connect to the database at an address, to read it or to write as well."""
    word = url.partition(":")[0]
    if word not in STORES or word == url:
        raise OptionError(f"--from {word!r}: expected {EXPECTED}")
    return STORES[word](url, memory_limit, writes)
