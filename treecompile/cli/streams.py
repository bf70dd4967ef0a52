"""What a command prints: its result, its notes, and the one line of an error.

Everything is held until the command has succeeded, so that after an error there is one
line on standard error and nothing on standard output. On a terminal, notes are shown at
once.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

import click

from treecompile.model.errors import TreecompileError, shortened

ASCII = str.maketrans({"├": "|", "└": "`", "│": "|", "─": "-", "█": "#"})
CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160))}

results: list[str | bytes] = []
notes: list[str] = []


def begin() -> None:
    results.clear()
    notes.clear()


def show(text: str) -> None:
    """A result for people to read, in whatever the terminal can show."""
    results.append(printable(f"{text}\n", sys.stdout))


def write(text: str) -> None:
    """A result for other programs, in UTF-8."""
    try:
        results.append(text.encode())
    except UnicodeEncodeError as error:
        found = error.object[error.start]
        raise TreecompileError(
            f"cannot write the result: it contains {found!r}, which is not valid"
            " Unicode"
        ) from None


def tell(line: str) -> None:
    """A note, on standard error."""
    if sys.stderr.isatty():
        _complain(line)
    else:
        notes.append(line)


def finish() -> None:
    """Print the results and then the notes."""
    try:
        for result in results:
            click.echo(result, nl=False)
        sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)  # the reader has closed it, and wants no more
    except (OSError, ValueError) as error:
        abandon(sys.stdout)
        reason = getattr(error, "strerror", "") or error
        raise TreecompileError(f"cannot write to standard output: {reason}") from None
    for line in notes:
        _complain(line)


def fail(message: str) -> None:
    """Print one line instead of everything else."""
    abandon(sys.stdout)
    line = " ".join(shortened(message).split()).translate(CONTROLS)
    # What a terminal shows there may be ^C, or a progress bar.
    start = "\n" if sys.stderr.isatty() and line.startswith("interrupted") else ""
    _complain(f"{start}{line}")


def _complain(line: str) -> None:
    try:
        click.echo(printable(line, sys.stderr), err=True)
    except (OSError, ValueError):
        abandon(sys.stderr)  # nobody can be told


def printable(text: str, stream: TextIO) -> str:
    """The text with escapes for characters that the encoding of a stream lacks."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        data = text.translate(ASCII).encode(encoding, "backslashreplace")
        return data.decode(encoding)
    return text


def abandon(stream: TextIO) -> None:
    """Discard what is left in a stream: Python would try to write it at the end."""
    with suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
