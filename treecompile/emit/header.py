"""The line in which an artefact says what it is, so that it can be written again.

    treecompile 0.2.0, sql, dialect duckdb, as view, table my%20table, model 52dce5...

It names the version, the target, the options that differ from their defaults, and the
SHA-256 of the model. Values are percent-encoded: the line can stand in a comment of any
language, as no character in it ends a comment or a statement.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from treecompile import __version__
from treecompile.emit.options import EmitOptions
from treecompile.model.options import Option, options_of

LINE = re.compile(
    r"^[^\w\n]*treecompile (?P<version>\S+), (?P<target>\S+)"
    r"(?P<options>(?:, \S+(?: \S+)?)*), model (?P<sha256>[0-9a-f]{64})[^\w\n]*$",
    re.MULTILINE,
)
PATHS = ("dialect", "templates")  # options that may be paths
FIRST = 1 << 16  # its header is among so many characters at the start or the end


@dataclass(frozen=True, slots=True)
class Header:
    """What an artefact says that it is."""

    version: str
    target: str  # as it was given to `emit`: "sql", "./folder"
    options: Mapping[str, Any]  # the keyword arguments of EmitOptions
    sha256: str


def written(sha256: str, target: str, options: EmitOptions) -> str:
    """Return the header of an artefact."""
    parts = [f"treecompile {__version__}", _encoded(_path(target))]
    for name, each in options_of(EmitOptions).items():
        value = getattr(options, name)
        value = _path(value) if name in PATHS else value
        if value != each.default:
            parts += (f"{_key(each)}{text}" for text in _values(value))
    return ", ".join([*parts, f"model {sha256}"])


def read(text: str) -> Header | None:
    """Find the header of an artefact; None if it has none that this version reads."""
    found = LINE.search(f"{text[:FIRST]}\n{text[-FIRST:]}")
    if found is None:
        return None
    declared = {_key(each): each for each in options_of(EmitOptions).values()}
    options: dict[str, Any] = {}
    for part in found["options"].split(", ")[1:]:
        key, _, value = part.partition(" ")
        if key not in declared:
            return None
        each = declared[key]
        if isinstance(each.default, bool):
            options[each.name] = not each.default
        elif isinstance(each.default, Mapping):
            name, _, said = value.partition("=")
            options.setdefault(each.name, {})[_decoded(name)] = _decoded(said)
        else:
            options[each.name] = _decoded(value)
    return Header(found["version"], _decoded(found["target"]), options, found["sha256"])


def _path(text: str) -> str:
    """Return an absolute path from the current directory, if that is shorter."""
    if not os.path.isabs(text):
        return text
    try:
        relative = os.path.relpath(text)
    except ValueError:  # on another drive
        return text
    is_name = os.sep not in relative  # which would be that of a built-in one
    return min(f".{os.sep}{relative}" if is_name else relative, text, key=len)


def _key(each: Option) -> str:
    """Return an option as the header names it: `as`, `no-comments`."""
    return each.flag.removeprefix("--")


def _values(value: object) -> Iterator[str]:
    """Yield the value of an option, after a space; "" for a switch."""
    if isinstance(value, bool):
        yield ""
    elif isinstance(value, Mapping):
        for name, said in value.items():
            yield f" {_encoded(name)}={_encoded(said)}"
    else:
        yield f" {_encoded(str(value))}"


def _encoded(text: str) -> str:
    return quote(text, safe="/,", errors="surrogatepass")


def _decoded(text: str) -> str:
    return unquote(text, errors="surrogatepass")
