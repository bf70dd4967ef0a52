"""Unpack compressed files while they are read, up to a limit.

A small file can expand to any size, so more than a gigabyte is refused: a user who
trusts the file unpacks it first.
"""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable
from typing import Protocol

from treecompile.model.errors import DataError
from treecompile.model.files import MOST_BYTES

LARGEST_WINDOW = 27  # log2 of the memory that a Zstandard file may ask for


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Unpacked(io.RawIOBase):
    """The bytes of a compressed file; damage and too many bytes are errors."""

    def __init__(self, packed: Readable, name: str) -> None:
        self.packed, self.label = packed, name
        self.size = 0  # of what was read

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        try:
            data = self.packed.read(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self._damaged(error) from error
        except Exception as error:
            if type(error).__name__ != "ZstdError":  # the package is optional
                raise
            raise self._damaged(error) from error
        self.size += len(data)
        if self.size > MOST_BYTES:
            raise DataError(
                f"{self.label} expands to more than {MOST_BYTES:,} bytes: if you trust"
                " it, unpack it first"
            )
        buffer[: len(data)] = data
        return len(data)

    def _damaged(self, error: Exception) -> DataError:
        return DataError(f"{self.label} is damaged, or cut off: {error}")


def _gzip(file: io.RawIOBase) -> Readable:
    return gzip.GzipFile(fileobj=file, mode="rb")


def _zstandard(file: io.RawIOBase) -> Readable:
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ModuleNotFoundError as error:
        raise DataError(
            "Zstandard files need a package: pip install 'treecompile[zstd]'"
        ) from error
    window = {zstd.DecompressionParameter.window_log_max: LARGEST_WINDOW}
    return zstd.ZstdFile(file, options=window)  # type: ignore[arg-type]


PACKED: dict[str, Callable[[io.RawIOBase], Readable]] = {  # by suffix
    ".gz": _gzip,
    ".zst": _zstandard,
}
