"""Predict species: 6 rules learned by c45.

    >>> predict(
    ...     {
    ...         "bill_length_mm": 38.0,
    ...         "bill_depth_mm": 17.0,
    ...         "flipper_length_mm": 190.0,
    ...         "body_mass_g": 4500.0,
    ...     }
    ... )
    'Adelie'
    >>> predict_values(38.0, 17.0, 190.0, 4500.0)
    'Adelie'

Compiled by treecompile 0.1.0 from the model with SHA-256
cbd3c77f5b8f0b17d397bb2c896fcfde4f8d4ac21c1dd78a2ab185e835d5c254.
Standard library only, Python 3.9 or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import inf, nan
from numbers import Real
from typing import Any

MODEL = {
    "name": "species",
    "algorithm": "c45",
    "version": "0.1.0",
    "sha256": "cbd3c77f5b8f0b17d397bb2c896fcfde4f8d4ac21c1dd78a2ab185e835d5c254",
    "rules": 6,
    "rows": 241,
}
FEATURES = {
    "bill_length_mm": "number",
    "bill_depth_mm": "number",
    "flipper_length_mm": "number",
    "body_mass_g": "number",
}
CLASSES = ("Adelie", "Chinstrap", "Gentoo")


def predict(row: Mapping[str, Any], rule: bool = False) -> str:
    """Predict species for a row, a mapping by column name.

    None and NaN are missing values. An absent column raises KeyError, a value of the
    wrong type a TypeError that names it. With `rule`, the result is the id of the rule
    that decides.
    """
    bill_length_mm = row["bill_length_mm"]
    bill_depth_mm = row["bill_depth_mm"]
    flipper_length_mm = row["flipper_length_mm"]
    body_mass_g = row["body_mass_g"]
    if bill_length_mm.__class__ is not float and bill_length_mm.__class__ is not int:
        bill_length_mm = as_number("bill_length_mm", bill_length_mm)
    if bill_depth_mm.__class__ is not float and bill_depth_mm.__class__ is not int:
        bill_depth_mm = as_number("bill_depth_mm", bill_depth_mm)
    if (
        flipper_length_mm.__class__ is not float
        and flipper_length_mm.__class__ is not int
    ):
        flipper_length_mm = as_number("flipper_length_mm", flipper_length_mm)
    if body_mass_g.__class__ is not float and body_mass_g.__class__ is not int:
        body_mass_g = as_number("body_mass_g", body_mass_g)
    if not flipper_length_mm > 207.0:
        if not bill_length_mm > 43.1:
            return "R1" if rule else "Adelie"  # 93 of 96 cases
        if not body_mass_g > 4100.0:
            return "R2" if rule else "Chinstrap"  # 42 of 42 cases
        if bill_length_mm <= 48.8:
            return "R3" if rule else "Adelie"  # 3 of 5 cases
        return "R4" if rule else "Chinstrap"  # 6 of 6 cases
    if not bill_depth_mm > 17.6:
        return "R5" if rule else "Gentoo"  # 87 of 87 cases
    return "R6" if rule else "Chinstrap"  # 3 of 5 cases


def predict_values(
    bill_length_mm: Any,
    bill_depth_mm: Any,
    flipper_length_mm: Any,
    body_mass_g: Any,
    /,
    *,
    rule: bool = False,
) -> str:
    """Predict species from values in the order of FEATURES.

    By position they are read faster. They are checked and converted as by `predict`.
    """
    if bill_length_mm.__class__ is not float and bill_length_mm.__class__ is not int:
        bill_length_mm = as_number("bill_length_mm", bill_length_mm)
    if bill_depth_mm.__class__ is not float and bill_depth_mm.__class__ is not int:
        bill_depth_mm = as_number("bill_depth_mm", bill_depth_mm)
    if (
        flipper_length_mm.__class__ is not float
        and flipper_length_mm.__class__ is not int
    ):
        flipper_length_mm = as_number("flipper_length_mm", flipper_length_mm)
    if body_mass_g.__class__ is not float and body_mass_g.__class__ is not int:
        body_mass_g = as_number("body_mass_g", body_mass_g)
    if not flipper_length_mm > 207.0:
        if not bill_length_mm > 43.1:
            return "R1" if rule else "Adelie"  # 93 of 96 cases
        if not body_mass_g > 4100.0:
            return "R2" if rule else "Chinstrap"  # 42 of 42 cases
        if bill_length_mm <= 48.8:
            return "R3" if rule else "Adelie"  # 3 of 5 cases
        return "R4" if rule else "Chinstrap"  # 6 of 6 cases
    if not bill_depth_mm > 17.6:
        return "R5" if rule else "Gentoo"  # 87 of 87 cases
    return "R6" if rule else "Chinstrap"  # 3 of 5 cases


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
    "R1": (0.9747505959212501, 0.021100026485388893, 0.004149377593360996),
    "R2": (0.004149377593360996, 0.9917012448132779, 0.004149377593360996),
    "R3": (0.5991701244813278, 0.19834024896265562, 0.20248962655601663),
    "R4": (0.004149377593360996, 0.9917012448132779, 0.004149377593360996),
    "R5": (0.004149377593360995, 0.0, 0.9958506224066389),
    "R6": (0.40082987551867216, 0.5950207468879669, 0.004149377593360996),
}

RULES = {
    "R1": "R1: if flipper_length_mm <= 207 (or missing) and bill_length_mm <= 43.1 (or missing) then Adelie [93 of 96: 2 Chinstrap, 1 Gentoo]",
    "R2": "R2: if flipper_length_mm <= 207 (or missing) and bill_length_mm > 43.1 and body_mass_g <= 4100 (or missing) then Chinstrap [42 of 42]",
    "R3": "R3: if flipper_length_mm <= 207 (or missing) and 43.1 < bill_length_mm <= 48.8 and body_mass_g > 4100 then Adelie [3 of 5: 1 Chinstrap, 1 Gentoo]",
    "R4": "R4: if flipper_length_mm <= 207 (or missing) and bill_length_mm > 48.8 and body_mass_g > 4100 then Chinstrap [6 of 6]",
    "R5": "R5: if flipper_length_mm > 207 and bill_depth_mm <= 17.6 (or missing) then Gentoo [87 of 87]",
    "R6": "R6: if flipper_length_mm > 207 and bill_depth_mm > 17.6 then Chinstrap [3 of 5: 2 Adelie]",
}


def is_missing(value: Any) -> bool:
    """None, NaN, and the NA and NaT of pandas."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, Real) and bool(value != value)


def is_boolean(value: Any) -> bool:
    """A bool, or the boolean scalar of numpy."""
    return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")


def is_real(value: Any) -> bool:
    """A number that is not a boolean, nor a span of time, which numpy calls one."""
    if is_boolean(value) or type(value).__name__ == "timedelta64":
        return False
    return isinstance(value, (Real, Decimal))


def as_number(name: str, value: Any) -> float:
    """Any real number as the nearest double; NaN where it is missing."""
    if is_missing(value):
        return nan
    if is_real(value) or is_boolean(value):
        try:
            return float(value)
        except OverflowError:
            return inf if value > 0 else -inf
    raise TypeError(f"{name!r} is {value!r}: expected a number")
