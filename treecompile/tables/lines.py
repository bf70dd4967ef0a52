"""The lines of a text file, each up to a limit: a device may never end one."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from treecompile.model.errors import DataError

MOST_BYTES = 1 << 26  # of a line, and of a CSV field; a million columns are far shorter
ENCODING = "utf-8-sig"  # UTF-8, with or without the byte order mark that Excel writes


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


@contextmanager
def open_lines(path: str, name: str) -> Iterator[TextIO]:
    """A text file in UTF-8; line ends stay as they are."""
    with io.TextIOWrapper(
        BoundedLines(open(path, "rb", buffering=0), name), ENCODING, newline=""
    ) as lines:
        yield lines


@contextmanager
def standard_input(name: str) -> Iterator[TextIO]:
    """The same for standard input, which stays open."""
    binary = BoundedLines(sys.stdin.buffer, name)  # type: ignore[arg-type]
    lines = io.TextIOWrapper(binary, ENCODING, newline="")
    try:
        yield lines
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"cannot read {name}: {reason}") from error
    finally:
        lines.detach()  # otherwise the wrappers close it when they are freed
        binary.detach()
