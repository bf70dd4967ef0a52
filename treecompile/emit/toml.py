"""Reads TOML files into dataclasses: every key is a field, every value is checked.

    nesting: int = checked(least=1)
    at_most: Phrase = phrase("{x} {value}")
    sample: Phrase = phrase("{rows}", default="LIMIT {rows}")

The files may come from anybody. Whatever is wrong with one, the error names the file,
the section and the key.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

from treecompile.emit.phrases import Phrase
from treecompile.model.errors import TargetError
from treecompile.model.files import read_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
KEY = "key"  # the key in the metadata of a field
MOST_BYTES = 1 << 18  # bytes of a file
LONGEST = 4000  # characters of a text: each may be written once per leaf of a tree
GREATEST = 10**9  # number


@dataclass(frozen=True, slots=True)
class Key:
    """What a key may have as its value."""

    places: tuple[str, ...] = ()  # the places of a phrase
    once: str = ""  # the place that a phrase must have exactly once, unless it is empty
    choices: Collection[str] = ()  # empty: any text
    least: int = 0
    most: int = GREATEST
    problem: Callable[[str], str] | None = None  # what is wrong with a text; "" if none


ANY = Key()


def checked(default: Any = MISSING, **more: Any) -> Any:
    """Declare the values of a field."""
    return field(default=default, metadata={KEY: Key(**more)})


def phrase(places: str = "", default: str | None = None, once: str = "") -> Any:
    """Declare the places of a field that holds a phrase, or one phrase per type."""
    names = tuple(re.findall(r"\{(\w*)\}", places))
    made = MISSING if default is None else Phrase(default, names)
    return field(default=made, metadata={KEY: Key(names, once)})


# ---------------------------------------------------------------- reading


def read_table(path: Traversable) -> dict[str, Any]:
    try:
        if isinstance(path, Path):
            text = read_text(path, TargetError, most=MOST_BYTES)
        else:
            text = path.read_text(encoding="utf-8")  # built in, inside a zip
        return tomllib.loads(text)
    except RecursionError:
        raise TargetError(f"{path}: nested too deeply") from None
    except ValueError as error:  # also: an integer of more digits than int() reads
        raise TargetError(f"{path}: {one_line(error)}") from None


def build(kind: type[T], table: Mapping[str, Any], where: str, **known: Any) -> T:
    """Make a dataclass from a TOML table, which must have exactly its fields as keys.

    `known` are fields that do not come from the file.
    """
    made: T = _built(kind, table, where, known, ANY)
    return made


def _built(
    kind: Any,
    table: Mapping[str, Any],
    where: str,
    known: Mapping[str, Any],
    outer: Key,
) -> Any:
    made_of = get_origin(kind) or kind  # ByType of ByType[Phrase]
    types = get_type_hints(made_of)
    parameters = getattr(made_of, "__parameters__", ())
    filled = dict(zip(parameters, get_args(kind), strict=True))
    # A word that Python reserves, such as `and`, is a field `and_`.
    declared = {f.name.rstrip("_"): f for f in fields(made_of) if f.name not in known}
    made = dict(known)
    for name, value in table.items():
        if name not in declared:
            raise TargetError(
                f"{where}: unknown key {name!r}{_did_you(name, declared)}"
            )
        said = declared[name].metadata.get(KEY, outer)
        field_name = declared[name].name
        part = filled.get(types[field_name], types[field_name])
        made[field_name] = _value(part, value, said, where, name)
    for name, entry in declared.items():
        if name not in table and entry.default is entry.default_factory:  # MISSING
            raise TargetError(f"{where}: the key {name!r} is missing")
    return made_of(**made)


def _did_you(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name[:LONGEST], known, n=1)
    return f": did you mean {near[0]!r}?" if near else ""


# ---------------------------------------------------------------- values

EXPECTED: dict[Any, tuple[type, str]] = {
    str: (str, "text"),
    Phrase: (str, "text"),
    int: (int, "a whole number"),
    bool: (bool, "true or false"),
    Sequence[str]: (list, "a list of texts"),
    Mapping[str, str]: (dict, "a section of texts"),
}


def _value(kind: Any, value: Any, said: Key, where: str, name: str) -> Any:
    is_section = is_dataclass(get_origin(kind) or kind)
    wanted, described = (dict, "a section") if is_section else EXPECTED[kind]
    is_right = type(value) is wanted  # true is not a whole number
    if is_right and not is_section and wanted in (list, dict):
        parts = value.values() if wanted is dict else value
        is_right = all(type(each) is str for each in parts)
    if not is_right:
        shown = _shown(value)
        raise TargetError(f"{where}: {name!r} is {shown}: expected {described}")
    if is_section:
        return _built(kind, value, f"{where} [{name}]", {}, said)
    if problem := _problem(value, said):
        raise TargetError(f"{where}: {name} = {_shown(value)}: {problem}")
    if kind is not Phrase:
        return value
    try:
        return _phrase(value, said)
    except ValueError as error:
        joint = " " if str(error).startswith("has ") else ": "
        raise TargetError(f"{where}: {name} = {value!r}{joint}{error}") from None


def _phrase(value: str, said: Key) -> Phrase:
    made = Phrase(value, said.places)
    if made and said.once and made.places.count(said.once) != 1:
        raise ValueError(f"expected {{{said.once}}} exactly once")
    return made


def _problem(value: Any, said: Key) -> str:
    if isinstance(value, list):
        return next(filter(None, (_problem(each, said) for each in value)), "")
    if isinstance(value, str):
        if said.choices and value not in said.choices:
            return f"choose from {', '.join(filter(None, said.choices))}"
        if len(value) > LONGEST:
            return f"longer than {LONGEST:,} characters"
        return said.problem(value) if said.problem else ""
    if type(value) is int and not said.least <= value <= said.most:
        return f"expected {said.least} to {said.most:,}"
    return ""


def _shown(value: Any) -> str:
    """Return a value in a message: in full only if it cannot be long or nested."""
    if isinstance(value, dict):
        return "a section"
    if isinstance(value, list):
        return "a list"
    if type(value) is int and abs(value) > GREATEST:
        return "a huge number"
    return repr(value)


# ---------------------------------------------------------------- texts


def on_one_line(text: str) -> str:
    """Say what is wrong with a name that messages contain; "" if nothing."""
    return "" if text.isprintable() else "expected text on one line"


def one_line(error: object) -> str:
    """Return an error, or its message, on one line."""
    return " ".join(str(error).split())
