"""A dbt model is a Jinja template, and YAML describes it: how both are written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from math import inf

from treecompile.model.errors import OptionError

# What dbt would read as a template, and the line ends that it would change to \n. A
# brace before one of those would join the braces that are written for it.
JINJA = re.compile(r"\{(?=[{%#\r])|\r")
WRITTEN = {"{": '{{ "{" }}', "\r": '{{ "\\r" }}'}
READ = {written: plain for plain, written in WRITTEN.items()}
ESCAPE = re.compile("|".join(map(re.escape, READ)))


def escaped(text: str) -> str:
    """Text that dbt renders back to the same text."""
    return JINJA.sub(lambda found: WRITTEN[found[0]], text)


def rendered(text: str) -> str:
    """The text that was escaped."""
    return ESCAPE.sub(lambda found: READ[found[0]], text)


def reference(table: str) -> str:
    """The Jinja call for a model of the project or for SOURCE.TABLE."""
    parts = table.split(".")
    if len(parts) > 2 or not all(parts):
        raise OptionError(
            f"--table {table!r}: for dbt, expected the name of a model or SOURCE.TABLE"
        )
    names = ", ".join(json.dumps(part, ensure_ascii=False) for part in parts)
    return f"{{{{ {'source' if parts[1:] else 'ref'}({names}) }}}}"


def properties(
    name: str, columns: Iterable[str], label: str, labels: Sequence[str]
) -> str:
    """The YAML beside a dbt model: its columns, and tests of them.

    The labels are SQL literals, because dbt copies them into its SQL unchanged. They
    are the values of the column `label`.
    """
    lines = ["version: 2", "", "models:", f"  - name: {_scalar(name)}", "    columns:"]
    for column in columns:
        lines.append(f"      - name: {_scalar(column)}")
        lines += ["        data_tests:", "          - not_null"]
        if column == label and labels:
            values = ", ".join(_scalar(escaped(label)) for label in labels)
            lines += [
                "          - accepted_values:",
                "              arguments:",
                f"                values: [{values}]",
                "                quote: false",
            ]
    return "".join(f"{line}\n" for line in lines)


def _scalar(text: str) -> str:
    """A text in quotes, whatever it contains. JSON differs from YAML beyond U+FFFF."""
    import yaml  # only dbt needs it

    made: str = yaml.safe_dump(text, default_style='"', width=inf)
    return made.rstrip("\n")
