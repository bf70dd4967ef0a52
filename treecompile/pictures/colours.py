"""The colours of answers: told apart by colour-blind readers, and pale below text.

The colours of labels are those of Okabe and Ito. If there are more labels than colours,
the most frequent ones have a colour each and the others are grey. Numbers have shades
of one colour. Every answer is also written out.
"""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.model import words
from treecompile.model.evidence import Evidence
from treecompile.model.ir import Label, Leaf, Tree

CLASSES = (
    *("#56b4e9", "#e69f00", "#009e73", "#f0e442", "#cc79a7", "#d55e00", "#0072b2"),
)
OTHER = "#999999"  # labels without a colour of their own
NUMBERS = "#0072b2"
PALE, FULL = 0.15, 0.6  # how much of its colour an impure leaf has, and a pure one


def paler(colour: str, strength: float) -> str:
    """A colour mixed with white, so that dark text can be read on it."""
    share = PALE + min(max(strength, 0.0), 1.0) * (FULL - PALE)
    parts = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return "#" + "".join(f"{round(255 + share * (p - 255)):02x}" for p in parts)


class Palette:
    """The colours of the answers of one tree."""

    def __init__(self, tree: Tree, rows: Evidence) -> None:
        self.labels = tree.labels
        self.own = _own_colours(tree.labels, rows)  # by label
        found = [node.value for node in tree.nodes if isinstance(node, Leaf)]
        self.numbers = [] if tree.labels else sorted(map(float, found))

    def fill(self, answer: Label, rows: Evidence) -> str:
        """The colour of a leaf: of a label, paler if fewer of its rows have it."""
        if not self.labels:
            return paler(NUMBERS, self.place(float(answer)))
        chance = 1 / len(self.labels)
        purity = rows.right / rows.rows if rows.rows else chance
        strength = (purity - chance) / (1 - chance) if chance < 1 else 1.0
        return paler(self.own.get(answer, OTHER), strength)

    def bands(self, rows: Evidence) -> list[tuple[str, float]]:
        """The share of each colour among the rows, grey last."""
        if not rows.rows or not rows.answers:
            return []
        shares = {**dict.fromkeys(self.own.values(), 0.0), OTHER: 0.0}
        for label, count in zip(self.labels, rows.answers, strict=True):
            shares[self.own.get(label, OTHER)] += count / rows.rows
        return [(colour, share) for colour, share in shares.items() if share > 0]

    def place(self, number: float) -> float:
        """Where a number lies between the least and the greatest answer, 0 to 1."""
        # Halved first: the difference of two doubles may be too large for one.
        low, high = self.numbers[0] / 2, self.numbers[-1] / 2
        return (number / 2 - low) / (high - low) if high > low else 0.5

    def legend(self) -> list[tuple[str, str]]:
        """The colours, each with what it stands for."""
        if not self.labels:
            ends = dict.fromkeys((self.numbers[0], self.numbers[-1]))
            return [
                (paler(NUMBERS, self.place(end)), words.rounded(end)) for end in ends
            ]
        others = len(self.labels) - len(self.own)
        entries = [(colour, words.value(label)) for label, colour in self.own.items()]
        return [*entries, (OTHER, f"{others} other labels")] if others else entries


def _own_colours(labels: Sequence[Label], rows: Evidence) -> dict[Label, str]:
    counts = rows.answers or (0.0,) * len(labels)
    ranked = sorted(range(len(labels)), key=lambda code: -counts[code])
    chosen = sorted(ranked[: len(CLASSES)])
    return dict(zip((labels[code] for code in chosen), CLASSES, strict=False))
