"""Read and write whole files.

Reading ends at a limit: a device, a pipe or a hostile file may never end. Writing is
atomic: other processes see the old file or the new one, and so does the user after an
error or a signal.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from errno import EISDIR, ENOTDIR
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import BinaryIO

from treecompile.model import signals
from treecompile.model.errors import TreecompileError

MOST_BYTES = 1 << 30
AT_ONCE = 1 << 20
PICKLES = (".pkl", ".pickle", ".joblib")
TEMPORARY = ".treecompile-"  # how the names of temporary files begin


def refuse_pickle(path: str | Path, error: type[TreecompileError]) -> None:
    """Refuse a pickle, known by its name: to read one is to run it."""
    if str(path).lower().endswith(PICKLES):
        raise error(
            f"{str(path)!r}: pickles are not read, since they can run any code: load it"
            " in Python, and give a model to from_sklearn, from_lightgbm, from_xgboost"
            " or from_xgboost, or a DataFrame to learn"
        )


def read_bytes(
    path: str | Path,
    error: type[TreecompileError],
    *,
    option: str = "",
    most: int = MOST_BYTES,
) -> bytes:
    """The bytes of a file, or an error of this class; `option` begins its message."""
    try:
        with open(path, "rb") as file:
            data = _read(file, most + 1)
    except OSError as cause:
        reason = cause.strerror or cause
        raise error(f"{option}cannot read {str(path)!r}: {reason}") from None
    except ValueError as cause:  # the name contains a NUL
        raise error(f"{option}cannot read {str(path)!r}: {cause}") from None
    if len(data) > most:
        raise error(f"{option}{str(path)!r} is too large: more than {most:,} bytes")
    return data


def beginning(path: str | Path, most: int) -> bytes:
    """The first bytes of a file; none if it cannot be read: to read it will say why."""
    try:
        with Path(path).open("rb") as file:
            return file.read(most)
    except (OSError, ValueError):
        return b""


def _read(file: BinaryIO, most: int) -> bytes:
    """Up to so many bytes; `file.read(most)` would first allocate memory for all."""
    found = bytearray()
    while part := file.read(min(AT_ONCE, most - len(found))):
        found += part
    return bytes(found)


def read_text(
    path: str | Path,
    error: type[TreecompileError],
    *,
    option: str = "",
    most: int = MOST_BYTES,
) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    data = read_bytes(path, error, option=option, most=most)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as cause:
        line = data.count(b"\n", 0, cause.start) + 1
        place = f"{option}{str(path)!r}, line {line}"
        raise error(f"{place}: not UTF-8 text: convert the file to UTF-8") from None


def json_reason(error: ValueError) -> str:
    """Why a text is not JSON, without advice for programmers or places in one line."""
    if "integer string conversion" in str(error):
        return "an integer of thousands of digits"
    return str(error).partition(": line 1 column")[0]


# ---------------------------------------------------------------- writing


def write_text(path: Path, text: str) -> None:
    """Write a file atomically: other processes see the old file or the new one."""
    write_texts({path: text})


def write_texts(texts: Mapping[Path, str]) -> None:
    """Write several files: all of them, or none if one cannot be written.

    Symbolic links are followed. A pipe or a device is written to directly.
    """
    waiting = Waiting()
    try:
        for path, text in texts.items():
            waiting.add(path, text)
        waiting.finish()
    except BrokenPipeError:
        raise  # the reader of the pipe has closed it: no error
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise TreecompileError(
            f"cannot write {waiting.named}: the text contains {found!r}, which is not"
            " valid Unicode"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: the name contains a NUL
        reason = getattr(error, "strerror", "") or error
        raise TreecompileError(f"cannot write {waiting.named}: {reason}") from None
    finally:
        waiting.remove()


class Waiting:
    """Files that are complete, but still have temporary names."""

    def __init__(self) -> None:
        self.named = Path()  # the current one, for an error message
        self.streams: dict[Path, bytes] = {}  # to pipes and devices
        self.files: dict[str, tuple[Path, str]] = {}  # by temporary name
        self.folders: list[Path] = []  # made for them, the outermost first

    def add(self, named: Path, text: str) -> None:
        self.named, data = named, text.encode()
        mode = _mode(named)
        if S_ISDIR(mode):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        if mode and not S_ISREG(mode):
            self.streams[named] = data
            return
        path = os.path.realpath(named)
        self._make_folder(Path(path).parent)
        temporary = f"{os.path.dirname(path)}{os.sep}{TEMPORARY}{os.urandom(8).hex()}"
        # Noted before it exists: a signal may arrive at any moment.
        self.files[temporary] = named, path
        with open(temporary, "xb") as file:
            file.write(data)

    def _make_folder(self, folder: Path) -> None:
        if folder.exists() and not folder.is_dir():
            raise NotADirectoryError(ENOTDIR, os.strerror(ENOTDIR))
        absent = [each for each in (folder, *folder.parents) if not each.exists()]
        for each in reversed(absent):
            self.folders.append(each)
            each.mkdir(exist_ok=True)

    def finish(self) -> None:
        for stream, data in self.streams.items():
            self.named = stream
            stream.write_bytes(data)
        with signals.held():
            for temporary, (named, path) in [*self.files.items()]:
                self.named = named
                os.replace(temporary, path)
                del self.files[temporary]
            self.folders.clear()

    def remove(self) -> None:
        """Remove what is left after an error or a signal."""
        for temporary in self.files:
            with suppress(OSError):
                os.unlink(temporary)
        for folder in reversed(self.folders):
            with suppress(OSError):
                folder.rmdir()


def _mode(path: Path) -> int:
    """The kind and the permissions of a file; 0 if there is none."""
    try:
        return os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return 0
