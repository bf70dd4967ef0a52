"""A SQL dialect: how one database spells and limits things, read from its TOML file.

The fields below are all the keys that a dialect file may have. A misspelt key is an
error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources.abc import Traversable
from pathlib import Path

from treecompile.emit import targets
from treecompile.model.errors import TargetError


@dataclass(frozen=True, slots=True)
class DialectNames:
    """How the names of tables and columns are quoted, and which are impossible."""

    quote: str  # the quoting character '"', or an opening and a closing one '[]'
    fold_case: bool  # true if "Age" and "age" are the same column
    empty: bool  # true if a name may be empty
    longest: int = 0  # maximum length of a name: 63; 0 for no practical limit
    counted_in: str = "bytes"  # the unit of `longest`: "bytes" or "characters"
    barred: str = ""  # regular expression for what no name may contain: '[@."]'
    backslash: bool = False  # true if a backslash in a name is doubled


@dataclass(frozen=True, slots=True)
class DialectLiterals:
    """How values are written."""

    string: str  # a key of literals.STRINGS: "mysql"
    double: str  # a key of literals.DOUBLES: "postgres"
    false: str  # FALSE, 0
    true: str  # TRUE, 1
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

    nesting: int  # CASE within CASE: 10
    tests: int  # conditions joined by AND: 900
    arms: int = 0  # WHENs of one CASE: 32767; 0, here and below: no practical limit
    members: int = 0  # values of one IN; longer lists are divided among several: 1000
    text: int = 0  # bytes of the whole statement: 16000000
    beyond: str = ""  # how to run a longer one: "raise ... first"; "" if impossible
    many_doubles: int = 0  # with more thresholds than this (0: never) ...
    double_of_many: str = "{}"  # ... each is written like this: "(SELECT {})"
    many_sets: int = 0  # with more IN tests than this, write x = 'a' OR x = 'b'
    slow_leaves: int = 0  # from this many leaves on, warn that the database is slow


@dataclass(frozen=True, slots=True)
class Sums:
    """How shares are added up where a tree divides missing values."""

    depth: int = 0  # sums within one another in an expression; 0: not supported
    operators: int = 0  # operators within one another in an expression
    terms: int = 0  # sums in total: splits x labels
    greatest: str = "GREATEST"  # the function that returns its greatest argument
    # How the shares get names, so that each is written only once:
    # "(SELECT {answer} FROM (VALUES ({shares})) AS shares ({names}))"
    naming: str = ""
    named: str = ""  # one name, by `{place}` from 0 or `{number}` from 1: "s{place}"
    stages: int = 0  # queries within one another; 0: all in one expression
    columns: int = 0  # maximum columns of a query
    fence: str = ""  # keeps the optimizer from merging two stages: LIMIT 1 OFFSET 0
    traps_underflow: bool = False  # true if a product that rounds to zero is an error


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
class DialectConditions:
    """How conditions are written: `{column}`, `{x}` (the column cast), `{value}`.

    The first six differ between databases because their treatment of NaN does.
    """

    at_most: str
    at_most_or_missing: str
    above: str
    above_or_missing: str
    number_missing: str
    number_known: str
    equal: str = "{x} = {value}"
    equal_or_missing: str = "({x} = {value} OR {column} IS NULL)"
    unequal: str = "{x} <> {value}"
    unequal_or_missing: str = "({x} <> {value} OR {column} IS NULL)"
    within: str = "{x} IN ({value})"
    within_or_missing: str = "({x} IN ({value}) OR {column} IS NULL)"
    without: str = "{x} NOT IN ({value})"
    without_or_missing: str = "({x} NOT IN ({value}) OR {column} IS NULL)"
    missing: str = "{column} IS NULL"
    known: str = "{column} IS NOT NULL"
    always: str = "1 = 1"
    never: str = "1 = 0"


@dataclass(frozen=True, slots=True)
class Functions:
    """How a function is created."""

    # `{name}`, `{parameters}`, `{type}`, `{expression}`, and `{variable}`, the type of
    # a variable for the answer; "" if no function can be written in SQL.
    create: str = ""
    parameter: str = "{name} {type}"  # or its `{identifier}`, its `{number}` from 1
    reference: str = "{name}"  # how the expression refers to a parameter: @{identifier}
    text_reference: str = ""  # the same for text, if different: CAST({name} AS VARCHAR)
    text: str = ""  # type of a text parameter, if not that of a column: VARCHAR(65535)
    integer: str = ""  # the same for an integer ...
    boolean: str = ""  # ... and for a boolean
    text_variable: str = ""  # type of a text variable, if different: VARCHAR2(4000)
    barred: str = ""  # text that no expression may contain: $$
    drop: str = "DROP FUNCTION {name}"


@dataclass(frozen=True, slots=True)
class Learning:
    """How the queries are written that learning runs in the database."""

    create: str = "CREATE TEMPORARY TABLE {name} AS {query}"
    drop: str = "DROP TABLE IF EXISTS temp.{name}"
    updates: bool = True  # whether a temporary table can be updated ...
    replaces: bool = False  # ... but is faster to create again: updates leave dead rows
    # About {rows} random rows, or a share of all rows: {share} = 0.01.
    sample: str = "SELECT {columns} FROM {relation} WHERE random() < {share}"
    byte: str = "SMALLINT"  # the smallest type that holds 255
    long: str = "BIGINT"
    infinity: str = "CAST('{sign}Infinity' AS {type})"
    # The integer part of a value that is not negative, clamped to two integers.
    within: str = "least({most}, greatest({least}, floor({value})))"
    list: str = "[{}]"  # of values; "" if there are no lists
    item: str = "({list})[{place}]"  # of a list, counted from 1
    integer_item: str = ""  # of a list of integers, where only those have lists
    names_values: bool = True  # whether (VALUES ...) AS a(b, c) is allowed
    join: str = "JOIN"  # of many rows with few
    round: str = "round({})"  # to an integer; a half may go either way
    round_even: str = "round({})"  # to an integer; a half goes to the even one
    once: str = "WITH {name} AS ({query})"  # a query that is evaluated only once
    # Where one query counts all features best: a {table} with one row for each of its
    # rows and each feature p = 0, 1, ..., with {columns}, p, and c, x from {pairs} ...
    stack: str = ""
    pair: str = ""  # ... of the feature's {code} and {number}
    # A text that depends on all rows of some columns, but not on their order; "": none.
    checksum: str = ""


@dataclass(frozen=True, slots=True)
class Dialect:
    name: str  # as people write it: PostgreSQL
    engine: str  # the engine that `verify` runs: postgres; "" if there is none
    names: DialectNames
    literals: DialectLiterals
    limits: DialectLimits
    types: targets.ByType  # the type that a column must have: DOUBLE
    number_types: NumberTypes
    text_types: TextTypes
    columns: targets.ByType  # the column as exactly that type: CAST({} AS DOUBLE)
    conditions: DialectConditions
    values: Values = Values()
    everything: str = "*"  # all columns of `{table}`, before others: {table}.*
    number_for_number: str = ""  # faster `columns.number` if the answer is a number
    sums: Sums = Sums()
    functions: Functions = Functions()
    learning: Learning = Learning()
    key: str = ""  # the name of its file: postgres


def dialect_names() -> list[str]:
    """The built-in dialects, in alphabetical order."""
    folder = targets.templates_folder() / "sql" / "dialects"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())


@cache
def read_dialect(name: str) -> Dialect:
    """A built-in dialect by its name, or a user's by its file, as in ./our.toml."""
    if targets.is_path(name):
        path: Traversable = Path(name)
    else:
        known = dialect_names()
        path = targets.templates_folder() / "sql" / "dialects" / f"{name}.toml"
        if name not in known:
            called = {_plain(read_dialect(key).name): key for key in known}
            near = targets.nearest(called.get(_plain(name), name), known)
            raise TargetError(f"unknown SQL dialect {name!r}{near}")
    table = targets.read_table(path)
    key = path.name.removesuffix(".toml")
    return targets.build(Dialect, {**table, "key": key}, path.name)


def _plain(name: str) -> str:
    """The name of a database in lower case, without spaces and punctuation."""
    return "".join(filter(str.isalnum, name)).lower()
