"""Runs the SQL of an artefact on a real database, over a table of the rows to try.

The answers are those that the database returned, and nothing is left behind in it: the
SQL only reads, for a limited time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import isinf
from typing import Any

from treecompile.emit import header
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.outputs import DBT, EXPRESSION, SELECT, VIEW
from treecompile.emit.sql.text import Quoting
from treecompile.engines.base import Connection, Engine
from treecompile.model.errors import EngineError, TreecompileError
from treecompile.model.ir import Feature, Row
from treecompile.verify.processes import TIMEOUT, RefusedError, deadline, not_in_time

ROWS = "treecompile_rows"  # the table, where the artefact names none
# What dbt replaces: {{ ref("model") }}. The text of a dbt model writes no other braces
# like that.
REFERENCE = re.compile(r"\{\{ (?:ref|source)\(.*?\) \}\}")
NAME = r'(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\W\d][\w$]*)'
PATH = rf"{NAME}(?:\.{NAME})*"
QUERY = re.compile(rf"\s*(?:SELECT|WITH|CREATE VIEW (?P<view>{PATH}) AS)\b")
TEXT = re.compile(r"'(?:[^']|'')*'")
SOURCE = re.compile(rf"(?<!DISTINCT )\bFROM ({PATH})")


def read_options(text: str, **given: Any) -> EmitOptions:
    """Return the options of SQL by its header, or else by its first word and FROM."""
    if said := header.read(text):
        return EmitOptions(**said.options)
    query, source = QUERY.match(text), SOURCE.search(TEXT.sub("''", text))
    if query is None:
        return EmitOptions(comments=False, **given)
    if REFERENCE.search(text):
        return EmitOptions(form=DBT, table=ROWS, comments=False, **given)
    view, table = query["view"] or "", source[1] if source else ROWS
    return EmitOptions(
        form=VIEW if view else SELECT,
        table=table.replace("`", '"'),
        name=view.replace("`", '"'),
        comments=False,
        **given,
    )


def run_sql(
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    engine: Engine,
    options: EmitOptions | None = None,
    number_type: str = "",
    text_type: str = "",
    timeout: float = TIMEOUT,
) -> list[Any]:
    """Run an expression, a query or a view over a table of the rows.

    Columns of numbers and of text have the dialect's usual type, or the given one. If
    the options name several outputs, each answer is a tuple.
    """
    if not rows:
        return []
    options, types = options or read_options(text), engine.dialect.types
    types = replace(
        types, number=number_type or types.number, text=text_type or types.text
    )
    names = [options.columns.get(feature.name, feature.name) for feature in features]
    number = "row_number"
    while number.casefold() in {name.casefold() for name in names}:
        number += "_"
    quoting = Quoting(engine.dialect, bare=True)
    names = [quoting.name(name) for name in (number, *names)]
    kinds = [types.integer, *(types.of(feature.type) for feature in features)]
    query, table = text.rstrip("; \r\n\t"), ROWS
    if options.form == EXPRESSION:  # it may end in a comment: FROM begins a new line
        query = f"SELECT {names[0]}, {query}\nFROM {table}"
    elif options.form == DBT:
        query = dbt.rendered(REFERENCE.sub(table, query, count=1))
    else:
        table = quoting.path("table", options.table)
    with engine.sandbox(engine.url) as connection:
        try:
            _create(connection, table, names, kinds)
            plain = [kind.partition(" COLLATE ")[0] for kind in kinds]
            numbered = [(number, *row) for number, row in enumerate(rows)]
            connection.insert(table, plain, numbered)
            with deadline(timeout):
                if options.form == VIEW:
                    connection.execute(query)
                    view = quoting.path("name", options.name or "predictions")
                    query = f"SELECT * FROM {view}"
                with connection.locked(timeout):
                    found = connection.fetch(query, len(rows) + 1)
        except TreecompileError:
            raise
        except TimeoutError:
            raise RefusedError(not_in_time(timeout)) from None
        except connection.errors as error:
            raise RefusedError(" ".join(str(error).split())) from None
    # A query has all columns of its table; an expression, the number of the row.
    columns = 1 if options.form == EXPRESSION else len(kinds)
    return _ordered(found, len(rows), columns, options.output.count(",") + 1)


def _create(
    connection: Connection, table: str, names: Sequence[str], kinds: Sequence[str]
) -> None:
    """Create the table that the artefact reads; its first column numbers the rows."""
    create = connection.create
    if schema := re.sub(rf"\.?{NAME}$", "", table):
        create = create.replace(" TEMPORARY", "")  # which belongs to no schema
        if connection.schema is None:
            raise EngineError(
                f"{table}: verify works in a schema of its own on this database:"
                " compile the artefact with a table without a schema"
            )
        if connection.schema:
            connection.execute(connection.schema.format(schema))
    columns = ", ".join(map(" ".join, zip(names, kinds, strict=True)))
    connection.execute(create.format(table, columns))


def _ordered(
    found: Sequence[Sequence[Any]], rows: int, columns: int, outputs: int
) -> list[Any]:
    """Return the answers in the order of the rows; each row must have one record."""
    if len(found) != rows:
        came = f"more than {rows}" if len(found) > rows else len(found)
        raise RefusedError(f"{came} rows came out for {rows}")
    answers: dict[Any, Any] = {}
    for record in found:
        if len(record) != columns + outputs:
            expected = f"expected {columns + outputs} columns"
            raise RefusedError(f"{expected}, not the {len(record)} that came out")
        number = record[0]
        if type(number) is not int or not 0 <= number < rows or number in answers:
            raise RefusedError("it does not keep the columns of the table as they are")
        answers[number] = record[-1] if outputs == 1 else tuple(record[-outputs:])
    return [answers[number] for number in range(rows)]


def holdable(dialect: Dialect, rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows that a table of this database can hold."""
    values = {value for row in rows for value in row}
    barred = {value for value in values if not can_hold(dialect, (value,))}
    return [row for row in rows if barred.isdisjoint(row)] if barred else rows


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
