"""Predict sex: a sum of 12 trees, by LightGBM binary.

    >>> predict(
    ...     {
    ...         "species": "Adelie",
    ...         "bill_length_mm": 0.0,
    ...         "bill_depth_mm": 0.0,
    ...         "flipper_length_mm": 0.0,
    ...         "body_mass_g": 0.0,
    ...     }
    ... )
    'female'
    >>> predict_values("Adelie", 0.0, 0.0, 0.0, 0.0)
    'female'

Compiled by treecompile 0.1.0 from the model with SHA-256
39d2e6381f67172b7b391bc8d6813c9a466fb185dd0f51c8432b9ef0af888fb2.
The trees are added in their order, in 64 bits: `margin` is exactly that of the model,
and so is the label; the last digit of a probability may differ.
Standard library only, Python 3.9 or later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from math import exp, inf, nan
from numbers import Real
from typing import Any

MODEL = {
    "name": "sex",
    "algorithm": "LightGBM binary",
    "version": "0.1.0",
    "sha256": "39d2e6381f67172b7b391bc8d6813c9a466fb185dd0f51c8432b9ef0af888fb2",
    "trees": 12,
}
FEATURES = {
    "species": "str",
    "bill_length_mm": "number",
    "bill_depth_mm": "number",
    "flipper_length_mm": "number",
    "body_mass_g": "number",
}
CLASSES = ("female", "male")
CUT = 1.6653345369377348e-16  # of the margin: the second label is above it
SLOPE = 1.0
LARGEST = 700.0  # that is exponentiated


def predict(row: Mapping[str, Any]) -> str:
    """Predict sex for a row, a mapping by column name.

    None and NaN are missing values. An absent column raises KeyError, a value of the
    wrong type a TypeError that names it.
    """
    return answer(margins(row))


def margin(row: Mapping[str, Any]) -> float:
    """The sum of the trees for a row."""
    return margins(row)[0]


def predict_proba(row: Mapping[str, Any]) -> dict[str, float]:
    """The probability of each label."""
    share = linked(margins(row))[0]
    return dict(zip(CLASSES, (rounded(1 - share), share)))


def predict_values(
    species: Any,
    bill_length_mm: Any,
    bill_depth_mm: Any,
    flipper_length_mm: Any,
    body_mass_g: Any,
    /,
) -> str:
    """Predict sex from values in the order of FEATURES.

    By position they are read faster. They are checked and converted as by `predict`.
    """
    found = sums(species, bill_length_mm, bill_depth_mm, flipper_length_mm, body_mass_g)
    return answer(found)


def margins(row: Mapping[str, Any]) -> tuple[float, ...]:
    """The sums of the trees for a row, in their order."""
    return sums(
        row["species"],
        row["bill_length_mm"],
        row["bill_depth_mm"],
        row["flipper_length_mm"],
        row["body_mass_g"],
    )


def sums(
    species: Any,
    bill_length_mm: Any,
    bill_depth_mm: Any,
    flipper_length_mm: Any,
    body_mass_g: Any,
    /,
) -> tuple[float, ...]:
    """The sums of the trees for values in the order of FEATURES."""
    if species.__class__ is not str:
        species = as_text("species", species)
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
    m0 = 0.0
    m0 += _tree_1(bill_depth_mm, body_mass_g)
    m0 += _tree_2(bill_length_mm, bill_depth_mm, body_mass_g)
    m0 += _tree_3(bill_length_mm, bill_depth_mm, body_mass_g)
    m0 += _tree_4(bill_depth_mm, body_mass_g)
    m0 += _tree_5(species, bill_length_mm, bill_depth_mm, body_mass_g)
    m0 += _tree_6(bill_length_mm, bill_depth_mm, body_mass_g)
    m0 += _tree_7(bill_depth_mm, body_mass_g)
    m0 += _tree_8(bill_length_mm, bill_depth_mm, body_mass_g)
    m0 += _tree_9(species, bill_length_mm, body_mass_g)
    m0 += _tree_10(species, bill_length_mm, bill_depth_mm, body_mass_g)
    m0 += _tree_11(species, bill_length_mm, body_mass_g)
    m0 += _tree_12(bill_length_mm, bill_depth_mm, flipper_length_mm)
    return (m0 + 0.0,)


def answer(found: tuple[float, ...]) -> str:
    """The second label if the margin is above the cut."""
    return CLASSES[1] if found[0] > CUT else CLASSES[0]


def linked(found: tuple[float, ...]) -> tuple[float, ...]:
    """The logistic function of each margin."""
    odds = [power(-SLOPE * each) for each in found]
    return tuple(rounded(1 / rounded(1 + each)) for each in odds)


def rounded(number: float) -> float:
    """A number in the arithmetic of the model."""
    return number


def power(number: float) -> float:
    """The exponential of a number, of which the largest and smallest are cut off."""
    return rounded(exp(max(-LARGEST, min(LARGEST, number))))


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


def _tree_1(bill_depth_mm: Any, body_mass_g: Any) -> float:
    if not body_mass_g > 3712.5000000000005:
        if not bill_depth_mm > 18.550000000000004:
            return -0.5585180381467663
        return 0.13262240703877887
    if not bill_depth_mm > 14.850000000000003:
        return -0.4802844925358802
    if body_mass_g <= 3887.5000000000005:
        return 0.16818084928294452
    return 0.5163031898667927


def _tree_2(bill_length_mm: Any, bill_depth_mm: Any, body_mass_g: Any) -> float:
    if bill_length_mm > 47.75000000000001:
        return 0.3589318440364007
    if not bill_depth_mm > 17.950000000000003:
        if not body_mass_g > 4962.500000000001:
            return -0.4484160842523525
        return 0.15559626197860257
    if not body_mass_g > 3612.5000000000005:
        return -0.2595912068351982
    return 0.36454500214752833


def _tree_3(bill_length_mm: Any, bill_depth_mm: Any, body_mass_g: Any) -> float:
    if body_mass_g > 5225.000000000001:
        return 0.4557170597483967
    if not bill_depth_mm > 18.050000000000004:
        return -0.3193993360049259
    if not bill_length_mm > 38.15000000000001:
        return -0.13447138007022835
    if not body_mass_g > 3612.5000000000005:
        return 0.08607674913965009
    return 0.36680787804127396


def _tree_4(bill_depth_mm: Any, body_mass_g: Any) -> float:
    if body_mass_g > 5225.000000000001:
        return 0.40218195415331015
    if not bill_depth_mm > 17.950000000000003:
        if not body_mass_g > 4962.500000000001:
            return -0.3131194857655842
        return 0.02037143238006298
    if not body_mass_g > 3612.5000000000005:
        return -0.10250730687172717
    return 0.2793384996198346


def _tree_5(
    species: Any, bill_length_mm: Any, bill_depth_mm: Any, body_mass_g: Any
) -> float:
    if bill_length_mm > 49.15000000000001:
        return 0.2680884966721405
    if bill_depth_mm > 19.450000000000003:
        return 0.34712411778872165
    if body_mass_g > 5025.000000000001:
        return 0.22962119557563535
    if species == "Adelie":
        return -0.02261174808740694
    return -0.38263013391121853


def _tree_6(bill_length_mm: Any, bill_depth_mm: Any, body_mass_g: Any) -> float:
    if not bill_length_mm > 37.10000000000001:
        return -0.3726717291878742
    if not bill_depth_mm > 14.850000000000003:
        return -0.27850204607497353
    if body_mass_g > 3712.5000000000005:
        return 0.25443443604031624
    if bill_depth_mm <= 18.550000000000004:
        return -0.3007204711066954
    return 0.15067199919086638


def _tree_7(bill_depth_mm: Any, body_mass_g: Any) -> float:
    if body_mass_g > 5225.000000000001:
        return 0.3603908259653206
    if bill_depth_mm > 18.950000000000003:
        return 0.211339503399373
    if not bill_depth_mm > 14.850000000000003:
        return -0.3657661877220925
    if not body_mass_g > 3887.5000000000005:
        return -0.19485972374060875
    return 0.16981155068509604


def _tree_8(bill_length_mm: Any, bill_depth_mm: Any, body_mass_g: Any) -> float:
    if not bill_length_mm > 37.10000000000001:
        return -0.316345785656259
    if not bill_depth_mm > 15.250000000000002:
        if not body_mass_g > 5075.000000000001:
            return -0.32037625875541553
        return 0.1294121091303781
    if not body_mass_g > 3925.0000000000005:
        return -0.005980848570615566
    return 0.29292937399502045


def _tree_9(species: Any, bill_length_mm: Any, body_mass_g: Any) -> float:
    if not body_mass_g > 3462.5000000000005:
        return -0.20969418239946305
    if species == "Adelie":
        if not bill_length_mm > 39.65000000000001:
            return -0.018291691533778777
        return 0.4552627852120286
    if not bill_length_mm > 47.75000000000001:
        return -0.25528420541754043
    return 0.1454040109159579


def _tree_10(
    species: Any, bill_length_mm: Any, bill_depth_mm: Any, body_mass_g: Any
) -> float:
    if body_mass_g > 5225.000000000001:
        return 0.34008498286012817
    if bill_depth_mm > 19.450000000000003:
        return 0.2803405948674375
    if not bill_length_mm > 37.10000000000001:
        return -0.3365738225459379
    if species == "Adelie":
        return 0.12295251796746351
    return -0.15425608433581203


def _tree_11(species: Any, bill_length_mm: Any, body_mass_g: Any) -> float:
    if not bill_length_mm > 39.65000000000001:
        return -0.1439565639331997
    if species == "Adelie":
        return 0.33392241893636
    if bill_length_mm > 48.15000000000001:
        return 0.14619775006771465
    if not body_mass_g > 4962.500000000001:
        return -0.41748943222397716
    return 0.1572490335662034


def _tree_12(bill_length_mm: Any, bill_depth_mm: Any, flipper_length_mm: Any) -> float:
    if flipper_length_mm > 219.50000000000003:
        return 0.2987940033682273
    if bill_depth_mm > 19.050000000000004:
        return 0.17267268018541496
    if not bill_length_mm > 37.10000000000001:
        return -0.349144681641047
    if not flipper_length_mm > 194.50000000000003:
        return 0.061638243350923834
    return -0.13750945500336426


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


def as_text(name: str, value: Any) -> str | None:
    """A string; None where it is missing."""
    if isinstance(value, str):
        return value
    if is_missing(value):
        return None
    raise TypeError(f"{name!r} is {value!r}: expected a string")
