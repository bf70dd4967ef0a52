"""Run an artefact where it will run: in a Python interpreter or on a real database.

A runner takes the text of an artefact and some rows, and gives one answer per row, as
the engine returned it. Nothing is left behind.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from pathlib import Path
from typing import Any

from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.text import Quoting
from treecompile.engines.base import Connection, Engine
from treecompile.model.errors import EngineError, TreecompileError
from treecompile.model.ir import Feature, Row
from treecompile.verify.claims import SqlForm, schema_of, sql_form

Answers = list[Any]


class RefusedError(Exception):
    """The engine did not run the artefact: the artefact is wrong, not the request."""


# ---------------------------------------------------------------- Python

LOADER = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("artefact", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["artefact"] = module
spec.loader.exec_module(module)
rows = json.load(sys.stdin)
"""

# Reads rows from standard input, writes [answer, probabilities, explanation] for each.
# JSON keeps the types of values apart, and doubles exact.
RUNNER = LOADER + """
predict_proba = getattr(module, "predict_proba", lambda row: {})
answers = []
columns = {name: [row[name] for row in rows] for name in rows[0]}
several = zip(module.predict_many(rows), module.predict_columns(columns))
for row, others in zip(rows, several):
    answer = module.predict(row)
    for other in others:
        if type(other) is not type(answer) or other != answer:
            raise SystemExit("predict and its plural forms disagree on %r" % (row,))
    answers.append([answer, list(predict_proba(row).values()), module.explain(row)])
json.dump(answers, sys.stdout)
"""

NEEDS_NUMPY = "import numpy as np"  # only in a module that takes whole columns

# The same for such a module.
NUMPY_RUNNER = LOADER + """
import numpy
columns = {}
for name in rows[0]:
    columns[name] = numpy.empty(len(rows), dtype=object)
    columns[name][:] = [row[name] for row in rows]
labels = module.predict(columns).tolist()
shares = [[]] * len(rows)
if hasattr(module, "predict_proba"):
    shares = module.predict_proba(columns).tolist()
json.dump([list(t) for t in zip(labels, shares, module.rules(columns))], sys.stdout)
"""


@dataclass(frozen=True, slots=True)
class PythonAnswer:
    """What a generated module says about one row."""

    label: Any
    probabilities: tuple[float, ...]
    rule: str


def run_python(text: str, features: Sequence[Feature], rows: Sequence[Row]) -> Answers:
    """Run a module in an isolated interpreter; only NumPy needs site packages."""
    if not rows:
        return []
    command = [sys.executable, "-I", "-S", "-c", RUNNER]
    if NEEDS_NUMPY in text:
        command = [sys.executable, "-I", "-c", NUMPY_RUNNER]
    names = [feature.name for feature in features]
    mappings = [dict(zip(names, row, strict=True)) for row in rows]
    with tempfile.TemporaryDirectory(prefix="treecompile-") as folder:
        path = Path(folder) / "artefact.py"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        done = subprocess.run(
            [*command, str(path)],
            input=json.dumps(mappings),
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=folder,
        )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it ended without a message"])[-1]
        raise RefusedError(last)
    return [
        PythonAnswer(label, tuple(shares), said.partition(":")[0])
        for label, shares, said in json.loads(done.stdout)
    ]


# ---------------------------------------------------------------- SQL


@dataclass(frozen=True, slots=True)
class RowTable:
    """The table that an artefact reads; its first column numbers the rows."""

    name: str  # quoted
    columns: Sequence[str]  # quoted, the row number first
    types: Sequence[str]


def run_sql(
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    engine: Engine,
    columns: Mapping[str, str] | None = None,
    number_type: str = "",
    text_type: str = "",
    outputs: int = 1,
    alias: str = "",
) -> Answers:
    """Run an expression, a query, a view or a function over a table of the rows.

    Columns of numbers and of text have the dialect's usual type, or the given one.
    With several outputs each answer is a tuple. `alias` names the table in an
    expression.
    """
    if not rows:
        return []
    dialect, renamed = engine.dialect, columns or {}
    quoting = Quoting(dialect)
    form = sql_form(text, alias and quoting.path("--alias", alias))
    usual = dialect.types
    types = replace(
        usual, number=number_type or usual.number, text=text_type or usual.text
    )
    names = [renamed.get(feature.name, feature.name) for feature in features]
    number = "row_number"
    while number.casefold() in {name.casefold() for name in names}:
        number += "_"
    table = RowTable(
        form.table or quoting.name("treecompile_rows"),
        [quoting.name(name) for name in (number, *names)],
        [usual.integer, *(types.of(feature.type) for feature in features)],
    )
    with engine.sandbox(engine.url) as connection:
        try:
            _fill(connection, dialect, table, rows)
            found = _answers(connection, dialect, form, table)
        except TreecompileError:
            raise
        except connection.errors as error:
            raise RefusedError(" ".join(str(error).split())) from None
    if len(found) != len(rows):
        raise RefusedError(f"{len(found)} rows came out of {len(rows)}")
    found.sort(key=lambda record: int(record[0]))
    if outputs == 1:
        return [record[-1] for record in found]
    return [tuple(record[-outputs:]) for record in found]


def _fill(
    connection: Connection, dialect: Dialect, table: RowTable, rows: Sequence[Row]
) -> None:
    """Create the table and insert the rows, numbered."""
    create = connection.create
    if schema := schema_of(table.name):
        create = create.replace(" TEMPORARY", "")  # which belongs to no schema
        if connection.schema is None:
            raise EngineError(
                f"{table.name}: verify works in a schema of its own on {dialect.name}:"
                " compile the artefact with a --table without a schema"
            )
        if connection.schema:
            connection.execute(connection.schema.format(schema))
    pairs = zip(table.columns, table.types, strict=True)
    declared = ", ".join(f"{name} {kind}" for name, kind in pairs)
    connection.execute(create.format(table.name, declared))
    plain = [kind.partition(" COLLATE ")[0] for kind in table.types]
    numbered: list[Any] = [(number, *row) for number, row in enumerate(rows)]
    connection.insert(table.name, plain, numbered)


def _answers(
    connection: Connection, dialect: Dialect, form: SqlForm, table: RowTable
) -> list[Any]:
    """Records whose first value is the row number and whose last are the outputs."""
    number, *names = table.columns
    query = form.text
    if form.view or form.function:
        connection.execute(query)
    if form.view:
        query = f"SELECT * FROM {form.view}"
    elif form.function:
        call = f"{form.function}({', '.join(names)})"
        query = f"SELECT {number}, {call} FROM {table.name}"
    elif not form.table:
        query = f"SELECT {number}, {query} FROM {table.name} {form.alias}"
    found = list(connection.execute(query).fetchall())
    if form.function:
        connection.execute(dialect.functions.drop.fill(name=form.function))
    return found


def can_hold(dialect: Dialect, row: Row) -> bool:
    """Whether a table of this database can hold a row."""
    for value in row:
        if isinstance(value, float) and isinf(value) and not dialect.values.infinity:
            return False
        if isinstance(value, str) and "\0" in value and not dialect.values.nul:
            return False
        if value == "" and not dialect.values.empty_text:
            return False
    return True
