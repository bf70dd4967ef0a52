"""Reads the wire format of protocol buffers, as far as ONNX files need it.

A message is a list of fields: a number, and a value in one of four forms. The reader
knows no schema. It checks every length, and bounds the number of values.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from treecompile.model.errors import ModelFileError
from treecompile.model.file.limits import MOST_BYTES, MOST_PARTS

VARINT, DOUBLE, BYTES, SINGLE = 0, 1, 2, 5
Value = int | bytes
BROKEN = "not an ONNX file: "


class Message:
    """The fields of a message, by their numbers."""

    def __init__(self, data: bytes, reader: Reader) -> None:
        self.reader = reader
        self.fields: dict[int, list[tuple[int, Value]]] = {}
        for number, form, value in reader.fields(data):
            self.fields.setdefault(number, []).append((form, value))

    def bytes_of(self, number: int) -> list[bytes]:
        """Return the values of a field of texts, tensors or other messages."""
        found = []
        for form, value in self.fields.get(number, ()):
            if form != BYTES or not isinstance(value, bytes):
                raise ModelFileError(f"{BROKEN}field {number} has the form {form}")
            found.append(value)
        return found

    def messages(self, number: int) -> list[Message]:
        return [Message(data, self.reader) for data in self.bytes_of(number)]

    def message(self, number: int) -> Message:
        """Return the last message of a field; an empty one if there is none."""
        found = self.bytes_of(number)
        return Message(found[-1] if found else b"", self.reader)

    def text(self, number: int) -> str:
        found = self.bytes_of(number)
        return text_of(found[-1]) if found else ""

    def texts(self, number: int) -> list[str]:
        return list(map(text_of, self.bytes_of(number)))

    def integers(self, number: int) -> list[int]:
        """Return the integers of a field, written one by one or packed."""
        found: list[int] = []
        for form, value in self.fields.get(number, ()):
            if form == VARINT and isinstance(value, int):
                found.append(signed(value))
            elif form == BYTES and isinstance(value, bytes):
                found += map(signed, self.reader.packed(value))
            else:
                raise ModelFileError(f"{BROKEN}field {number} has the form {form}")
        return found

    def integer(self, number: int, otherwise: int = 0) -> int:
        found = self.integers(number)
        return found[-1] if found else otherwise

    def numbers(self, number: int, form: int = SINGLE) -> list[float]:
        """Return the floats of 32 or 64 bits of a field, one by one or packed."""
        parts = []
        for own, value in self.fields.get(number, ()):
            if own not in (form, BYTES) or not isinstance(value, bytes):
                raise ModelFileError(f"{BROKEN}field {number} has the form {own}")
            parts.append(value)
        return self.reader.floats(b"".join(parts), form)


class Reader:
    """Reads the messages of one file, up to a number of values in total."""

    def __init__(self, data: bytes) -> None:
        if len(data) > MOST_BYTES:
            raise ModelFileError(
                f"{len(data):,} bytes: a model file has at most {MOST_BYTES:,}"
            )
        self.left = MOST_PARTS
        self.model = Message(data, self)

    def _count(self, values: int = 1) -> None:
        self.left -= values
        if self.left < 0:
            raise ModelFileError(
                f"more than {MOST_PARTS:,} values: a model file has at most that many"
            )

    def fields(self, data: bytes) -> Iterator[tuple[int, int, Value]]:
        place, end = 0, len(data)
        while place < end:
            self._count()
            tag, place = varint(data, place)
            number, form = tag >> 3, tag & 7
            if number == 0:
                raise ModelFileError(f"{BROKEN}a field has the number 0")
            if form == VARINT:
                value, place = varint(data, place)
                yield number, form, value
                continue
            if form == BYTES:
                size, place = varint(data, place)
            elif form in (DOUBLE, SINGLE):
                size = 8 if form == DOUBLE else 4
            else:
                raise ModelFileError(f"{BROKEN}a field has the unknown form {form}")
            if size > end - place:
                raise ModelFileError(
                    f"{BROKEN}a field has {size:,} bytes, and {end - place:,} are left"
                )
            yield number, form, data[place : place + size]
            place += size

    def packed(self, data: bytes) -> Iterator[int]:
        place, end = 0, len(data)
        while place < end:
            self._count()
            value, place = varint(data, place)
            yield value

    def floats(self, data: bytes, form: int) -> list[float]:
        size, sign = (8, "d") if form == DOUBLE else (4, "f")
        if len(data) % size:
            raise ModelFileError(f"{BROKEN}{len(data)} bytes are not whole numbers")
        self._count(len(data) // size)
        return list(struct.unpack(f"<{len(data) // size}{sign}", data))


def varint(data: bytes, place: int) -> tuple[int, int]:
    """Return a number of up to 64 bits, seven to a byte, and where it ends."""
    found = shift = 0
    while True:
        if place >= len(data) or shift > 63:
            raise ModelFileError(f"{BROKEN}a number does not end")
        byte = data[place]
        place += 1
        found |= (byte & 0x7F) << shift
        if byte < 0x80:
            return found & (1 << 64) - 1, place
        shift += 7


def signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ModelFileError(f"{BROKEN}a text is not UTF-8") from None
