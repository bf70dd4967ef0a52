"""Runs the SQL of an artefact on a real database, over a table of the rows to try.

The answers are those that the database returned, and nothing is left behind in it: the
SQL only reads, for a limited time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from typing import Any

from treecompile.emit import header
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.emit.sql.text import Quoting
from treecompile.engines.base import Connection, Engine
from treecompile.model.errors import EngineError, TreecompileError
from treecompile.model.ir import Feature, Row
from treecompile.verify.processes import TIMEOUT, RefusedError, not_in_time
from treecompile.verify.supervision import deadline

Answers = list[Any]

# ---------------------------------------------------------------- forms

NAME = r'(?:"(?:[^"]|"")*"|`(?:[^`]|``)*`|[^\W\d][\w$]*)'
PATH = rf"(?:{NAME}\s*\.\s*)*{NAME}"
BEGINNING = re.compile(
    r"(?:\s|/\*.*?\*/|--[^\n]*\n)*+"
    rf"(?:SELECT\b|WITH\b|CREATE\s+VIEW\s+(?P<view>{PATH})\s+AS\b)",
    re.IGNORECASE | re.DOTALL,
)
TEXT = re.compile(r"'(?:[^']|'')*'")
SOURCE = re.compile(rf"(?<!DISTINCT )\bFROM\s+({PATH})", re.IGNORECASE)
# What dbt replaces: {{ ref("model") }}, {{ source("shop", "table") }}. In the rest of a
# model no two braces follow each other, except to write a brace.
REFERENCE = re.compile(r'\{\{ (?:ref|source)\((".*?")\) \}\}')


@dataclass(frozen=True, slots=True)
class SqlForm:
    """One expression, query or view, and the table that it reads."""

    text: str  # without the semicolon at its end
    table: str = ""  # quoted; "" for an expression
    view: str = ""  # the view that it creates, quoted

    @property
    def schema(self) -> str:
        """Of the table; "" for none."""
        return re.sub(rf"(?:\s*\.\s*)?{NAME}$", "", self.table)


def sql_form(text: str) -> SqlForm:
    """Tell the form by the first word, and the table by the header or after FROM."""
    text = text.rstrip("; \r\n\t")
    beginning = BEGINNING.match(text)
    if beginning is None:
        return SqlForm(text)
    said = header.read(text)
    options = EmitOptions(**said.options) if said else EmitOptions()
    table = ""
    if options.table:
        quoting = Quoting(read_dialect(options.dialect), bare=True)
        table = quoting.path("table", options.table)
    if reference := REFERENCE.search(text):
        table = table or ".".join(json.loads(f"[{reference[1]}]"))
        text = dbt.rendered(
            f"{text[:reference.start()]}{table}{text[reference.end():]}"
        )
    if not table:
        source = SOURCE.search(TEXT.sub("''", text))
        table = source[1] if source else ""
    return SqlForm(text, table, beginning["view"] or "")


# ---------------------------------------------------------------- runs


def run_sql(
    text: str,
    features: Sequence[Feature],
    rows: Sequence[Row],
    engine: Engine,
    columns: Mapping[str, str] | None = None,
    number_type: str = "",
    text_type: str = "",
    outputs: int = 1,
    timeout: float = TIMEOUT,
) -> Answers:
    """Run an expression, a query or a view over a table of the rows.

    Columns of numbers and of text have the dialect's usual type, or the given one. With
    several outputs, each answer is a tuple.
    """
    if not rows:
        return []
    dialect, renamed = engine.dialect, columns or {}
    quoting = Quoting(dialect, bare=True)
    form = sql_form(text)
    usual = dialect.types
    types = replace(
        usual, number=number_type or usual.number, text=text_type or usual.text
    )
    names = [renamed.get(feature.name, feature.name) for feature in features]
    number = "row_number"
    while number.casefold() in {name.casefold() for name in names}:
        number += "_"
    columns_read = [quoting.name(name) for name in (number, *names)]
    kinds = [usual.integer, *(types.of(feature.type) for feature in features)]
    with engine.sandbox(engine.url) as connection:
        try:
            table = form.table or quoting.name("treecompile_rows")
            _create(connection, dialect, table, form.schema, columns_read, kinds)
            numbered: list[Any] = [(number, *row) for number, row in enumerate(rows)]
            plain = [kind.partition(" COLLATE ")[0] for kind in kinds]
            connection.insert(table, plain, numbered)
            query = form.text
            if not form.table:
                # The expression may end in a comment: FROM begins a new line.
                query = f"SELECT {columns_read[0]}, {query}\nFROM {table}"
            with deadline(timeout):
                if form.view:
                    connection.execute(query)
                    query = f"SELECT * FROM {form.view}"
                with connection.locked(timeout):
                    found = connection.fetch(query, len(rows) + 1)
        except TreecompileError:
            raise
        except TimeoutError:
            raise RefusedError(not_in_time(timeout)) from None
        except connection.errors as error:
            raise RefusedError(" ".join(str(error).split())) from None
    # A query has all columns of its table; an expression, the number of the row.
    return _ordered(found, len(rows), len(kinds) if form.table else 1, outputs)


def _ordered(
    found: Sequence[Sequence[Any]], rows: int, columns: int, outputs: int
) -> Answers:
    """Return the answers in the order of the rows; each row must have one record."""
    if len(found) != rows:
        more = "more than " * (len(found) > rows)
        raise RefusedError(f"{more}{min(len(found), rows)} rows came out for {rows}")
    answers: dict[Any, Any] = {}
    for record in found:
        if len(record) != columns + outputs:
            came = f"{len(record)} column{'s' * (len(record) != 1)} came out"
            raise RefusedError(f"{came}: expected {columns + outputs}")
        number = record[0]
        if type(number) is not int or not 0 <= number < rows or number in answers:
            raise RefusedError("it does not keep the columns of the table as they are")
        answers[number] = record[-1] if outputs == 1 else tuple(record[-outputs:])
    return [answers[number] for number in range(rows)]


def _create(
    connection: Connection,
    dialect: Dialect,
    table: str,
    schema: str,
    columns: Sequence[str],
    kinds: Sequence[str],
) -> None:
    """Create the table that the artefact reads; its first column numbers the rows."""
    create = connection.create
    if schema:
        create = create.replace(" TEMPORARY", "")  # which belongs to no schema
        if connection.schema is None:
            raise EngineError(
                f"{table}: verify works in a schema of its own on {dialect.name}:"
                " compile the artefact with a table without a schema"
            )
        if connection.schema:
            connection.execute(connection.schema.format(schema))
    declared = map(" ".join, zip(columns, kinds, strict=True))
    connection.execute(create.format(table, ", ".join(declared)))


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
