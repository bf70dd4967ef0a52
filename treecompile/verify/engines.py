"""Running an artefact where it will run: a Python of its own, or a real database.

An engine takes the text of an artefact and rows, and gives one answer for each row, as
the engine itself typed it. Everything happens in memory and leaves nothing behind.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from treecompile.errors import EngineError
from treecompile.ir import Feature, Row
from treecompile.lower.sql import Quoting
from treecompile.targets import Dialect, read_dialect

Answers = list[Any]


class RefusedError(Exception):
    """The engine would not run the artefact: it is wrong, not the user's request."""


# ---------------------------------------------------------------- Python

# Reads rows from standard input and writes [answer, probabilities, explanation] for
# each. Values of one type stay apart in JSON, and doubles come through exactly.
RUNNER = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("artefact", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["artefact"] = module
spec.loader.exec_module(module)
rows = json.load(sys.stdin)
predict_proba = getattr(module, "predict_proba", lambda row: {})
answers = []
for row, many in zip(rows, module.predict_many(rows)):
    answer = module.predict(row)
    if type(many) is not type(answer) or many != answer:
        raise SystemExit("predict_many and predict disagree on %r" % (row,))
    answers.append([answer, list(predict_proba(row).values()), module.explain(row)])
json.dump(answers, sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class PythonAnswer:
    """All that a generated module says about one row."""

    label: Any
    probabilities: tuple[float, ...]
    rule: str


def run_python(text: str, features: Sequence[Feature], rows: Sequence[Row]) -> Answers:
    """Import a module in an isolated interpreter without site packages."""
    names = [feature.name for feature in features]
    mappings = [dict(zip(names, row, strict=True)) for row in rows]
    with tempfile.TemporaryDirectory(prefix="treecompile-") as folder:
        path = Path(folder) / "artefact.py"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", RUNNER, str(path)],
            input=json.dumps(mappings),
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=folder,
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise RefusedError(last)
    return [
        PythonAnswer(label, tuple(shares), said.partition(":")[0])
        for label, shares, said in json.loads(done.stdout)
    ]


# ---------------------------------------------------------------- SQL


class Connection(Protocol):
    """What both drivers below, and most others, have in common."""

    def execute(self, query: str, parameters: Any = ..., /) -> Any: ...


@dataclass(frozen=True, slots=True)
class Driver:
    """How to open a database and to fill a table quickly."""

    connect: Callable[[], AbstractContextManager[Connection]]
    fill: Callable[[Connection, str, Sequence[str], Sequence[Row]], None]
    error: Callable[[], type[Exception]]


def _connect_sqlite() -> AbstractContextManager[Connection]:
    return closing(sqlite3.connect(":memory:"))


def _fill_sqlite(
    connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
) -> None:
    marks = ", ".join("?" * len(types))
    for row in rows:
        connection.execute(f"INSERT INTO {table} VALUES ({marks})", row)


def _connect_duckdb() -> AbstractContextManager[Connection]:
    try:
        import duckdb
    except ImportError:
        raise EngineError(
            "DuckDB is not installed: pip install 'treecompile[duckdb]'"
        ) from None
    connection: AbstractContextManager[Connection] = duckdb.connect(":memory:")
    return connection


def _fill_duckdb(
    connection: Connection, table: str, types: Sequence[str], rows: Sequence[Row]
) -> None:
    # Row by row takes a millisecond each; whole columns go in as lists.
    lists = ", ".join(f"unnest(?::{kind}[])" for kind in types)
    columns = [list(column) for column in zip(*rows, strict=True)]
    if rows:
        connection.execute(f"INSERT INTO {table} SELECT {lists}", columns)


def _duckdb_error() -> type[Exception]:
    import duckdb

    return duckdb.Error


DRIVERS: dict[str, Driver] = {
    "sqlite": Driver(_connect_sqlite, _fill_sqlite, lambda: sqlite3.Error),
    "duckdb": Driver(_connect_duckdb, _fill_duckdb, _duckdb_error),
}


def run_sql(
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    engine: str,
    columns: Mapping[str, str],
) -> Answers:
    """Run an expression, a select or a view over a table of the rows."""
    driver = DRIVERS[engine]
    dialect = read_dialect(engine)
    with driver.connect() as connection:
        try:
            return _run_sql(connection, driver, dialect, text, features, rows, columns)
        except driver.error() as error:
            raise RefusedError(" ".join(str(error).split())) from None


def _run_sql(
    connection: Connection,
    driver: Driver,
    dialect: Dialect,
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    columns: Mapping[str, str],
) -> Answers:
    quoting = Quoting(dialect)
    form = sql_form(text)
    table = form.table or quoting.name("treecompile_rows")
    names = [columns.get(feature.name, feature.name) for feature in features]
    number = "row_number"
    while number.casefold() in {name.casefold() for name in names}:
        number += "_"
    types = [dialect.types.of(feature.type) for feature in features]
    declared = ", ".join(
        f"{quoting.name(name)} {kind}" for name, kind in zip(names, types, strict=True)
    )
    number_type = dialect.types.integer
    for statement in _make_schema(table, dialect):
        connection.execute(statement)
    connection.execute(
        f"CREATE TABLE {table} ({quoting.name(number)} {number_type}, {declared})"
    )
    numbered: list[Any] = [(n, *row) for n, row in enumerate(rows)]
    driver.fill(connection, table, [number_type, *types], numbered)
    query = text.strip().rstrip(";")
    if form.view:
        connection.execute(query)
        query = f"SELECT * FROM {form.view}"
    elif not form.table:
        query = f"SELECT {quoting.name(number)}, {query} FROM {table}"
    found = connection.execute(query).fetchall()
    if len(found) != len(rows):
        raise RefusedError(f"{len(found)} rows came out of {len(rows)}")
    found.sort(key=lambda record: int(record[0]))
    return [record[-1] for record in found]


def _make_schema(table: str, dialect: Dialect) -> list[str]:
    schema, dot, _ = table.rpartition(f"{dialect.names.quote}.")
    if not dot or dialect.engine == "sqlite":
        return []
    return [f"CREATE SCHEMA IF NOT EXISTS {schema}{dialect.names.quote}"]


@dataclass(frozen=True, slots=True)
class SqlForm:
    table: str = ""  # as quoted in the text; "" for a bare expression
    view: str = ""


COMMENT = re.compile(r"\s*(?:/\*.*?\*/|--[^\n]*\n)", re.DOTALL)
QUOTED = r"""(?:`[^`]*`|"[^"]*"|\w+)+"""
PATH = rf"{QUOTED}(?:\.{QUOTED})*"


def sql_form(text: str) -> SqlForm:
    """Whether a text is an expression, a select or a view, and what it reads."""
    rest = text
    while match := COMMENT.match(rest):
        rest = rest[match.end() :]
    created = re.match(rf"\s*CREATE\s+VIEW\s+({PATH})\s+AS\b", rest, re.IGNORECASE)
    if not created and not re.match(r"\s*SELECT\b", rest, re.IGNORECASE):
        return SqlForm()
    source = re.search(rf"\bFROM\s+({PATH})\s*;?\s*\Z", rest, re.IGNORECASE)
    if not source:
        raise EngineError("a query must end in FROM and the name of one table")
    return SqlForm(source.group(1), created.group(1) if created else "")


def same(expected: object, actual: object) -> bool:
    """Whether an engine's answer is the expected one, exactly and of its type."""
    if isinstance(expected, bool) and isinstance(actual, int):
        return expected == actual  # SQLite has no type of its own for booleans
    if isinstance(expected, float) and math.isnan(expected):
        return False
    return type(actual) is type(expected) and actual == expected
