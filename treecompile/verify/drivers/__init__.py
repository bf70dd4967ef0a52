"""The databases that artefacts can be run on, one module for each driver."""

from __future__ import annotations

from treecompile.verify.drivers import (
    clickhouse,
    datafusion,
    duckdb,
    mariadb,
    postgres,
    spark,
    sqlite,
)
from treecompile.verify.drivers.base import Driver

# An explicit table: what the `engine` of a dialect, and a user, can name.
DRIVERS: dict[str, Driver] = {
    "sqlite": sqlite.DRIVER,
    "duckdb": duckdb.DRIVER,
    "postgres": postgres.DRIVER,
    "mariadb": mariadb.DRIVER,
    "mysql": mariadb.DRIVER,
    "clickhouse": clickhouse.DRIVER,
    "spark": spark.DRIVER,
    "datafusion": datafusion.DRIVER,
}
