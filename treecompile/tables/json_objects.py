"""Read JSON: one object on each line, or an array of objects.

A value keeps its type.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from treecompile.model.errors import DataError
from treecompile.model.files import json_reason
from treecompile.model.unicode import NOT_UNICODE, is_unicode
from treecompile.tables.raw import RawTable, not_unicode, objects

Record = dict[str, Any]

HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")  # how JSON writes half a surrogate pair
PLACE = re.compile(": line [0-9]+ column .*")  # in a message of the decoder
BLANKS = re.compile(r"[ \t\r\n]*")
ON_LINES = "one JSON object on each line"
ANYWHERE = "an array of JSON objects, or one object on each line"


def read_json_lines(lines: TextIO, name: str) -> RawTable:
    """Read one JSON object per line; blank lines are skipped."""
    return _table(_on_lines(lines, name), name, ON_LINES)


def read_json(lines: TextIO, name: str) -> RawTable:
    """Read an array of JSON objects; or one object per line, as in other suffixes."""
    read: list[str] = []
    try:
        for line in lines:
            read.append(line)
    except UnicodeDecodeError as error:
        raise not_unicode(name, len(read), error) from error
    text = "".join(read)
    if text.lstrip().startswith("{"):
        return _table(_on_lines(read, name, ANYWHERE), name, ANYWHERE)
    return _table(_in_array(text, name), name, ANYWHERE)


def _table(found: Iterable[tuple[int, Record]], name: str, expected: str) -> RawTable:
    """The table of some objects, each with its line.

    Every object must have the keys of the first, in any order. A missing value is
    written as null: an absent key might be a misspelt one.
    """
    names: tuple[str, ...] = ()
    values: list[Any] = []  # of all rows, one after the other
    places: list[int] = []  # the line number of each row
    for number, record in found:
        if not places:
            names = tuple(record)
            if not names:
                raise DataError(f"{name}, line {number}: the object has no keys")
        if record.keys() != set(names):
            raise _other_keys(name, number, record, names, places[0])
        values += map(record.__getitem__, names)
        places.append(number)
    if not places:
        raise DataError(f"{name} is empty: expected {expected}")
    width = len(names)
    columns = [values[i::width] for i in range(width)]
    for key, column in zip(names, columns, strict=True):
        _refuse_nested(name, key, column, places)
    return RawTable(names, tuple(map(objects, columns)), text=False, source=name)


def _on_lines(
    lines: Iterable[str], name: str, expected: str = ON_LINES
) -> Iterator[tuple[int, Record]]:
    number = 0
    try:
        for number, line in enumerate(lines, start=1):
            if not line.isspace():
                where = f"{name}, line {number}"
                with _named(where, expected):
                    record = json.loads(line, object_pairs_hook=_object)
                yield number, _checked(record, line, where)
    except UnicodeDecodeError as error:
        raise not_unicode(name, number, error) from error


def _in_array(text: str, name: str) -> Iterator[tuple[int, Record]]:
    """The objects of an array, decoded one by one."""
    decoder = json.JSONDecoder(object_pairs_hook=_object)
    place = _after_blanks(text, 0)
    line = 1 + text.count("\n", 0, place)
    sign, expected = text[place : place + 1], ("[", "")
    while sign in expected and sign not in ("]", ""):
        start = _after_blanks(text, place + 1)
        line += text.count("\n", place, start)
        end = start
        if sign == "," or text[start : start + 1] != "]":
            where = f"{name}, line {line}"
            with _named(where, ANYWHERE):
                record, end = decoder.raw_decode(text, start)
            yield line, _checked(record, text[start:end], where)
        place = _after_blanks(text, end)
        line += text.count("\n", start, place)
        sign, expected = text[place : place + 1], (",", "]")
    if sign not in expected or _after_blanks(text, place + 1) < len(text):
        raise DataError(f"{name}, line {line}: not a valid array: expected {ANYWHERE}")


def _after_blanks(text: str, place: int) -> int:
    found = BLANKS.match(text, place)
    return found.end() if found else place


@contextmanager
def _named(where: str, expected: str) -> Iterator[None]:
    """Name the place of a text that is not JSON."""
    try:
        yield
    except RecursionError:
        raise DataError(
            f"{where}: nested too deeply: flatten it into columns of its own first"
        ) from None
    except ValueError as error:  # also raised for very long integers
        reason = PLACE.sub("", json_reason(error))
        raise DataError(f"{where}: {reason}: expected {expected}") from error


def _checked(record: object, text: str, where: str) -> Record:
    if not isinstance(record, dict):
        raise DataError(
            f'{where}: expected a JSON object, such as {{"x": 1.5, "y": null}}'
        )
    if HALF_PAIR.search(text):
        _refuse_halves(record, where)
    return record


def _refuse_halves(record: dict[str, Any], where: str) -> None:
    for key, value in record.items():
        if not is_unicode(key):
            raise DataError(f"{where}: the key {key!r} {NOT_UNICODE}: correct it")
        if isinstance(value, str) and not is_unicode(value):
            raise DataError(f"{where}: {key!r} is {value!r}, which {NOT_UNICODE}")


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
