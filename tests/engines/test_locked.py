"""Untrusted SQL can do nothing on any engine but read, and is stopped in time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.commands import process
from tests.support.databases import DATABASES
from tests.support.samples import numeric
from treecompile.engines.base import Connection
from treecompile.model.file.write import dumps
from treecompile.verify.verification import verify

# What each engine must refuse while it is locked; {folder} is one that exists.
WRITING = {
    "sqlite": (
        "INSERT INTO t VALUES (2)",
        "CREATE TABLE made (a INTEGER)",
        "ATTACH '{folder}/made.db' AS made",
        "PRAGMA writable_schema = 1",
        "VACUUM INTO '{folder}/made.db'",
    ),
    "sqlite, newer": ("INSERT INTO t VALUES (2)", "ATTACH '{folder}/made.db' AS made"),
    "duckdb": (
        "COPY t TO '{folder}/made.csv'",
        "ATTACH '{folder}/made.db' AS made",
        "EXPORT DATABASE '{folder}/made'",
        "SELECT * FROM read_text('{folder}/given.txt')",
        "SELECT * FROM '{folder}/given.csv'",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SELECT * FROM a_variable",
    ),
    "postgres": (
        "CREATE TABLE made (a INTEGER)",
        "COPY t TO '{folder}/made.csv'",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT lo_create(0)",
        "DELETE FROM t RETURNING a",
    ),
    "mariadb": (
        "INSERT INTO kept VALUES (2)",
        "SELECT nextval(numbers)",
    ),
    "clickhouse": (
        "INSERT INTO t SELECT 2",
        "CREATE TABLE made (a Int64) ENGINE = Memory AS SELECT 1 AS a",
        "SELECT * FROM url('http://localhost:1/x', 'CSV', 'a Int64')",
    ),
    "datafusion": (
        "COPY t TO '{folder}/made.csv'",
        "CREATE EXTERNAL TABLE made STORED AS CSV LOCATION '{folder}/given.csv'",
        "SELECT * FROM '{folder}/given.csv'",
        "INSERT INTO t VALUES (2)",
        "SET datafusion.execution.batch_size = 1",
    ),
}
FIRST = {  # what is there before
    "mariadb": ("CREATE TABLE kept (a INTEGER)", "CREATE SEQUENCE numbers"),
}
a_variable = [1]  # DuckDB could read it as a table


def filled(connection: Connection, engine: str) -> None:
    integer = "Int64" if engine == "clickhouse" else "BIGINT"
    connection.execute(connection.create.format("t", f"a {integer}"))
    connection.insert("t", [integer], [(1,)])
    for statement in FIRST.get(engine, ()):
        connection.execute(statement)


@pytest.mark.parametrize(
    ("engine", "statement"), [(e, s) for e, all_ in WRITING.items() for s in all_]
)
def test_nothing_is_written(engine: str, statement: str, tmp_path: Path) -> None:
    (tmp_path / "given.csv").write_text("a\n1\n")
    (tmp_path / "given.txt").write_text("a")
    before = sorted(tmp_path.iterdir())
    database = DATABASES[engine]()
    with database.sandbox(database.url) as connection:
        filled(connection, engine)
        with pytest.raises(connection.errors), connection.locked(60):
            connection.fetch(statement.format(folder=tmp_path), 10)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("engine", [e for e in WRITING if e != "clickhouse"])
def test_a_session_can_go_on_after_the_lock(engine: str) -> None:
    database = DATABASES[engine]()
    with database.sandbox(database.url) as connection:
        filled(connection, engine)
        with connection.locked(60):
            assert [*map(tuple, connection.fetch("SELECT a FROM t", 10))] == [(1,)]
        connection.insert("t", ["BIGINT"], [(2,)])
        with connection.locked(60):
            assert len(connection.fetch("SELECT a FROM t", 10)) == 2
            assert len(connection.fetch("SELECT a FROM t", 1)) == 1


MANY = ", ".join(f"treecompile_rows t{n}" for n in range(12))
ENDLESS = {
    "postgres": "CASE WHEN pg_sleep(600) IS NULL THEN 'low' END",
    "mariadb": "CASE WHEN benchmark(1000000000000, md5('a')) = 0 THEN 'low' END",
    "clickhouse": "(SELECT count() FROM system.numbers)",
    "datafusion": f"(SELECT count(*) FROM {MANY} WHERE t0.x + t1.x + t11.x < 1)",
    "spark": f"(SELECT count(*) FROM {MANY} WHERE t0.x + t1.x + t11.x < 1)",
}


@pytest.mark.parametrize("engine", [e for e in ENDLESS if e != "spark"])
def test_a_query_without_an_end_is_stopped(engine: str) -> None:
    database = DATABASES[engine]()
    report = verify(
        numeric(), ENDLESS[engine], engine, url=database.url, budget=60, timeout=2
    )
    assert report.refused == "it did not end within 2 seconds (see timeout)"


@pytest.mark.engine
def test_a_query_without_an_end_is_stopped_on_spark(tmp_path: Path) -> None:
    """In a process of its own: the task may go on until its Java process ends."""
    DATABASES["spark"]()
    model, artefact = tmp_path / "model.json", tmp_path / "endless.sql"
    model.write_text(dumps(numeric()))
    artefact.write_text(ENDLESS["spark"])
    limits = ("--engine", "spark", "--timeout", "2", "--budget", "60")
    done = process("verify", model, artefact, *limits)
    assert done.returncode == 1
    assert "it did not end within 2 seconds (see timeout)" in done.stderr
