"""Which files may be written: no input of the same command, and nobody else's file.

A file is ours if it carries the mark of one of our artefacts. Only its beginning is
read, so this is quick for any file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from glob import iglob
from pathlib import Path
from stat import S_ISREG

from treecompile.model.errors import OptionError

BEGINNING = 1 << 20  # bytes; the example in a Python module of many columns is long

HASH = rb"[0-9a-f]{64}"
MARKS = [  # as the templates, `model.file.write` and `draw` write them
    rb'\{\s*"format": "treecompile model"',
    # A comment at the beginning of SQL, rules, and targets of users.
    rb"[\s\S]{0,500}?treecompile \d[^\n]* %b" % HASH,
    rb'"""[\s\S]+?Compiled by treecompile \d[^\n]* SHA-256\n%b' % HASH,
    rb"/\*\*\n[\s\S]+?Compiled by treecompile \d[^\n]* SHA-256\n \* %b" % HASH,
    rb"# [\s\S]+?\nModel SHA-256: `%b`, written by treecompile \d" % HASH,
    rb'<!DOCTYPE html>[\s\S]{0,2000}?<meta name="generator" content="treecompile \d'
    rb'[^"]*">\n<title>',
    rb'<svg [^>]* role="img" font-family="Helvetica, Arial, sans-serif"',
    # The whole of a properties file for dbt: its beginning is that of any other.
    rb'version: 2\n\nmodels:\n  - name: ".*"\n'
    rb'    description: ".* written by treecompile"\n    columns:\n'
    rb'(?:      - name: ".*"\n        description: ".*"\n(?:        quote: true\n)?'
    rb"        data_tests:\n          - not_null\n"
    rb"(?:          - accepted_values:\n              arguments:\n"
    rb"                values: \[.*\]\n                quote: false\n)?)+\Z",
]
OURS = re.compile(b"|".join(b"(?:%b)" % mark for mark in MARKS))
SCORED = re.compile(rb'(?:[^\n]*,)?"?prediction"?\r?(?:\n|\Z)')  # by `predict`


def check_outputs(
    outputs: Iterable[str | Path],
    inputs: Iterable[object],
    *,
    force: bool,
    also: re.Pattern[bytes] | None = None,
) -> None:
    """Refuse to overwrite an input, or without `force` a file that is not ours.

    Inputs that are not paths are passed over. `also` is the mark of one more kind.
    """
    foreign = []
    sources = [os.fspath(each) for each in inputs if isinstance(each, (str, Path))]
    for output in map(Path, outputs):  # without a slash at the end, as it is written
        beginning = _beginning(output)
        if not beginning:
            continue
        is_ours = OURS.match(beginning) or (also and also.match(beginning))
        if any(_is_input(output, source, bool(is_ours)) for source in sources):
            raise OptionError(
                f"{str(output)!r} is an input of this command and would be overwritten:"
                " choose another file or folder for the result"
            )
        if not is_ours:
            foreign.append(str(output))
    if foreign and not force:
        raise OptionError(
            f"{foreign[0]!r} exists and does not look like a file that treecompile"
            " wrote: choose another name, or overwrite it with --force"
        )


def _beginning(path: str | Path) -> bytes:
    """Of an existing file; b"" if it is empty, a pipe or a device."""
    try:
        if not S_ISREG(os.stat(path).st_mode):
            return b""
    except (OSError, ValueError):
        return b""  # there is none, or writing it will say what is wrong
    try:
        with open(path, "rb") as file:
            return file.read(BEGINNING)
    except OSError:
        return b"not readable"


def _is_input(output: str | Path, source: str, is_ours: bool) -> bool:
    """Whether an existing file is the input, one of its files, or a file in it."""
    address = source.partition("://")[2]  # duckdb://FILE
    for name in filter(None, (source, address)):
        try:
            if os.path.isdir(name):
                # The results of earlier runs may be among the input.
                folder, path = os.path.realpath(name), os.path.realpath(output)
                found = not is_ours and os.path.commonpath([folder, path]) == folder
            elif os.path.exists(name):
                found = os.path.samefile(name, output)
            else:  # perhaps a pattern
                found = any(os.path.samefile(file, output) for file in iglob(name))
        except (OSError, ValueError, re.error):
            continue
        if found:
            return True
    return False
