"""A SQL dialect: how one database spells and limits things, read from its TOML file.

The fields below are all the keys that a dialect file may have, besides `base`, which
names the built-in dialect that it changes. A misspelt key is an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from treecompile.emit import targets
from treecompile.emit.literals import DOUBLES, PLAIN, STRINGS
from treecompile.emit.phrases import Phrase
from treecompile.emit.toml import (
    build,
    checked,
    on_one_line,
    one_line,
    phrase,
    read_table,
)
from treecompile.model.errors import TargetError

BASE = "base"


def barred_problem(pattern: str) -> str:
    """Say why a text is no regular expression; "" if it is one."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"not a regular expression: {one_line(error)}"
    return ""


def quote_problem(quote: str) -> str:
    is_right = re.fullmatch(r"[^\w\s\\]{1,2}", quote) and quote.isprintable()
    return "" if is_right else "expected one or two quoting characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectNames:
    """How the names of tables and columns are quoted, and which are impossible."""

    # The quoting character '"', or an opening and a closing one '[]'.
    quote: str = checked(problem=quote_problem)
    fold_case: bool  # true if "Age" and "age" are the same column
    # What an unquoted name becomes: age -> AGE in "upper"; "" if its case is kept, or
    # does not matter.
    fold: str = checked("", choices=("", "upper", "lower"))
    underscore: bool = True  # whether an unquoted name may begin with one
    # Words that are no names without quotes: "all and any as ..."; "": quote all names.
    reserved: str = ""
    empty: bool = False  # true if a name may be empty
    longest: int = 0  # maximum length of a name: 63; 0 for no practical limit
    # The unit of `longest`.
    counted_in: str = checked("bytes", choices=("bytes", "characters"))
    # Regular expression for what no name may contain: '[@."]'
    barred: str = checked("", problem=barred_problem)
    backslash: bool = False  # true if a backslash in a name is doubled
    replaced: str = ""  # a character that the usual console replaces in names: &


@dataclass(frozen=True, slots=True, kw_only=True)
class DialectLiterals:
    """How values are written."""

    string: str = checked(choices=STRINGS)  # "mysql"
    double: str = checked(choices=DOUBLES)  # "postgres"
    # Which thresholds are written as plain numbers: none, those that are exact decimals
    # (40.5), or all short decimals (40.1).
    plain: str = checked("", choices=PLAIN)
    # A threshold as a double, where the column then needs no cast: CAST({} AS REAL).
    # Not used from 2^53 on: there, integers are not compared as their doubles are.
    typed: Phrase = phrase("{}", "")
    false: str = "FALSE"  # or 0
    true: str = "TRUE"
    # Appended to text literals, as `columns.text` appends it to the column, so that
    # trailing blanks count: "."
    stop: str = ""


@dataclass(frozen=True, slots=True)
class Values:
    """Which unusual values a column can hold."""

    infinity: bool = True
    nul: bool = True  # the character NUL in a text
    longest_text: int = 0  # maximum bytes of a text: 4000; 0 for no practical limit
    empty_text: bool = True  # false if '' is the same as NULL


@dataclass(frozen=True, slots=True)
class DialectLimits:
    """How large an expression may be."""

    nesting: int = checked(least=1, most=1000)  # CASE within CASE: 10
    tests: int = checked(least=1)  # conditions joined by AND: 900
    arms: int = 0  # WHENs of one CASE: 32767; 0, here and below: no practical limit
    members: int = 0  # values of one IN; longer lists are divided among several: 1000
    text: int = 0  # bytes of the whole statement: 16000000
    # How to run a longer one: "raise ... first"; "" if impossible.
    beyond: str = checked("", problem=on_one_line)
    many_doubles: int = 0  # with more thresholds than this (0: never) ...
    # ... each is written like this: "(SELECT {})"
    double_of_many: Phrase = phrase("{}", "{}")
    many_sets: int = 0  # with more IN tests than this, write x = 'a' OR x = 'b'
    slow_leaves: int = 0  # from this many leaves on, warn that the database is slow


@dataclass(frozen=True, slots=True)
class TreeSums:
    """How the trees of a forest are added up."""

    trees: int = checked(500, least=2)  # that one expression can add up
    stage: int = 0  # that a stage of a query adds up, if it can be planned faster
    # A number rounded to 32 bits: "CAST({} AS FLOAT)"; "" if there is no such type.
    single: Phrase = phrase("{}", "")
    single_sums: bool = False  # whether the sum of two such numbers is one, too
    greatest: str = "GREATEST"  # the function that returns its greatest argument
    # How the sums get names in an expression, so that each is written only once:
    # "(SELECT {answer} FROM (VALUES ({sums})) AS sums ({names}))"
    naming: Phrase = phrase("{answer} {sums} {names}", "")
    # One name, by `{place}` from 0 or `{number}` from 1: "s{place}"
    named: Phrase = phrase("{place} {number}", "")
    # Or whether they are columns of a subquery, which can refer to the current row ...
    subquery: bool = False
    fence: str = ""  # ... and what keeps its stages from being merged: LIMIT 1 OFFSET 0


@dataclass(frozen=True, slots=True)
class NumberTypes:
    """Other types of a numeric column; "" where the database has none."""

    whole: str = ""  # 64-bit integers: BIGINT
    decimal: str = ""  # exact decimals: DECIMAL(38, 10)
    single: str = ""  # 32-bit floats: REAL


@dataclass(frozen=True, slots=True)
class TextTypes:
    """Other types of a text column."""

    loose: Sequence[str] = ()  # types that equate some different texts


@dataclass(frozen=True, slots=True)
class Types(targets.ByType[str]):
    """The type that a column must have: DOUBLE."""

    number: str
    text: str
    integer: str
    boolean: str


@dataclass(frozen=True, slots=True)
class Casts(targets.ByType[Phrase]):
    """A column as exactly the type that comparisons need: CAST({} AS DOUBLE)."""

    number: Phrase = phrase("{}")
    text: Phrase = phrase("{}")
    integer: Phrase = phrase("{}", "{}")
    boolean: Phrase = phrase("{}", "{}")


COLUMN = "{x} {column} {value}"


@dataclass(frozen=True, slots=True)
class DialectConditions:
    """How tests of numbers are written: `{column}`, `{x}` (the column cast), `{value}`.

    The defaults are for numbers that are never NaN: databases differ in comparing it.
    """

    at_most: Phrase = phrase(COLUMN, "{x} <= {value}")
    at_most_or_missing: Phrase = phrase(COLUMN, "({x} <= {value} OR {column} IS NULL)")
    above: Phrase = phrase(COLUMN, "{x} > {value}")
    above_or_missing: Phrase = phrase(COLUMN, "({x} > {value} OR {column} IS NULL)")
    number_missing: Phrase = phrase(COLUMN, "{column} IS NULL")
    number_known: Phrase = phrase(COLUMN, "{column} IS NOT NULL")


@dataclass(frozen=True, slots=True)
class DialectSteps:
    """How a query computes the sums of a forest in stages, each with helper columns."""

    # All columns but the helpers: "* EXCLUDE ({})"; "" if this is impossible ...
    without: Phrase = phrase("{}", "")
    # ... and whether a LATERAL subquery can have them instead, so that {table}.* are
    # the columns of the table.
    lateral: bool = False
    fence: str = ""  # keeps the optimizer from merging that subquery: OFFSET 0
    known: Phrase = phrase("{}", "")  # a double, NULL if it is NaN: NULLIF({}, 'NaN')


@dataclass(frozen=True, slots=True)
class Learning:
    """How the queries are written that learning runs in the database."""

    # About {rows} random rows, or a share of all rows: {share} = 0.01.
    sample: Phrase = phrase(
        "{columns} {relation} {rows} {share}",
        "SELECT {columns} FROM {relation} WHERE random() < {share}",
    )
    byte: str = "SMALLINT"  # the smallest type that holds 255
    list: Phrase = phrase("{}", "[{}]")  # of values
    # An item of a list, counted from 1.
    item: Phrase = phrase("{list} {place}", "({list})[{place}]")
    round: Phrase = phrase("{}", "round({})")  # to an integer, a half either way
    # Where one query counts all features best: a {table} with one row for each of its
    # rows and each feature p = 0, 1, ..., with {columns}, p, and c, x from {pairs} ...
    stack: Phrase = phrase("{table} {columns} {pairs}", "")
    pair: Phrase = phrase("{code} {number}", "")  # ... of the feature


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    name: str = checked(problem=on_one_line)  # as people write it: PostgreSQL
    engine: str = ""  # the engine that `verify` runs: postgres; "" if there is none
    names: DialectNames
    literals: DialectLiterals
    limits: DialectLimits
    types: Types
    number_types: NumberTypes = NumberTypes()
    text_types: TextTypes = TextTypes()
    columns: Casts
    conditions: DialectConditions = DialectConditions()
    values: Values = Values()
    # All columns of `{table}`, before others: {table}.*
    everything: Phrase = phrase("{table}", "*")
    long: str = "BIGINT"  # 64-bit integers, in a cast
    # Faster `columns.number` if the answer is a number.
    number_for_number: Phrase = phrase("{}", "")
    forests: TreeSums = TreeSums()
    steps: DialectSteps = DialectSteps()
    learning: Learning = Learning()
    key: str = ""  # the name of its file: postgres


def dialect_names() -> list[str]:
    """Return the built-in dialects, in alphabetical order."""
    return sorted(entry.name.removesuffix(".toml") for entry in _folder().iterdir())


def read_dialect(name: str) -> Dialect:
    """Read a built-in dialect by its name, or a user's by its file: ./our.toml."""
    return _read_dialect(Path(name)) if targets.is_path(name) else _built_in(name)


@cache
def _built_in(name: str) -> Dialect:
    return _read_dialect(_built_in_file(name))


def _built_in_file(name: str) -> Traversable:
    known = dialect_names()
    if name not in known:
        called = {_plain(_built_in(each).name): each for each in known}
        near = targets.nearest(called.get(_plain(name), name), known)
        raise TargetError(f"unknown SQL dialect {name!r}{near}")
    return _folder() / f"{name}.toml"


def _folder() -> Traversable:
    return targets.templates_folder() / "sql" / "dialects"


def _read_dialect(path: Traversable) -> Dialect:
    key = re.sub(r"[^\w.-]", "_", path.name.removesuffix(".toml"))
    return build(Dialect, _table(path), path.name, key=key)


def _table(path: Traversable) -> dict[str, Any]:
    """Read a file, with the keys of its base that it does not have itself."""
    table = read_table(path)
    if BASE not in table:
        return table
    base = table.pop(BASE)
    if not isinstance(base, str):
        raise TargetError(f"{path.name}: {BASE!r} is not text: name a dialect")
    made = _table(_built_in_file(base))
    for key, value in table.items():
        own, inherited = isinstance(value, dict), made.get(key)
        made[key] = {**inherited, **value} if own and inherited else value
    return made


def _plain(name: str) -> str:
    """Return the name of a database in lower case, without spaces and punctuation."""
    return "".join(filter(str.isalnum, name)).lower()
