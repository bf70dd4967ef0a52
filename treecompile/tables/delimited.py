"""Read CSV and its relatives: find the delimiter, and doubt a header of data.

The first lines decide both, so the same file is always read in the same way, however it
goes on.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TextIO

from treecompile.model.errors import DataError, OptionError
from treecompile.tables.lines import MOST_BYTES
from treecompile.tables.numbers import is_numeric
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import (
    SUSPECTS,
    Column,
    RawTable,
    check_names,
    counted,
    listed,
    not_unicode,
    objects,
)

DELIMITERS = ",;\t|"
NAMED = {"tab": "\t", "\\t": "\t"}
DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+\s*")
SHOWN = {"\t": "tab"}
FIRST_LINES = 20  # in which the delimiter is looked for
FIRST_CHARACTERS = 1 << 20
ORANGE_TYPES = frozenset(
    ["c", "d", "s", "t", "continuous", "discrete", "string", "time"]
)
ORANGE_ROLES = frozenset(["", "class", "meta", "ignore", "i", "weight", "w"])
FIRST_ROWS = 1_000  # with which the header is compared
SAMPLE = 100  # of them, that are looked at for numbers


def read_delimited(
    lines: TextIO, name: str, how: ReadOptions = ReadOptions(), usual: str = ""
) -> RawTable:
    """Read the column names, then records of the same length.

    `usual` is the delimiter that the suffix of the file stands for.
    """
    limit = csv.field_size_limit(MOST_BYTES)
    try:
        first, delimiter = [], _given(how) or usual
        notes: tuple[str, ...] = ()
        if not delimiter:
            first = _first_lines(lines, name)
            delimiter, notes = _found(first)
        header, fields = _records(chain(first, lines), delimiter, name, how)
    finally:
        csv.field_size_limit(limit)
    width = len(header)
    columns = tuple(objects(fields[i::width]) for i in range(width))
    table = RawTable(tuple(header), columns, True, name, notes=notes, reading=how)
    doubt = doubt_of(table)
    check_names(header, doubt)
    return replace(table, doubt=doubt)


def _records(
    lines: Iterator[str], delimiter: str, name: str, how: ReadOptions
) -> tuple[list[str], list[str]]:
    """The header, and the fields of all records, one after the other."""
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
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
                fields += record if how.no_header else ()
            else:
                raise DataError(
                    f"{name}, line {start}: {counted(len(record), 'field')} where the"
                    f" first line has {len(header)}: correct the line, quote the field,"
                    " or set the --delimiter"
                )
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {start}: {error}: check the quotes from there on"
        ) from error
    except UnicodeDecodeError as error:
        raise not_unicode(name, reader.line_num, error) from error
    if not header:
        raise DataError(f"{name} is empty: expected a header with the column names")
    return header, fields


def numbered(record: Sequence[object]) -> list[str]:
    """The names of columns without a header."""
    return [f"c{number}" for number in range(1, len(record) + 1)]


# ---------------------------------------------------------------- the delimiter


def _given(how: ReadOptions) -> str:
    delimiter = NAMED.get(how.delimiter, how.delimiter)
    if len(delimiter) > 1 or delimiter in ('"', "\n", "\r", "\0"):
        raise OptionError(
            f"--delimiter {how.delimiter!r}: expected one character other than a quote,"
            " or tab"
        )
    return delimiter


def _first_lines(lines: TextIO, name: str) -> list[str]:
    first: list[str] = []
    size = 0
    try:
        for line in lines:
            first.append(line)
            size += len(line)
            if len(first) == FIRST_LINES or size > FIRST_CHARACTERS:
                break
    except UnicodeDecodeError as error:
        raise not_unicode(name, len(first), error) from error
    return first


def _found(first: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The delimiter that makes equally many fields of the first lines, and notes.

    A comma that does wins, unless all commas are in numbers such as 1,5. Between
    others, the most fields decide.
    """
    widths = {sign: _width(first, sign) for sign in DELIMITERS}
    comma = DELIMITERS[0]
    best = max(DELIMITERS[1:], key=widths.__getitem__)  # of several, the first
    is_other = widths[comma] < 2 or _has_decimal_commas(first, best)
    if is_other and widths[best] >= 2:
        return best, (f"delimiter: {SHOWN.get(best, repr(best))}",)
    if 2 <= widths[comma] <= widths[best]:
        said = f"delimiter: ',' ({SHOWN.get(best, repr(best))} is possible, too)"
        return comma, (f"{said}: if this is wrong, add --delimiter",)
    return comma, ()


def _has_decimal_commas(first: Sequence[str], delimiter: str) -> bool:
    """Whether the fields that have a comma are numbers, and there are some."""
    try:
        records = [*csv.reader(first, delimiter=delimiter, strict=True)]
    except csv.Error:
        return False
    fields = [field for record in records for field in record if "," in field]
    return bool(fields) and all(map(DECIMAL_COMMA.fullmatch, fields))


def _width(first: Sequence[str], delimiter: str) -> int:
    """The number of fields in each of the first records; 0 if they differ."""
    widths = set()
    try:
        for record in csv.reader(first, delimiter=delimiter, strict=True):
            widths |= {len(record)} if record else set()
    except csv.Error:
        # A record may go on in the next lines, but not in the first record.
        if not widths or len(first) < FIRST_LINES:
            return 0
    return widths.pop() if len(widths) == 1 else 0


# ---------------------------------------------------------------- the header


def doubt_of(table: RawTable) -> str:
    """Why the first lines may not be names, then data; "" if the user says they are.

    It is data if a name is a number above numbers, or most names are also values of
    their columns, and if no name is a word above numbers.
    """
    how = table.reading
    if how.header and how.no_header:
        raise OptionError("give --header or --no-header, not both")
    if how.header or how.no_header:
        return ""
    if _describes_columns(table):
        return (
            f"{table.source}: lines 2 and 3 describe the columns, as Orange writes"
            " them: remove them, or add --header if they are data"
        )
    votes = []
    for name, column in zip(table.names, table.columns, strict=True):
        votes.append(_vote(name, column))
        if votes[-1] == "name":
            return ""
    if "number" not in votes and 2 * votes.count("value") <= len(votes):
        return ""
    return (
        f"{table.source}: the first line looks like data, not like column names"
        f" ({listed(table.names)}): add --no-header to name the columns c1, c2, ...,"
        " or --header if these are the names"
    )


def _describes_columns(table: RawTable) -> bool:
    """Whether a line of types and a line of roles follow the names, as in Orange."""
    if table.rows < 2:
        return False
    types = {str(column[0]).strip() for column in table.columns}
    roles = {str(column[1]).strip() for column in table.columns}
    has_role = bool(roles & {"class", "meta"})
    return has_role and roles <= ORANGE_ROLES and bool(types & ORANGE_TYPES)


def _vote(name: str, column: Column) -> str:
    """What a name looks like: "name", "number", "value", or "" for undecided."""
    values = column[:FIRST_ROWS].tolist()
    name = name.strip()
    if not name or name in SUSPECTS:
        return ""
    texts = [str(value).strip() for value in values if value is not None]
    if name in texts:
        return "number" if is_numeric(name) else "value"
    sample = texts[:SAMPLE]
    numbers = sum(map(is_numeric, sample))
    if 2 * numbers < len(sample) or not numbers:
        return ""
    return "number" if is_numeric(name) else "name"
