"""What a database is to learning: queries that come back as arrays, and its dialect.

Nothing here knows of trees. A store is used by one thread and closed behind use; what
it made in the database (temporary tables) goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

import numpy as np

from treecompile.errors import EngineError
from treecompile.targets import Dialect


class Family(Enum):
    """What a column of a database holds, by its type."""

    INTEGER = "integer"
    NUMBER = "number"  # floats and decimals
    TEXT = "text"
    BOOLEAN = "boolean"
    OTHER = "other"


FAMILIES = {
    Family.INTEGER: "tinyint smallint int integer bigint hugeint int2 int4 int8 long"
    " short byte utinyint usmallint uinteger ubigint uhugeint mediumint",
    Family.NUMBER: "float double real decimal numeric float4 float8" " null void",
    Family.TEXT: "varchar text string char bpchar character name enum",
    Family.BOOLEAN: "boolean bool",
}


def family(type_name: str) -> Family:
    """By the first word of a type's name: `DECIMAL(10,2)` is a decimal."""
    word = type_name.lower().replace("(", " ").split(" ")[0].strip('"')
    for kind, names in FAMILIES.items():
        if word in names.split():
            return kind
    return Family.OTHER


@dataclass(frozen=True, slots=True)
class StoredColumn:
    name: str
    type: str  # as the database calls it

    @property
    def family(self) -> Family:
        return family(self.type)


# What stands behind FROM for pairs of a code and a number, each in a row of its own as
# c and x, numbered by p from 0 on, beside some columns of a table.
Stacked = Callable[[str, Sequence[str], Sequence[tuple[str, str]]], str]


@dataclass(frozen=True, slots=True)
class Phrases:
    """What queries for learning say differently from one database to the next."""

    # By the number of rows or, about as many, by their share of all.
    sample: str = "SELECT {columns} FROM {relation} WHERE random() < {share}"
    byte: str = "SMALLINT"  # the smallest type that holds 255
    long: str = "BIGINT"
    infinity: str = "CAST('{sign}Infinity' AS {type})"
    # A number without its fraction, kept within whole numbers that are not negative.
    within: str = "least({most}, greatest({least}, floor({value})))"
    list: str = "[{}]"  # of values; "" where there are none ...
    item: str = "({list})[{place}]"  # ... from 1 on
    whole: str = ""  # the same of whole numbers, where there are no other lists
    names_values: bool = True  # whether (VALUES ...) AS a(b, c) is understood
    join: str = "JOIN"  # of many rows with few
    round: str = "round({})"  # to a whole number; of two as near, either
    round_even: str = "round({})"  # ... the even one
    updates: bool = True  # whether a temporary table can be changed ...
    replaces: bool = False  # ... but is quicker made anew: updates leave dead rows
    once: str = "WITH {name} AS ({query})"  # a query that is worked out once
    stacked: Stacked | None = None  # where features are best counted by one query
    # A text that depends on the columns {} of all rows, not on their order; "": none.
    checksum: str = ""


class NoTemporaryTableError(EngineError):
    """The user may read, but may not make a temporary table."""


class Store(Protocol):
    dialect: Dialect
    phrases: Phrases

    def columns(self, relation: str) -> list[StoredColumn]:
        """The columns of a table, or of what stands in its place in a query."""

    def arrays(self, query: str) -> list[np.ndarray]:
        """The columns of a result; a missing number is NaN, other NULLs are None."""

    def make(self, name: str, query: str) -> None:
        """A temporary table of what a query gives.

        It hides a table of that name which is not temporary, and takes the place of the
        temporary one of that name. Raises NoTemporaryTableError where the right to make
        it is missing.
        """

    def discard(self, name: str) -> None:
        """Remove a temporary table that `make` has made."""

    def update(self, statement: str) -> None:
        """Change a temporary table, where `phrases.updates` says so."""

    def save(self, name: str, query: str) -> None:
        """A table that lasts, whole or not at all; one that exists is an error."""


# Takes the address that the user gave, and the most memory that may be used, or "",
# and whether tables are written that shall last.
Open = Callable[[str, str, bool], AbstractContextManager[Store]]
# Takes a connection of the user, which is left as it was.
Borrow = Callable[[Any], AbstractContextManager[Store]]


def as_array(values: Sequence[object]) -> np.ndarray:
    """A column of a result from Python objects."""
    known = {type(value) for value in values} - {type(None)}
    if known <= {int} and known and None not in values:
        return np.array(values, np.int64)
    if known <= {int, float} or (known and all(map(_is_number, known))):
        return np.array([np.nan if v is None else v for v in values], np.float64)
    result = np.empty(len(values), object)
    result[:] = values
    return result


def _is_number(kind: type) -> bool:
    return kind.__name__ in ("int", "float", "Decimal")
