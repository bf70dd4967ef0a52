"""Finds and reads targets, the languages that a program can be compiled to.

A target is a folder with a `target.toml`, Jinja templates and, for SQL, one file per
dialect. It contains no Python.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Generic, TypeVar

from treecompile.emit.toml import build, checked, read_table
from treecompile.model.errors import TargetError
from treecompile.model.ir import ValueType

T = TypeVar("T")


def template_problem(name: str) -> str:
    """Say why a text cannot be the name of a template; "" if it can."""
    parts = re.split(r"[/\\]", name)
    if name.isprintable() and not {"", ".", ".."} & set(parts) and ":" not in name:
        return ""
    return "expected the name of a file in the folder of the target"


def suffix_problem(text: str) -> str:
    is_suffix = re.fullmatch(r"(?:\.[\w-]+)*", text)
    return "" if is_suffix else "expected a full stop and letters, as in '.py'"


@dataclass(frozen=True, slots=True)
class Target:
    # In its folder: "module.py.jinja".
    template: str = checked(problem=template_problem)
    suffix: str = checked(problem=suffix_problem)  # of the artefact: ".py"
    lowering: str = "language"  # a key of compiler.LOWERINGS
    # The template for a forest; "" if there is none.
    forest: str = checked("", problem=lambda name: name and template_problem(name))
    # Of a language of several files: the name of the artefact among them, "predict.c",
    # and the others, each with a template of the same name: ["predict.h"].
    file: str = checked("", problem=lambda name: name and template_problem(name))
    beside: Sequence[str] = checked((), problem=template_problem)
    # To verify the artefact: the template of a program that reads rows and writes
    # answers, and how to compile and run it.
    driver: str = checked("", problem=lambda name: name and template_problem(name))
    build: str = ""
    run: str = ""
    engine: str = ""  # what `verify` calls it, if not by the name of the folder
    formatter: str = checked("", choices=("", "black"))  # "" for none
    longest: int = checked(0, least=1)  # characters that its engine reads; 0: any
    spelling: Mapping[str, Any] = field(
        default_factory=dict
    )  # the sections: see `spelling`
    name: str = ""  # as the user writes it: "python", "./excel"
    folder: Traversable = Path()


@dataclass(frozen=True, slots=True)
class ByType(Generic[T]):
    """One text or phrase for each type of value."""

    number: T
    text: T
    integer: T
    boolean: T

    def of(self, value_type: ValueType) -> T:
        return {
            ValueType.FLOAT: self.number,
            ValueType.STR: self.text,
            ValueType.INT: self.integer,
            ValueType.BOOL: self.boolean,
        }[value_type]


def templates_folder() -> Traversable:
    """Return the folder of built-in templates: in the package, or beside it."""
    inside = files("treecompile") / "templates"
    if inside.is_dir():
        return inside
    return Path(__file__).resolve().parents[2] / "templates"


def read_target(name: str) -> Target:
    """Read a built-in target by its name, or a user's by its folder, as in ./excel."""
    if is_path(name):
        return _read_target(name, Path(name))
    return _built_in_target(name)


def target_names() -> list[str]:
    """Return the names of the built-in targets."""
    return sorted(each.name for each in templates_folder().iterdir() if each.is_dir())


@cache
def _built_in_target(name: str) -> Target:
    folder, known = templates_folder(), target_names()
    if name not in known:
        beside = f"; for the folder, write ./{name}" if os.path.isdir(name) else ""
        raise TargetError(f"unknown target {name!r}{nearest(name, known)}{beside}")
    return _read_target(name, folder / name)


def _read_target(name: str, folder: Traversable) -> Target:
    """Read a target from its folder; `spelling` reads the sections of target.toml."""
    path = folder / "target.toml"
    table = read_table(path)
    spelling = {name: table.pop(name) for name in [*table] if type(table[name]) is dict}
    return build(Target, table, path.name, name=name, folder=folder, spelling=spelling)


def is_path(name: str) -> bool:
    """Whether a user names a file or folder, not a built-in target or dialect."""
    return "/" in name or os.sep in name


def nearest(name: str, known: Sequence[str]) -> str:
    """End a message about an unknown name, with similar names and all names."""
    near = get_close_matches(name.lower(), known, n=2)
    if near:
        hint = f"did you mean {' or '.join(map(repr, near))}?"
        return f": {hint} There are {', '.join(known)}"
    return f": expected one of {', '.join(known)}"
