"""Text, shapes and the frame of an SVG file.

Readers' fonts differ, so text widths are estimated generously and text never leaves its
box. Shortened text stands in full in the title, which viewers show on hovering.
"""

from __future__ import annotations

import unicodedata
from html import escape

from treecompile.pictures.colours import INK, PAPER

MARGIN = 16.0  # pixels, as all lengths
FONT_SIZE = 12
SMALL = 11
LINE_HEIGHT = 16
BOLD = 1.1  # how much wider bold text is
NARROW = frozenset("iljtfrI.,:;'|!()[]{} ")
WIDE = frozenset("mwMW%@—≤≥")
PAGE = 960.0  # the width of a notebook
SHRINKABLE = 1_300.0  # a picture up to this width is still legible on a page


# ---------------------------------------------------------------- text


def width(text: str, size: float = FONT_SIZE) -> float:
    """The width of a line in pixels, rather too large than too small."""
    return sum(map(_em, text)) * size


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


def wrapped(text: str, wide: float) -> list[str]:
    """Lines that are not wider, broken between words; a longer word is cut."""
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer) <= wide:
            lines[-1] = longer
        else:
            lines.append(cut(word, max(4, int(wide / FONT_SIZE))))
    return lines


# ---------------------------------------------------------------- elements


def number(value: float) -> str:
    """A coordinate, with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def shape(tag: str, **attributes: str | float) -> str:
    """An element without content: `rx=5, stroke_width=0.5` are attributes of a rect."""
    pairs = ""
    for name, value in attributes.items():
        text = value if isinstance(value, str) else number(value)
        pairs += f' {name.replace("_", "-")}="{text}"'
    return f"<{tag}{pairs}/>"


def line(
    x: float,
    y: float,
    text: str,
    *,
    fill: str = INK,
    bold: bool = False,
    small: bool = False,
    anchor: str = "",
) -> str:
    """A line of text, which starts at x; by its anchor, its middle or end is there."""
    more = ' font-weight="bold"' if bold else ""
    more += f' font-size="{SMALL}"' if small else ""
    more += f' text-anchor="{anchor}"' if anchor else ""
    place = f'x="{number(x)}" y="{number(y)}"'
    return f'<text {place} fill="{fill}"{more}>{escape(text)}</text>'


def title(text: str) -> str:
    """What a viewer shows when the reader points at the enclosing element."""
    return f"<title>{escape(text)}</title>"


def titled(text: str, *parts: str) -> list[str]:
    """Some elements, with what a viewer shows when the reader points at them."""
    return ["<g>", title(text), *parts, "</g>"]


def document(width: float, height: float, name: str, parts: list[str]) -> str:
    """A whole SVG file. It shrinks to the width of the page if it stays legible."""
    wide, high = number(width), number(height)
    fits = ' style="max-width: 100%; height: auto"' if width <= SHRINKABLE else ""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
        f' viewBox="0 0 {wide} {high}"{fits} role="img"'
        f' font-family="Helvetica, Arial, sans-serif" font-size="{FONT_SIZE}">'
    )
    background = shape("rect", width=wide, height=high, fill=PAPER)
    return "\n".join((head, title(name), background, *parts, "</svg>")) + "\n"
