"""What a part of a model file must be; `where` names the place for the message."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from treecompile.errors import ModelFileError


def as_object(item: Any, where: str) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise ModelFileError(f"{where}: expected an object")
    return item


def keys(item: Any, names: Sequence[str], where: str) -> None:
    as_object(item, where)
    for name in names:
        if name not in item:
            raise ModelFileError(f'{where}: "{name}" is not there')
    for name in item:
        if name not in names:
            raise ModelFileError(f"{where}: {name!r} is not known")


def typed(value: Any, kind: type, where: str) -> Any:
    if type(value) is not kind:
        raise ModelFileError(f"{where}: expected {kind.__name__}")
    return value


def as_list(value: Any, where: str) -> list[Any]:
    items: list[Any] = typed(value, list, where)
    return items


def text(value: Any, where: str) -> str:
    return str(typed(value, str, where))


def integer(value: Any, where: str) -> int:
    if typed(value, int, where) < 0:
        raise ModelFileError(f"{where}: expected a number of at least 0")
    return int(value)


def number(value: Any, where: str) -> float:
    if type(value) not in (int, float) or abs(value) > 1.7976931348623157e308:
        raise ModelFileError(f"{where}: expected a finite number")
    return float(value)


def weight(value: Any, where: str) -> float:
    found = number(value, where)
    if found < 0:
        raise ModelFileError(f"{where}: expected a number of at least 0")
    return found
