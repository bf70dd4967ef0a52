"""Columns of dates -> columns of numbers beside them (see `model.dates`)."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import replace
from typing import Any

from treecompile.model.dates import PARTS, derived
from treecompile.model.errors import DataError
from treecompile.model.values import as_date, date_part
from treecompile.tables.columns import Raw
from treecompile.tables.raw import Column, RawTable, objects


def with_dates(
    table: RawTable, dates: Collection[str], na: frozenset[str] = frozenset()
) -> RawTable:
    """The table, with the numbers of its columns of dates."""
    made: dict[str, Column] = {}
    for name in dates:
        if name in table.places:
            made |= _parts(Raw.of(table, name, na))
    kept = [name for name in table.names if name not in made]
    if not made:
        return table
    return replace(
        table,
        names=(*kept, *made),
        columns=(*map(table.column, kept), *made.values()),
    )


def refuse_taken(names: Collection[str], dates: Collection[str]) -> None:
    """Refuse a table that has a column named as one that is computed."""
    for name, (column, _) in derived(dates).items():
        if name in names:
            raise DataError(
                f"--date {column!r} makes a column {name!r}, and there is one already:"
                " rename it"
            )


def _parts(raw: Raw) -> dict[str, Column]:
    """The four columns of numbers that a column of dates gives."""
    data: Any = raw.data
    values = (data.astype(object) if hasattr(data, "dt") else data).tolist()
    blank = "" if raw.text else None
    known: dict[Any, list[Any]] = {}
    rows = []
    for row, value in enumerate(values):
        if not isinstance(value, Hashable):
            _numbers(raw, row, value)  # an error
        if value not in known:
            known[value] = [blank] * len(PARTS)
            if not raw.misses(value):
                known[value] = _numbers(raw, row, value)
        rows.append(known[value])
    columns = zip(*rows, strict=True) if rows else [()] * len(PARTS)
    names = derived([raw.name])
    return {name: objects(column) for name, column in zip(names, columns, strict=True)}


def _numbers(raw: Raw, row: int, value: Any) -> list[Any]:
    """The parts of one date: as text, if all columns are text."""
    try:
        found = as_date(raw.name, value)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"row {raw.row(row)}: {error}; if it means missing, say so with --na-value"
        ) from None
    numbers = [int(date_part(raw.name, found, part)) for part in PARTS]
    return [*map(str, numbers)] if raw.text else numbers
