"""Readers of JSON text and of the parts of a model file.

Each takes a part and its place, such as `nodes[3].stats`, and gives its value or raises
an error that names the place.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from sys import float_info
from typing import Any, TypeVar

from treecompile.model.errors import ModelFileError
from treecompile.model.file.limits import (
    LEAST_WEIGHT,
    MOST_DIGITS,
    MOST_ROWS,
    MOST_SQUARES,
    MOST_WEIGHT,
)
from treecompile.model.files import json_reason
from treecompile.model.unicode import NOT_UNICODE, is_unicode

TOO_LARGE = 10**MOST_DIGITS
Choice = TypeVar("Choice", bound=StrEnum)
PartReader = Callable[[Any, str], Any]


def parsed(data: bytes | str, what: str) -> Any:
    """Strict JSON: no NaN, no key twice; an error says that it is not `what`."""

    def refuse_constant(name: str) -> float:
        raise ModelFileError(f"not {what}: {name} is not JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) < len(pairs):
            raise ModelFileError(f"not {what}: an object has a key twice")
        return record

    try:
        if isinstance(data, bytes):  # strictly: json would let broken text pass
            data = data.decode(json.detect_encoding(data))
        return json.loads(
            data, parse_constant=refuse_constant, object_pairs_hook=unique
        )
    except RecursionError:
        raise ModelFileError(f"not {what}: nested too deeply") from None
    except ValueError as error:  # bad JSON, bad UTF-8, a number of thousands of digits
        raise ModelFileError(f"not {what}: {json_reason(error)}") from None


def as_object(item: Any, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ModelFileError(f"{where}: expected an object")
    return item


def keys(item: Any, names: Collection[str], where: str) -> None:
    """Require an object that has exactly these keys."""
    if as_object(item, where).keys() == set(names):
        return
    for name in names:
        if name not in item:
            raise ModelFileError(f'{where}: "{name}" is missing')
    for name in item:
        if name not in names:
            raise ModelFileError(f"{where}: the key {name!r} is unknown")


def fields(item: Any, where: str, readers: Mapping[str, PartReader]) -> list[Any]:
    """The values of an object that has exactly these keys, each with its reader."""
    keys(item, readers, where)
    return [read(item[key], f"{where}.{key}") for key, read in readers.items()]


def listed(items: Any, where: str, read: PartReader) -> tuple[Any, ...]:
    """The parts of a list, all with the same reader."""
    parts = enumerate(as_list(items, where))
    return tuple(read(part, f"{where}[{i}]") for i, part in parts)


def optional(read: PartReader) -> PartReader:
    """A reader that also takes null."""
    return lambda item, where: None if item is None else read(item, where)


def typed(value: Any, kind: str, where: str) -> Any:
    """A value whose type in Python has this name."""
    if type(value).__name__ != kind:
        raise ModelFileError(f"{where}: expected {kind}")
    return value


def member(value: Any, kind: type[Choice], message: str) -> Choice:
    """A text as one of the members of an enumeration."""
    try:
        return kind(value)
    except ValueError:
        raise ModelFileError(message) from None


def as_list(value: Any, where: str) -> list[Any]:
    items: list[Any] = typed(value, "list", where)
    return items


def text(value: Any, where: str) -> str:
    found = str(typed(value, "str", where))
    if not is_unicode(found):
        raise ModelFileError(f"{where}: {found!r} {NOT_UNICODE}: correct it")
    return found


def scalar(value: Any, where: str) -> Any:
    """A text, an integer, a finite number or a boolean."""
    if isinstance(value, str):
        return text(value, where)
    if isinstance(value, int):  # or a boolean
        if not -TOO_LARGE < value < TOO_LARGE:
            raise ModelFileError(
                f"{where}: an integer has at most {MOST_DIGITS:,} digits"
            )
        return value
    if isinstance(value, float):
        return number(value, where)
    raise ModelFileError(f"{where}: expected text, a number or a boolean")


def boolean(value: Any, where: str) -> bool:
    return bool(typed(value, "bool", where))


def integer(value: Any, where: str) -> int:
    """A number of rows, or a position."""
    if not 0 <= typed(value, "int", where) <= MOST_ROWS:
        raise ModelFileError(
            f"{where}: expected an integer of at least 0 and at most {MOST_ROWS:,}"
        )
    return int(value)


def number(value: Any, where: str) -> float:
    if type(value) not in (int, float) or abs(value) > float_info.max:
        raise ModelFileError(f"{where}: expected a finite number")
    return float(value)


def weight(value: Any, where: str) -> float:
    found = number(value, where)
    if found and not LEAST_WEIGHT <= found <= MOST_WEIGHT:
        raise ModelFileError(
            f"{where}: {found!r} is not a weight: expected 0, or a number from"
            f" {LEAST_WEIGHT:g} to {MOST_WEIGHT:g}"
        )
    return found


def squares(value: Any, where: str) -> float:
    """A sum of squared errors."""
    found = number(value, where)
    if not 0 <= found <= MOST_SQUARES:
        raise ModelFileError(
            f"{where}: expected a number of at least 0 and at most {MOST_SQUARES:g}"
        )
    return found


def distinct(items: Iterable[Any], where: str, what: str) -> None:
    items = list(items)
    if len(set(items)) < len(items):
        raise ModelFileError(f"{where}: {what}")


def family(children: Sequence[Mapping[str, int]], where: str) -> None:
    """Require nodes that form a tree: the children of each come after it.

    They are given by their keys in the node: {"then": 3, "else": 4}.
    """
    if not children:
        raise ModelFileError(f"{where}: expected at least one")
    for position, own in enumerate(children):
        for key, child in own.items():
            if not position < child < len(children):
                raise ModelFileError(
                    f"{where}[{position}].{key}: a child comes after its parent"
                )
    found = sorted(child for own in children for child in own.values())
    if found != list(range(1, len(children))):
        raise ModelFileError(
            f"{where}: each node but the first must be the child of exactly one other"
        )
