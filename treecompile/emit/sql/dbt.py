"""Writes a dbt model: a Jinja template, and the YAML that describes it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf

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
class Column:
    """A column of a dbt model."""

    name: str
    description: str
    quote: bool = False  # whether it must be quoted
    values: Sequence[str] = ()  # all that it can have, as SQL literals; (): any


def properties(name: str, description: str, columns: Iterable[Column]) -> str:
    """Return the YAML beside a dbt model: its columns, and tests of them.

    Values are SQL literals, because dbt copies them into its SQL unchanged.
    """
    lines = ["version: 2", "", "models:", f"  - name: {scalar(name)}"]
    lines += [f"    description: {scalar(escaped(description))}", "    columns:"]
    for column in columns:
        lines.append(f"      - name: {scalar(column.name)}")
        lines.append(f"        description: {scalar(escaped(column.description))}")
        lines += ["        quote: true"] * column.quote
        lines += ["        data_tests:", "          - not_null"]
        if column.values:
            values = ", ".join(scalar(escaped(value)) for value in column.values)
            lines += [
                "          - accepted_values:",
                "              arguments:",
                f"                values: [{values}]",
                "                quote: false",
            ]
    return "".join(f"{line}\n" for line in lines)


def scalar(text: str) -> str:
    """Write a text in quotes, as YAML: beyond U+FFFF, JSON differs from it."""
    import yaml  # only dbt needs it

    made: str = yaml.safe_dump(text, default_style='"', width=inf)
    return made.strip()
