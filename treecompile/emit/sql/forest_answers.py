"""Writes a forest's answers as SQL: labels, probabilities and numbers of its margins.

The margins have names here, so that each may be written several times.
"""

from __future__ import annotations

from collections.abc import Sequence

from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.outputs import Asked
from treecompile.emit.sql.text import literal
from treecompile.model import ir
from treecompile.model.forests import SPLITTER, largest_power


class ForestAnswers:
    """Writes the outputs of a forest, from the names of its margins."""

    def __init__(
        self, forest: ir.Forest, dialect: Dialect, margins: Sequence[str]
    ) -> None:
        self.forest, self.dialect, self.margins = forest, dialect, margins

    def text(self, asked: Asked) -> str:
        if asked.output == "margin":
            if asked.label is not None:
                return self.margins[asked.label]
            return first_greatest(self.margins, self.margins)
        if asked.output == "probability":
            return self._probability(asked.label)
        if not self.forest.labels:
            return self._linked(self.margins[0])
        return self._chosen(
            [literal(label, self.dialect) for label in self.forest.labels]
        )

    def _chosen(self, results: Sequence[str]) -> str:
        """Return the result that belongs to the predicted label."""
        cut = self.forest.cut
        if cut is None:
            return first_greatest(self.margins, results)
        test = f"{self.margins[0]} > {literal(cut, self.dialect)}"
        return f"CASE WHEN {test} THEN {results[1]} ELSE {results[0]} END"

    def _probability(self, label: int | None) -> str:
        forest = self.forest
        if forest.link is ir.Link.SOFTMAX:
            parts = self._parts()
            total = self._rounded(f"({' + '.join(parts)})")
            # The part of the predicted label is exp(0).
            part = self._number(1.0) if label is None else parts[label]
            return self._rounded(f"{part} / {total}")
        found = [self._linked(margin) for margin in self.margins]
        if len(found) == 1:
            found.insert(0, self._rounded(f"{self._number(1.0)} - {found[0]}"))
        return self._chosen(found) if label is None else found[label]

    def _parts(self) -> list[str]:
        """Return the exponential of each margin, relative to the greatest."""
        top = f"({first_greatest(self.margins, self.margins)})"
        if self.dialect.forests.greatest:
            top = f"{self.dialect.forests.greatest}({', '.join(self.margins)})"
        return [self._exp(f"{margin} - {top}") for margin in self.margins]

    def _linked(self, margin: str) -> str:
        one = self._number(1.0)
        match self.forest.link:
            case ir.Link.LOGISTIC:
                power = f"{self._number(-self.forest.slope)} * {margin}"
                odds = self._rounded(f"({one} + {self._exp(power)})")
                return self._rounded(f"{one} / {odds}")
            case ir.Link.EXP:
                return self._exp(margin)
            case ir.Link.SIGNED_SQUARE:
                return self._rounded(f"{margin} * ABS({margin})")
            case ir.Link.SOFTPLUS:
                # log(1 + e) without loss for small e: what 1 + e loses is known.
                small = self._exp(margin)
                whole = f"({one} + {small})"
                log = f"LN{whole} * {small} / ({whole} - {one})"
                return self._rounded(
                    f"CASE WHEN {whole} = {one} THEN {small} ELSE {log} END"
                )
        return margin

    def _exp(self, power: str) -> str:
        """Write the exponential of a number, limited to what engines accept."""
        most = largest_power(self.forest)
        high, low = self._number(most), self._number(-most)
        arms = f"WHEN {power} > {high} THEN {high} WHEN {power} < {low} THEN {low}"
        return self._rounded(f"EXP(CASE {arms} ELSE {power} END)")

    def _number(self, number: float) -> str:
        return literal(number, self.dialect)

    def _rounded(self, text: str) -> str:
        """Return a number in the arithmetic of the forest, as a double."""
        if self.forest.arithmetic is ir.Arithmetic.DOUBLE:
            return text
        if not self.dialect.forests.single:
            return rounded_by_arithmetic(f"({text})", self.dialect)
        return self.dialect.columns.number.fill(self.dialect.forests.single.fill(text))


def first_greatest(margins: Sequence[str], results: Sequence[str]) -> str:
    """Choose the result of the greatest margin; at a tie, of the first of them."""
    if len(margins) == 1:
        return results[0]
    arms = []
    for place, margin in enumerate(margins[:-1]):
        # Earlier margins were smaller, or an earlier arm would have answered.
        tests = (f"{margin} >= {other}" for other in margins[place + 1 :])
        arms.append(f"WHEN {' AND '.join(tests)} THEN {results[place]}")
    return f"CASE {' '.join(arms)} ELSE {results[-1]} END"


def rounded_by_arithmetic(number: str, dialect: Dialect) -> str:
    """Return a double rounded to 32 bits (see `forests.to_single`)."""
    high = f"{number} * {literal(SPLITTER, dialect)}"
    return f"({high} - ({high} - {number}))"
