"""Whether the first line of a table has names of columns, or data."""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.tables.numbers import SIGNS, plain
from treecompile.tables.raw import SUSPECTS, Column, RawTable, listed

FIRST_ROWS = 1_000  # with which the header is compared
SAMPLE = 100  # of them, that are looked at for numbers


def numbered(record: Sequence[object]) -> list[str]:
    """The names of columns without a header."""
    return [f"c{number}" for number in range(1, len(record) + 1)]


def doubt_of(table: RawTable) -> str:
    """Why the first line may be data; "" if there is no doubt.

    It is data if a name is a number above numbers, or most names are also values of
    their columns, and if no name is a word above numbers.
    """
    if table.reading.no_header:
        return ""
    votes = []
    for name, column in zip(table.names, table.columns, strict=True):
        votes.append(_vote(name, column))
        if votes[-1] == "name":
            return ""
    if "number" not in votes and 2 * votes.count("value") <= len(votes):
        return ""
    return (
        f"{table.source}: the first line looks like data, not like column names"
        f" ({listed(table.names)}): add no_header to name the columns c1, c2, ...,"
        " or rename the columns"
    )


def _vote(name: str, column: Column) -> str:
    """What a name looks like: "name", "number", "value", or "" for undecided."""
    values = column[:FIRST_ROWS].tolist()
    name = name.strip()
    if not name or name in SUSPECTS:
        return ""
    texts = [str(value).strip() for value in values if value is not None]
    if name in texts:
        return "number" if _is_numeric(name) else "value"
    sample = texts[:SAMPLE]
    numbers = sum(map(_is_numeric, sample))
    if 2 * numbers < len(sample) or not numbers:
        return ""
    return "number" if _is_numeric(name) else "name"


def _is_numeric(text: str) -> bool:
    return any(plain(text, sign) is not None for sign in SIGNS)
