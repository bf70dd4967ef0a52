"""How wide a text is, and how it is made to fit.

Readers' fonts differ, so widths are estimated generously and text never leaves its box.
"""

from __future__ import annotations

import unicodedata
from math import ceil

FONT_SIZE = 12  # pixels, as all lengths
SMALL = 11
LINE_HEIGHT = 16
BOLD = 1.1  # how much wider bold text is
NARROW = frozenset("iljtfrI.,:;'|!()[]{} ")
WIDE = frozenset("mwMW%@—≤≥")


def width(text: str, size: float = FONT_SIZE) -> int:
    """The width of a line, rather too large than too small."""
    return ceil(sum(map(_em, text)) * size)


def _em(character: str) -> float:
    if character in NARROW:
        return 0.36
    if character in WIDE:
        return 0.95
    if character.isascii():
        return 0.72 if character.isupper() else 0.6
    return 1.1 if unicodedata.east_asian_width(character) in "WF" else 0.8


def cut(text: str, longest: int) -> str:
    """The text, shortened with "…" if it is too long."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def wrapped(text: str, wide: int) -> list[str]:
    """Lines that are not wider, broken between words; a longer word is cut."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer) <= wide:
            lines[-1] = longer
        else:
            lines.append(cut(word, max(4, wide // FONT_SIZE)))
    return lines
