"""Selects, views and other outputs, and that a run leaves the database unchanged."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.support.databases import DATABASES, mariadb_url
from tests.support.samples import chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.engines import mariadb
from treecompile.engines.addresses import ENGINES as ALL_ENGINES
from treecompile.model.errors import EngineError
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, ValueType
from treecompile.verify.execution import run_sql
from treecompile.verify.processes import RefusedError
from treecompile.verify.verification import verify

ENGINES = [name for name in DATABASES if name in ALL_ENGINES]


@pytest.mark.parametrize("form", ["select", "view"])
@pytest.mark.parametrize("engine", ENGINES)
def test_selects_and_views_run_everywhere(engine: str, form: str) -> None:
    url = DATABASES[engine]().url
    program = every_type()
    # Spark has no other table names than plain ones, without a catalogue that has.
    tables = ("t", "t2" if engine == "spark" else '"odd.name; --"')
    for table, output in zip(tables, ("label", "probability"), strict=True):
        options = EmitOptions(dialect=engine, form=form, table=table, output=output)
        text = emit(program, "sql", options).text
        report = verify(program, text, url=url, budget=300)
        assert report.passed, report
        assert report.rows > 100


@pytest.mark.parametrize("engine", ENGINES)
def test_several_outputs_and_dbt(engine: str) -> None:
    url = DATABASES[engine]().url
    program = every_type()
    for options in (
        EmitOptions(form="select", table="t", output="label,probability,rule"),
        EmitOptions(form="dbt", table="t", output="label,rule"),
    ):
        text = emit(program, "sql", replace(options, dialect=engine)).text
        report = verify(program, text, url=url, budget=300)
        assert report.passed, report
        assert report.rows > 100


def test_a_wrong_output_among_several_is_found() -> None:
    program = every_type()
    options = EmitOptions(form="select", table="t", output="label,rule")
    text = emit(program, "sql", options).text
    assert text.count("ELSE 'R1'") == 1
    report = verify(program, text.replace("ELSE 'R1'", "ELSE 'R2'"), budget=300)
    assert report.mismatches


@pytest.mark.parametrize("engine", ENGINES)
def test_what_the_database_refuses_is_reported(engine: str) -> None:
    url = DATABASES[engine]().url
    text = emit(stump(0.5), "sql", EmitOptions(dialect=engine)).text
    report = verify(stump(0.5), text.replace("CASE", "CASE CASE", 1), url=url)
    assert not report.passed
    assert report.refused
    assert "\n" not in report.refused
    assert verify(stump(0.5), text, url=url).passed  # and the next one runs


@pytest.mark.parametrize("engine", ["mariadb", "spark"])
def test_a_schema_that_could_not_be_taken_back_is_not_made(engine: str) -> None:
    url = DATABASES[engine]().url
    options = EmitOptions(dialect=engine, form="select", table="elsewhere.t")
    text = emit(stump(0.5), "sql", options).text
    with pytest.raises(EngineError, match="^elsewhere.t: verify works in a schema"):
        verify(stump(0.5), text, url=url)


# ---------------------------------------------------------------- MariaDB


@contextmanager
def server() -> Iterator[Any]:
    DATABASES["mariadb"]()
    with mariadb.sandbox(mariadb_url()) as connection:
        yield connection


def schemas(connection: Any) -> set[str]:
    found = connection.execute("SHOW DATABASES").fetchall()
    return {name for (name,) in found if name.startswith("treecompile_")}


@pytest.mark.engine
def test_mariadb_is_left_as_it_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the names of its own databases: other processes may use the server, too."""
    made = [uuid.uuid4() for _ in range(2)]
    with server() as connection:
        names = iter(made)
        monkeypatch.setattr(uuid, "uuid4", lambda: next(names))
        database = DATABASES["mariadb"]()
        text = emit(stump(0.5), "sql", EmitOptions(dialect="mariadb")).text
        features = stump(0.5).body.features
        assert run_sql(text, features, [(0.5,), (0.6,)], database) == ["low", "high"]
        with pytest.raises(RefusedError):
            run_sql("nonsense", features, [(0.5,)], database)
        assert next(names, None) is None
        assert not schemas(connection) & {f"treecompile_{one.hex}" for one in made}


@pytest.mark.engine
@pytest.mark.parametrize("mode", ["NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", "ANSI", ""])
def test_the_mode_of_mariadb_does_not_matter(mode: str) -> None:
    """Texts with backslashes and quotes are the same under every mode."""
    texts = ("back\\slash", "\\", "it's", '"', "\\'", "a\0b", "ü", "\\n", "plain")
    feature = Feature("text", Kind.CATEGORICAL, ValueType.STR, texts)
    rows: list[tuple[Any, ...]] = [(text,) for text in (*texts, "n", "\n", None)]
    with server() as connection:
        (kept,) = connection.execute("SELECT @@GLOBAL.sql_mode").fetchone()
        connection.execute("SET GLOBAL sql_mode = %s", (mode,))
        try:
            for chosen in texts:
                program = one_test(feature, (chosen,))
                options = EmitOptions(dialect="mariadb")
                text = emit(program, "sql", options).text
                database = DATABASES["mariadb"]()
                found = run_sql(text, (feature,), rows, database)
                expected = [chosen if row[0] == chosen else "other" for row in rows]
                assert found == expected
        finally:
            connection.execute("SET GLOBAL sql_mode = %s", (kept,))


def one_test(feature: Feature, chosen: tuple[str, ...]) -> Program:
    test = Condition(0, Op.IN, chosen, missing=False)
    return chain((feature,), (test,), (chosen[0], "other"))


@pytest.mark.engine
@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("", "such as mysql://"),
        ("postgresql://user@host/db", "such as mysql://"),
        ("mysql://root@localhost:port", "mysql://root@localhost:port: Port"),
        (
            "mysql://me:secret@localhost:1/db",
            "cannot connect to mysql://me@localhost:1",
        ),
    ],
)
def test_a_url_that_leads_nowhere(url: str, said: str) -> None:
    with pytest.raises(EngineError, match=said) as caught, mariadb.sandbox(url):
        pass
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- drivers


@pytest.mark.parametrize(
    ("engine", "package"),
    [
        *(("duckdb", "duckdb"), ("postgres", "psycopg"), ("mariadb", "pymysql")),
        *(("clickhouse", "chdb"), ("spark", "pyspark"), ("datafusion", "datafusion")),
    ],
)
def test_an_absent_driver_is_told_how_to_get_it(
    engine: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not there
    text = emit(stump(0.5), "sql", EmitOptions(dialect=engine)).text
    with pytest.raises(EngineError) as caught:
        verify(stump(0.5), text, url="nowhere://")
    said = str(caught.value)
    assert said.startswith("the driver for ")
    assert said.endswith(f"pip install 'treecompile[{engine}]'")
