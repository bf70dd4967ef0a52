"""Colours that people tell apart, colour-blind or not: Okabe and Ito's for classes.

Answers are written out as well, so no reader depends on a colour.
"""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.ir import Label, Moments, Stats

INK, FAINT, LINE, PAPER = "#24292f", "#57606a", "#8c959f", "#ffffff"
CLASSES = (
    *("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"),
    "#999999",
)
LOW, HIGH = (247, 251, 255), (8, 81, 156)  # from the least number to the greatest


def class_colour(place: int) -> str:
    """The colour of a label by its place; from the ninth on, they come again."""
    return CLASSES[place % len(CLASSES)]


class Palette:
    """The colours of the answers of one model."""

    def __init__(self, labels: Sequence[Label], answers: Sequence[Label]) -> None:
        self.places = {label: place for place, label in enumerate(labels)}
        numbers = [float(a) for a in answers if not labels and not isinstance(a, str)]
        self.low = min(numbers, default=0.0)
        self.high = max(numbers, default=0.0)

    def of(self, answer: Label) -> str:
        if self.places:
            return class_colour(self.places[answer])
        return _blend(self.share(float(answer)))

    def share(self, number: float) -> float:
        """Where a number lies between the least and the greatest answer, 0 to 1."""
        # Halved first: the difference of two doubles may be too large for one.
        width = self.high / 2 - self.low / 2
        if not width:
            return 0.5
        return min(max((number / 2 - self.low / 2) / width, 0.0), 1.0)

    def bands(self, stats: Stats) -> list[tuple[str, float]]:
        """Colours and shares that make a bar; of numbers, the mean alone."""
        if isinstance(stats, Moments):
            return [(_blend(self.share(stats.mean)), 1.0)]
        total = stats.weight
        return [
            (class_colour(place), weight / total)
            for place, weight in enumerate(stats.weights)
            if weight
        ]


def _blend(share: float) -> str:
    mixed = (
        round(low + share * (high - low)) for low, high in zip(LOW, HIGH, strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def on(colour: str) -> str:
    """Ink or paper, whichever reads better on a colour."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    is_light = 0.299 * red + 0.587 * green + 0.114 * blue > 140
    return INK if is_light else PAPER
