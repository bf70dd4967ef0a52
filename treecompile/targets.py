"""Targets are folders: a `target.toml`, Jinja templates, for SQL one file per dialect.

This module finds and reads them. They hold no Python; what they may say is the fields
of the classes below, so a misspelt key is an error and not a silence.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

from treecompile.errors import TargetError
from treecompile.ir import ValueType

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Target:
    lowering: str  # which module of `lower` prepares the strings
    template: str
    suffix: str
    formatter: str = ""  # "black" or none
    spelling: Mapping[str, Any] = field(default_factory=dict)  # see `languages`
    name: str = ""  # as the user says it
    folder: Traversable = Path()


@dataclass(frozen=True, slots=True)
class Names:
    quote: str  # the quoting character, or the opening and the closing one
    fold_case: bool  # whether names that differ only by case are one column
    empty: bool  # whether a name may be empty
    longest: int = 0  # what a name may have of the next; 0 for no limit worth naming
    counted_in: str = "bytes"  # or "characters"
    barred: str = ""  # a regular expression: what cannot be in a name
    backslash: bool = False  # whether a backslash in a name is doubled


@dataclass(frozen=True, slots=True)
class Literals:
    string: str  # a key of literals.STRINGS
    double: str  # a key of literals.DOUBLES
    false: str
    true: str
    stop: str = ""  # behind each text that is compared, as in `columns`: see there


@dataclass(frozen=True, slots=True)
class Values:
    """What columns can hold beside the ordinary values."""

    infinity: bool = True
    nul: bool = True  # a NUL character in a text
    longest_text: int = 0  # bytes of a text; 0 for no limit worth naming
    empty_text: bool = True  # as something else than NULL


@dataclass(frozen=True, slots=True)
class Limits:
    nesting: int  # CASE within CASE
    tests: int  # conditions joined by AND
    arms: int = 0  # WHENs of one CASE; 0, here and below, for no limit worth naming
    members: int = 0  # values of one IN; more are divided among several
    text: int = 0  # bytes of the whole text
    beyond: str = ""  # what a user can do about a longer one; "" for nothing
    many_doubles: int = 0  # from this many thresholds on (0: never) ...
    double_of_many: str = "{}"  # ... they are written so
    many_sets: int = 0  # from this many tests of sets on, members are compared singly
    slow_leaves: int = 0  # from this many leaves on (0: never) the engine is slow


@dataclass(frozen=True, slots=True)
class Sums:
    """How far a dialect adds up the shares of a tree that divides missing values."""

    depth: int = 0  # sums within one another in an expression; 0: not at all
    operators: int = 0  # the same of operators
    terms: int = 0  # sums in all: splits x labels
    greatest: str = "GREATEST"  # the function that gives the greatest of several
    naming: str = (
        ""  # better: `{shares}` under `{names}`, of which comes `{answer}` ...
    )
    named: str = ""  # ... and a name, by `{place}` from 0 or `{number}` from 1
    stages: int = 0  # queries within one another; 0: all in one expression
    columns: int = 0  # of a query
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
class Functions:
    """How a function is made: `{name}`, `{parameters}`, `{type}`, `{expression}`.

    `{variable}` is the type of a variable that holds the answer.
    """

    create: str = ""  # "" where there are none that are written in SQL
    parameter: str = "{name} {type}"
    reference: str = "{name}"  # how the expression mentions a parameter ...
    text_reference: str = ""  # ... that is a text, if otherwise
    text: str = ""  # the type of a text, if it is another than in a column ...
    integer: str = ""  # ... and of an integer ...
    boolean: str = ""  # ... and of a boolean
    text_variable: str = ""  # the type of a text in a variable, if yet another
    barred: str = ""  # what an expression cannot have in it
    drop: str = "DROP FUNCTION {name}"


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
    values: Values = Values()
    everything: str = "*"  # all columns of `{table}`, beside others
    number_for_number: str = ""  # in `columns`, if the answer is one, and it is faster
    sums: Sums = Sums()
    functions: Functions = Functions()
    key: str = field(default="")  # the name of its file


def templates_folder() -> Traversable:
    """The built-in templates: inside the package, or beside it in a checkout."""
    inside = files("treecompile") / "templates"
    if inside.is_dir():
        return inside
    return Path(__file__).resolve().parent.parent / "templates"


def read_target(name: str) -> Target:
    """A built-in target by its name, or a user's by its folder, as in ./excel."""
    if is_path(name):
        return _read_target(name, Path(name))
    return _built_in_target(name)


@cache
def _built_in_target(name: str) -> Target:
    folder = templates_folder()
    known = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    if name not in known:
        beside = (
            f"; a folder is named as ./{name}" if name and Path(name).is_dir() else ""
        )
        raise TargetError(f"unknown target {name!r}{nearest(name, known)}{beside}")
    return _read_target(name, folder / name)


def _read_target(name: str, folder: Traversable) -> Target:
    """A target from its folder; the sections of its file are for `languages`."""
    path = folder / "target.toml"
    table = _read_table(path)
    spelling = {key: table.pop(key) for key in [*table] if isinstance(table[key], dict)}
    if spelling and table.get("lowering") != "code":
        section = next(iter(spelling))
        raise TargetError(f'{path.name}: [{section}] goes with lowering = "code"')
    extra = {"name": name, "folder": folder, "spelling": spelling}
    return build(Target, {**table, **extra}, path.name)


def is_path(name: str) -> bool:
    """Whether a user names a file or folder, not something built in."""
    return "/" in name or os.sep in name


def dialect_names() -> list[str]:
    """The SQL dialects there are."""
    folder = templates_folder() / "sql" / "dialects"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir())


@cache
def read_dialect(name: str) -> Dialect:
    """A SQL dialect by its name, or a user's by its file, as in ./our.toml."""
    if is_path(name):
        path: Traversable = Path(name)
    else:
        known = dialect_names()
        path = templates_folder() / "sql" / "dialects" / f"{name}.toml"
        if name not in known:
            called = {_plain(read_dialect(key).name): key for key in known}
            near = nearest(called.get(_plain(name), name), known)
            raise TargetError(f"unknown SQL dialect {name!r}{near}")
    table = _read_table(path)
    key = path.name.removesuffix(".toml")
    return build(Dialect, {**table, "key": key}, path.name)


def _plain(name: str) -> str:
    """The name of a database without what people write in different ways."""
    return "".join(filter(str.isalnum, name)).lower()


def nearest(name: str, known: Sequence[str]) -> str:
    """The rest of a message about an unknown name: the nearest ones, and all."""
    near = get_close_matches(name.lower(), known, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f": {hint}There are {', '.join(known)}"


def _read_table(path: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetError(f"{path}: {error}") from None
    except OSError as error:
        raise TargetError(f"cannot read {path}: {error.strerror}") from None


SCALARS = {str: "text", int: "a whole number", bool: "true or false"}


def build(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """An object of a class from a table: no key too many, none too few."""
    types = get_type_hints(kind)
    known = {f.name: f for f in fields(kind)}  # type: ignore[arg-type]
    made = {}
    for key, value in table.items():
        if key not in known:
            raise TargetError(f"{where}: {key!r} is not known{_did_you(key, known)}")
        part = types[key]
        if not (is_dataclass(part) and isinstance(part, type)):
            expected, fits = part, part not in SCALARS or isinstance(value, part)
        else:
            expected, fits = dict, isinstance(value, dict)
        if not fits:
            wanted = SCALARS.get(expected, "a section")
            raise TargetError(f"{where}: {key!r} is {value!r}: expected {wanted}")
        if expected is dict:
            value = build(part, value, f"{where} [{key}]")
        made[key] = value
    for key, entry in known.items():
        if key not in table and entry.default is entry.default_factory:  # MISSING
            raise TargetError(f"{where}: {key!r} is not there")
    return kind(**made)


def _did_you(key: str, known: Iterable[str]) -> str:
    near = get_close_matches(key, known, n=1)
    return f": did you mean {near[0]!r}?" if near else ""
