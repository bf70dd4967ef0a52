"""SQL in real databases: forms and outputs, exact comparison, size, hostile names."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from random import Random
from typing import Any

import duckdb
import pytest

from tests.support.forests import tennis_forest
from tests.support.random_models import random_program
from tests.support.samples import NUMBER, balanced, chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import EngineError, TargetError
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    Program,
    ValueType,
)
from treecompile.verify.verification import verify

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


# ---------------------------------------------------------------- several outputs


ALL = "label,probability,rule"


def several(dialect: str, output: str) -> EmitOptions:
    return EmitOptions(dialect=dialect, form="select", table="t", output=output)


def test_hostile_models_with_several_outputs() -> None:
    compared = 0
    for seed in range(10):
        program = random_program(Random(seed))
        output = ALL if program.body.labels else "label,rule"
        try:
            text = emit(program, "sql", several("duckdb", output)).text
        except TargetError:
            continue
        report = verify(program, text, budget=300)
        assert report.passed, report
        compared += report.rows
    assert compared > 800


@pytest.mark.parametrize("table", ["typed", "sums_0", 'main."Typed"', "typed_"])
def test_a_table_may_be_called_like_a_stage(table: str) -> None:
    program = tennis_forest()
    options = EmitOptions(dialect="duckdb", form="select", table=table)
    text = emit(program, "sql", options).text
    assert verify(program, text, budget=100).passed


def test_what_cannot_run_here_is_judged_by_its_text() -> None:
    text = sql(stump(0.5), "snowflake")
    report = verify(stump(0.5), text)
    assert (report.passed, report.as_emitted, report.rows) == (True, True, 0)
    with pytest.raises(EngineError, match="'snowflake' cannot be run here"):
        verify(stump(0.5), text, "snowflake")


@pytest.mark.parametrize("declared", ["AGE", "age", '"Age"', "[Age]"])
def test_a_table_may_be_created_in_any_case(declared: str) -> None:
    age = Feature("Age", Kind.NUMERIC, ValueType.FLOAT)
    program = chain((age,), (Condition(0, Op.LE, 0.5, False),), ("low", "high"))
    with connect("sqlite") as connection:
        filled(connection, f"{declared} REAL", [(0.5,), (0.6,), (None,)], "PEOPLE")
        found = connection.execute(sql(program, form="select", table="People"))
        assert [row[-1] for row in found] == ["low", "high", "high"]
