"""A file or a frame becomes a table of raw columns.

Nothing is interpreted here: a text file keeps every field as text, a frame keeps its
series with their dtypes, and `data` says what they mean. pandas is imported only for
what needs it, so that a command on a CSV file starts quickly.
"""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

import numpy as np

from treecompile.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = "np.ndarray | pd.Series[Any]"

DELIMITERS = {".csv": ",", ".tsv": "\t"}
PARQUET = ".parquet"
STANDARD_INPUT = "-"
ENCODING = "utf-8-sig"  # UTF-8, with or without the mark that Excel puts first
FIELD_LIMIT = 2**31 - 1  # the most that a C long holds everywhere
NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Equally long columns, by name."""

    names: tuple[str, ...]
    columns: tuple[Column, ...]  # arrays of str from a text file, series from a frame
    text: bool  # whether it comes from a text file, where "" means missing
    source: str  # the file's name without its folder, "" for a frame

    @property
    def rows(self) -> int:
        return len(self.columns[0])

    def column(self, name: str) -> Column:
        """The column of that name; an absent one is an error that names the nearest."""
        if name in self.names:
            return self.columns[self.names.index(name)]
        near = get_close_matches(name, self.names)
        if near:
            raise DataError(f"no column {name!r}: did you mean {_listed(near)}?")
        raise DataError(f"no column {name!r}: the columns are {_listed(self.names)}")


def read_table(source: str | Path | pd.DataFrame) -> Table:
    """Read a .csv, .tsv or .parquet file, "-" (CSV on standard input), or a frame."""
    if isinstance(source, (str, Path)):
        return _read_file(str(source))
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return _from_frame(source, "")
    found = type(source).__name__
    raise DataError(f"a table is a file or a pandas DataFrame, not {found}")


def _read_file(path: str) -> Table:
    if path == STANDARD_INPUT:
        with _standard_input() as lines:
            return _read_text(lines, ",", "standard input")
    name, suffix = Path(path).name, Path(path).suffix.lower()
    try:
        if Path(path).is_dir():
            raise DataError(f"{path!r} is a folder: name a file in it")
        if suffix == PARQUET:
            return _read_parquet(path)
        if suffix not in DELIMITERS:
            known = ", ".join((*DELIMITERS, PARQUET))
            raise DataError(f"{path!r} has an unknown suffix: expected one of {known}")
        with open(path, encoding=ENCODING, newline="") as lines:
            return _read_text(lines, DELIMITERS[suffix], name)
    except OSError as error:
        raise DataError(f"cannot read {path!r}: {error.strerror or error}") from error
    except ValueError as error:  # a name that no file can have: it holds a NUL
        raise DataError(f"cannot read {path!r}: {error}") from error


@contextmanager
def _standard_input() -> Iterator[TextIO]:
    lines = io.TextIOWrapper(sys.stdin.buffer, encoding=ENCODING, newline="")
    try:
        yield lines
    finally:
        lines.detach()  # or it would close standard input behind our back


def _read_text(lines: TextIO, delimiter: str, name: str) -> Table:
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
                    f"{name}, line {start}: {_count(len(record), 'field')} where the "
                    f"header has {len(header)}: correct the line or quote the field"
                )
            start = reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"{name}, line {start}: {error}: check the quotes from there on"
        ) from error
    except UnicodeDecodeError as error:
        # What could be decoded has been read: the rest of the way is in the bytes.
        line = reader.line_num + 1 + error.object[: error.start].count(b"\n")
        raise DataError(
            f"{name}, line {line}: not UTF-8 (byte 0x{error.object[error.start]:02x}): "
            "convert the file to UTF-8"
        ) from error
    finally:
        csv.field_size_limit(limit)
    if not header:
        raise DataError(f"{name} is empty: expected a header with the column names")
    _check_names(header)
    width = len(header)
    columns = [np.array(fields[i::width], dtype=object) for i in range(width)]
    return Table(tuple(header), tuple(columns), text=True, source=name)


def _read_parquet(path: str) -> Table:
    with open(path, "rb") as file:
        try:
            import pandas as pd

            # Nullable types, or integers beside a missing value would become doubles.
            frame = pd.read_parquet(
                file, engine="pyarrow", dtype_backend="numpy_nullable"
            )
        except ImportError as error:
            raise DataError(
                "Parquet needs pyarrow: pip install 'treecompile[parquet]'"
            ) from error
        except Exception as error:  # pyarrow's errors on damaged bytes have no one root
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path!r} is not sound Parquet: {reason}") from error
    return _from_frame(frame, Path(path).name)


def _from_frame(frame: pd.DataFrame, source: str) -> Table:
    import pandas as pd

    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError("column names in several levels: join each to one string")
    if frame.columns.empty:
        raise DataError("the frame has no columns")
    # A plain str: the str of numpy prints as np.str_('x') in what we generate.
    names = tuple(str(name) for name in frame.columns)
    _check_names(names)
    columns = tuple(column for _, column in frame.items())
    return Table(names, columns, text=False, source=source)


def _check_names(names: list[str] | tuple[str, ...]) -> None:
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"more than one column is named {_listed(twice)}: rename them")


def _listed(names: list[str] | tuple[str, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return shown + (", ..." if len(names) > NAMES_SHOWN else "")


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
