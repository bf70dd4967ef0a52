"""Read whole files, up to a limit: a device, a pipe or a hostile file may never end."""

from __future__ import annotations

from pathlib import Path

from treecompile.model.errors import TreecompileError

MOST_BYTES = 1 << 30


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
            data = file.read(most + 1)
    except OSError as cause:
        reason = cause.strerror or cause
        raise error(f"{option}cannot read {str(path)!r}: {reason}") from None
    except ValueError as cause:  # the name contains a NUL
        raise error(f"{option}cannot read {str(path)!r}: {cause}") from None
    if len(data) > most:
        raise error(f"{option}{str(path)!r} is too large: more than {most:,} bytes")
    return data


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
