"""Declared types of columns: SQL without casts and tests that they make needless."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from math import inf, nextafter
from random import Random

import duckdb
import pytest

from tests.support.samples import chain, every_type, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.sql.text import ConditionWriter
from treecompile.model.errors import OptionError
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, ValueType
from treecompile.model.semantics import predict
from treecompile.verify.axes import integral
from treecompile.verify.verification import verify

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def written(declared: str, op: Op, cut: float, missing: bool, dialect: str) -> str:
    test = Condition(0, op, cut, missing)
    body = chain((X,), (test,), ("a", "b")).body
    types = {0: declared} if declared else {}
    return ConditionWriter(read_dialect(dialect), body, {0: "x"}, types=types).text(
        test
    )


@pytest.mark.parametrize("dialect", dialect_names())
def test_integers_need_neither_cast_nor_nan(dialect: str) -> None:
    assert written("integer", Op.LE, 40.5, False, dialect) == "x <= 40"
    assert written("integer", Op.LE, -40.5, True, dialect) == "(x <= -41 OR x IS NULL)"
    assert written("integer", Op.GT, 40.0, False, dialect) == "x > 40"
    assert written("integer", Op.GT, 0.1, True, dialect) == "(x > 0 OR x IS NULL)"
    assert written("integer", Op.GT, inf, True, dialect) == "x IS NULL"
    assert written("integer", Op.LE, inf, False, dialect) == "x IS NOT NULL"
    last = 2.0**53 - 1
    assert written("integer", Op.LE, last, False, dialect) == f"x <= {2**53 - 1}"


@pytest.mark.parametrize("cut", [2.0**53, -(2.0**53), 2.0**60])
def test_thresholds_that_integers_round_to_keep_the_cast(cut: float) -> None:
    for missing in (True, False):
        with_type = written("integer", Op.LE, cut, missing, "duckdb")
        assert with_type == written("", Op.LE, cut, missing, "duckdb")


def test_what_always_or_never_holds_is_written_as_ever() -> None:
    assert written("integer", Op.LE, inf, True, "duckdb") == "1 = 1"
    assert written("integer", Op.GT, inf, False, "duckdb") == "1 = 0"


def test_doubles_need_no_cast() -> None:
    assert written("double", Op.LE, 40.5, False, "duckdb") == "x <= 40.5"
    assert written("double", Op.GT, 0.5, False, "duckdb") == "(x > 0.5 AND x <> 'NaN')"
    assert written("double", Op.GT, 0.5, False, "sqlite") == "x > 0.5"
    assert written("", Op.LE, 0.5, False, "duckdb") == "CAST(x AS DOUBLE) <= 0.5"


@pytest.mark.parametrize(
    ("types", "said"),
    [
        ({"y": "integer"}, "^--type: the model has no feature 'y'"),
        ({"text": "integer"}, "^--type: the feature 'text' is not numeric"),
        ({"code": "double"}, "^--type: the feature 'code' is not numeric"),
        (
            {"number": "int"},
            "^--type: 'number' is 'int': expected one of integer, double",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(types: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        emit(every_type(), "sql", EmitOptions(types=types))
    text = emit(every_type(), "sql").text
    with pytest.raises(OptionError, match=said):
        verify(every_type(), text, types=types)


# ---------------------------------------------------------------- the answers


def several(cuts: list[float]) -> Program:
    tests = tuple(Condition(0, Op.LE, cut, n % 3 == 1) for n, cut in enumerate(cuts))
    labels = tuple(f"of {n}" for n in range(len(cuts) + 1))
    return chain((X,), tests, labels)


def test_integers_are_compared_as_their_doubles() -> None:
    random = Random(5)
    cuts = sorted(
        {
            *(round(random.uniform(-50, 50), random.randint(0, 2)) for _ in range(20)),
            *(2.0**53 - 1, 2.0**53, 2.0**53 + 2, 2.0**60, -(2.0**53), -(2.0**62), -0.0),
        }
    )
    program = several(cuts)
    near = {int(cut) + step for cut in cuts for step in (-2, -1, 0, 1, 2, 63, 64, 65)}
    rows: list[tuple[int | None]] = [(value,) for value in sorted(near)]
    rows.append((None,))
    options = EmitOptions(dialect="duckdb", types={"x": "integer"}, comments=False)
    text = emit(program, "sql", options).text
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE t (x BIGINT)")
        connection.executemany("INSERT INTO t VALUES (?)", rows)
        found = connection.execute(f"SELECT x, {text} FROM t").fetchall()
    assert dict(found) == {row[0]: predict(program.body, row) for row in rows}


@pytest.mark.parametrize("declared", ["integer", "double"])
@pytest.mark.parametrize("form", ["expression", "select", "view"])
@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_verify_has_columns_of_the_declared_types(
    engine: str, form: str, declared: str
) -> None:
    program = every_type()
    options = EmitOptions(
        dialect=engine,
        form=form,
        table="t",
        types={"number": declared},
        output="label" if form == "expression" else "label,rule",
    )
    text = emit(program, "sql", options).text
    report = verify(program, text, types={"number": declared}, budget=300)
    assert report.passed, report
    assert report.rows > 100
    for old, new in (("number > 2", "number >= 2"), ("'rest'", "'Rest'")):
        assert old in text
        broken = verify(
            program, text.replace(old, new), types={"number": declared}, budget=300
        )
        assert not broken.passed


@pytest.mark.parametrize("affinity", ["REAL", "INTEGER", "NUMERIC", "TEXT", ""])
def test_sqlite_reads_numbers_in_columns_of_any_type(affinity: str) -> None:
    """It compares integers and doubles exactly, and text with a REAL as a number."""
    cuts = [-0.5, 3.0, 2.0**53 - 1, 2.0**53, 2.0**60]
    program = several(cuts)
    near = {int(cut) + step for cut in cuts for step in (-2, -1, 0, 1, 2, 63, 64, 65)}
    values: list[float | None] = [*sorted(near), 2.5, 3.5, 1e300, -1e300, None]
    text = emit(program, "sql", EmitOptions(comments=False)).text
    assert "x <= CAST(3 AS REAL)" in text
    assert "CAST(x AS REAL) <= (1.0*(1<<60)" in text
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE t (n INTEGER, x {affinity})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(values)))
        found = connection.execute(f"SELECT n, {text} FROM t").fetchall()
    answers = [predict(program.body, (value,)) for value in values]
    assert dict(found) == dict(enumerate(answers))


def test_a_wrong_type_is_found_by_verify() -> None:
    """Compiled for integers, and run on doubles."""
    text = emit(stump(40.5), "sql", EmitOptions(types={"x": "integer"})).text
    assert verify(stump(40.5), text, types={"x": "integer"}).passed
    assert not verify(stump(40.5), text).passed


def test_rows_that_integer_columns_can_hold() -> None:
    rows = [
        *((1.0, 0.5), (0.5, 0.5), (None, 1.5), (math.nan, 0.0), (inf, 0.0)),
        *((2**63, 0.0), (2**63 - 1, 0.0), (-(2.0**63), nextafter(0.0, 1.0))),
    ]
    assert integral(rows, [0]) == [
        *((1, 0.5), (None, 1.5), (2**63 - 1, 0.0), (-(2**63), 5e-324)),
    ]
    assert integral([(1.0, 2.0), (1.0, 2.5)], [0, 1]) == [(1, 2)]
