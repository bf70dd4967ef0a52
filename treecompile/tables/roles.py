"""What each column is for: the target, a feature and of which kind, or the weights.

The decisions need only the distinct values of columns, so a database can supply them
too (see `database.schema`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, isinf
from sys import float_info
from typing import Any

import numpy as np

from treecompile.model.errors import DataError, OptionError
from treecompile.model.file.limits import MOST_SQUARES
from treecompile.model.ir import Category, Feature, Kind, Label, ValueType
from treecompile.model.options import check_values
from treecompile.model.values import as_integer
from treecompile.tables.columns import (
    PARSE,
    Distinct,
    Raw,
    coded,
    numbers_of,
    type_of,
)
from treecompile.tables.options import CLASSIFY, REGRESS, DataOptions
from treecompile.tables.raw import counted, require_column
from treecompile.tables.suspicions import advice, odd_texts, only_because

LARGEST = float_info.max
MOST_INTEGER_LABELS = 10  # an integer target with more values is a number
MOST_LABELS = 1_000
MOST_CATEGORIES = 10_000
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100  # their sums and products are doubles

SHOWN = {
    ValueType.FLOAT: "a number",
    ValueType.INT: "an integer",
    ValueType.BOOL: "true or false",
    ValueType.STR: "text",
}


# ---------------------------------------------------------------- the target


def make_target(
    raw: Raw, options: DataOptions, *, has_missing: bool = False
) -> tuple[tuple[Label, ...], np.ndarray, list[str]]:
    """The labels, the target of every row (-1 or NaN if missing), and notes.

    `has_missing` says that rows outside the column have no target.
    """
    column = raw.distinct()
    name, count = raw.name, len(column.used)
    if not count:
        state = f"target {name!r} has no known value" if len(raw.data) else "no rows"
        raise DataError(f"{state}: there is nothing to learn from")
    type_ = type_of(column)
    is_text = type_ is ValueType.STR and not column.declared
    if is_text and options.task != CLASSIFY:
        _refuse_almost_numbers(column, options.task)
    has_missing |= bool((column.codes < 0).any())
    judged = type_for_task(type_, column.typed(type_), has_missing=has_missing)
    task = task_for(name, judged, count, options)
    if task == REGRESS:
        y: np.ndarray = numbers_of(raw)
        known = y[~np.isnan(y)]
        where = raw.row(int(np.isinf(y).argmax()))
        check_range(name, float(np.abs(known).max()), len(known), f"row {where}: ")
        return (), y, target_notes(name, type_, count, (), options)
    labels = _labels(column, type_, options.labels)
    y = coded(column, type_, labels)
    notes = target_notes(name, type_, count, labels, options)
    return labels, y, notes


def _refuse_almost_numbers(column: Distinct, task: str | None) -> None:
    """Refuse numbers that would become hundreds of labels because of a few texts."""
    raw, values = column.raw, column.values
    odd = odd_texts(values, raw.decimal)
    if odd and (task == REGRESS or len(values) - len(odd) > MOST_INTEGER_LABELS):
        raise DataError(
            f"target {raw.name!r} is text {only_because(odd)}:"
            f" {advice(odd, is_file=raw.text)}; for labels, use task=classify"
        )


def type_for_task(
    type_: ValueType, values: Sequence[Any], *, has_missing: bool
) -> ValueType:
    """The type of a target that decides on its task.

    With missing values, pandas stores integers as floats: 0, 1 and a missing one are
    labels, not numbers.
    """
    if type_ is not ValueType.FLOAT or not has_missing:
        return type_
    return ValueType.INT if all(value % 1 == 0 for value in values) else type_


def task_for(name: str, type_: ValueType, count: int, options: DataOptions) -> str:
    """The task for a target with `count` distinct values."""
    is_number = type_ in (ValueType.INT, ValueType.FLOAT)
    few = type_ is ValueType.INT and count <= MOST_INTEGER_LABELS
    task = options.task or (REGRESS if is_number and not few else CLASSIFY)
    if task == REGRESS:
        if not is_number:
            raise OptionError(
                f"target {name!r} is {SHOWN[type_]}, not a number: use task=classify"
            )
        if options.labels:
            raise OptionError("labels is for classes: use it with task=classify")
    return task


def check_range(name: str, widest: float, count: float, where: str = "") -> None:
    """Refuse an infinite number (at `where`), and numbers whose squares overflow.

    `count` is the number of rows, or their weight.
    """
    if isinf(widest):
        raise DataError(f"{where}{name!r} is infinite: correct or remove it")
    if widest > (MOST_SQUARES / count) ** 0.5 / 2:
        raise DataError(
            f"target {name!r} reaches {widest!r}, and its squares may add up to more"
            f" than {MOST_SQUARES:g}: use a larger unit"
        )


def target_notes(
    name: str,
    type_: ValueType,
    count: int,
    labels: Sequence[Label],
    options: DataOptions,
) -> list[str]:
    """What a user should know about the target."""
    notes = []
    task, thing = (CLASSIFY, "label") if labels else (REGRESS, "value")
    if options.task is None:
        found = f"is {SHOWN[type_]} with {counted(len(labels) or count, thing)}"
        notes.append(f"task: {task} (target {name!r} {found})")
    if count == 1:
        notes.append(f"only one {thing}: the tree will be a single leaf")
    return notes


def _labels(
    column: Distinct, type_: ValueType, given: tuple[str, ...]
) -> tuple[Label, ...]:
    name = column.raw.name
    typed = column.typed(type_)
    present = sorted({typed[place] for place in column.used})
    if type_ is ValueType.FLOAT and not all(map(isfinite, present)):
        raise DataError(f"target {name!r} has an infinite label: correct or remove it")
    if len(present) > MOST_LABELS:
        numeric = type_ in (ValueType.INT, ValueType.FLOAT)
        advice = "use task=regress" if numeric else "group them, or choose another"
        raise DataError(
            f"target {name!r} has {len(present)} labels, more than {MOST_LABELS}: "
            + advice
        )
    if not given:
        return tuple(present)
    labels = parsed_list(name, type_, given, "labels")
    listed = set(labels)
    unlisted = [label for label in present if label not in listed]
    if unlisted:
        raise OptionError(f"labels lacks {unlisted[0]!r}, a value of {name!r}: add it")
    return labels


# ---------------------------------------------------------------- features


def make_feature(
    raw: Raw, stated: str | None, order: tuple[str, ...]
) -> tuple[Feature, np.ndarray] | None:
    """The feature of a column, and its values; None if no value is known."""
    numbers = raw.numbers() if stated in (None, "numeric") else None
    if numbers is None:
        column = raw.distinct()
        if not column.used:
            return None
        if stated == "ordinal":
            return _ordinal(column, order)
        if stated == "categorical" or (stated is None and _is_categorical(column)):
            made = _categorical(column, ordered=stated is None and column.ordered)
            if stated and len(made[0].categories) > MOST_CATEGORIES:
                raise too_many_categories(raw.name, len(made[0].categories))
            return made
        numbers = numbers_of(raw)
    elif np.isnan(numbers).all():
        return None
    return Feature(raw.name, Kind.NUMERIC, ValueType.FLOAT), numbers


def _is_categorical(column: Distinct) -> bool:
    type_ = type_of(column)
    return column.declared or type_ in (ValueType.STR, ValueType.BOOL)


def _categorical(column: Distinct, ordered: bool) -> tuple[Feature, np.ndarray]:
    name = column.raw.name
    type_ = _category_type(column)
    typed = column.typed(type_)
    categories: tuple[Category, ...] = tuple(
        dict.fromkeys(typed) if column.declared else sorted(set(typed))
    )
    kind = Kind.ORDINAL if ordered else Kind.CATEGORICAL
    codes = coded(column, type_, categories)
    return Feature(name, kind, type_, categories), codes


def _ordinal(column: Distinct, order: tuple[str, ...]) -> tuple[Feature, np.ndarray]:
    name = column.raw.name
    type_ = _category_type(column, order)
    categories = parsed_list(name, type_, order, "ordinal")
    codes = coded(column, type_, categories)
    if (codes == len(categories)).any():
        where = int((codes == len(categories)).argmax())
        value = column.values[column.codes[where]]
        raise DataError(
            f"row {column.raw.row(where)}: {name!r} is {value!r}, which ordinal does "
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


def too_many_categories(name: str, count: int) -> DataError:
    return DataError(
        f"categorical={name!r}: it has {count:,} categories, and {MOST_CATEGORIES:,}"
        f" is the maximum: add ignore={name!r}, or make it numeric"
    )


# ---------------------------------------------------------------- weights and options


def weights_of(raw: Raw) -> np.ndarray:
    """The weight of every row: a number above 0."""
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


def stated_kinds(names: Sequence[str], options: DataOptions) -> dict[str, str]:
    """The columns that an option names, each with the name of the option."""
    check_values(options)
    known = dict.fromkeys(names)
    require_column(options.target, known)
    stated: dict[str, str] = {}
    for option, mentioned in (
        ("categorical", options.categorical),
        ("numeric", options.numeric),
        ("ordinal", tuple(name for name, _ in options.ordinal)),
        ("ignore", options.ignore),
        ("weights", (options.weights,) if options.weights else ()),
    ):
        for name in mentioned:
            require_column(name, known)
            if name == options.target:
                raise OptionError(
                    f"{option}={name!r}: this column is the target: leave it out"
                )
            if name in stated:
                raise OptionError(
                    f"{option}={name!r}: {stated[name]} names this column, too:"
                    " keep one of them"
                )
            stated[name] = option
    return stated


def parsed_list(
    name: str, type_: ValueType, texts: tuple[str, ...], option: str
) -> tuple[Any, ...]:
    """The values that an option lists for a column, in the type of the column."""
    try:
        parsed = tuple(PARSE[type_](name, text) for text in texts)
    except ValueError as error:
        raise OptionError(f"{option}: {error}, as in the data") from error
    if not parsed:
        raise OptionError(f"{option}: {name!r} lists no values: add them")
    seen = set()
    for value in parsed:
        if value in seen:
            raise OptionError(f"{option} lists {value!r} twice: keep one")
        seen.add(value)
    return parsed
