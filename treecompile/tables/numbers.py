"""Numbers as text files have them, with a decimal point or a decimal comma."""

from __future__ import annotations

import re

import numpy as np

from treecompile.model.arrays import Floats
from treecompile.model.values import NUMBER

SIGNS = (".", ",")
# If a text has only these characters, float() accepts it exactly if parse_number does:
# the "a" of "nan", "_" and the digits of other scripts are not among them.
CHARACTERS = re.compile(r"[0-9+\-.eE \tinftyINFTY]*")


def plain(text: str, decimal: str) -> str | None:
    """A number in the form that `parse_number` reads; None if it is not one."""
    if decimal != ".":
        if "." in text:
            return None
        text = text.replace(decimal, ".")
    return text if NUMBER.fullmatch(text) else None


def read_numbers(texts: list[str], decimal: str = ".") -> Floats | None:
    """Texts as doubles, NaN for an empty one; None if any is not a number."""
    if decimal != ".":
        known = {text: plain(text, decimal) if text else "" for text in set(texts)}
        if None in known.values():
            return None
        texts = [known[text] or "" for text in texts]
    if not CHARACTERS.fullmatch("".join(texts)):
        return None
    try:
        numbers = map(float, [text or "nan" for text in texts])
        return np.fromiter(numbers, np.float64, len(texts))
    except ValueError:
        return None
