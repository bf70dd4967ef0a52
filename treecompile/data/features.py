"""The columns to predict from, and the one that weighs the rows."""

from __future__ import annotations

import numpy as np

from treecompile.data.options import listed
from treecompile.errors import DataError
from treecompile.ir import Category, ColumnSummary, Feature, Kind, ValueType
from treecompile.raw import Distinct, Raw, coded, numbers_of, refuse_dates, type_of
from treecompile.read import Stated
from treecompile.values import as_integer

MOST_CATEGORIES = 10_000
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100  # whose sums and products are doubles
FEWEST_IDENTIFIERS = 11  # fewer distinct values may well be distinct by chance


def make_feature(
    raw: Raw, stated: str | None, order: tuple[str, ...]
) -> tuple[Feature, np.ndarray] | None:
    """The feature that a column makes, and its values; None if it has no known one."""
    is_open = stated is None and raw.stated in (None, Stated.NUMERIC)
    numbers = raw.numbers() if is_open or stated == "numeric" else None
    if numbers is None:
        column = raw.distinct()
        if not column.used:
            return None
        if stated == "ordinal":
            return _ordinal(column, order)
        if stated == "categorical" or (stated is None and _is_categorical(column)):
            return _categorical(column, ordered=stated is None and column.ordered)
        numbers = numbers_of(raw)
    elif np.isnan(numbers).all():
        return None
    return Feature(raw.name, Kind.NUMERIC, ValueType.FLOAT), numbers


def _is_categorical(column: Distinct) -> bool:
    refuse_dates(column)
    type_ = type_of(column)
    return column.declared or type_ in (ValueType.STR, ValueType.BOOL)


def _categorical(column: Distinct, ordered: bool) -> tuple[Feature, np.ndarray]:
    name = column.raw.name
    type_ = _category_type(column)
    typed = column.typed(type_)
    categories: tuple[Category, ...] = tuple(
        dict.fromkeys(typed) if column.declared else sorted(set(typed))
    )
    if len(categories) > MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} has {len(categories)} categories, more than "
            f"{MOST_CATEGORIES}: leave it out with --ignore or make it numeric"
        )
    kind = Kind.ORDINAL if ordered else Kind.CATEGORICAL
    codes = coded(column, type_, categories)
    return Feature(name, kind, type_, categories), codes


def _ordinal(column: Distinct, order: tuple[str, ...]) -> tuple[Feature, np.ndarray]:
    name = column.raw.name
    type_ = _category_type(column, order)
    categories = listed(name, type_, order, "--ordinal")
    codes = coded(column, type_, categories)
    if (codes == len(categories)).any():
        where = int((codes == len(categories)).argmax())
        value = column.values[column.codes[where]]
        raise DataError(
            f"row {column.raw.row(where)}: {name!r} is {value!r}, which --ordinal does "
            "not list: add it"
        )
    return Feature(name, Kind.ORDINAL, type_, categories), codes


def _category_type(column: Distinct, order: tuple[str, ...] = ()) -> ValueType:
    type_ = type_of(column, order)
    if type_ is not ValueType.FLOAT:
        return type_
    if column.raw.text:
        return ValueType.STR
    for place, value in enumerate(column.values):
        try:
            as_integer(column.raw.name, value)
        except (TypeError, ArithmeticError) as error:
            raise DataError(
                f"{column.where(place)}{column.raw.name!r} is {value!r}: a category is "
                "text, an integer or a boolean"
            ) from error
    return ValueType.INT


def warnings(feature: Feature, column: np.ndarray) -> list[str]:
    known = _known(feature, column)
    if known.min() == known.max():
        return [f"column {feature.name!r} has one value only and cannot split"]
    if _looks_like_identifier(feature, known):
        advice = f"leave it out with --ignore {feature.name!r}"
        return [f"column {feature.name!r} looks like an identifier: {advice}"]
    return []


def _looks_like_identifier(feature: Feature, known: np.ndarray) -> bool:
    """Categories that never repeat, or consecutive integers in any order."""
    if len(known) < FEWEST_IDENTIFIERS or feature.kind is Kind.ORDINAL:
        return False
    if feature.kind is Kind.NUMERIC:
        span = float(known.max()) - float(known.min())
        if span != len(known) - 1 or (known % 1).any():
            return False
    return len(np.unique(known)) == len(known)


def _known(feature: Feature, column: np.ndarray) -> np.ndarray:
    return column[~np.isnan(column) if feature.kind is Kind.NUMERIC else column >= 0]


def summary(feature: Feature, column: np.ndarray) -> ColumnSummary:
    known = _known(feature, column)
    missing = len(column) - len(known)
    if feature.kind is not Kind.NUMERIC or not len(known):
        return ColumnSummary(missing)
    return ColumnSummary(missing, float(known.min()), float(known.max()))


def weights_of(raw: Raw) -> np.ndarray:
    """How much each row counts: a number above 0 in every one."""
    weights = numbers_of(raw)
    wrong = np.flatnonzero(~((weights >= LEAST_WEIGHT) & (weights <= MOST_WEIGHT)))
    if len(wrong):
        where, weight = raw.row(int(wrong[0])), weights[wrong[0]]
        if np.isnan(weight):
            raise DataError(f"row {where}: its weight {raw.name!r} is missing: add it")
        advice = ", or leave the row out" if weight == 0 else ""
        raise DataError(
            f"row {where}: its weight {raw.name!r} is {weight:g}: expected a finite"
            f" number above 0{advice}"
        )
    return weights
