"""Read CSV and its relatives, with the layout that their first lines show."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from typing import TextIO

from treecompile.model.errors import DataError
from treecompile.tables.arrow_csv import read_columns
from treecompile.tables.header import doubt_of, numbered
from treecompile.tables.layout import Beginning, beginning
from treecompile.tables.lines import MOST_BYTES
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import (
    Column,
    RawTable,
    check_names,
    counted,
    not_unicode,
    objects,
)

ROW_NAMES = ""  # the name of their column, until it is left out


def read_delimited(
    lines: TextIO,
    name: str,
    how: ReadOptions = ReadOptions(),
    usual: str = "",
    path: str = "",
) -> RawTable:
    """Read the column names, then records of the same length.

    `usual` is the delimiter that the suffix of the file stands for. `path` is that of a
    file that has these lines as they are.
    """
    limit = csv.field_size_limit(MOST_BYTES)
    try:
        start = beginning(lines, name, how, usual)
        header, columns = _columns(start, lines, name, how, path)
    finally:
        csv.field_size_limit(limit)
    notes = start.layout.notes
    table = RawTable(
        tuple(header), tuple(columns), True, name, notes=notes, reading=how
    )
    doubt = start.layout.doubt or doubt_of(table)
    check_names(header, doubt)
    return replace(table, doubt=doubt)


def _columns(
    start: Beginning, lines: TextIO, name: str, how: ReadOptions, path: str
) -> tuple[list[str], list[Column]]:
    """The header, and the column below each of its names."""
    found = read_columns(path, start, how) if path else None
    if found:
        first, texts = found
        return numbered(first) if how.no_header else list(first), [*texts]
    header, fields = _records(start, lines, name, how)
    width = len(header)
    columns: list[Column] = [objects(fields[i::width]) for i in range(width)]
    if start.layout.has_row_names:
        _check_row_names(fields[::width], name)
        del header[0], columns[0]
    return header, columns


def _records(
    first: Beginning, lines: Iterable[str], name: str, how: ReadOptions
) -> tuple[list[str], list[str]]:
    """The header, and the fields of all records, one after the other."""
    watched = _Watched(chain(first.lines, lines))
    reader = first.layout.reader(watched)
    start = 1  # the first line of the current record, which may span several
    header: list[str] = []
    fields: list[str] = []
    try:
        for record in reader:
            if len(record) == len(header) and header:
                fields += record
            elif not record:  # a blank line; in a single column it is a missing value
                fields += [""] * (len(header) == 1)
            elif not header:
                header = numbered(record) if how.no_header else record
                header = [ROW_NAMES] * first.layout.has_row_names + header
                fields += record if how.no_header else ()
            else:
                said = f"{counted(len(record), 'field')} where the first line has"
                raise DataError(
                    first.layout.doubt
                    or f"{name}, line {start}: {said} {len(header)}:"
                    " correct the line, quote the field, or set the delimiter"
                )
            start = reader.line_num + 1
    except csv.Error as error:
        advice = "check the quotes from there on"
        if watched.last_backslash >= start:
            advice = 'for a quote inside quotes, write "" instead of \\"'
        where = f"{name}, line {start}"
        raise DataError(f"{where}: {error}: {advice}") from error
    except UnicodeDecodeError as error:
        raise not_unicode(name, reader.line_num, error) from error
    if not header:
        raise DataError(f"{name} is empty: expected a header with the column names")
    return header, fields


class _Watched:
    """Lines, and the number of the last that escapes a quote by a backslash."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = lines
        self.last_backslash = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self.lines, start=1):
            if '\\"' in line:
                self.last_backslash = number
            yield line


def _check_row_names(names: list[str], name: str) -> None:
    """Refuse a first column that cannot have the names of the rows."""
    seen: set[str] = set()
    for each in names:
        if each in seen:
            raise DataError(
                f"{name}: the header is one name short, and the first column cannot"
                f" have the names of the rows, since it has {each!r} twice: complete"
                " the header"
            )
        seen.add(each)
