"""Targets are folders: a `target.toml`, Jinja templates, for SQL one file per dialect.

This module finds and reads them. They contain no Python. The keys of a TOML file are
the fields of a dataclass, so a misspelt key is an error.
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
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from treecompile.model.errors import TargetError
from treecompile.model.ir import ValueType

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Target:
    lowering: str  # a key of compiler.LOWERINGS: "python"
    template: str  # a file in its folder: "module.py.jinja"
    suffix: str  # of the artefact: ".py"
    formatter: str = ""  # "black", or "" for none
    spelling: Mapping[str, Any] = field(default_factory=dict)  # sections: see code.py
    name: str = ""  # as the user writes it: "python", "./excel"
    folder: Traversable = Path()


@dataclass(frozen=True, slots=True)
class ByType:
    """One text for each type of value; in a dialect, `{}` stands for the column."""

    number: str
    text: str
    integer: str
    boolean: str

    def of(self, value_type: ValueType) -> str:
        return {
            ValueType.FLOAT: self.number,
            ValueType.STR: self.text,
            ValueType.INT: self.integer,
            ValueType.BOOL: self.boolean,
        }[value_type]


def templates_folder() -> Traversable:
    """The built-in templates: inside the package, or beside it in a checkout."""
    inside = files("treecompile") / "templates"
    if inside.is_dir():
        return inside
    return Path(__file__).resolve().parents[2] / "templates"


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
            f"; for the folder, write ./{name}" if name and Path(name).is_dir() else ""
        )
        raise TargetError(f"unknown target {name!r}{nearest(name, known)}{beside}")
    return _read_target(name, folder / name)


def _read_target(name: str, folder: Traversable) -> Target:
    """A target from its folder; the sections of its target.toml are for code.py."""
    path = folder / "target.toml"
    table = read_table(path)
    spelling = {key: table.pop(key) for key in [*table] if isinstance(table[key], dict)}
    if spelling and table.get("lowering") != "code":
        section = next(iter(spelling))
        raise TargetError(f'{path.name}: [{section}] needs lowering = "code"')
    extra = {"name": name, "folder": folder, "spelling": spelling}
    return build(Target, {**table, **extra}, path.name)


def is_path(name: str) -> bool:
    """Whether a user names a file or folder, not a built-in target or dialect."""
    return "/" in name or os.sep in name


def nearest(name: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown name: similar names, and all names."""
    near = get_close_matches(name.lower(), known, n=2)
    hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    return f": {hint}Choose from {', '.join(known)}"


def read_table(path: Traversable) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetError(f"{path}: {error}") from None
    except OSError as error:
        raise TargetError(f"cannot read {path}: {error.strerror}") from None


EXPECTED: dict[type, str] = {
    str: "text",
    int: "a whole number",
    bool: "true or false",
    dict: "a section",
}


def build(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """A dataclass from a TOML table, which must have exactly its fields as keys."""
    types = get_type_hints(kind)
    known = {f.name: f for f in fields(kind)}
    made = {}
    for key, value in table.items():
        if key not in known:
            raise TargetError(f"{where}: unknown key {key!r}{_did_you(key, known)}")
        part = types[key]
        is_section = isinstance(part, type) and is_dataclass(part)
        expected = dict if is_section else part
        if expected in EXPECTED and not isinstance(value, expected):
            wanted = EXPECTED[expected]
            raise TargetError(f"{where}: {key!r} is {value!r}: expected {wanted}")
        made[key] = build(part, value, f"{where} [{key}]") if is_section else value
    for key, entry in known.items():
        if key not in table and entry.default is entry.default_factory:  # MISSING
            raise TargetError(f"{where}: the key {key!r} is missing")
    return kind(**made)


def _did_you(key: str, known: Iterable[str]) -> str:
    near = get_close_matches(key, known, n=1)
    return f": did you mean {near[0]!r}?" if near else ""
