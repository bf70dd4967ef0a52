"""A strict reader of Universal Binary JSON, as XGBoost writes it.

Every count is checked before memory is taken for it, and nothing is nested deeply. An
array of numbers of one type becomes an array of numpy.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from treecompile.model.errors import ModelFileError

MOST_NESTED = 32
MOST_PARTS = 4_000_000  # values, without the numbers of typed arrays
NUMBERS = {
    b"i": ">i1",
    b"U": ">u1",
    b"I": ">i2",
    b"l": ">i4",
    b"L": ">i8",
    b"d": ">f4",
    b"D": ">f8",
}
FORMATS = {b"i": ">b", b"U": ">B", b"I": ">h", b"l": ">i", b"L": ">q", b"d": ">f"}
FORMATS[b"D"] = ">d"
INTEGERS = (b"i", b"U", b"I", b"l", b"L")
CONSTANTS = {b"Z": None, b"T": True, b"F": False}


def parsed(data: bytes) -> Any:
    reader = _Binary(data)
    found = reader.value(reader.take(1), 0)
    if reader.place < len(data):
        raise reader.fault("more follows after the end")
    return found


class _Binary:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0
        self.parts = 0

    def fault(self, what: str) -> ModelFileError:
        return ModelFileError(f"not UBJSON: byte {self.place:,}: {what}")

    def take(self, count: int) -> bytes:
        found = self.data[self.place : self.place + count]
        if len(found) < count:
            raise self.fault("the file ends too early")
        self.place += count
        return found

    def next_is(self, mark: bytes) -> bool:
        if self.data[self.place : self.place + 1] != mark:
            return False
        self.place += 1
        return True

    def value(self, mark: bytes, nested: int) -> Any:
        self.parts += 1
        if self.parts > MOST_PARTS:
            raise self.fault(f"more than {MOST_PARTS:,} values")
        if mark in FORMATS:
            return self.number(mark)
        if mark == b"S":
            return self.text()
        if mark in CONSTANTS:
            return CONSTANTS[mark]
        if mark not in (b"[", b"{"):
            raise self.fault(f"the type {mark!r} is unknown")
        if nested == MOST_NESTED:
            raise self.fault("nested too deeply")
        return self.array(nested + 1) if mark == b"[" else self.object(nested + 1)

    def number(self, mark: bytes) -> int | float:
        shape = FORMATS[mark]
        found: int | float
        (found,) = struct.unpack(shape, self.take(struct.calcsize(shape)))
        return found

    def count(self) -> int:
        """Return the length of a text, or of a list."""
        mark = self.take(1)
        if mark not in INTEGERS:
            raise self.fault("expected an integer")
        found = int(self.number(mark))
        if not 0 <= found <= len(self.data) - self.place:
            raise self.fault(f"a length of {found:,}, and the file is shorter")
        return found

    def text(self) -> str:
        data = self.take(self.count())
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise self.fault("expected UTF-8") from None

    def array(self, nested: int) -> Any:
        if self.next_is(b"$"):
            return self.typed()
        if self.next_is(b"#"):
            return [self.value(self.take(1), nested) for _ in range(self.count())]
        found = []
        while not self.next_is(b"]"):
            found.append(self.value(self.take(1), nested))
        return found

    def typed(self) -> Any:
        mark = self.take(1)
        if mark not in NUMBERS:
            raise self.fault(f"an array of the type {mark!r}: expected numbers")
        if not self.next_is(b"#"):
            raise self.fault("expected the length of an array")
        kind = np.dtype(NUMBERS[mark])
        return np.frombuffer(self.take(self.count() * kind.itemsize), kind)

    def object(self, nested: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not self.next_is(b"}"):
            key = self.text()
            if key in found:
                raise self.fault(f"the key {key!r} is there twice")
            found[key] = self.value(self.take(1), nested)
        return found
