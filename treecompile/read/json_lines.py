"""JSON lines: one object on each line, its keys the columns, its values typed.

Every line has the keys of the first, in any order: what is missing is written as null,
or a misspelt key would pass as missing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, TextIO

from treecompile.errors import DataError
from treecompile.read.table import Table, not_unicode, objects


def read_json_lines(lines: TextIO, name: str) -> Table:
    """Read a file of JSON lines; blank ones are passed over."""
    names: tuple[str, ...] = ()
    values: list[Any] = []  # of all rows, one after the other
    places: list[int] = []  # the line of each row
    for number, record in _records(lines, name):
        if not places:
            names = tuple(record)
            if not names:
                raise DataError(f"{name}, line {number}: the object has no keys")
        if record.keys() != set(names):
            raise _other_keys(name, number, record, names, places[0])
        values += map(record.__getitem__, names)
        places.append(number)
    if not places:
        raise DataError(f"{name} is empty: expected a JSON object on each line")
    width = len(names)
    columns = [values[i::width] for i in range(width)]
    for key, column in zip(names, columns, strict=True):
        _refuse_nested(name, key, column, places)
    return Table(names, tuple(map(objects, columns)), text=False, source=name)


def _records(lines: TextIO, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if line.isspace():
                continue
            try:
                record = json.loads(line, object_pairs_hook=_object)
            except RecursionError:
                raise DataError(f"{name}, line {number}: nested too deeply") from None
            except ValueError as error:  # also of integers too long to be read
                reason = str(error).partition(": line 1")[0]
                raise DataError(
                    f"{name}, line {number}: {reason}: expected one JSON object"
                    " on each line"
                ) from error
            if not isinstance(record, dict):
                raise DataError(
                    f"{name}, line {number}: expected a JSON object, such as"
                    ' {"x": 1.5, "y": null}'
                )
            yield number, record
    except UnicodeDecodeError as error:
        raise not_unicode(name, number, error) from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise ValueError(f"the key {twice!r} is there twice")
    return record


def _other_keys(
    name: str, number: int, record: dict[str, Any], names: tuple[str, ...], first: int
) -> DataError:
    absent = next((key for key in names if key not in record), None)
    if absent is not None:
        return DataError(
            f"{name}, line {number}: no key {absent!r}, which line {first} has: "
            "write null if the value is missing"
        )
    new = next(key for key in record if key not in names)
    return DataError(
        f"{name}, line {number}: the key {new!r} is not in line {first}: "
        "give every line the same keys, with null for a missing value"
    )


def _refuse_nested(name: str, key: str, column: list[Any], places: list[int]) -> None:
    if not {list, dict} & set(map(type, column)):
        return
    row = next(i for i, value in enumerate(column) if isinstance(value, (list, dict)))
    kind = "an array" if isinstance(column[row], list) else "an object"
    raise DataError(
        f"{name}, line {places[row]}: {key!r} is {kind}: "
        "flatten it into columns of its own first"
    )
