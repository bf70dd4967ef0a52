"""Read the fields of a large CSV file by Arrow, where it reads what `csv` would read.

Arrow splits lines on several processors. It is asked only where there can be no doubt
about the result: every quote begins or ends a field, and no field has a line end. All
other files, and all errors, are left to `delimited`, which knows the numbers of lines.
"""

from __future__ import annotations

import codecs
import csv
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from treecompile.tables.layout import BLANK, Beginning
from treecompile.tables.lines import UTF_16_MARKS
from treecompile.tables.options import ReadOptions
from treecompile.tables.texts import TextColumn

LEAST_BYTES = 8_000_000  # below, Arrow is not loaded in the time that it saves
BLOCK = 1 << 16  # bytes that are examined at a time: they stay in the cache
LONGEST = 1 << 20  # bytes of a line: those of a block of Arrow
QUOTE, NEW_LINE, RETURN = b'"\n\r'
SIGNS = b"\0", b"\r", b'"'  # lines without any of them are simple


def read_columns(
    path: str, start: Beginning, how: ReadOptions
) -> tuple[Sequence[str], list[TextColumn]] | None:
    """The first record and the columns below it, or None where `csv` has to read them.

    Without a header, the first record is a row of data, too.
    """
    layout = start.layout
    is_plain = not (layout.skips_blanks or layout.has_row_names)
    if not is_plain or layout.delimiter == BLANK or not layout.delimiter.isascii():
        return None
    if how.encoding or not start.lines or not _is_large(path):
        return None
    if find_spec("pyarrow") is None:
        return None
    try:
        header: list[str] = next(layout.reader(start.lines[:1]), [])
    except csv.Error:
        return None
    if len(header) < 2:  # a blank line would be a missing value
        return None
    with ThreadPoolExecutor(1) as pool:  # most files are simple: no need to wait
        reading = pool.submit(_texts, path, layout.delimiter, len(header), how)
        is_simple = _is_simple(path, ord(layout.delimiter), how)
        columns = reading.result()
    return (header, columns) if is_simple and columns else None


def _texts(
    path: str, delimiter: str, width: int, how: ReadOptions
) -> list[TextColumn] | None:
    import pyarrow as pa
    from pyarrow import csv as arrow

    names = [str(place) for place in range(width)]
    types = dict.fromkeys(names, pa.string())
    try:
        table = arrow.read_csv(
            path,
            arrow.ReadOptions(column_names=names, skip_rows=not how.no_header),
            arrow.ParseOptions(delimiter=delimiter),
            arrow.ConvertOptions(column_types=types, strings_can_be_null=False),
        )
    except (pa.ArrowException, OSError, ValueError):
        return None
    return [TextColumn(column) for column in table.columns]


def _is_large(path: str) -> bool:
    """Whether a path is a file worth the effort; what else it is can be read once."""
    found = Path(path)
    return found.is_file() and found.stat().st_size >= LEAST_BYTES


def _is_simple(path: str, delimiter: int, how: ReadOptions) -> bool:
    with open(path, "rb") as file:
        mark = file.read(3)
        if mark[:2] in UTF_16_MARKS or (how.no_header and mark == codecs.BOM_UTF8):
            return False
        file.seek(len(codecs.BOM_UTF8) if mark == codecs.BOM_UTF8 else 0)
        rest = b""  # a line without its end
        while block := file.read(BLOCK):
            end = block.rfind(b"\n") + 1
            has_sign = end and any(sign in rest or sign in block for sign in SIGNS)
            if has_sign and not _is_simple_block(rest + block[:end], delimiter):
                return False
            rest = block[end:] if end else rest + block
            if len(rest) > LONGEST:
                return False
    return _is_simple_block(rest, delimiter)


def _is_simple_block(lines: bytes, delimiter: int) -> bool:
    """Whether there is one way only to split whole lines into fields."""
    if b"\0" in lines:
        return False
    if b"\r" in lines and lines.count(b"\r") != lines.count(b"\r\n"):
        return False
    if b'"' not in lines:
        return True
    signs = np.frombuffer(b"\n" + lines + b"\n", np.uint8)
    marks = np.flatnonzero((signs == QUOTE) | (signs == NEW_LINE))
    quotes = np.flatnonzero(signs[marks] == QUOTE)
    if len(quotes) % 2:
        return False
    one_line = quotes[1::2] == quotes[::2] + 1  # no line ends between two quotes
    before, after = signs[marks[quotes[::2]] - 1], signs[marks[quotes[1::2]] + 1]
    begins = (before == delimiter) | (before == NEW_LINE)
    closes = (after == delimiter) | (after == NEW_LINE) | (after == RETURN)
    return bool((one_line & begins & closes).all())
