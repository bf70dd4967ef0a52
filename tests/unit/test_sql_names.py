"""Names in SQL: quoted, bare, in upper case, in lower case."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from tests.support.dialects import SQLITE
from tests.support.samples import chain, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.sql.text import ORDINARY, Quoting, column_names, words_of
from treecompile.model.errors import EngineError, OptionError, TargetError
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, ValueType
from treecompile.verify.claims import claim
from treecompile.verify.verification import verify

BUILT_IN = dialect_names()


def on(*names: str) -> Program:
    """A test of each feature."""
    features = tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in names)
    tests = tuple(Condition(n, Op.LE, 0.5, False) for n in range(len(names)))
    return chain(features, tests, ("low", "high"))


# ---------------------------------------------------------------- one name

# Written bare, or in quotes: by dialect and mode.
NAMES = [
    ("snowflake", "bare", "age", "age"),  # found as AGE
    ("snowflake", "bare", "Age", "Age"),
    ("snowflake", "bare", "AGE", "AGE"),
    ("snowflake", "bare", "_age", "_age"),
    ("snowflake", "bare", "order", '"order"'),
    ("snowflake", "bare", "Order", '"Order"'),
    ("snowflake", "bare", "blood pressure", '"blood pressure"'),
    ("snowflake", "quoted", "age", '"age"'),
    ("snowflake", "upper", "age", "AGE"),
    ("snowflake", "upper", "order", '"ORDER"'),
    ("snowflake", "upper", "blood pressure", '"BLOOD PRESSURE"'),
    ("snowflake", "lower", "Age", '"age"'),  # not found as AGE
    ("oracle", "bare", "age", "age"),
    ("oracle", "bare", "_age", '"_age"'),
    ("oracle", "upper", "_age", '"_AGE"'),
    ("oracle", "bare", "level", '"level"'),
    ("postgres", "bare", "age", "age"),
    ("postgres", "bare", "Age", '"Age"'),  # not found as age
    ("postgres", "bare", "user", '"user"'),
    ("postgres", "upper", "age", '"AGE"'),
    ("postgres", "lower", "Age", "age"),
    ("postgres", "lower", "Full Name", '"full name"'),
    ("redshift", "bare", "Age", "Age"),  # case does not matter
    ("redshift", "upper", "Age", "AGE"),
    ("duckdb", "bare", "Age", "Age"),
    ("duckdb", "lower", "Age", "age"),
    ("duckdb", "bare", "größe", '"größe"'),
    ("duckdb", "bare", "1st", '"1st"'),
    ("duckdb", "bare", "a$b", '"a$b"'),
    ("duckdb", "bare", "x", "x"),
    ("clickhouse", "bare", "Age", "Age"),  # case is kept
    ("datafusion", "bare", "Age", '"Age"'),
    ("tsql", "bare", "Age", "Age"),
    ("tsql", "bare", "group", "[group]"),
    ("bigquery", "bare", "Age", "Age"),
    ("bigquery", "bare", "rows", "`rows`"),
    ("sqlite", "bare", "a`b", "`a``b`"),
    ("mysql", "bare", "rank", "`rank`"),
    ("mariadb", "bare", "rank", "rank"),
]


@pytest.mark.parametrize(("dialect", "identifiers", "name", "written"), NAMES)
def test_how_a_name_is_written(
    dialect: str, identifiers: str, name: str, written: str
) -> None:
    assert Quoting(read_dialect(dialect), identifiers).name(name) == written


def test_names_are_quoted_unless_asked_otherwise() -> None:
    assert Quoting(SQLITE).name("age") == "`age`"


@pytest.mark.parametrize("identifiers", ["quoted", "bare", "upper", "lower"])
def test_a_name_that_is_impossible_is_refused_in_every_form(identifiers: str) -> None:
    short = replace(SQLITE, names=replace(SQLITE.names, longest=3))
    with pytest.raises(TargetError, match="allows names of at most 3 bytes"):
        Quoting(short, identifiers).name("ages")
    assert Quoting(short, identifiers).name("age").strip("`").lower() == "age"


def test_a_word_may_be_reserved_for_parameters_only() -> None:
    oracle = read_dialect("oracle")
    assert Quoting(oracle, "bare").name("type") == "type"
    assert Quoting(oracle, "bare", oracle.functions.reserved).name("type") == '"type"'
    program = on("type", "level")
    column = emit(program, "sql", EmitOptions(dialect="oracle")).text
    assert "CAST(type AS" in column
    assert 'CAST("level" AS' in column
    options = EmitOptions(dialect="oracle", form="function")
    assert '("type" IN BINARY_DOUBLE, "level" IN' in emit(program, "sql", options).text


@pytest.mark.parametrize("dialect", BUILT_IN)
def test_the_words_of_our_own_sql_are_reserved(dialect: str) -> None:
    reserved = words_of(read_dialect(dialect).names.reserved)
    ours = {"and", "as", "case", "else", "from", "in", "is", "not", "null", "or"}
    assert reserved >= ours | {"select", "then", "when", "where"}
    assert all(ORDINARY.fullmatch(word) and word == word.lower() for word in reserved)
    quoting = Quoting(read_dialect(dialect), "bare")
    for ordinary in ("prediction", "probability", "predictions", "predict"):
        assert quoting.name(ordinary) == ordinary
    assert quoting.name("rule") == ("[rule]" if dialect == "tsql" else "rule")


def test_a_dialect_of_ones_own_quotes_unless_it_says_otherwise() -> None:
    names = replace(SQLITE.names, identifiers="quoted", reserved="")
    assert Quoting(replace(SQLITE, names=names), "bare").name("select") == "select"


# ---------------------------------------------------------------- several names


def test_twins_are_quoted_where_case_counts() -> None:
    body = on("age", "Age", "sex").body
    snowflake = Quoting(read_dialect("snowflake"), "bare")
    assert column_names(body, snowflake, {}) == {0: '"age"', 1: '"Age"', 2: "sex"}
    renamed = column_names(body, snowflake, {"Age": "years"})
    assert renamed == {0: "age", 1: "years", 2: "sex"}
    clickhouse = Quoting(read_dialect("clickhouse"), "bare")
    assert column_names(body, clickhouse, {})[1] == '"Age"'


@pytest.mark.parametrize("identifiers", ["upper", "lower"])
def test_twins_that_would_become_one_name_are_refused(identifiers: str) -> None:
    options = EmitOptions(dialect="snowflake", identifiers=identifiers)
    said = f"^--identifiers {identifiers} makes 'age' and 'Age' one name: rename"
    with pytest.raises(TargetError, match=said):
        emit(on("age", "Age"), "sql", options)
    with pytest.raises(TargetError, match="^SQLite makes 'age' and 'Age' one name"):
        emit(on("age", "Age"), "sql", EmitOptions())


def test_a_part_in_quotes_stays_in_quotes() -> None:
    quoting = Quoting(read_dialect("snowflake"), "upper")
    assert quoting.path("--table", 'shop."Orders"') == 'SHOP."Orders"'
    assert quoting.path("--table", '"a""b".c') == '"a""b".C'


# ---------------------------------------------------------------- statements


def test_every_name_of_a_statement_is_written_alike() -> None:
    options = EmitOptions(
        dialect="trino",
        form="view",
        table="shop.orders",
        name="late",
        alias="o",
        identifiers="upper",
        output="label,rule",
        comments=False,
    )
    text = emit(on("age"), "sql", options).text
    assert text.startswith("CREATE VIEW LATE AS\nSELECT\n  O.*,\n")
    assert "CAST(O.AGE AS" in text
    assert "END AS PREDICTION,\n" in text
    assert text.endswith("END AS RULE\nFROM SHOP.ORDERS O;\n")


@pytest.mark.parametrize("identifiers", ["quoted", "upper", "lower"])
def test_the_first_line_says_how_names_are_written(identifiers: str) -> None:
    options = EmitOptions(dialect="duckdb", identifiers=identifiers)
    text = emit(stump(0.5), "sql", options).text
    assert f", output label, identifiers {identifiers}, model " in text
    assert claim(stump(0.5), text).identifiers == identifiers
    usual = emit(stump(0.5), "sql", EmitOptions(dialect="duckdb")).text
    assert "identifiers" not in usual
    assert claim(stump(0.5), usual).identifiers == ""
    assert claim(stump(0.5), usual, identifiers="upper").identifiers == "upper"


def test_an_older_first_line_is_read() -> None:
    old = "/* treecompile 0.1.0; dialect duckdb; output rule, label; model 5f */ 1"
    found = claim(stump(0.5), old)
    assert found.engine == "duckdb"
    assert found.wanted == [("rule", None), ("label", None)]


def test_an_unknown_way_of_writing_names_is_refused() -> None:
    said = "^--identifiers 'plain': expected one of quoted, bare, upper, lower"
    with pytest.raises(OptionError, match=said):
        emit(stump(0.5), "sql", EmitOptions(identifiers="plain"))
    with pytest.raises(OptionError, match=said):
        claim(stump(0.5), "1", "sqlite", identifiers="plain")
    with pytest.raises(OptionError, match="^--identifiers is for SQL: leave it out"):
        claim(stump(0.5), "1", "python", identifiers="bare")


@pytest.mark.parametrize("declared", ["AGE", "age", '"Age"', "[Age]"])
@pytest.mark.parametrize("identifiers", ["", "quoted", "upper", "lower"])
def test_a_table_may_be_created_in_any_case(declared: str, identifiers: str) -> None:
    options = EmitOptions(form="select", table="People", identifiers=identifiers)
    text = emit(on("Age"), "sql", options).text
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE PEOPLE ({declared} REAL)")
        connection.execute("INSERT INTO people VALUES (0.5), (0.6), (NULL)")
        found = connection.execute(text).fetchall()
    assert [row[-1] for row in found] == ["low", "high", "high"]


@pytest.mark.parametrize("identifiers", ["quoted", "bare", "upper", "lower"])
@pytest.mark.parametrize("comments", [True, False])
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_verify_reads_every_form(engine: str, comments: bool, identifiers: str) -> None:
    program = on("Age", "order", "Full name", "format", "language", "row_number")
    for form in ("select", "expression"):
        options = EmitOptions(
            dialect=engine,
            form=form,
            table="t",
            identifiers=identifiers,
            comments=comments,
        )
        text = emit(program, "sql", options).text
        report = verify(program, text, engine, identifiers=identifiers, budget=200)
        assert report.passed, report


def test_verify_names_no_engine_that_cannot_run() -> None:
    text = emit(on("age"), "sql", EmitOptions(dialect="snowflake")).text
    with pytest.raises(EngineError, match="^Snowflake cannot be run here"):
        verify(on("age"), text)


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
