"""Read a file or a frame into a table of raw columns.

Nothing is interpreted here. A CSV field stays text, a JSON value keeps its type, a
series of a frame keeps its dtype, and what an ARFF file declares is recorded. `roles`
decides what it all means. pandas is imported only where it is needed, so that a command
on a CSV file starts quickly.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from treecompile.model.errors import DataError
from treecompile.model.files import json_reason
from treecompile.model.unicode import NOT_UNICODE, file_name, is_unicode
from treecompile.tables.arff import read_arff
from treecompile.tables.lines import MOST_BYTES, open_lines, standard_input
from treecompile.tables.raw import RawTable, check_names, counted, not_unicode, objects

if TYPE_CHECKING:
    import pandas as pd

PARQUET = ".parquet"
STANDARD_INPUT = "-"
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")  # how JSON writes half a surrogate pair


# ---------------------------------------------------------------- CSV and TSV


def read_delimited(lines: TextIO, delimiter: str, name: str) -> RawTable:
    """Read a header with the column names, then records of the same length."""
    limit = csv.field_size_limit(MOST_BYTES)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    start = 1  # the first line of the current record, which may span several
    header: list[str] = []
    fields: list[str] = []  # of all records, one after the other
    try:
        for record in reader:
            if not header:
                header = record
            elif len(record) == len(header):
                fields += record
            elif not record:  # a blank line; in a single column it is a missing value
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
    columns = tuple(objects(fields[i::width]) for i in range(width))
    return RawTable(tuple(header), columns, text=True, source=name)


# ---------------------------------------------------------------- JSON lines


def read_json_lines(lines: TextIO, name: str) -> RawTable:
    """Read one JSON object per line; blank lines are skipped.

    Every line must have the keys of the first, in any order. A missing value is written
    as null: an absent key might be a misspelt one.
    """
    names: tuple[str, ...] = ()
    values: list[Any] = []  # of all rows, one after the other
    places: list[int] = []  # the line number of each row
    for number, record in _records(lines, name):
        if not places:
            names = tuple(record)
            if not names:
                raise DataError(f"{name}, line {number}: the object has no keys")
        if record.keys() != set(names):
            raise _other_keys(name, number, record, names, places[0])
        values += map(record.__getitem__, names)
        places.append(number)
    if not places:
        raise DataError(f"{name} is empty: expected a JSON object on each line")
    width = len(names)
    columns = [values[i::width] for i in range(width)]
    for key, column in zip(names, columns, strict=True):
        _refuse_nested(name, key, column, places)
    return RawTable(names, tuple(map(objects, columns)), text=False, source=name)


def _records(lines: TextIO, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                record = json.loads(line, object_pairs_hook=_object)
            except RecursionError:
                raise DataError(
                    f"{name}, line {number}: nested too deeply: flatten it into"
                    " columns of its own first"
                ) from None
            except ValueError as error:  # also raised for very long integers
                reason = json_reason(error)
                raise DataError(
                    f"{name}, line {number}: {reason}: expected one JSON object"
                    " on each line"
                ) from error
            if not isinstance(record, dict):
                raise DataError(
                    f"{name}, line {number}: expected a JSON object, such as"
                    ' {"x": 1.5, "y": null}'
                )
            if HALF_PAIR.search(line):
                _refuse_halves(record, f"{name}, line {number}")
            yield number, record
    except UnicodeDecodeError as error:
        raise not_unicode(name, number, error) from error


def _refuse_halves(record: dict[str, Any], where: str) -> None:
    for key, value in record.items():
        if not is_unicode(key):
            raise DataError(f"{where}: the key {key!r} {NOT_UNICODE}: correct it")
        if isinstance(value, str) and not is_unicode(value):
            raise DataError(f"{where}: {key!r} is {value!r}, which {NOT_UNICODE}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r} is there twice")
    return record


def _other_keys(
    name: str, number: int, record: dict[str, Any], names: tuple[str, ...], first: int
) -> DataError:
    absent = next((key for key in names if key not in record), None)
    if absent is not None:
        return DataError(
            f"{name}, line {number}: no key {absent!r}, which line {first} has: "
            "write null if the value is missing"
        )
    new = next(key for key in record if key not in names)
    return DataError(
        f"{name}, line {number}: the key {new!r} is not in line {first}: "
        "give every line the same keys, with null for a missing value"
    )


def _refuse_nested(name: str, key: str, column: list[Any], places: list[int]) -> None:
    if not {list, dict} & set(map(type, column)):
        return
    row = next(i for i, value in enumerate(column) if isinstance(value, (list, dict)))
    kind = "an array" if isinstance(column[row], list) else "an object"
    raise DataError(
        f"{name}, line {places[row]}: {key!r} is {kind}: "
        "flatten it into columns of its own first"
    )


# ---------------------------------------------------------------- any file or frame

read_csv = partial(read_delimited, delimiter=",")
READERS: dict[str, Callable[..., RawTable]] = {  # of text files, by suffix
    ".csv": read_csv,
    ".tsv": partial(read_delimited, delimiter="\t"),
    ".arff": read_arff,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
}


def read_table(source: str | Path | pd.DataFrame) -> RawTable:
    """Read a file by its suffix, "-" (CSV on standard input), or a frame."""
    if isinstance(source, (str, Path)):
        return _read_file(str(source))
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return _from_frame(source, "")
    found = type(source).__name__
    raise DataError(f"a table is a file or a pandas DataFrame, not {found}")


def _read_file(path: str) -> RawTable:
    if path == STANDARD_INPUT:
        with standard_input("standard input") as lines:
            return read_csv(lines, name="standard input")
    name, suffix = file_name(Path(path).name), Path(path).suffix.lower()
    try:
        if not path:
            raise DataError("the name of the data file is empty: name a file")
        if Path(path).is_dir():
            raise DataError(f"{path!r} is a folder: name a file in it")
        if suffix == PARQUET:
            return _read_parquet(path)
        if suffix not in READERS:
            known = ", ".join((*READERS, PARQUET))
            raise DataError(f"{path!r} has an unknown suffix: expected one of {known}")
        with open_lines(path, name) as lines:
            return READERS[suffix](lines, name=name)
    except OSError as error:
        raise DataError(f"cannot read {path!r}: {error.strerror or error}") from error
    except ValueError as error:  # the name contains a NUL
        raise DataError(f"cannot read {path!r}: {error}") from error


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
            raise DataError(f"{path!r} is not sound Parquet: {reason}") from error
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
