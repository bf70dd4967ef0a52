"""Targets are folders: a `target.toml`, Jinja templates, for SQL one file per dialect.

This module finds and reads them. They hold no Python; what they may say is the fields
of the classes below, so a misspelt key is an error and not a silence.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from treecompile.errors import TargetError
from treecompile.ir import ValueType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    lowering: str  # which module of `lower` prepares the strings
    template: str
    suffix: str
    formatter: str = ""  # "black" or none


@dataclass(frozen=True, slots=True)
class Names:
    quote: str  # the quoting character, doubled inside a name
    fold_case: bool  # whether names that differ only by case are one column
    empty: bool  # whether a name may be empty
    longest: int = 0  # bytes that a name may have; 0 for no limit worth naming


@dataclass(frozen=True, slots=True)
class Literals:
    string: str  # a key of literals.STRINGS
    double: str  # a key of literals.DOUBLES
    false: str
    true: str


@dataclass(frozen=True, slots=True)
class Limits:
    nesting: int  # CASE within CASE
    tests: int  # conditions joined by AND
    many_doubles: int = 0  # from this many thresholds on (0: never) ...
    double_of_many: str = "{}"  # ... they are written so
    many_sets: int = 0  # from this many tests of sets on, members are compared singly
    slow_leaves: int = 0  # from this many leaves on (0: never) the engine is slow


@dataclass(frozen=True, slots=True)
class Sums:
    """How far a dialect adds up the shares of a tree that divides missing values."""

    depth: int = 0  # sums within one another in an expression; 0: not at all
    columns: int = 0  # of a query
    terms: int = 0  # sums in all: splits x labels
    fence: str = ""  # what keeps the optimizer from joining two stages into one
    traps_underflow: bool = False  # whether a product that rounds to zero is an error


@dataclass(frozen=True, slots=True)
class ByType:
    """One text for each type of value; `{}` stands for the column."""

    number: str
    text: str
    integer: str
    boolean: str

    def of(self, value_type: ValueType) -> str:
        match value_type:
            case ValueType.FLOAT:
                return self.number
            case ValueType.STR:
                return self.text
            case ValueType.INT:
                return self.integer
            case ValueType.BOOL:
                return self.boolean


@dataclass(frozen=True, slots=True)
class NumberTypes:
    """Other types that a column of numbers may have; "" where there is none."""

    whole: str = ""  # integers of 64 bits
    decimal: str = ""  # exact decimals
    single: str = ""  # floats of 32 bits


@dataclass(frozen=True, slots=True)
class TextTypes:
    """Other types that a column of text may have."""

    loose: Sequence[str] = ()  # each takes some different texts for equal


@dataclass(frozen=True, slots=True)
class Conditions:
    """How a condition is spelt: `{column}`, `{x}` (the column as its type), `{value}`.

    The first six differ between databases, because NaN does.
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
class Dialect:
    name: str  # as people write it
    engine: str  # what `verify` runs it on; "" if there is none to be had
    names: Names
    literals: Literals
    limits: Limits
    types: ByType  # the type that a column of each kind needs
    number_types: NumberTypes
    text_types: TextTypes
    columns: ByType  # the column as a value of exactly that type
    conditions: Conditions
    sums: Sums = Sums()
    key: str = field(default="")  # the name of its file


def templates_folder() -> Traversable:
    """The built-in templates: inside the package, or beside it in a checkout."""
    inside = files("treecompile") / "templates"
    if inside.is_dir():
        return inside
    return Path(__file__).resolve().parent.parent / "templates"


@cache
def read_target(name: str) -> Target:
    """A built-in target by its name."""
    folder = templates_folder()
    known = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if name not in known:
        raise TargetError(f"unknown target {name!r}{_nearest(name, known)}")
    return _read(Target, folder / name / "target.toml", {})


def dialect_names() -> list[str]:
    """The SQL dialects there are."""
    folder = templates_folder() / "sql" / "dialects"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())


@cache
def read_dialect(name: str) -> Dialect:
    """A SQL dialect by its name."""
    known = dialect_names()
    if name not in known:
        raise TargetError(f"unknown SQL dialect {name!r}{_nearest(name, known)}")
    path = templates_folder() / "sql" / "dialects" / f"{name}.toml"
    return _read(Dialect, path, {"key": name})


def _nearest(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f": {hint}There are {', '.join(known)}"


SECTIONS: dict[str, type] = {
    "names": Names,
    "literals": Literals,
    "limits": Limits,
    "types": ByType,
    "number_types": NumberTypes,
    "text_types": TextTypes,
    "columns": ByType,
    "conditions": Conditions,
    "sums": Sums,
}


def _read(kind: type[T], path: Traversable, extra: Mapping[str, str]) -> T:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise TargetError(f"{path.name}: {error}") from None
    for section, part in SECTIONS.items():
        if section in table:
            table[section] = _build(part, table[section], f"{path.name} [{section}]")
    return _build(kind, {**table, **extra}, path.name)


def _build(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise TargetError(f"{where}: {key!r} is not known")
    for key, entry in known.items():
        if key not in table and entry.default is MISSING:
            raise TargetError(f"{where}: {key!r} is not there")
    return kind(**table)
