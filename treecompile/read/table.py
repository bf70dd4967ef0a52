"""What every reader makes: a table of raw columns, and what its file declares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from treecompile.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = "np.ndarray | pd.Series[Any]"

NAMES_SHOWN = 10


class Stated(StrEnum):
    """What a file can declare a column to be."""

    NUMERIC = "numeric"
    NOMINAL = "nominal"
    TEXT = "string"
    DATE = "date"


@dataclass(frozen=True, slots=True)
class Declared:
    """The declaration of a column."""

    as_: Stated
    categories: tuple[str, ...] = ()  # of a nominal one, in their order


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Equally long columns, by name.

    A text file has arrays of str, a frame its series, JSON lines arrays of objects. A
    missing value is None or what pandas has for it; in a text file without declarations
    it is the empty text.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    text: bool  # whether all values are texts, to be read by the type of the column
    source: str  # the file's name without its folder, "" for a frame
    declared: tuple[Declared, ...] = ()  # one for each column, or none at all

    @property
    def rows(self) -> int:
        return len(self.columns[0])

    def column(self, name: str) -> Column:
        """The column of that name; an absent one is an error that names the nearest."""
        return self.columns[self._place(name)]

    def declaration(self, name: str) -> Declared | None:
        """What the file declares of a column."""
        return self.declared[self._place(name)] if self.declared else None

    def _place(self, name: str) -> int:
        if name in self.names:
            return self.names.index(name)
        near = get_close_matches(name, self.names)
        if near:
            raise DataError(f"no column {name!r}: did you mean {listed(near)}?")
        raise DataError(f"no column {name!r}: the columns are {listed(self.names)}")


def check_names(names: Sequence[str]) -> None:
    """Refuse names that two columns have."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise DataError(f"more than one column is named {listed(twice)}: rename them")


def listed(names: Sequence[str]) -> str:
    """Names for a message, the first of many."""
    shown = ", ".join(repr(name) for name in names[:NAMES_SHOWN])
    return shown + (", ..." if len(names) > NAMES_SHOWN else "")


def counted(number: int, thing: str) -> str:
    """A number of things."""
    return f"{number} {thing}" + ("" if number == 1 else "s")


def objects(values: Sequence[Any]) -> np.ndarray:
    """An array of the values as they are."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def not_unicode(name: str, lines_read: int, error: UnicodeDecodeError) -> DataError:
    """The error of a text file that is not UTF-8, with its line."""
    # What could be decoded has been read: the rest of the way is in the bytes.
    line = lines_read + 1 + error.object[: error.start].count(b"\n")
    return DataError(
        f"{name}, line {line}: not UTF-8 (byte 0x{error.object[error.start]:02x}): "
        "convert the file to UTF-8"
    )
