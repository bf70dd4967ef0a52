"""A file or a frame becomes a table of raw columns.

Nothing is interpreted here: a text file keeps every field as text, JSON its values, a
frame its series with their dtypes; what a file declares is kept, and `data` says what
all that means. pandas is imported only for
what needs it, so that a command on a CSV file starts quickly.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from treecompile.errors import DataError
from treecompile.read.arff import read_arff
from treecompile.read.delimited import read_delimited
from treecompile.read.json_lines import read_json_lines
from treecompile.read.table import Column, Declared, Stated, Table, check_names

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Column", "Declared", "Stated", "Table", "read_table"]

read_csv = partial(read_delimited, delimiter=",")
READERS: dict[str, Callable[..., Table]] = {  # of text files, by suffix
    ".csv": read_csv,
    ".tsv": partial(read_delimited, delimiter="\t"),
    ".arff": read_arff,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
}
PARQUET = ".parquet"
STANDARD_INPUT = "-"
ENCODING = "utf-8-sig"  # UTF-8, with or without the mark that Excel puts first


def read_table(source: str | Path | pd.DataFrame) -> Table:
    """Read a file by its suffix, "-" (CSV on standard input), or a frame."""
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
            return read_csv(lines, name="standard input")
    name, suffix = Path(path).name, Path(path).suffix.lower()
    try:
        if Path(path).is_dir():
            raise DataError(f"{path!r} is a folder: name a file in it")
        if suffix == PARQUET:
            return _read_parquet(path)
        if suffix not in READERS:
            known = ", ".join((*READERS, PARQUET))
            raise DataError(f"{path!r} has an unknown suffix: expected one of {known}")
        with open(path, encoding=ENCODING, newline="") as lines:
            return READERS[suffix](lines, name=name)
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
    check_names(names)
    columns = tuple(column for _, column in frame.items())
    return Table(names, columns, text=False, source=source)
