"""Reads TOML files into dataclasses: every key is a field, every value is checked.

    nesting: int = checked(least=1)
    at_most: Phrase = phrase("{x} {value}")
    sample: Phrase = phrase("{rows}", default="LIMIT {rows}")

Whatever is wrong with a file, the error names the file, the section and the key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, field, fields, is_dataclass
from difflib import get_close_matches
from functools import partial
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from treecompile.emit.phrases import Phrase
from treecompile.model.errors import TargetError
from treecompile.model.files import read_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
READ = "read"  # in the metadata of a field: the function that reads its value

# ---------------------------------------------------------------- declarations


def checked(default: Any = MISSING, **more: Any) -> Any:
    """Declare the values of a field: see `_checked`."""
    return field(default=default, metadata={READ: partial(_checked, **more)})


def _checked(
    value: Any,
    choices: Collection[str] = (),  # empty: any text
    least: int = 0,
    most: int = 10**9,
    problem: Callable[[str], str] | None = None,  # what is wrong with a text; "" if OK
) -> Any:
    """Return a value; ValueError says what is wrong with it."""
    if choices and value not in choices:
        raise ValueError(f"choose from {', '.join(filter(None, choices))}")
    if type(value) is int and not least <= value <= most:
        raise ValueError(f"expected {least} to {most:,}")
    texts = value if isinstance(value, list) else [value]
    if said := next(filter(None, map(problem, texts)), "") if problem else "":
        raise ValueError(said)
    return value


def phrase(places: str = "", default: str | None = None) -> Any:
    """Declare the places of a phrase."""
    names = re.findall(r"\{(\w*)\}", places)
    made = MISSING if default is None else Phrase(default, names)
    return field(default=made, metadata={READ: partial(Phrase, names=names)})


# ---------------------------------------------------------------- reading

EXPECTED: dict[Any, tuple[type, str]] = {
    str: (str, "text"),
    Phrase: (str, "text"),
    int: (int, "a whole number"),
    bool: (bool, "true or false"),
    Sequence[str]: (list, "a list of texts"),
    Mapping[str, str]: (dict, "a section of texts"),
}


def read_table(path: Traversable) -> dict[str, Any]:
    try:
        if isinstance(path, Path):
            text = read_text(path, TargetError)
        else:
            text = path.read_text(encoding="utf-8")  # built in, inside a zip
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also: an integer of many digits
        raise TargetError(f"{path}: {one_line(error)}") from None


def build(kind: type[T], table: Mapping[str, Any], where: str, **known: Any) -> T:
    """Make a dataclass from a TOML table, which must have exactly its fields as keys.

    `known` are fields that do not come from the file.
    """
    types = get_type_hints(kind)
    # A word that Python reserves, such as `and`, is a field `and_`.
    declared = {f.name.rstrip("_"): f for f in fields(kind) if f.name not in known}
    made = dict(known)
    for name, value in table.items():
        if name not in declared:
            near = get_close_matches(name, declared, n=1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise TargetError(f"{where}: unknown key {name!r}{hint}")
        entry = declared[name]
        read = entry.metadata.get(READ, _checked)
        made[entry.name] = _value(types[entry.name], value, read, where, name)
    for name, entry in declared.items():
        if name not in table and entry.default is entry.default_factory:  # MISSING
            raise TargetError(f"{where}: the key {name!r} is missing")
    return kind(**made)


def _value(
    kind: Any, value: Any, read: Callable[[Any], Any], where: str, name: str
) -> Any:
    is_section = is_dataclass(kind)
    wanted, described = (dict, "a section") if is_section else EXPECTED[kind]
    is_right = type(value) is wanted  # true is not a whole number
    if is_right and wanted in (list, dict) and not is_section:
        parts = value.values() if wanted is dict else value
        is_right = all(type(each) is str for each in parts)
    if not is_right:
        raise TargetError(f"{where}: {name}: expected {described}")
    if is_section:
        return build(kind, value, f"{where} [{name}]")
    try:
        return read(value)
    except ValueError as error:
        raise TargetError(f"{where}: {name}: {error}") from None


# ---------------------------------------------------------------- texts


def on_one_line(text: str) -> str:
    """Say what is wrong with a name that messages contain; "" if nothing."""
    return "" if text.isprintable() else "expected text on one line"


def one_line(error: object) -> str:
    """Return an error, or its message, on one line."""
    return " ".join(str(error).split())
