"""Writes a dbt model: a Jinja template, and the YAML that describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from treecompile.emit.lowering import Lowered
from treecompile.emit.targets import read_target
from treecompile.emit.templates import render
from treecompile.model.errors import OptionError

# What dbt would read as a template, and the line ends that it would change to \n. A
# brace before one of those would join the braces that are written for it.
JINJA = re.compile(r"\{(?=[{%#\r])|\r")
WRITTEN = {"{": '{{ "{" }}', "\r": '{{ "\\r" }}'}
READ = {written: plain for plain, written in WRITTEN.items()}
ESCAPE = re.compile("|".join(map(re.escape, READ)))


def escaped(text: str) -> str:
    """Escape a text so that dbt renders it back to the same text."""
    return JINJA.sub(lambda found: WRITTEN[found[0]], text)


def rendered(text: str) -> str:
    """Undo `escaped`, as dbt does."""
    return ESCAPE.sub(lambda found: READ[found[0]], text)


def reference(table: str) -> str:
    """Return the Jinja for a model of the project or for SOURCE.TABLE.

    {{ ref("model") }}, {{ source("shop", "table") }}
    """
    parts = table.split(".")
    if len(parts) > 2 or not all(parts):
        raise OptionError(
            f"table={table!r}: for dbt, expected the name of a model or SOURCE.TABLE"
        )
    names = ", ".join(json.dumps(part, ensure_ascii=False) for part in parts)
    return f"{{{{ {'source' if parts[1:] else 'ref'}({names}) }}}}"


@dataclass(frozen=True, slots=True)
class Described:
    """A column of a dbt model."""

    name: str
    description: str
    quote: bool = False  # whether it must be quoted
    # All that it can have; dbt copies them into SQL: they are SQL literals. (): any.
    values: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Properties:
    """The variables of properties.yml.jinja."""

    name: str
    description: str
    columns: Sequence[Described]


def properties(made: Properties, templates: str = "") -> str:
    """Return the YAML beside a dbt model: its columns, and tests of them."""
    target = replace(read_target("sql"), template="properties.yml.jinja")
    filters = {"scalar": scalar, "escaped": escaped}
    return render(target, Lowered(made, filters=filters), templates)


def scalar(text: str) -> str:
    """Write a text in quotes, as YAML: beyond U+FFFF, JSON differs from it."""
    import yaml  # only dbt needs it

    made: str = yaml.safe_dump(text, default_style='"', width=inf)
    return made.strip()
