"""An exception at the top -> one line and an exit code.

2: the request, or the machine it runs on, is at fault. 70: treecompile is. 128 and the
number of the signal: the command was interrupted.
"""

from __future__ import annotations

import os
import re
import traceback

import click

from treecompile.cli import streams
from treecompile.model import signals
from treecompile.model.errors import TreecompileError

WRONG, BUG = 2, 70  # 70 is EX_SOFTWARE
SHOW_TRACEBACK = "TREECOMPILE_TRACEBACK"
OUT_OF_MEMORY = "out of memory: use less data, or allow the process more memory"
# How libraries in C and C++ say it, and the loader of their shared objects.
NO_MEMORY = (
    *("bad_alloc", "Cannot allocate memory", "failed to map segment"),
    *("cannot allocate memory", "Unable to allocate", "can't start new thread"),
)

# Messages of click, and how we say it.
REWORDED = [
    (re.compile(pattern, re.DOTALL), words)
    for pattern, words in (
        (r"(\S+): ('.*'|\".*\") is not one of ('.*')\.", r"\1 \2: expected one of \3"),
        (
            r"(\S+): (.*) is not a valid integer(?: range)?\.",
            r"\1 \2: expected an integer",
        ),
        (r"(\S+): (.*) is not a valid float\.", r"\1 \2: expected a number"),
        (r"(\S+): (.*) is not in the range x>=(\d+)\.", r"\1 \2: expected \3 or more"),
        (
            r"Got unexpected extra arguments? \((.*)\)",
            r"unexpected arguments: \1: leave them out",
        ),
        (
            r"Option '(.*)' requires an argument\.",
            r"\1 needs a value: add it behind the option",
        ),
    )
]


def report(error: BaseException) -> int:
    """Print the line, and return the exit code."""
    if os.environ.get(SHOW_TRACEBACK):
        traceback.print_exception(error)
    if isinstance(error, KeyboardInterrupt):
        return _interrupted()
    if isinstance(error, BrokenPipeError):
        return 0  # the reader of a pipe has closed it
    message, code = _described(error)
    streams.fail(f"Error: {message}")
    return code


def usage_message(error: click.UsageError) -> str:
    """What click has against a command line, in our words."""
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    said = error.format_message()
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = max(error.param.opts, key=len)
        if isinstance(error.param, click.Argument):
            name = error.param.metavar or name.upper()
        said = f"{name}: {error.message}"
    for pattern, words in REWORDED:
        if found := pattern.fullmatch(said):
            return found.expand(words)
    return said


def _missing(error: click.MissingParameter) -> str:
    found = error.param
    if isinstance(found, click.Option):
        what = (found.help or "").partition(". ")[0].rstrip(".")
        flag = max(found.opts, key=len)
        return f"missing option {flag} {found.metavar}: {what[:1].lower()}{what[1:]}"
    assert found is not None
    name = found.metavar or (found.name or "").upper()
    return f"missing argument {name}: name a file"


def _interrupted() -> int:
    streams.fail("interrupted")
    # After an interrupt in code that was compiled from text, as the methods of
    # dataclasses are, Python would end by the signal. Running other code from text
    # clears that.
    exec("")
    return signals.exit_code()


def _described(error: BaseException) -> tuple[str, int]:
    if isinstance(error, click.UsageError):
        return usage_message(error), WRONG
    if isinstance(error, click.ClickException):
        return error.format_message(), WRONG
    if isinstance(error, TreecompileError):
        return str(error), WRONG
    said = str(error)
    if isinstance(error, MemoryError) or any(words in said for words in NO_MEMORY):
        return OUT_OF_MEMORY, WRONG
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"{str(error.filename)!r}: "
        return f"{where}{error.strerror or said}", WRONG
    if isinstance(error, ImportError):
        return f"cannot load a library: {said}", WRONG
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {frames[-1].name}, line {frames[-1].lineno}" if frames else ""
    return (
        f"internal error{place}: {type(error).__name__}: {said}: please report this"
        f" with the traceback, which {SHOW_TRACEBACK}=1 shows"
    ), BUG
