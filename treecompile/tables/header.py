"""Whether the first line of a table has names of columns, or data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from treecompile.model.errors import OptionError
from treecompile.tables.numbers import is_numeric
from treecompile.tables.raw import SUSPECTS, Column, RawTable, listed

ORANGE_TYPES = frozenset(
    ["c", "d", "s", "t", "continuous", "discrete", "string", "time"]
)
ORANGE_ROLES = frozenset(["", "class", "meta", "ignore", "i", "weight", "w"])
FIRST_ROWS = 1_000  # with which the header is compared
SAMPLE = 100  # of them, that are looked at for numbers
YEAR = re.compile("1[5-9][0-9]{2}|2[01][0-9]{2}")


def numbered(record: Sequence[object]) -> list[str]:
    """The names of columns without a header."""
    return [f"c{number}" for number in range(1, len(record) + 1)]


def doubt_of(table: RawTable) -> str:
    """Why the first lines may not be names, then data; "" if the user says they are.

    It is data if a name is a number above numbers, or most names are also values of
    their columns, and if no name is a word above numbers.
    """
    how = table.reading
    if how.header and how.no_header:
        raise OptionError("give --header or --no-header, not both")
    if how.header or how.no_header:
        return ""
    if _describes_columns(table):
        return (
            f"{table.source}: lines 2 and 3 describe the columns, as Orange writes"
            " them: remove them, or add --header if they are data"
        )
    votes = []
    for name, column in zip(table.names, table.columns, strict=True):
        votes.append(_vote(name, column))
        if votes[-1] == "name":
            return ""
    if _are_years(table, [place for place, v in enumerate(votes) if v == "number"]):
        return ""
    if "number" not in votes and 2 * votes.count("value") <= len(votes):
        return ""
    return (
        f"{table.source}: the first line looks like data, not like column names"
        f" ({listed(table.names)}): add --no-header to name the columns c1, c2, ...,"
        " or --header if these are the names"
    )


def _are_years(table: RawTable, places: Sequence[int]) -> bool:
    """Whether the names that are numbers are years, above other numbers.

    They are if they follow each other at equal distances, such as 1960, 1965, 1970.
    """
    names = [table.names[place].strip() for place in places]
    years = [int(name) for name in names if _is_year(name)]
    steps = {other - one for one, other in pairwise(years)}
    if len(years) < len(names) or len(steps) != 1 or min(steps) <= 0:
        return False
    columns = [table.columns[place][:SAMPLE].tolist() for place in places]
    below = {str(value).strip() for column in columns for value in column}
    return 2 * sum(map(_is_year, below)) < len(below)


def _is_year(text: str) -> bool:
    return bool(YEAR.fullmatch(text))


def _describes_columns(table: RawTable) -> bool:
    """Whether a line of types and a line of roles follow the names, as in Orange."""
    if table.rows < 2:
        return False
    types = {str(column[0]).strip() for column in table.columns}
    roles = {str(column[1]).strip() for column in table.columns}
    has_role = bool(roles & {"class", "meta"})
    return has_role and roles <= ORANGE_ROLES and bool(types & ORANGE_TYPES)


def _vote(name: str, column: Column) -> str:
    """What a name looks like: "name", "number", "value", or "" for undecided."""
    values = column[:FIRST_ROWS].tolist()
    name = name.strip()
    if not name or name in SUSPECTS:
        return ""
    texts = [str(value).strip() for value in values if value is not None]
    if name in texts:
        return "number" if is_numeric(name) else "value"
    sample = texts[:SAMPLE]
    numbers = sum(map(is_numeric, sample))
    if 2 * numbers < len(sample) or not numbers:
        return ""
    return "number" if is_numeric(name) else "name"
