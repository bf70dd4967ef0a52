"""The SQL target: its forms and outputs in real databases, and what it refuses."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.samples import NUMBER, balanced, chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import templates_folder
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.ir import (
    Category,
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Program,
    ValueType,
)
from treecompile.model.semantics import negate

ENGINES = ("sqlite", "duckdb")
NAN = float("nan")
REST = {"number": 9.0, "text": "z", "code": 9, "flag": False, "grade": "high"}
# What is changed in the row above, and the answer by the tests of `every_type`.
CASES: list[tuple[dict[str, Any], str]] = [
    ({}, "rest"),
    ({"number": 2.5}, "number"),
    ({"number": 2.5000000000000004}, "rest"),
    ({"number": None}, "number"),
    ({"number": float("inf")}, "rest"),
    ({"number": NAN}, "number"),
    ({"text": "b"}, "text"),
    ({"text": "B"}, "rest"),
    ({"text": "b "}, "rest"),
    ({"text": None}, "rest"),
    ({"code": 2}, "code"),
    ({"code": None}, "rest"),
    ({"flag": True}, "flag"),
    ({"flag": None}, "rest"),
    ({"grade": "low"}, "grade"),
    ({"grade": "lowest"}, "rest"),
    ({"grade": None}, "rest"),
]
ROWS = [(n, *{**REST, **change}.values()) for n, (change, _) in enumerate(CASES)]
ANSWERS = [answer for _, answer in CASES]
DECLARED = "n INTEGER, number DOUBLE, text TEXT, code INTEGER, flag BOOLEAN, grade TEXT"


def connect(engine: str) -> Any:
    return closing(
        sqlite3.connect(":memory:") if engine == "sqlite" else duckdb.connect()
    )


def filled(
    connection: Any, columns: str, rows: Iterable[Sequence[Any]], table: str = "t"
) -> None:
    connection.execute(f"CREATE TABLE {table} ({columns})")
    for row in rows:
        marks = ", ".join("?" * len(row))
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)


def sql(program: Program, dialect: str = "sqlite", **options: Any) -> str:
    return emit(program, "sql", EmitOptions(dialect=dialect, **options)).text


def answers(
    engine: str,
    program: Program,
    declared: str,
    rows: Iterable[Sequence[Any]],
    **options: Any,
) -> list[Any]:
    """What an expression says about rows whose first column is their number."""
    with connect(engine) as connection:
        filled(connection, declared, rows)
        text = sql(program, engine, **options)
        query = f"SELECT n, {text} FROM t ORDER BY n"
        return [record[1] for record in connection.execute(query).fetchall()]


# ---------------------------------------------------------------- forms and outputs


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("table", ["t", "main.t", '"odd.name; --"', 'main."say ""x"""'])
def test_a_select_and_a_view_add_a_column(engine: str, table: str) -> None:
    name = "the view"
    program = every_type()
    with connect(engine) as connection:
        filled(connection, DECLARED, ROWS, table)
        found = connection.execute(sql(program, engine, form="select", table=table))
        names = [column[0] for column in found.description]
        assert names == ["n", *REST, "prediction"]
        records = sorted(found.fetchall())
        assert [record[-1] for record in records] == ANSWERS
        assert [record[2] for record in records] == [row[2] for row in ROWS]
        for options in ({"name": name}, {}):
            connection.execute(
                sql(program, engine, form="view", table=table, **options)
            )
            view = f'"{name}"' if options else "predictions"
            query = f"SELECT prediction FROM {view} ORDER BY n"
            assert [row[0] for row in connection.execute(query).fetchall()] == ANSWERS


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "labels",
    [("a'b", 'c"d'), (-3, 2**63 - 1), (-(2**63), 0), (0.1, 1e22), (-1.5, 5e-324)],
)
def test_labels_come_back_as_they_are(engine: str, labels: tuple[Label, ...]) -> None:
    test = Condition(0, Op.LE, 0.5, missing=False)
    program = chain((NUMBER,), (test,), labels)
    found = answers(engine, program, "n INTEGER, number DOUBLE", [(1, 0.5), (2, 0.6)])
    assert found == list(labels)
    assert [type(label) for label in found] == [type(label) for label in labels]


def test_boolean_labels_are_booleans_where_there_are_any() -> None:
    test = Condition(0, Op.LE, 0.5, missing=False)
    program = chain((NUMBER,), (test,), (False, True))
    columns, rows = "n INTEGER, number DOUBLE", [(1, 0.5), (2, 0.6)]
    assert answers("duckdb", program, columns, rows) == [False, True]
    assert answers("duckdb", program, columns, rows)[0] is False
    assert answers("sqlite", program, columns, rows) == [0, 1]
    labelled = {"output": "probability", "label": "false"}
    assert answers("sqlite", program, columns, rows, **labelled) == [0.75, 0.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_numbers_are_compared_as_doubles_whatever_the_column_is(engine: str) -> None:
    program = stump(2.0**53)
    rows = [(1, 2**53), (2, 2**53 + 1), (3, 2**53 + 2), (4, None)]
    found = answers(engine, program, "n INTEGER, x BIGINT", rows)
    assert found == ["low", "low", "high", "high"]


# ---------------------------------------------------------------- exact comparison


@pytest.mark.parametrize(
    ("engine", "collation"),
    [("sqlite", "NOCASE"), ("sqlite", "RTRIM"), ("duckdb", "NOCASE")],
)
@pytest.mark.parametrize("op", [Op.IN, Op.NOT_IN])
@pytest.mark.parametrize("chosen", [("a",), ("a", "b")])
@pytest.mark.parametrize("missing", [False, True])
def test_the_collation_of_a_column_does_not_matter(
    engine: str, collation: str, op: Op, chosen: tuple[str, ...], missing: bool
) -> None:
    feature = Feature("text", Kind.CATEGORICAL, ValueType.STR, ("a", "b", "c"))
    program = chain((feature,), (Condition(0, op, chosen, missing),), ("yes", "no"))
    texts = ["a", "A", "a ", "b", "B ", "c", None]
    declared = f"n INTEGER, text VARCHAR COLLATE {collation}"
    found = answers(engine, program, declared, enumerate(texts))
    expected = [
        missing if text is None else (text in chosen) == (op is Op.IN) for text in texts
    ]
    assert found == ["yes" if holds else "no" for holds in expected]


def test_an_unknown_column_is_an_error_in_sqlite_too() -> None:
    """SQLite reads "misspelt" in double quotes as a string, without a word."""
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        answers("sqlite", stump(1.0), "n INTEGER, z DOUBLE", [(1, 1.0)])


# ---------------------------------------------------------------- refusals


def on_both(first: str, second: str, required: tuple[int, ...] = (0, 1)) -> Program:
    features = tuple(
        Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in (first, second)
    )
    tests = tuple(Condition(place, Op.LE, 0.5, missing=False) for place in required)
    return chain(features, tests, ("a", "b", "c")[: len(tests) + 1])


@pytest.mark.parametrize("engine", ENGINES)
def test_names_that_differ_only_by_case_are_refused(engine: str) -> None:
    with pytest.raises(TargetError, match=r"'Age' and 'AGE'.*columns"):
        sql(on_both("Age", "AGE"), engine)
    with pytest.raises(TargetError, match=r"'Age' and 'AGE'"):
        sql(on_both("Age", "other"), engine, columns={"other": "AGE"})
    renamed = sql(on_both("Age", "AGE"), engine, columns={"AGE": "age in months"})
    assert "age in months" in renamed


def test_an_empty_name_is_refused_where_there_is_none() -> None:
    program = on_both("", "x")
    assert "``" in sql(program)
    with pytest.raises(TargetError, match="DuckDB does not allow empty column names"):
        sql(program, "duckdb")
    assert "CAST(first AS" in sql(program, "duckdb", columns={"": "first"})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["a\0b", "half \ud800"])
def test_a_name_that_no_table_can_have_is_refused(engine: str, name: str) -> None:
    with pytest.raises(TargetError, match=re.escape(repr(name))):
        sql(on_both(name, "x"), engine)
    assert sql(on_both(name, "x"), engine, columns={name: "sound"})


@pytest.mark.parametrize("engine", ENGINES)
def test_an_integer_beyond_64_bits_is_refused(engine: str) -> None:
    codes = (1, 2**63)
    feature = Feature("code", Kind.CATEGORICAL, ValueType.INT, codes)
    test = Condition(0, Op.IN, (2**63,), missing=False)
    with pytest.raises(TargetError, match=f"{2**63} does not fit"):
        sql(chain((feature,), (test,), ("a", "b")), engine)
    with pytest.raises(TargetError, match=f"{2**63} does not fit"):
        sql(chain((NUMBER,), (Condition(0, Op.LE, 0.5, False),), (2**63, 0)), engine)


@pytest.mark.parametrize("table", [".", "a..b", 'a"b', '"a', ".a", "a."])
def test_a_table_name_that_cannot_be_read_is_refused(table: str) -> None:
    with pytest.raises((OptionError, TargetError), match="table="):
        sql(stump(1.0), form="select", table=table)


# ---------------------------------------------------------------- size


@pytest.mark.parametrize("form", ["expression", "view"])
def test_sqlite_runs_a_balanced_tree_of_4096_leaves(form: str) -> None:
    program = balanced(12)
    numbers = [0, 1, 2, 1023, 1024, 2047, 2048, 3000, 4094, 4095, None]
    expected = [4095.0 if number is None else float(number) for number in numbers]
    with connect("sqlite") as connection:
        filled(connection, "n INTEGER, x REAL", enumerate(numbers))
        text = sql(program, form=form, table="t")
        query = f"SELECT {text} FROM t ORDER BY n"
        if form == "view":
            connection.execute(text)
            query = "SELECT prediction FROM predictions ORDER BY n"
        assert [row[0] for row in connection.execute(query)] == expected


def test_a_chain_of_a_thousand_tests_runs_everywhere() -> None:
    tests = tuple(Condition(0, Op.LE, float(n), missing=False) for n in range(1000))
    program = chain((NUMBER,), tests, tuple(range(1001)))
    for engine in ENGINES:
        rows = [(n, float(n)) for n in (0, 1, 500, 999, 1000)]
        found = answers(engine, program, "n INTEGER, number DOUBLE", rows)
        assert found == [0, 1, 500, 999, 1000]


def test_what_the_text_is_made_of_is_harmless() -> None:
    """Only quoted names and literals hold text from the data, never a comment."""
    evil = "*/ DROP TABLE t; --"
    feature = Feature(evil, Kind.CATEGORICAL, ValueType.STR, (evil, "'; --"))
    test = Condition(0, Op.IN, (evil,), missing=False)
    program = chain((feature,), (test, negate(test)), (evil, "'", "x"))
    for engine in ENGINES:
        found = answers(
            engine, program, f'n INTEGER, "{evil}" TEXT', [(1, evil), (2, "'; --")]
        )
        assert found == [evil, "'"]


def test_options_are_checked() -> None:
    wrong: Mapping[str, dict[str, Any]] = {
        "form=": {"form": "table"},
        "table=": {"form": "view"},
        "output=": {"output": "labels"},
        "label needs": {"label": "low"},
        "columns: ": {"columns": {"y": "z"}},
    }
    for said, options in wrong.items():
        with pytest.raises(OptionError, match=said):
            sql(stump(1.0), **options)
    with pytest.raises(OptionError, match="the model predicts a number"):
        sql(balanced(2), output="probability")


# ---------------------------------------------------------------- other dialects


@pytest.mark.parametrize(
    ("dialect", "name", "said"),
    [
        ("mariadb", "x" * 65, "MariaDB allows names of at most 64 characters"),
        ("mysql", "🐧", r"MySQL does not allow the name '🐧', because of '🐧'"),
        ("mariadb", "blank ", "because of ' '"),
        ("mariadb", "line\n", r"because of '\\n'"),
        ("bigquery", "a.b", r"BigQuery does not allow the name 'a.b', because of '\.'"),
        ("bigquery", "_partition_date", "because of '_partition'"),
        ("bigquery", "x" * 301, "300 characters"),
        ("oracle", 'say "hi"', "because of '\"'"),
        ("oracle", "ü" * 65, "names of at most 128 bytes"),
        ("redshift", "tab\there", r"because of '\\t'"),
        ("tsql", "x" * 129, "SQL Server allows names of at most 128 characters"),
        ("snowflake", "", "Snowflake does not allow empty column names"),
    ],
)
def test_a_name_that_a_database_has_not(dialect: str, name: str, said: str) -> None:
    with pytest.raises(TargetError, match=said) as caught:
        sql(on_both(name, "y"), dialect)
    assert "columns: " in str(caught.value)
    assert "\n" not in str(caught.value)
    assert sql(on_both(name, "y"), dialect, columns={name: "sound"})


FOLDING = ("mariadb", "mysql", "spark", "bigquery", "redshift", "tsql", "trino")
KEEPING = ("postgres", "clickhouse", "datafusion", "snowflake", "oracle")


@pytest.mark.parametrize("dialect", [*FOLDING, *KEEPING])
def test_names_that_differ_by_case_where_they_are_one(dialect: str) -> None:
    if dialect in KEEPING:
        assert "AGE" in sql(on_both("Age", "AGE"), dialect)
        return
    with pytest.raises(TargetError, match=r"'Age' and 'AGE'.*columns"):
        sql(on_both("Age", "AGE"), dialect)


def on_text(*categories: str, labels: tuple[Label, ...] = ("a", "b")) -> Program:
    feature = Feature("text", Kind.CATEGORICAL, ValueType.STR, categories)
    test = Condition(0, Op.IN, categories[:1], missing=False)
    return chain((feature,), (test,), labels)


def test_oracle_has_no_empty_text() -> None:
    with pytest.raises(TargetError, match="Oracle treats the category '' of 'text' as"):
        sql(on_text("x", ""), "oracle")
    with pytest.raises(TargetError, match="Oracle treats the label '' as NULL"):
        sql(on_text("x", labels=("", "b")), "oracle")
    assert "''" in sql(on_text(""), "postgres")


@pytest.mark.parametrize("dialect", ["postgres", "oracle", "tsql", "redshift", "trino"])
def test_a_nul_is_refused_where_there_is_none(dialect: str) -> None:
    with pytest.raises(TargetError, match=r"NUL character.*'a\\x00b'"):
        sql(on_text("a\0b"), dialect)


def test_what_sql_server_is_given() -> None:
    assert "(text + N'.') COLLATE Latin1_General_100_BIN2 = N'it''s.'" in sql(
        on_text("it's"), "tsql"
    )
    text = sql(on_text("a\\\nb"), "tsql")
    assert "= (N'a\\' + NCHAR(10) + N'b.')" in text
    flag = Feature("fl]ag", Kind.CATEGORICAL, ValueType.BOOL, (False, True))
    test = Condition(0, Op.IN, (True,), missing=False)
    text = sql(chain((flag,), (test,), (True, False)), "tsql")
    assert "WHEN [fl]]ag] = CAST(1 AS BIT) THEN CAST(1 AS BIT)" in text
    with pytest.raises(TargetError, match="SQL Server has no number as close to zero"):
        sql(stump(5e-324), "tsql")


def test_an_unknown_dialect_is_told_the_nearest() -> None:
    for wrong, near in (
        ("mysq", "'mysql'"),
        ("MariaDB", "'mariadb'"),
        ("snowflak", "'snowflake'"),
        ("postgresql", "'postgres'"),
        ("sqlserver", "'tsql'"),
        ("SQL-Server", "'tsql'"),
        ("db2", "expected one of bigquery, clickhouse"),
    ):
        with pytest.raises(TargetError, match=near):
            sql(stump(0.5), wrong)


def test_clickhouse_puts_nothing_off_where_the_answer_is_a_number() -> None:
    program = every_type()
    asked = EmitOptions(
        dialect="clickhouse",
        form="select",
        table="t",
    )
    label = emit(program, "sql", replace(asked, output="label")).text
    assert "toFloat64(" in label
    assert " / 1e0 > " not in label
    share = emit(program, "sql", replace(asked, output="probability")).text
    assert " / 1e0 > " in share
    assert "toFloat64(" not in share


# ---------------------------------------------------------------- what is not there


def of_type(answer: Label, feature: Feature, value: Category) -> Program:
    other: Label = not answer if isinstance(answer, bool) else "other"
    if isinstance(answer, int) and not isinstance(answer, bool):
        other = answer - 1
    test = Condition(0, Op.IN, (value,), missing=False)
    return chain((feature,), (test,), (answer, other))


FLAG = Feature("flag", Kind.CATEGORICAL, ValueType.BOOL, (False, True))


def test_a_type_that_a_dialect_has_not_is_refused(tmp_path: Path) -> None:
    folder = templates_folder() / "sql" / "dialects"
    text = (folder / "sqlite.toml").read_text().replace('"BOOLEAN"', '""')
    (tmp_path / "ours.toml").write_text(text)
    ours = str(tmp_path / "ours.toml")
    assert sql(stump(0.5), ours)
    with pytest.raises(
        TargetError, match=r"no type for the column 'flag', of type bool"
    ):
        sql(of_type("a", FLAG, True), ours)
    text_feature = Feature("text", Kind.CATEGORICAL, ValueType.STR, ("a",))
    with pytest.raises(TargetError, match=r"no type for the prediction, of type bool"):
        sql(of_type(True, text_feature, "a"), ours)


@pytest.mark.parametrize(("name", "most"), [("oracle", 4000), ("redshift", 65_534)])
def test_texts_longer_than_the_type_are_refused(name: str, most: int) -> None:
    for text, fits in (("x" * most, True), ("é" * (most // 2) + "x", False)):
        feature = Feature("text", Kind.CATEGORICAL, ValueType.STR, (text,))
        for program in (of_type("a", feature, text), of_type(text, FLAG, True)):
            if fits:
                assert text in sql(program, name)
                continue
            with pytest.raises(TargetError, match=f"at most {most:,} bytes") as caught:
                sql(program, name)
            assert len(str(caught.value)) < 150
