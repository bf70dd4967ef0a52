"""Names in SQL: bare where they are ordinary, quoted where they must be."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.samples import chain
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.sql.text import Quoting, column_names
from treecompile.model.errors import EngineError, TargetError
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, ValueType
from treecompile.verify.verification import verify


def on(*names: str) -> Program:
    """A test of each feature."""
    features = tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in names)
    tests = tuple(Condition(n, Op.LE, 0.5, False) for n in range(len(names)))
    return chain(features, tests, ("low", "high"))


# ---------------------------------------------------------------- one name

NAMES = [
    ("snowflake", "age", "age"),  # found as AGE
    ("snowflake", "Age", "Age"),
    ("snowflake", "AGE", "AGE"),
    ("snowflake", "_age", "_age"),
    ("snowflake", "order", '"order"'),
    ("snowflake", "Order", '"Order"'),
    ("snowflake", "blood pressure", '"blood pressure"'),
    ("oracle", "age", "age"),
    ("oracle", "_age", '"_age"'),
    ("oracle", "level", '"level"'),
    ("postgres", "age", "age"),
    ("postgres", "Age", '"Age"'),  # not found as age
    ("postgres", "user", '"user"'),
    ("redshift", "Age", "Age"),  # case does not matter
    ("duckdb", "Age", "Age"),
    ("duckdb", "größe", '"größe"'),
    ("duckdb", "1st", '"1st"'),
    ("duckdb", "a$b", '"a$b"'),
    ("duckdb", "x", "x"),
    ("clickhouse", "Age", "Age"),  # case is kept
    ("datafusion", "Age", '"Age"'),
    ("tsql", "Age", "Age"),
    ("tsql", "group", "[group]"),
    ("bigquery", "Age", "Age"),
    ("bigquery", "rows", "`rows`"),
    ("sqlite", "a`b", "`a``b`"),
    ("mysql", "rank", "`rank`"),
    ("mariadb", "rank", "rank"),
]


@pytest.mark.parametrize(("dialect", "name", "written"), NAMES)
def test_how_a_name_is_written(dialect: str, name: str, written: str) -> None:
    assert Quoting(read_dialect(dialect), bare=True).name(name) == written


# ---------------------------------------------------------------- several names


def test_twins_are_quoted_where_case_counts() -> None:
    body = on("age", "Age", "sex").body
    snowflake = Quoting(read_dialect("snowflake"), bare=True)
    assert column_names(body, snowflake, {}) == {0: '"age"', 1: '"Age"', 2: "sex"}
    renamed = column_names(body, snowflake, {"Age": "years"})
    assert renamed == {0: "age", 1: "years", 2: "sex"}
    clickhouse = Quoting(read_dialect("clickhouse"), bare=True)
    assert column_names(body, clickhouse, {})[1] == '"Age"'


def test_twins_that_would_become_one_name_are_refused() -> None:
    with pytest.raises(TargetError, match="^SQLite makes 'age' and 'Age' one name"):
        emit(on("age", "Age"), "sql", EmitOptions())


# ---------------------------------------------------------------- statements


@pytest.mark.parametrize("declared", ["AGE", "age", '"Age"', "[Age]"])
def test_a_table_may_be_created_in_any_case(declared: str) -> None:
    text = emit(on("Age"), "sql", EmitOptions(form="select", table="People")).text
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE PEOPLE ({declared} REAL)")
        connection.execute("INSERT INTO people VALUES (0.5), (0.6), (NULL)")
        found = connection.execute(text).fetchall()
    assert [row[-1] for row in found] == ["low", "high", "high"]


def test_what_cannot_run_here_is_judged_by_its_text() -> None:
    text = emit(on("age"), "sql", EmitOptions(dialect="snowflake")).text
    report = verify(on("age"), text)
    assert (report.passed, report.as_emitted, report.rows) == (True, True, 0)
    with pytest.raises(EngineError, match="^Snowflake cannot be run here"):
        verify(on("age"), text, "snowflake")


def test_a_name_that_a_console_replaces_is_warned_about() -> None:
    found = emit(on("R&D"), "sql", EmitOptions(dialect="oracle"))
    assert found.warnings == (
        "SQL*Plus and SQL Developer replace '&' in the name \"R&D\": run SET DEFINE OFF"
        " first",
    )
    assert emit(on("R&D"), "sql", EmitOptions(dialect="snowflake")).warnings == ()
    assert emit(on("RD"), "sql", EmitOptions(dialect="oracle")).warnings == ()


# ---------------------------------------------------------------- names of outputs


@pytest.mark.parametrize("form", ["select", "view", "dbt"])
def test_an_output_with_the_name_of_a_feature_is_refused(form: str) -> None:
    options = EmitOptions(dialect="duckdb", form=form, table="t")
    with pytest.raises(TargetError, match="two columns 'prediction'"):
        emit(on("x", "Prediction"), "sql", options)
    emit(on("x", "probability"), "sql", options)  # which is not asked for
    with pytest.raises(TargetError, match="two columns 'probability'"):
        emit(
            on("x", "probability"), "sql", replace(options, output="label,probability")
        )
    renamed = replace(options, columns={"Prediction": "given"})
    assert not emit(on("x", "Prediction"), "sql", renamed).warnings
    emit(on("Prediction"), "sql", replace(options, form="expression", table=""))


def test_case_counts_where_the_database_counts_it() -> None:
    options = EmitOptions(dialect="clickhouse", form="select", table="t")
    emit(on("Prediction"), "sql", options)
    with pytest.raises(TargetError, match="two columns"):
        emit(on("prediction"), "sql", options)


def test_an_output_with_the_name_of_the_target_is_a_warning() -> None:
    program = replace(on("x"), target="prediction")
    options = EmitOptions(dialect="sqlite", form="select", table="t")
    (warning,) = emit(program, "sql", options).warnings
    assert "two of that name" in warning
    assert not emit(
        program, "sql", replace(options, form="expression", table="")
    ).warnings
