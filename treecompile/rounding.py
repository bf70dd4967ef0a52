"""Thresholds rounded for reading, where the exact one stands beside or below.

Between a rounded threshold and the exact one there are doubles that they treat
differently, so nothing that decides is ever rounded. Rounding keeps the thresholds of a
feature apart and in order; where it could not, they stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise

from treecompile import words
from treecompile.ir import Condition

LONG = 8  # digits up to which a number is easy to read as it is
FEWEST, MOST = 4, 7  # digits that a rounded number has

Figure = Callable[[float], str]


def rounded(value: float, digits: int = FEWEST) -> str:
    """A number with that many significant digits."""
    return words.number(float(f"{value:.{digits}g}"))


class Rounding:
    """How the thresholds of each feature are rounded."""

    def __init__(self, conditions: Iterable[Condition]) -> None:
        thresholds: dict[int, set[float]] = {}
        for test in conditions:
            if isinstance(test.value, float):
                thresholds.setdefault(test.feature, set()).add(test.value)
        self.digits = {where: _digits(them) for where, them in thresholds.items()}

    def figure(self, where: int) -> Figure:
        """What writes the thresholds of a feature."""
        digits = self.digits.get(where, 0)
        return lambda value: _shown(value, digits)


def _shown(value: float, digits: int) -> str:
    if not digits or _significant(value) <= LONG:
        return words.number(value)
    return rounded(value, digits)


def _digits(thresholds: set[float]) -> int:
    """The fewest digits that keep all in order; 0 where too many are needed."""
    ordered = sorted(thresholds)
    for digits in range(FEWEST, MOST + 1):
        shown = [float(_shown(threshold, digits)) for threshold in ordered]
        if all(low < high for low, high in pairwise(shown)):
            return digits
    return 0


def _significant(value: float) -> int:
    digits = repr(value).partition("e")[0].lstrip("-").replace(".", "")
    return len(digits.strip("0"))
