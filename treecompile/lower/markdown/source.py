"""The rules as source: the block that can be edited and compiled."""

from __future__ import annotations

import re

INFO = "rules"


def source_note(fractional: bool) -> str:
    note = (
        "The same rules once more, to be edited: change a threshold, strike a rule, add"
        " one, and compile this document with `treecompile build RULES.md --out DIR`."
        " The counts in brackets are kept only for rules that are not changed."
    )
    if fractional:
        note += (
            " Compiled from here, missing values are not divided: that is another"
            " model."
        )
    return note


def fenced(text: str) -> str:
    """A block of code that nothing in the text can end."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{INFO}\n{text}{fence}"
