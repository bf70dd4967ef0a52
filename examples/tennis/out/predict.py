"""Predict play: 5 rules learned by id3.

    >>> predict({"outlook": "cloudy", "humidity": "high", "wind": "strong"})
    'yes'
    >>> predict_values("cloudy", "high", "strong")
    'yes'

Compiled by treecompile 0.1.0 from the model with SHA-256
52dce5d19cb933e31a0bf24d4069b8ace7b5baa64bb023d0d514f633b6c2d8f4.
Standard library only, Python 3.9 or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

MODEL = {
    "name": "play",
    "algorithm": "id3",
    "version": "0.1.0",
    "sha256": "52dce5d19cb933e31a0bf24d4069b8ace7b5baa64bb023d0d514f633b6c2d8f4",
    "rules": 5,
    "rows": 14,
}
FEATURES = {"outlook": "str", "humidity": "str", "wind": "str"}
CLASSES = ("no", "yes")


def predict(row: Mapping[str, Any], rule: bool = False) -> str:
    """Predict play for a row, a mapping by column name.

    None and NaN are missing values. An absent column raises KeyError, a value of the
    wrong type a TypeError that names it. With `rule`, the result is the id of the rule
    that decides.
    """
    outlook = row["outlook"]
    humidity = row["humidity"]
    wind = row["wind"]
    if outlook.__class__ is not str:
        outlook = as_text("outlook", outlook)
    if humidity.__class__ is not str:
        humidity = as_text("humidity", humidity)
    if wind.__class__ is not str:
        wind = as_text("wind", wind)
    if outlook == "cloudy":
        return "R1" if rule else "yes"  # 4 of 4 cases
    if outlook == "sunny":
        if humidity == "normal":
            return "R5" if rule else "yes"  # 2 of 2 cases
        return "R4" if rule else "no"  # 3 of 3 cases
    if wind == "strong":
        return "R2" if rule else "no"  # 2 of 2 cases
    return "R3" if rule else "yes"  # 3 of 3 cases


def predict_values(
    outlook: Any, humidity: Any, wind: Any, /, *, rule: bool = False
) -> str:
    """Predict play from values in the order of FEATURES.

    By position they are read faster. They are checked and converted as by `predict`.
    """
    if outlook.__class__ is not str:
        outlook = as_text("outlook", outlook)
    if humidity.__class__ is not str:
        humidity = as_text("humidity", humidity)
    if wind.__class__ is not str:
        wind = as_text("wind", wind)
    if outlook == "cloudy":
        return "R1" if rule else "yes"  # 4 of 4 cases
    if outlook == "sunny":
        if humidity == "normal":
            return "R5" if rule else "yes"  # 2 of 2 cases
        return "R4" if rule else "no"  # 3 of 3 cases
    if wind == "strong":
        return "R2" if rule else "no"  # 2 of 2 cases
    return "R3" if rule else "yes"  # 3 of 3 cases


def predict_proba(row: Mapping[str, Any]) -> dict[str, float]:
    """The probability of each label: its share of the training cases of the rule."""
    return dict(zip(CLASSES, PROBABILITIES[predict(row, True)]))


def predict_many(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Predict each of the rows."""
    found: list[str] = []
    for row in rows:
        try:
            found.append(predict(row))
        except (TypeError, IndexError):
            if isinstance(row, Mapping):
                raise
            problem = f"row {len(found)} is of type {type(row).__name__}"
            raise TypeError(f"{problem}: expected a mapping") from None
    return found


def explain(row: Mapping[str, Any]) -> str:
    """The rule that decides a row, in words."""
    return RULES[predict(row, True)]


PROBABILITIES = {
    "R1": (0.0, 1.0),
    "R2": (1.0, 0.0),
    "R3": (0.0, 1.0),
    "R4": (1.0, 0.0),
    "R5": (0.0, 1.0),
}

RULES = {
    "R1": "R1: if outlook = cloudy then yes [4 of 4]",
    "R2": "R2: if outlook = rainy (or any other, or missing) and wind = strong then no [2 of 2]",
    "R3": "R3: if outlook = rainy (or any other, or missing) and wind = weak (or any other, or missing) then yes [3 of 3]",
    "R4": "R4: if outlook = sunny and humidity = high (or any other, or missing) then no [3 of 3]",
    "R5": "R5: if outlook = sunny and humidity = normal then yes [2 of 2]",
}


def is_missing(value: Any) -> bool:
    """None, NaN, and the NA and NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, Real) and bool(value != value)


def as_text(name: str, value: Any) -> str | None:
    """A string; None where it is missing."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    raise TypeError(f"{name!r} is {value!r}: expected a string")
