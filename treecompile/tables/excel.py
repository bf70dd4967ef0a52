"""Read a sheet of an Excel workbook.

A workbook is a ZIP archive, so the size of what is in it is checked before it is read.
"""

from __future__ import annotations

import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from treecompile.model.errors import DataError, OptionError
from treecompile.model.files import AT_ONCE, MOST_BYTES
from treecompile.tables.header import doubt_of, numbered
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import RawTable, check_names, counted, listed, objects

EXCEL = ".xlsx"
MOST_CELLS = 1 << 26
MOST_ROWS = 1 << 20  # of Excel itself
ERROR = re.compile(r"#(?:N/A|NULL!|DIV/0!|VALUE!|REF!|NAME\?|NUM!)")


def read_excel(file: BinaryIO, name: str, how: ReadOptions) -> RawTable:
    """Read the first sheet, or the one that is named: a header, then rows.

    Numbers, text, booleans and dates keep their types. An empty cell is missing, and so
    is an error such as #N/A.
    """
    try:
        from openpyxl import load_workbook
    except ModuleNotFoundError as error:
        raise DataError(
            "Excel files need openpyxl: pip install 'treecompile[excel]'"
        ) from error
    try:
        _check_size(file, name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and other decoration
            book = load_workbook(file, read_only=True, data_only=True)
            titles = book.sheetnames
            sheet = book[_title(titles, how.sheet, name)]
            sheet.reset_dimensions()  # a file may claim a million columns
            rows = list(_rows(sheet.iter_rows(values_only=True), name))
    except (DataError, OptionError, MemoryError):
        raise
    except Exception as error:  # there is no common one for damaged files
        reason = str(error).partition("\n")[0]
        raise DataError(f"{name} is not a valid workbook: {reason}") from error
    notes: tuple[str, ...] = ()
    if not how.sheet and titles[1:]:
        notes = (f"sheet: {sheet.title!r} (of {listed(titles)}; sheet=NAME)",)
    return _table(rows, name, how, notes)


def _check_size(file: BinaryIO, name: str) -> None:
    """Refuse a workbook that expands too much; its own figures may be wrong."""
    size = 0
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            with archive.open(entry) as part:
                while data := part.read(AT_ONCE):
                    size += len(data)
                    if size > MOST_BYTES:
                        raise DataError(
                            f"{name} expands to more than {MOST_BYTES:,} bytes:"
                            " save the sheet as CSV"
                        )
    file.seek(0)


def _title(titles: list[str], wanted: str, name: str) -> str:
    if wanted and wanted not in titles:
        raise OptionError(
            f"sheet={wanted!r}: {name} has no such sheet: expected {listed(titles)}"
        )
    return wanted or titles[0]


def _rows(rows: Iterable[tuple[Any, ...]], name: str) -> Iterator[list[Any]]:
    """The rows that are not empty, without what is empty at their ends."""
    cells = 0
    for number, row in enumerate(rows, start=1):
        values = list(row)
        while values and values[-1] is None:
            values.pop()
        cells += len(row)
        if cells > MOST_CELLS or number > MOST_ROWS:
            raise DataError(
                f"{name} has more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells: save"
                " the sheet as CSV"
            )
        if values:
            yield values


def _table(
    rows: list[list[Any]], name: str, how: ReadOptions, notes: tuple[str, ...]
) -> RawTable:
    if not rows:
        raise DataError(f"{name} is empty: expected a header with the column names")
    width = len(rows[0])
    for number, row in enumerate(rows, start=1):
        if len(row) > width:
            raise DataError(
                f"{name}, row {number}: {counted(len(row), 'cell')} where the first row"
                f" has {width}: remove what is outside the table"
            )
    header = [] if how.no_header else rows.pop(0)
    names = ["" if cell is None else str(cell) for cell in header]
    columns = [
        objects([_cell(row[i]) if i < len(row) else None for row in rows])
        for i in range(width)
    ]
    table = RawTable(
        tuple(names or numbered(columns)), tuple(columns), False, name, reading=how
    )
    doubt = doubt_of(table)
    check_names(table.names, doubt)
    return replace(table, notes=notes, doubt=doubt)


def _cell(value: Any) -> Any:
    is_error = isinstance(value, str) and ERROR.fullmatch(value)
    return None if is_error else value
