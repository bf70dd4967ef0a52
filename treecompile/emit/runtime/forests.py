"""The functions of the Python module of a forest.

As in `rows`, the constants and the first functions are an example. Of functions with
two underscores there are several versions, and one is copied: answer__by_cut as answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import exp, log1p
from typing import Any

Answer = str  # replaced by the type of the labels
ONE_SUM = False  # whether one margin decides between two labels
ROUNDS = True  # whether sums have 32 bits

CLASSES = ("no", "yes")
CUT = 0.0
SLOPE = 1.0
LARGEST = 700.0


def margins(row: Mapping[str, Any]) -> tuple[float, ...]:
    return sums(row["heat"])


def predict_values(heat: Any, /) -> Answer:
    return answer(sums(heat))


def sums(heat: Any, /) -> tuple[float, ...]:
    return (float(heat), 1.0)


# ---------------------------------------------------------------- copied


def predict(row: Mapping[str, Any]) -> Answer:
    """Predict TARGET for a row, a mapping by column name.

    None and NaN are missing values. An absent column raises KeyError, a value of the
    wrong type a TypeError that names it.
    """
    return answer(margins(row))


def margin__one(row: Mapping[str, Any]) -> float:
    """The sum of the trees for a row."""
    return margins(row)[0]


def margin__several(row: Mapping[str, Any]) -> dict[Answer, float]:
    """The sum of the trees for a row, for each label."""
    return dict(zip(CLASSES, margins(row)))


def predict_proba(row: Mapping[str, Any]) -> dict[Answer, float]:
    """The probability of each label."""
    if ONE_SUM:
        share = linked(margins(row))[0]
        return dict(zip(CLASSES, (rounded(1 - share), share)))
    else:
        return dict(zip(CLASSES, linked(margins(row))))


def answer__by_cut(found: tuple[float, ...]) -> Answer:
    """The second label if the margin is above the cut."""
    return CLASSES[1] if found[0] > CUT else CLASSES[0]


def answer__by_greatest(found: tuple[float, ...]) -> Answer:
    """The label with the greatest margin, the first one at a tie."""
    return CLASSES[found.index(max(found))]


def answer__number(found: tuple[float, ...]) -> float:
    """The number that a margin stands for."""
    return linked(found)[0]


answer = answer__by_cut


def linked__identity(found: tuple[float, ...]) -> tuple[float, ...]:
    """The margins are the answer."""
    return found


def linked__signed_square(found: tuple[float, ...]) -> tuple[float, ...]:
    """The square of each margin, with its sign."""
    return tuple(rounded(each * abs(each)) for each in found)


def linked__logistic(found: tuple[float, ...]) -> tuple[float, ...]:
    """The logistic function of each margin."""
    odds = [power(-SLOPE * each) for each in found]
    return tuple(rounded(1 / rounded(1 + each)) for each in odds)


def linked__softmax(found: tuple[float, ...]) -> tuple[float, ...]:
    """The exponential of each margin, over the sum of all."""
    top = max(found)
    parts = [power(each - top) for each in found]
    total = 0.0
    for part in parts:
        total += part
    return tuple(rounded(part / rounded(total)) for part in parts)


def linked__exp(found: tuple[float, ...]) -> tuple[float, ...]:
    """The exponential of each margin."""
    return tuple(power(each) for each in found)


def linked__softplus(found: tuple[float, ...]) -> tuple[float, ...]:
    """The logarithm of 1 + the exponential of each margin."""
    return tuple(rounded(log1p(power(each))) for each in found)


linked = linked__identity


def power(number: float) -> float:
    """The exponential of a number, of which the largest and smallest are cut off."""
    return rounded(exp(max(-LARGEST, min(LARGEST, number))))


def rounded(number: float) -> float:
    """A number in the arithmetic of the model."""
    if ROUNDS:
        return single(number)
    else:
        return number


def single(number: float) -> float:
    """A number rounded to 32 bits, as the library of the model adds up its trees."""
    high = number * 536870913.0
    return high - (high - number)
