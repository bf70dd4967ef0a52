"""Read a file or a frame into a table of raw columns.

No value is interpreted here. A CSV field stays text, a JSON value keeps its type, and a
series of a frame keeps its dtype. `roles` decides what it all means. pandas is imported
only where it is needed, so that a command on a CSV file starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, TypeAlias

from treecompile.model.errors import DataError, OptionError
from treecompile.model.files import refuse_pickle
from treecompile.model.options import check_values, options_of
from treecompile.model.unicode import file_name
from treecompile.tables.delimited import read_delimited
from treecompile.tables.excel import EXCEL, read_excel
from treecompile.tables.json_objects import read_json, read_json_lines
from treecompile.tables.lines import inner_suffix, open_lines, standard_input
from treecompile.tables.options import ReadOptions
from treecompile.tables.packed import PACKED
from treecompile.tables.polars import PolarsFrame, from_polars, is_polars
from treecompile.tables.raw import RawTable, check_names

if TYPE_CHECKING:
    import pandas as pd

PARQUET = ".parquet"
STANDARD_INPUT = "-"


Source: TypeAlias = "str | Path | pd.DataFrame | PolarsFrame"
Reader = Callable[[TextIO, str], RawTable]
# By suffix, the delimiter that it stands for.
DELIMITED = {".csv": "", ".tsv": "\t", ".tab": "\t", ".txt": "", ".data": ""}
READERS: dict[str, Reader] = {  # of other text files
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".json": read_json,
}
OTHERS = (PARQUET, EXCEL)


def read_table(source: Source, how: ReadOptions = ReadOptions()) -> RawTable:
    """Read a file by its suffix, "-" (CSV on standard input), or a frame.

    A frame is one of pandas, or of polars.
    """
    check_values(how)
    if isinstance(source, (str, Path)):
        return replace(_read_file(str(source), how), reading=how)
    import pandas as pd

    if is_polars(source):
        source = from_polars(source)
    if not isinstance(source, pd.DataFrame):
        found = type(source).__name__
        raise DataError(f"a table is a file or a DataFrame, not {found}")
    refuse_format(how, "a DataFrame", FORMAT)
    return _from_frame(source, "")


FORMAT = tuple(name for name in options_of(ReadOptions) if name != "na_values")
OF_DELIMITED = ("delimiter", "decimal", "no_header")


def refuse_format(how: ReadOptions, thing: str, names: Iterable[str]) -> None:
    """Refuse options that a kind of file does not have."""
    options = options_of(ReadOptions)
    for each in map(options.__getitem__, names):
        if getattr(how, each.name) != each.default:
            raise OptionError(f"{each.keyword} is not for {thing}: leave it out")


def _read_file(path: str, how: ReadOptions) -> RawTable:
    if path == STANDARD_INPUT:
        refuse_format(how, "CSV", ("sheet",))
        with standard_input("standard input", how.encoding) as lines:
            return read_delimited(lines, "standard input", how)
    name, suffix = file_name(Path(path).name), inner_suffix(path)
    try:
        if not path:
            raise DataError("the name of the data file is empty: name a file")
        if Path(path).is_dir():
            raise DataError(f"{path!r} is a folder: name a file in it")
        if suffix == Path(path).suffix.lower() and suffix in OTHERS:
            return _read_typed(path, name, suffix, how)
        if suffix not in DELIMITED and suffix not in READERS:
            refuse_pickle(path, DataError)
            known = ", ".join((*DELIMITED, *READERS, *OTHERS))
            raise DataError(
                f"{path!r} has an unknown suffix: expected one of {known}; a text file"
                f" may be compressed ({' or '.join(PACKED)})"
            )
        refuse_format(how, f"{suffix} files", ("sheet",))
        if suffix not in DELIMITED:
            refuse_format(how, f"{suffix} files", OF_DELIMITED)
        with open_lines(path, name, how.encoding) as lines:
            if suffix in DELIMITED:
                as_is = path if suffix == Path(path).suffix.lower() else ""
                return read_delimited(lines, name, how, DELIMITED[suffix], as_is)
            return READERS[suffix](lines, name)
    except OSError as error:
        raise DataError(f"cannot read {path!r}: {error.strerror or error}") from error
    except ValueError as error:  # the name contains a NUL
        raise DataError(f"cannot read {path!r}: {error}") from error


def _read_typed(path: str, name: str, suffix: str, how: ReadOptions) -> RawTable:
    """A file whose values have types."""
    if suffix == PARQUET:
        refuse_format(how, "Parquet", FORMAT)
        return _read_parquet(path)
    text_only = set(FORMAT) - {"no_header", "sheet"}
    refuse_format(how, "Excel", sorted(text_only))
    with open(path, "rb") as file:
        return read_excel(file, name, how)


def _read_parquet(path: str) -> RawTable:
    with open(path, "rb") as file:
        try:
            import pandas as pd
            import pyarrow  # noqa: F401

            # With nullable types, integers stay integers beside a missing value.
            frame = pd.read_parquet(
                file, engine="pyarrow", dtype_backend="numpy_nullable"
            )
            _check_texts(frame)
        except ModuleNotFoundError as error:
            raise DataError(
                "Parquet needs pyarrow: pip install 'treecompile[parquet]'"
            ) from error
        except (ImportError, MemoryError):
            raise
        except Exception as error:  # pyarrow has no common error for damaged files
            reason = str(error).partition("\n")[0]
            raise DataError(f"{path!r} is not valid Parquet: {reason}") from error
    return _from_frame(frame, file_name(Path(path).name))


def _check_texts(frame: pd.DataFrame) -> None:
    """Refuse text that is not UTF-8, which pyarrow notices only when it is used."""
    import pyarrow as pa

    for name, column in frame.items():
        if column.dtype == "string":
            try:
                pa.array(column.array).validate(full=True)
            except pa.ArrowInvalid:
                said = f"column {name!r} has text that is not UTF-8"
                raise ValueError(said) from None


def _from_frame(frame: pd.DataFrame, source: str) -> RawTable:
    import pandas as pd

    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError("column names in several levels: join each to one string")
    if frame.columns.empty:
        raise DataError("the frame has no columns")
    # A plain str: the str of numpy prints as np.str_('x') in generated code.
    names = tuple(str(name) for name in frame.columns)
    check_names(names)
    columns = tuple(column for _, column in frame.items())
    return RawTable(names, columns, text=False, source=source)
