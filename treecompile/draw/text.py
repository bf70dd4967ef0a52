"""Text in a picture: how wide it is at most, cut where it is too long, escaped.

The fonts of readers differ, so widths are estimated from above and text never runs out
of its box. What is cut stands in full in the title, which a viewer shows on hovering.
"""

from __future__ import annotations

import unicodedata
from html import escape

SIZE = 12  # of the font, in pixels
LINE = 16  # from one line to the next
LONGEST = 34  # characters of a text, above which it is cut

NARROW = frozenset("iljtfrI.,:;'|!()[]{} ")
WIDE = frozenset("mwMW%@—≤≥")


def width(text: str) -> float:
    """The width of a line in pixels, rather too large than too small."""
    return sum(map(_em, text)) * SIZE


def _em(character: str) -> float:
    if character in NARROW:
        return 0.36
    if character in WIDE:
        return 0.95
    if character.isascii():
        return 0.72 if character.isupper() else 0.6
    return 1.1 if unicodedata.east_asian_width(character) in "WF" else 0.8


def cut(text: str, longest: int = LONGEST) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def number(value: float) -> str:
    """A coordinate, with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def line(x: float, y: float, text: str, *, fill: str, bold: bool = False) -> str:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{number(x)}" y="{number(y)}"'
    return f'<text {place} fill="{fill}"{weight}>{escape(text)}</text>'


def title(text: str) -> str:
    """What a viewer shows for the element around it."""
    return f"<title>{escape(text)}</title>"


def document(wide: float, high: float, name: str, parts: list[str]) -> str:
    """A whole SVG file."""
    size = f'width="{number(wide)}" height="{number(high)}"'
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}'
        f' viewBox="0 0 {number(wide)} {number(high)}" role="img"'
        f' font-family="Helvetica, Arial, sans-serif" font-size="{SIZE}">'
    )
    background = '<rect width="100%" height="100%" fill="#ffffff"/>'
    return "\n".join((head, title(name), background, *parts, "</svg>")) + "\n"
