"""Which databases there are, by name and by address."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from treecompile.engines import (
    clickhouse,
    datafusion,
    duckdb,
    mariadb,
    postgres,
    spark,
    sqlite,
)
from treecompile.engines.base import Borrow, Engine, Store
from treecompile.model.errors import OptionError

SERVER = "a server has its own"  # limit of memory

# Explicit, so that a search for a name finds it. The names are those of the dialects.
ENGINES: dict[str, Engine] = {
    "sqlite": Engine(
        "sqlite", sqlite.sandbox, sqlite.open_sqlite, "SQLite needs little"
    ),
    "duckdb": Engine("duckdb", duckdb.sandbox, duckdb.open_duckdb),
    "postgres": Engine("postgres", postgres.sandbox, postgres.open_postgres, SERVER),
    "mariadb": Engine("mariadb", mariadb.sandbox, mariadb.open_mariadb, SERVER),
    "mysql": Engine("mysql", mariadb.sandbox),
    "clickhouse": Engine("clickhouse", clickhouse.sandbox),
    "spark": Engine(
        "spark", spark.sandbox, spark.open_spark, "Spark has its own settings"
    ),
    "datafusion": Engine("datafusion", datafusion.sandbox),
}
# First words of addresses that are not engines' names. MySQL itself is refused by name
# after connecting.
SCHEMES = {"postgresql": "postgres", "mysql": "mariadb"}
EXPECTED = "duckdb://FILE, postgresql://..., spark:, sqlite://FILE or mysql://..."

BORROWED: dict[str, Borrow] = {  # by the class of the user's connection
    "DuckDBPyConnection": duckdb.borrow_duckdb,
    "SparkSession": spark.borrow_spark,
}


def engine_of(url: str) -> str:
    """The name of the engine that an address is for, or its unknown first word."""
    scheme = url.partition(":")[0]
    return SCHEMES.get(scheme, scheme)


def is_of_another(url: str, engine: str) -> bool:
    """Whether an address is that of an engine other than this one."""
    return engine_of(url) in ENGINES and engine_of(url) != engine_of(engine)


def open_store(
    source: Any, memory_limit: str = "", *, writes: bool = False
) -> AbstractContextManager[Store]:
    """The database at an address, or behind a user's connection, which stays open.

    `writes`: tables that last are created.
    """
    if isinstance(source, str):
        engine = ENGINES.get(engine_of(source))
        if engine is None or engine.open is None or ":" not in source:
            scheme = source.partition(":")[0]
            raise OptionError(f"from={scheme!r}: expected {EXPECTED}")
        if memory_limit and engine.own_memory:
            raise OptionError(f"memory_limit is for DuckDB: {engine.own_memory}")
        return engine.open(source, memory_limit, writes)
    kind = type(source).__name__
    if kind not in BORROWED:
        raise OptionError(
            "a database is given as an address such as 'duckdb://FILE', a DuckDB"
            f" connection or a Spark session, not as {kind}"
        )
    if memory_limit:
        raise OptionError(
            "memory_limit needs an address: an open connection has a limit already"
        )
    return BORROWED[kind](source)
