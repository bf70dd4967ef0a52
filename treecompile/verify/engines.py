"""Running an artefact where it will run: a Python of its own, or a real database.

An engine takes the text of an artefact and rows, and gives one answer for each row, as
the engine itself typed it. Everything happens in memory and leaves nothing behind.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from treecompile.errors import EngineError, TreecompileError
from treecompile.ir import Feature, Row
from treecompile.lower.sql_names import Quoting
from treecompile.targets import ByType, Dialect, read_dialect
from treecompile.verify.drivers import DRIVERS
from treecompile.verify.drivers.base import Connection, Driver
from treecompile.verify.sql_form import schema_of, sql_form

Answers = list[Any]


class RefusedError(Exception):
    """The engine would not run the artefact: it is wrong, not the user's request."""


# ---------------------------------------------------------------- Python

LOADER = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("artefact", sys.argv[1])
module = importlib.util.module_from_spec(spec)
sys.modules["artefact"] = module
spec.loader.exec_module(module)
rows = json.load(sys.stdin)
"""

# Takes rows from standard input and writes [answer, probabilities, explanation] for
# each. Values of one type stay apart in JSON, and doubles come through exactly.
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


NEEDS_NUMPY = "import numpy as np"  # how a module says that it takes whole columns

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
    """All that a generated module says about one row."""

    label: Any
    probabilities: tuple[float, ...]
    rule: str


def run_python(text: str, features: Sequence[Feature], rows: Sequence[Row]) -> Answers:
    """Import a module in an isolated interpreter, without site packages if it can."""
    if not rows:
        return []
    whole = NEEDS_NUMPY in text
    command = [sys.executable, "-I", *([] if whole else ["-S"])]
    command += ["-c", NUMPY_RUNNER if whole else RUNNER]
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
        last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
        raise RefusedError(last)
    return [
        PythonAnswer(label, tuple(shares), said.partition(":")[0])
        for label, shares, said in json.loads(done.stdout)
    ]


# ---------------------------------------------------------------- SQL


@dataclass(frozen=True, slots=True)
class Database:
    """Where a SQL artefact is run."""

    dialect: Dialect
    driver: Driver
    url: str = ""

    @classmethod
    def named(cls, engine: str, url: str = "") -> Database:
        return cls(read_dialect(engine), DRIVERS[engine], url)


def run_sql(
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    database: Database,
    columns: Mapping[str, str] | None = None,
    number_type: str = "",
    text_type: str = "",
    outputs: int = 1,
    alias: str = "",
) -> Answers:
    """Run an expression, a query, a view or a function over a table of the rows.

    Columns of numbers and of text have the usual type of the dialect, or the given one.
    With several outputs each answer is a tuple. `alias` is what an expression calls
    the table.
    """
    if not rows:
        return []
    usual = database.dialect.types
    types = replace(
        usual, number=number_type or usual.number, text=text_type or usual.text
    )
    with database.driver.connect(database.url) as connection:
        try:
            return _run_sql(
                connection,
                database,
                text,
                features,
                rows,
                columns or {},
                types,
                outputs,
                alias and Quoting(database.dialect).path("--alias", alias),
            )
        except TreecompileError:
            raise
        except database.driver.errors() as error:
            raise RefusedError(" ".join(str(error).split())) from None


def _run_sql(
    connection: Connection,
    database: Database,
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    columns: Mapping[str, str],
    column_types: ByType,
    outputs: int,
    alias: str,
) -> Answers:
    dialect = database.dialect
    quoting = Quoting(dialect)
    form = sql_form(text, alias)
    table = form.table or quoting.name("treecompile_rows")
    names = [columns.get(feature.name, feature.name) for feature in features]
    number = "row_number"
    while number.casefold() in {name.casefold() for name in names}:
        number += "_"
    types = [column_types.of(feature.type) for feature in features]
    names, types = [number, *names], [dialect.types.integer, *types]
    declared = ", ".join(
        f"{quoting.name(name)} {kind}" for name, kind in zip(names, types, strict=True)
    )
    create = database.driver.create
    if schema := schema_of(table):
        create = create.replace(" TEMPORARY", "")  # which would be in no schema
        if database.driver.schema is None:
            raise EngineError(
                f"{table}: verify works in a schema of its own on {dialect.name}:"
                " compile the artefact with a --table that names none"
            )
        if database.driver.schema:
            connection.execute(database.driver.schema.format(schema))
    connection.execute(create.format(table, declared))
    numbered: list[Any] = [(n, *row) for n, row in enumerate(rows)]
    plain = [kind.partition(" COLLATE ")[0] for kind in types]
    database.driver.insert(connection, table, plain, numbered)
    query = form.text
    if form.view:
        connection.execute(query)
        query = f"SELECT * FROM {form.view}"
    elif form.function:
        connection.execute(query)
        given = ", ".join(map(quoting.name, names[1:]))
        query = f"SELECT {quoting.name(number)}, {form.function}({given}) FROM {table}"
    elif not form.table:
        query = f"SELECT {quoting.name(number)}, {query} FROM {table} {form.alias}"
    found = list(connection.execute(query).fetchall())
    if form.function:
        connection.execute(dialect.functions.drop.format(name=form.function))
    if len(found) != len(rows):
        raise RefusedError(f"{len(found)} rows came out of {len(rows)}")
    found.sort(key=lambda record: int(record[0]))
    if outputs == 1:
        return [record[-1] for record in found]
    return [tuple(record[-outputs:]) for record in found]


def same(expected: object, actual: object) -> bool:
    """Whether an engine's answer is the expected one, exactly and of its type."""
    if isinstance(expected, bool) and isinstance(actual, int):
        return expected == actual  # SQLite has no type of its own for booleans
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(actual, float) and math.isnan(actual)
    return type(actual) is type(expected) and actual == expected
