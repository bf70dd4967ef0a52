"""Text from the data as Markdown, and the small phrases that all sections share.

Text from the data is the only thing in the document that could turn into markup, and it
passes through one of two functions: `shown` for Markdown, `in_mermaid` for the picture.
Pipes, which end a table cell even within code, are escaped where tables are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from treecompile import words
from treecompile.ir import Label, Moments, Stats
from treecompile.rounding import rounded

MAX_LISTED = 12  # names in a list that is not a rule


OPERATORS = {"<=": "≤", "<": "<", ">": ">"}  # between spaces the last two are no markup
# Where even plain words are markup: a list item, a link, emphasis.
ACTIVE = re.compile(r"^\d+\.(?: |$)|www\.|(?<![^\W_])_|_(?![^\W_])", re.IGNORECASE)


@lru_cache(maxsize=65_536)
def shown(text: str) -> str:
    """What `words` made of a name or a value: plain words stay, the rest is code.

    Code, because escapes do not keep GitHub from linking an address or from drawing
    `:tada:`.
    """
    if text in OPERATORS:
        return OPERATORS[text]
    if words.PLAIN.fullmatch(text.removeprefix("-")) and not ACTIVE.search(text):
        return text
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    return f"{fence}{text}{fence}"


def shown_name(text: str) -> str:
    return shown(words.name(text))


def shown_value(item: Label) -> str:
    return shown(words.value(item))


PUNCTUATION = re.compile(r"([\\`*_\[\]<>&~$])")


def prose(text: str) -> str:
    """A sentence that somebody wrote about the data: as it is, on one line."""
    line = " ".join(text.split())
    visible = "".join(c for c in line if c.isprintable())
    return PUNCTUATION.sub(r"\\\1", visible)


# Kept: letters, digits, spaces, and punctuation where Mermaid takes it literally (its
# labels are Markdown too, so "1. x", "- x" and "_x_" are not). A colon never is: with
# the word "style" before it, Mermaid reads the line as a style and drops entities.
ACTIVE_IN_MERMAID = re.compile(r"[^\w ,()=≤.-]|[.-](?!\w)|(?<![^\W_])_|_(?![^\W_])")


def with_operators(text: str) -> str:
    return OPERATORS.get(text, text)


def in_mermaid(text: str) -> str:
    """Text within the quotes of a Mermaid label."""
    return ACTIVE_IN_MERMAID.sub(lambda found: f"#{ord(found[0])};", text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    cells = ([cell.replace("|", r"\|") for cell in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def listing(items: Sequence[str]) -> str:
    """A list in a sentence, cut short where nobody would read on."""
    if len(items) <= MAX_LISTED + 1:  # "and 1 more" is no shorter than the item
        return ", ".join(items)
    rest = len(items) - MAX_LISTED
    return f"{', '.join(items[:MAX_LISTED])} and {rest} more"


def number_of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def cases(weight: float) -> str:
    return f"{words.amount(weight)} {words.plural(weight)}"


def share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "none"


def deviation(moments: Moments) -> str:
    return "not known" if moments.deviation is None else rounded(moments.deviation)


def spread(stats: Stats, labels: Sequence[Label]) -> str:
    """What the cases are like: "no: 2, yes: 3" (without zeros), or the moments."""
    if isinstance(stats, Moments):
        return f"mean {rounded(stats.mean)}, standard deviation {deviation(stats)}"
    pairs = zip(labels, stats.weights, strict=True)
    return ", ".join(f"{shown_value(x)}: {words.amount(w)}" for x, w in pairs if w)
