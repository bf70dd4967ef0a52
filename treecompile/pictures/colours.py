"""The colours of a picture: text that can be read on all of them, labels told apart.

The colours of labels are safe for colour-blind readers (Okabe and Ito), and every
answer is also written out. If there are more labels than colours, the most frequent
ones have a colour each and the others are grey.
"""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.model.evidence import Evidence
from treecompile.model.ir import Label

INK, FAINT, LINE, PAPER = "#1f2328", "#57606a", "#6e7781", "#ffffff"
BOX = "#f6f8fa"
CLASSES = (
    *("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"),
    "#999999",
)
OTHER = "#999999"  # labels without a colour of their own
RAMP = ("#fcfdbf", "#a5db9b", "#4fb3a9", "#2c7fb8", "#253494")  # least to greatest
LEGIBLE = 4.5  # the least contrast of text, by WCAG AA
PALE, FULL = 0.15, 0.6  # how much of its colour an impure leaf has, and a pure one


def contrast(one: str, other: str) -> float:
    """The ratio of two luminances, from 1 to 21, by WCAG."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [part / 255 for part in _parts(colour)]
    red, green, blue = (
        p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _parts(colour: str) -> list[int]:
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def mixed(one: str, other: str, share: float) -> str:
    """A colour between two: `share` is that of the other."""
    pairs = zip(_parts(one), _parts(other), strict=True)
    parts = (round(low + share * (high - low)) for low, high in pairs)
    return "#" + "".join(f"{part:02x}" for part in parts)


def on(colour: str) -> str:
    """A colour of text that is easy to read on this one."""
    for ink in (INK, PAPER):
        if contrast(ink, colour) >= LEGIBLE:
            return ink
    return "#000000"  # legible wherever white is not


class Palette:
    """The colours of the answers of one model: one per label, or shades for numbers."""

    def __init__(
        self, labels: Sequence[Label], answers: Sequence[Label], rows: Evidence
    ) -> None:
        self.labels = tuple(labels)
        self.own = _own_colours(self.labels, rows)  # by label
        numbers = [float(a) for a in answers if not labels and not isinstance(a, str)]
        self.low = min(numbers, default=0.0)
        self.high = max(numbers, default=0.0)

    def of(self, answer: Label) -> str:
        if self.labels:
            return self.own.get(answer, OTHER)
        return shade(self.place(float(answer)))

    def fill(self, answer: Label, rows: Evidence) -> str:
        """The colour of a leaf: the paler, the fewer of its rows have its answer."""
        if not self.labels:
            return self.of(answer)
        chance = 1 / len(self.labels)
        purity = rows.right / rows.rows if rows.rows else chance
        strength = (
            min(max((purity - chance) / (1 - chance), 0.0), 1.0) if chance < 1 else 1.0
        )
        return mixed(PAPER, self.of(answer), PALE + strength * (FULL - PALE))

    def bands(self, answer: Label, rows: Evidence) -> list[tuple[str, float]]:
        """The colours of the bar of label shares, grey last."""
        if not rows.rows or not self.labels:
            return []
        shares: dict[str, float] = {}
        if rows.answers:
            for label, count in zip(self.labels, rows.answers, strict=True):
                colour = self.of(label)
                shares[colour] = shares.get(colour, 0.0) + count / rows.rows
        else:  # only the right ones were counted
            right = rows.right / rows.rows
            shares = {self.of(answer): right}
            shares[OTHER] = shares.get(OTHER, 0.0) + 1 - right
        shares[OTHER] = shares.pop(OTHER, 0.0)
        return [(colour, share) for colour, share in shares.items() if share > 0]

    def place(self, number: float) -> float:
        """Where a number lies between the least and the greatest answer, 0 to 1."""
        # Halved first: the difference of two doubles may be too large for one.
        width = self.high / 2 - self.low / 2
        if not width:
            return 0.5
        return min(max((number / 2 - self.low / 2) / width, 0.0), 1.0)


def _own_colours(labels: Sequence[Label], rows: Evidence) -> dict[Label, str]:
    if len(labels) <= len(CLASSES):
        return dict(zip(labels, CLASSES, strict=False))
    counts = rows.answers or (0.0,) * len(labels)
    ranked = sorted(range(len(labels)), key=lambda code: -counts[code])
    chosen = sorted(ranked[: len(CLASSES) - 1])
    return dict(zip((labels[code] for code in chosen), CLASSES, strict=False))


def shade(place: float) -> str:
    """The colour at a place of the scale for numbers, from 0 to 1."""
    step, rest = divmod(place * (len(RAMP) - 1), 1)
    if not rest:
        return RAMP[int(step)]
    return mixed(RAMP[int(step)], RAMP[int(step) + 1], rest)
