"""What columns mean, told by people: a CSV file with name, description and unit."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from treecompile.model.errors import OptionError

HEADS = ("name", "description", "unit")


@dataclass(frozen=True, slots=True)
class Entry:
    description: str = ""
    unit: str = ""


NO_ENTRY = Entry()
Glossary = Mapping[str, Entry]


def read_glossary(path: str | Path) -> dict[str, Entry]:
    """The entries by the name of the column; the unit may be left out."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = [line for line in csv.reader(file, strict=True) if line]
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise OptionError(f"{path}: not CSV in UTF-8: {error}") from None
    heads = tuple(lines[0]) if lines else ()
    if heads not in (HEADS, HEADS[:2]):
        raise OptionError(f"{path}: the first line must be {','.join(HEADS)}")
    entries: dict[str, Entry] = {}
    for number, line in enumerate(lines[1:], start=2):
        if len(line) != len(heads):
            raise OptionError(
                f"{path}: entry {number - 1} has {len(line)} fields, not {len(heads)}"
            )
        name, *told = line
        if name in entries:
            raise OptionError(f"{path}: {name!r} is explained twice")
        entries[name] = Entry(*told)
    return entries
