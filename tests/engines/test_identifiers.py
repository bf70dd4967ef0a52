"""Names without quotes: the database finds the column, or the name is quoted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.databases import DATABASES
from tests.support.samples import chain
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.sql.text import Quoting, words_of
from treecompile.engines.addresses import ENGINES as ALL_ENGINES
from treecompile.engines.base import Connection
from treecompile.model.ir import Condition, Feature, Kind, Op, Program, ValueType
from treecompile.verify.verification import verify

ENGINES = [name for name in DATABASES if name in ALL_ENGINES]
ORDINARY = "age year month day date time value name type level size label status id x"
# Columns that each row of a table has anyway, and cannot have twice.
TAKEN = {"sqlite": {"rowid", "oid", "_rowid_"}, "postgres": {"oid"}}
AT_ONCE = 200  # columns of one table


def on(*names: str) -> Program:
    """A test of each feature: the first number that is not above 0.5."""
    features = tuple(Feature(name, Kind.NUMERIC, ValueType.FLOAT) for name in names)
    tests = tuple(Condition(n, Op.LE, 0.5, False) for n in range(len(names)))
    return chain(features, tests, tuple(f"of {name}" for name in (*names, "none")))


def words(engine: str) -> list[str]:
    """The reserved words of all databases, and some ordinary names."""
    found = set(ORDINARY.split())
    for name in dialect_names():
        found |= words_of(read_dialect(name).names.reserved)
    return sorted(found - TAKEN.get(engine, set()))


def chunks(names: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), AT_ONCE):
        yield names[start : start + AT_ONCE]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_without_quotes_is_the_column(engine: str) -> None:
    """Every word is written as a column, in quotes or not, and gives its own value."""
    database = DATABASES[engine]()
    quoting = Quoting(database.dialect, bare=True)
    number = database.dialect.types.number
    bare = 0
    for names in chunks(words(engine)):
        with database.sandbox(database.url) as connection:
            declared = ", ".join(f"{quoting.quoted(name)} {number}" for name in names)
            connection.execute(connection.create.format("t", declared))
            values = tuple(float(place) for place in range(len(names)))
            connection.insert("t", [number] * len(names), [values])
            written = [quoting.name(name) for name in names]
            bare += sum(map(quoting.is_bare, names))
            tests = ", ".join(
                f"CASE WHEN {w} <= -1 THEN -1 ELSE {w} END" for w in written
            )
            assert answers(connection, f"SELECT {tests} FROM t") == values
            casts = ", ".join(map(database.dialect.columns.number.fill, written))
            assert answers(connection, f"SELECT {casts} FROM t") == values
    assert bare > 100


def answers(connection: Connection, query: str) -> tuple[float, ...]:
    (row,) = connection.execute(query).fetchall()
    return tuple(map(float, row))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_name_without_quotes_is_an_alias(engine: str) -> None:
    database = DATABASES[engine]()
    quoting = Quoting(database.dialect, bare=True)
    every = 20 if engine == "spark" else 1
    with database.sandbox(database.url) as connection:
        connection.execute(connection.create.format("t", "first INTEGER"))
        connection.insert("t", ["INTEGER"], [(7,)])
        for name in words(engine)[::every]:
            alias = quoting.name(name)
            query = f"SELECT {alias}.*, {alias}.first AS {alias} FROM t {alias}"
            assert answers(connection, query) == (7.0, 7.0), name


# How an ordinary table is created, and which of our names find its columns.
CREATED = [
    ("Age {0}, Height {0}", "Age", "Height"),
    ("AGE {0}, HEIGHT {0}", "age", "height"),
    ("age {0}, height {0}", "age", "height"),
]


@pytest.mark.parametrize("declared", CREATED, ids=["mixed", "upper", "lower"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_that_was_created_without_quotes(
    engine: str, declared: tuple[str, str, str]
) -> None:
    database = DATABASES[engine]()
    columns, age, height = declared
    if database.dialect.names.fold == "lower":
        age, height = "age", "height"  # whatever the table was created as
    elif engine == "clickhouse" and "AGE" in columns:
        age, height = "AGE", "HEIGHT"  # case counts
    number = database.dialect.types.number
    options = EmitOptions(dialect=engine, form="select", table="people")
    text = emit(on(age, height), "sql", options).text.removesuffix(";\n")
    rows = [(0.5, 1.0), (0.6, 0.5), (None, 2.0)]
    with database.sandbox(database.url) as connection:
        connection.execute(connection.create.format("people", columns.format(number)))
        connection.insert("people", [number] * 2, rows)
        found = connection.execute(text).fetchall()
    expected = {0.5: f"of {age}", 0.6: f"of {height}", None: "of none"}
    assert {row[0]: row[-1] for row in found} == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_bare_and_quoted_names_are_verified(engine: str) -> None:
    url = DATABASES[engine]().url
    program = on("Age", "order", "Full name", "x")
    for form in ("expression", "view") if engine != "spark" else ("expression",):
        options = EmitOptions(dialect=engine, form=form, table="Rows")
        text = emit(program, "sql", options).text
        report = verify(program, text, url=url, budget=200)
        assert report.passed, report
        assert report.rows > 20
