"""Runs the SQL of an artefact on a real database, over a table of the rows to try.

The answers are those that the database returned, and nothing is left behind in it: the
SQL only reads, for a limited time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isinf
from typing import Any

from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.text import Quoting
from treecompile.engines.base import Connection, Engine
from treecompile.model.errors import EngineError, TreecompileError
from treecompile.model.ir import Feature, Row
from treecompile.verify.processes import TIMEOUT, not_in_time
from treecompile.verify.statements import RefusedError, SqlForm, sql_form
from treecompile.verify.supervision import deadline

Answers = list[Any]


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
    form = sql_form(text, dialect.key)
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
            _fill(connection, dialect, form, table, rows)
            with deadline(timeout):
                found = _answers(connection, form, table, len(rows), timeout)
        except TreecompileError:
            raise
        except TimeoutError:
            raise RefusedError(not_in_time(timeout)) from None
        except connection.errors as error:
            raise RefusedError(" ".join(str(error).split())) from None
    columns_read = len(table.columns) if form.table else 1  # SELECT *, or the number
    return _ordered(found, len(rows), columns_read, outputs)


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
            found_columns = f"{len(record)} column{'s' * (len(record) != 1)}"
            raise RefusedError(
                f"{found_columns} came out: expected {columns + outputs}"
            )
        number = record[0]
        if type(number) is not int or not 0 <= number < rows or number in answers:
            raise RefusedError("it does not keep the columns of the table as they are")
        answers[number] = record[-1] if outputs == 1 else tuple(record[-outputs:])
    return [answers[number] for number in range(rows)]


def _fill(
    connection: Connection,
    dialect: Dialect,
    form: SqlForm,
    table: RowTable,
    rows: Sequence[Row],
) -> None:
    """Create the table and insert the rows, numbered."""
    create = connection.create
    if schema := form.schema.rstrip(". "):
        create = create.replace(" TEMPORARY", "")  # which belongs to no schema
        if connection.schema is None:
            raise EngineError(
                f"{table.name}: verify works in a schema of its own on {dialect.name}:"
                " compile the artefact with a table without a schema"
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
    connection: Connection, form: SqlForm, table: RowTable, rows: int, timeout: float
) -> Sequence[Sequence[Any]]:
    """Run the artefact; records begin with the row number and end with the outputs."""
    query = form.text
    if form.view:
        connection.execute(query)
        query = f"SELECT * FROM {form.view}"
    elif not form.table:
        # The expression may end in a comment: FROM begins a new line.
        query = f"SELECT {table.columns[0]}, {query}\nFROM {table.name}"
    with connection.locked(timeout):
        return connection.fetch(query, rows + 1)


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
