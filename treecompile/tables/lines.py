"""The lines of a text file, each up to a limit: a device may never end one.

file -> unpacked -> UTF-8 -> lines
"""

from __future__ import annotations

import codecs
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from treecompile.model.errors import DataError, OptionError
from treecompile.tables.packed import PACKED, Unpacked

MOST_BYTES = 1 << 26  # of a line, and of a CSV field; a million columns are far shorter
UTF_8 = "utf-8-sig"  # with or without the byte order mark that Excel writes
UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class BoundedLines(io.BufferedReader):
    """Bytes of a file; a line that is too long is an error.

    It is noticed while the line is read, before its text is put together. Whole chunks
    are looked at, so reading is as fast as without the limit.
    """

    def __init__(self, raw: io.RawIOBase, name: str) -> None:
        super().__init__(raw)
        self.label = name
        self.lines = 0  # that ended so far
        self.length = 0  # of the line that has not ended

    def read1(self, size: int = -1, /) -> bytes:
        data = super().read1(size)
        end = data.rfind(b"\n")
        if end < 0:
            end = data.rfind(b"\r")  # the line end of old files
        if end < 0:
            self.length += len(data)
        else:
            self.lines += data.count(b"\n")
            self.length = len(data) - end - 1
        if self.length > MOST_BYTES:
            raise DataError(
                f"{self.label}, line {self.lines + 1}: longer than {MOST_BYTES:,}"
                " bytes: check that it is a text file with a line for each row"
            )
        return data


class Transcoded(io.RawIOBase):
    """The text of a file in another encoding, as bytes in UTF-8."""

    def __init__(self, source: io.BufferedReader, encoding: str, name: str) -> None:
        self.source, self.encoding, self.label = source, encoding, name
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.waiting = b""  # is read next
        self.lines = 0  # that were decoded
        self.is_over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        while not self.waiting and not self.is_over:
            data = self.source.read(len(buffer))
            self.is_over = not data
            self.waiting = self._decoded(data)
        part, self.waiting = self.waiting[: len(buffer)], self.waiting[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)

    def _decoded(self, data: bytes) -> bytes:
        try:
            text = self.decoder.decode(data, self.is_over)
            found = text.encode()
        except UnicodeError as error:
            line = self.lines + 1
            if isinstance(error, UnicodeDecodeError):
                before = error.object[: error.start]
                line += before.decode(self.encoding, "ignore").count("\n")
            raise DataError(
                f"{self.label}, line {line}: not {self.encoding}: check encoding"
            ) from error
        self.lines += text.count("\n")
        return found


def _encoding_of(start: bytes, name: str) -> str:
    """The encoding that the first four bytes of a file show."""
    even, odd = start[::2], start[1::2]
    for zeros, others, likely in ((odd, even, "le"), (even, odd, "be")):
        if zeros == b"\0\0" and 0 not in others:
            raise DataError(
                f"{name}: it looks like UTF-16 without a byte order mark: add"
                f" encoding=utf-16-{likely}"
            )
    return "utf-16" if start[:2] in UTF_16_MARKS else UTF_8


def check_encoding(name: str) -> None:
    """Refuse a name that is not that of a text encoding."""
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise OptionError(
            f"encoding={name!r} is not known: expected a name such as latin-1, cp1252"
            " or utf-16"
        ) from None


def inner_suffix(path: str) -> str:
    """The suffix that says what a file contains: .csv of data.csv.gz."""
    found = Path(path)
    if found.suffix.lower() in PACKED:
        found = found.with_suffix("")
    return found.suffix.lower()


@contextmanager
def open_lines(path: str, name: str, encoding: str = "") -> Iterator[TextIO]:
    """A text file, perhaps compressed; line ends stay as they are."""
    with open(path, "rb", buffering=0) as file:
        unpack = PACKED.get(Path(path).suffix.lower())
        raw = Unpacked(unpack(file), name) if unpack else file
        with _lines(raw, name, encoding) as lines:
            yield lines


@contextmanager
def standard_input(name: str, encoding: str = "") -> Iterator[TextIO]:
    """The same for standard input, which stays open."""
    try:
        with _lines(sys.stdin.buffer, name, encoding) as lines:  # type: ignore[arg-type]
            yield lines
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"cannot read {name}: {reason}") from error


@contextmanager
def _lines(raw: io.RawIOBase, name: str, encoding: str) -> Iterator[TextIO]:
    """The text in some bytes. These are not closed in the end."""
    binary = BoundedLines(raw, name)
    if encoding:
        check_encoding(encoding)
    else:
        encoding = _encoding_of(binary.peek(4)[:4], name)
    plain = binary
    if codecs.lookup(encoding).name not in ("utf-8", UTF_8):
        plain = BoundedLines(Transcoded(binary, encoding, name), name)
    lines = io.TextIOWrapper(plain, UTF_8, newline="")
    try:
        yield lines
    finally:  # otherwise the wrappers close what they wrap when they are freed
        lines.detach()
        plain.detach()
        if plain is not binary:
            binary.detach()
