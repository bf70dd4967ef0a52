"""Text, colours and the frame of an SVG file.

Readers' fonts differ, so text widths are estimated generously and text never leaves its
box. Shortened text stands in full in the title, which viewers show on hovering. The
colours are safe for colour-blind readers; answers are also written out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import escape

from treecompile.model.evidence import Evidence
from treecompile.model.ir import Label

MARGIN = 16.0  # pixels, as all lengths
FONT_SIZE = 12
LINE_HEIGHT = 16
LONGEST = 34  # characters; longer text is shortened
NARROW = frozenset("iljtfrI.,:;'|!()[]{} ")
WIDE = frozenset("mwMW%@—≤≥")

INK, FAINT, LINE, PAPER = "#24292f", "#57606a", "#8c959f", "#ffffff"
CLASSES = (  # by Okabe and Ito
    *("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"),
    "#999999",
)
LOW, HIGH = (247, 251, 255), (8, 81, 156)  # from the least number to the greatest


# ---------------------------------------------------------------- text


def width(text: str) -> float:
    """The width of a line in pixels, rather too large than too small."""
    return sum(map(_em, text)) * FONT_SIZE


def _em(character: str) -> float:
    if character in NARROW:
        return 0.36
    if character in WIDE:
        return 0.95
    if character.isascii():
        return 0.72 if character.isupper() else 0.6
    return 1.1 if unicodedata.east_asian_width(character) in "WF" else 0.8


def cut(text: str, longest: int = LONGEST) -> str:
    """The text, shortened with "…" if it is too long."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


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


def line(x: float, y: float, text: str, *, fill: str, bold: bool = False) -> str:
    """A line of text."""
    weight = ' font-weight="bold"' if bold else ""
    place = f'x="{number(x)}" y="{number(y)}"'
    return f'<text {place} fill="{fill}"{weight}>{escape(text)}</text>'


def heading(text: str) -> str:
    return line(MARGIN, MARGIN + 12, text, fill=INK, bold=True)


def title(text: str) -> str:
    """What a viewer shows when the reader points at the enclosing element."""
    return f"<title>{escape(text)}</title>"


def document(width: float, height: float, name: str, parts: list[str]) -> str:
    """A whole SVG file."""
    wide, high = number(width), number(height)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}"'
        f' viewBox="0 0 {wide} {high}" role="img"'
        f' font-family="Helvetica, Arial, sans-serif" font-size="{FONT_SIZE}">'
    )
    background = shape("rect", width="100%", height="100%", fill=PAPER)
    return "\n".join((head, title(name), background, *parts, "</svg>")) + "\n"


# ---------------------------------------------------------------- colours


class Palette:
    """The colours of the answers of one model: one per label, or shades for numbers."""

    def __init__(self, labels: Sequence[Label], answers: Sequence[Label]) -> None:
        self.codes = {label: code for code, label in enumerate(labels)}
        numbers = [float(a) for a in answers if not labels and not isinstance(a, str)]
        self.low = min(numbers, default=0.0)
        self.high = max(numbers, default=0.0)

    def of(self, answer: Label) -> str:
        if self.codes:
            return _class_colour(self.codes[answer])
        return self._shade(float(answer))

    def bands(self, rows: Evidence) -> list[tuple[str, float]]:
        """The colours of a bar and their shares; for numbers, that of the mean only."""
        if rows.mean is not None:
            return [(self._shade(rows.mean), 1.0)]
        return [
            (_class_colour(code), count / rows.rows)
            for code, count in enumerate(rows.answers)
            if count
        ]

    def share(self, number: float) -> float:
        """Where a number lies between the least and the greatest answer, 0 to 1."""
        # Halved first: the difference of two doubles may be too large for one.
        width = self.high / 2 - self.low / 2
        if not width:
            return 0.5
        return min(max((number / 2 - self.low / 2) / width, 0.0), 1.0)

    def _shade(self, number: float) -> str:
        share = self.share(number)
        pairs = zip(LOW, HIGH, strict=True)
        mixed = (round(low + share * (high - low)) for low, high in pairs)
        return "#" + "".join(f"{part:02x}" for part in mixed)


def _class_colour(code: int) -> str:
    """The colour of a label; from the ninth label on, colours repeat."""
    return CLASSES[code % len(CLASSES)]


def on(colour: str) -> str:
    """Ink or paper, whichever is easier to read on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 140
    return INK if is_light else PAPER
