"""A table of raw columns, as every reader makes it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treecompile.model.errors import DataError
from treecompile.model.suggestions import similar
from treecompile.model.unicode import NOT_UNICODE, is_unicode
from treecompile.tables.options import ReadOptions
from treecompile.tables.texts import TextColumn

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = "np.ndarray | pd.Series[Any] | TextColumn"

NAMES_SHOWN = 10
PLAIN = ReadOptions()
NUMBERED = re.compile("c[0-9]+")  # the names of columns without a header

# Texts that often mean missing. They are ordinary values until a user says so.
SUSPECTS = frozenset(
    [
        *("?", "-", "--", ".", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>"),
        *("NaN", "nan", "NAN", "null", "NULL", "Null"),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class RawTable:
    """Columns of equal length, by name.

    The columns of a text file are arrays of str, or a TextColumn each, those of JSON
    lines arrays of objects, those of a frame its series. A missing value is None or
    what pandas uses; in a text file it is the empty text.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    text: bool  # all values are text, still to be parsed
    source: str  # the file's name without its folder, "" for a frame
    reading: ReadOptions = field(default=PLAIN)  # what the user said about the file
    notes: tuple[str, ...] = ()  # what was found in it, one line each
    doubt: str = ""  # why its first lines may not be names, then data
    places: dict[str, int] = field(init=False, repr=False)  # of the columns

    def __post_init__(self) -> None:
        places = {name: place for place, name in enumerate(self.names)}
        object.__setattr__(self, "places", places)

    @property
    def rows(self) -> int:
        return len(self.columns[0])

    def column(self, name: str) -> Column:
        """A column by its name."""
        return self.columns[self.place(name)]

    def place(self, name: str) -> int:
        """The position of a column."""
        if name not in self.places:
            if self.doubt:
                raise DataError(self.doubt)
            require_column(name, self.names)
        return self.places[name]


def require_column(name: str, names: Collection[str]) -> None:
    """Refuse a name that no column has; the error suggests similar names."""
    if name in names:
        return
    near = similar(name, names)
    if NUMBERED.fullmatch(name) and not any(map(NUMBERED.fullmatch, names)):
        raise DataError(
            f"no column {name!r}: the columns are {listed(tuple(names))}: if these are"
            " data, add no_header"
        )
    if near:
        raise DataError(f"no column {name!r}: did you mean {listed(near)}?")
    raise DataError(f"no column {name!r}: the columns are {listed(tuple(names))}")


def check_names(names: Sequence[str], doubt: str = "") -> None:
    """Refuse two columns with the same name, and names that are not text.

    `doubt` says why they may be no names.
    """
    for place, name in enumerate(names, start=1):
        if not is_unicode(name):
            raise DataError(
                f"column {place}: its name {name!r} {NOT_UNICODE}: rename it"
            )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        said = f"more than one column is named {listed(twice)}: rename them"
        raise DataError(doubt or said)


def listed(names: Sequence[str]) -> str:
    """Names for a message; of many, only the first."""
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return shown + (", ..." if len(names) > NAMES_SHOWN else "")


def counted(number: int, thing: str) -> str:
    """`1 row` or `3 rows`."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def objects(values: Sequence[Any]) -> np.ndarray:
    """An array of these values, unchanged."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def not_unicode(name: str, lines_read: int, error: UnicodeDecodeError) -> DataError:
    """The error of a text file that is not UTF-8, with its line."""
    # Decoded lines are already counted; the others are in the bytes.
    line = lines_read + 1 + error.object[: error.start].count(b"\n")
    return DataError(
        f"{name}, line {line}: not UTF-8 (byte 0x{error.object[error.start]:02x}): "
        "convert the file to UTF-8, or name its encoding, such as encoding=cp1252"
    )
