"""How a CSV file is written, by its first lines: delimiter, blanks, row names.

The first lines decide, so the same file is always read in the same way, however it goes
on.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from treecompile.model.errors import OptionError
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import not_unicode

DELIMITERS = ",;\t|"
BLANK = " "
NAMED = {"tab": "\t", "\\t": "\t"}
SHOWN = {"\t": "tab"}
DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]*,[0-9]+\s*")
FIRST_LINES = 20  # that show how a file is written
FIRST_CHARACTERS = 1 << 20
QUOTED = re.compile(r'"[^"]*("|$)')


@dataclass(frozen=True, slots=True)
class CsvLayout:
    """How to split the lines of a file into fields."""

    delimiter: str
    skips_blanks: bool = False  # at the beginning of fields
    has_row_names: bool = False  # in a first column that the header does not name
    notes: tuple[str, ...] = ()  # what a user should know
    doubt: str = ""  # why this may be wrong

    def reader(self, lines: Iterable[str]) -> Any:
        """What `csv.reader` makes of some lines."""
        if self.delimiter == BLANK:
            lines = (line.replace("\t", BLANK).rstrip() + "\n" for line in lines)
        skips = self.skips_blanks or self.delimiter == BLANK  # in runs of blanks
        return csv.reader(
            lines, delimiter=self.delimiter, skipinitialspace=skips, strict=True
        )


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first lines of a file, and how it is written."""

    lines: list[str]
    layout: CsvLayout


def beginning(lines: TextIO, name: str, how: ReadOptions, usual: str) -> Beginning:
    """Read the first lines. `usual` is the delimiter that the suffix stands for."""
    first: list[str] = []
    try:
        first += first_lines(lines)
    except UnicodeDecodeError as error:
        raise not_unicode(name, len(first), error) from error
    given = _given(how)
    delimiter, doubt = given or usual, ""
    notes: list[str] = []
    if not delimiter:
        delimiter, doubt, notes = _found(first, name)
    skips = delimiter != BLANK and has_blanks(first, delimiter)
    if skips:
        notes.append(
            f"blanks after each {SHOWN.get(delimiter, repr(delimiter))} are skipped"
        )
    layout = CsvLayout(delimiter, skips)
    has_row_names = not how.no_header and _has_row_names(first, layout)
    if has_row_names:
        notes.append(
            "the header is one name short, as R writes it: the first column has the"
            " names of the rows, and is left out"
        )
    layout = CsvLayout(delimiter, skips, has_row_names, tuple(notes), doubt)
    return Beginning(first, layout)


def first_lines(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a file that show how it is written."""
    count = size = 0
    for line in lines:
        yield line
        count, size = count + 1, size + len(line)
        if count == FIRST_LINES or size > FIRST_CHARACTERS:
            return


def has_blanks(first: Sequence[str], delimiter: str) -> bool:
    """Whether a blank follows every delimiter, as in `39, Private, 77516`.

    The first line may have the names of the columns, and need not have blanks.
    """
    text = QUOTED.sub("", "".join(first[1:] or first))
    return 0 < text.count(delimiter) == text.count(delimiter + " ")


# ---------------------------------------------------------------- the delimiter


def _given(how: ReadOptions) -> str:
    delimiter = NAMED.get(how.delimiter, how.delimiter)
    if len(delimiter) > 1 or delimiter in ('"', "\n", "\r", "\0"):
        raise OptionError(
            f"delimiter={how.delimiter!r}: expected one character other than a quote,"
            " or tab"
        )
    return delimiter


def _note(delimiter: str) -> list[str]:
    return [f"delimiter: {SHOWN.get(delimiter, repr(delimiter))}"]


def _found(first: Sequence[str], name: str) -> tuple[str, str, list[str]]:
    """The delimiter that makes equally many fields of the first lines; doubt and notes.

    A comma that does wins, unless all commas are in numbers such as 1,5. Between
    others, the most fields decide.
    """
    widths = {sign: _width(first, sign) for sign in DELIMITERS}
    comma = DELIMITERS[0]
    best = max(DELIMITERS[1:], key=widths.__getitem__)  # of several, the first
    is_other = widths[comma] < 2 or _has_decimal_commas(first, best)
    if is_other and widths[best] >= 2:
        return best, "", _note(best)
    if 2 <= widths[comma] <= widths[best]:
        said = f"delimiter: ',' ({SHOWN.get(best, repr(best))} is possible, too)"
        return comma, "", [f"{said}: if this is wrong, add delimiter"]
    if widths[comma] < 2 and len(first) > 1 and _width(first, BLANK) >= 2:
        return comma, f"{name}: blanks separate the columns: add delimiter=' '", []
    return comma, "", []


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
    layout = CsvLayout(delimiter, has_blanks(first, delimiter))
    widths = [len(record) for record in _first_records(first, layout)]
    if len(set(widths)) == 1 or _has_row_names(first, layout):
        return widths[-1]
    return 0


def _first_records(first: Sequence[str], layout: CsvLayout) -> list[list[str]]:
    """The records in the first lines that are not empty; none if they are damaged."""
    records: list[list[str]] = []
    try:
        for record in layout.reader(first):
            records += [record] if record else []
    except csv.Error:
        # A record may go on in the next lines, but not in the first record.
        if len(first) < FIRST_LINES:
            return []
    return records


# ---------------------------------------------------------------- row names


def _has_row_names(first: Sequence[str], layout: CsvLayout) -> bool:
    """Whether the header is one name short because the first column has row names.

    A comma in an unquoted field looks the same. So the names must be quoted, or have
    blanks or tabs behind them.
    """
    header, *records = _first_records(first, layout) or [[]]
    if len(header) < 2 or {len(record) for record in records} != {len(header) + 1}:
        return False
    names = [record[0] for record in records]
    if "" in names or not any(record[-1] for record in records):
        return False
    is_quoted = all(line.lstrip().startswith('"') for line in first[1:] if line.strip())
    return is_quoted or layout.delimiter in (BLANK, "\t")
