"""Writes text from the data as Markdown, so that none of it becomes markup.

It passes through `shown` for Markdown or `in_mermaid` for a picture. Pipes end a table
cell even inside code, so `table` escapes them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from treecompile.model import words
from treecompile.model.display import DisplayTable
from treecompile.model.ir import Label

# Plain words that are markup all the same: a list item, a link, emphasis.
ACTIVE = re.compile(r"^\d+\.(?: |$)|www\.|(?<![^\W_])_|_(?![^\W_])", re.IGNORECASE)


@lru_cache(maxsize=65_536)
def shown(text: str) -> str:
    """Show a name or a value from `words`: plain words as they are, others as code.

    Code is needed because GitHub turns addresses into links and `:tada:` into a picture
    even if they are escaped.
    """
    if words.PLAIN.fullmatch(text.removeprefix("-")) and not ACTIVE.search(text):
        return text
    fence = "`" * (longest_fence(text) + 1)
    return f"{fence}{text}{fence}"


def longest_fence(text: str) -> int:
    """Return the length of the longest run of backticks."""
    if "`" not in text:  # as in almost all texts, some of many megabytes
        return 0
    return max(map(len, re.findall("`+", text)))


def name(text: str) -> str:
    return shown(words.name(text))


def value(item: Label) -> str:
    return shown(words.value(item))


# Not active: letters, digits, spaces, and punctuation that Mermaid takes literally. Its
# labels are Markdown, so "1. x", "- x" and "_x_" are active. So is every colon: after
# the word "style", Mermaid would read the line as a style and drop entities.
ACTIVE_IN_MERMAID = re.compile(r"[^\w ,()=≤.-]|[.-](?!\w)|(?<![^\W_])_|_(?![^\W_])")


def in_mermaid(text: str) -> str:
    """Text inside the quotes of a Mermaid label."""
    return ACTIVE_IN_MERMAID.sub(lambda found: f"#{ord(found[0])};", text)


def table(shown: DisplayTable) -> str:
    """Return the lines of a table; "" for one without rows."""
    lines = [shown.head, ["---"] * len(shown.head), *shown.rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    made = "\n".join(f"| {' | '.join(line)} |" for line in cells)
    return made if shown.rows else ""
