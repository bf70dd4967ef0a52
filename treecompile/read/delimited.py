"""CSV and TSV: every field stays a text."""

from __future__ import annotations

import csv
from typing import TextIO

import numpy as np

from treecompile.errors import DataError
from treecompile.read.table import Table, check_names, counted, not_unicode

FIELD_LIMIT = 2**31 - 1  # the most that a C long holds everywhere


def read_delimited(lines: TextIO, delimiter: str, name: str) -> Table:
    """Read a header with the column names, and records as long as it."""
    limit = csv.field_size_limit(FIELD_LIMIT)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1  # the line on which the record begins: one record may span several
    header: list[str] = []
    fields: list[str] = []  # of all records, one after the other
    try:
        for record in reader:
            if not header:
                header = record
            elif len(record) == len(header):
                fields += record
            elif not record:  # a blank line, which is a value where it is all there is
                fields += [""] * (len(header) == 1)
            else:
                raise DataError(
                    f"{name}, line {start}: {counted(len(record), 'field')} where the "
                    f"header has {len(header)}: correct the line or quote the field"
                )
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {start}: {error}: check the quotes from there on"
        ) from error
    except UnicodeDecodeError as error:
        raise not_unicode(name, reader.line_num, error) from error
    finally:
        csv.field_size_limit(limit)
    if not header:
        raise DataError(f"{name} is empty: expected a header with the column names")
    check_names(header)
    width = len(header)
    columns = [np.array(fields[i::width], dtype=object) for i in range(width)]
    return Table(tuple(header), tuple(columns), text=True, source=name)
