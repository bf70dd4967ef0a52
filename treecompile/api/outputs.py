"""Which files may be written: never an input of the same command."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from glob import iglob
from pathlib import Path
from stat import S_ISREG

from treecompile.model.errors import OptionError


def check_outputs(
    outputs: Iterable[str | Path], inputs: Iterable[object], *, force: bool
) -> None:
    """Refuse to overwrite an input, and without `force` any other file.

    Inputs that are not paths are passed over.
    """
    sources = [os.fspath(each) for each in inputs if isinstance(each, (str, Path))]
    # Without a slash at the end, as they are written.
    existing = [output for output in map(Path, outputs) if _holds_something(output)]
    for output in existing:
        if any(_is_input(output, source) for source in sources):
            raise OptionError(
                f"{str(output)!r} is an input of this command and would be overwritten:"
                " choose another file or folder for the result"
            )
    if existing and not force:
        raise OptionError(
            f"{str(existing[0])!r} exists: choose another name, or add force to"
            " overwrite it"
        )


def _holds_something(path: Path) -> bool:
    """Whether it is a file, and not an empty one; pipes and devices are written to."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False  # there is none, or writing it will say what is wrong
    return S_ISREG(found.st_mode) and found.st_size > 0


def _is_input(output: Path, source: str) -> bool:
    """Whether an existing file is the input, one of its files, or a file in it."""
    address = source.partition("://")[2]  # duckdb://FILE
    for name in filter(None, (source, address)):
        try:
            if os.path.isdir(name):
                folder, path = os.path.realpath(name), os.path.realpath(output)
                found = os.path.commonpath([folder, path]) == folder
            elif os.path.exists(name):
                found = os.path.samefile(name, output)
            else:  # perhaps a pattern
                found = any(os.path.samefile(file, output) for file in iglob(name))
        except (OSError, ValueError, re.error):
            continue
        if found:
            return True
    return False
