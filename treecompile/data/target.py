"""The column to predict: labels or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np

from treecompile.data.options import CLASSIFY, REGRESS, DataOptions, listed
from treecompile.errors import DataError, OptionError
from treecompile.ir import Label, ValueType
from treecompile.raw import Distinct, Raw, coded, numbers_of, refuse_dates, type_of
from treecompile.read import Stated

LARGEST = 1.7976931348623157e308
MOST_INTEGER_LABELS = 10  # an integer target with more values is a number to estimate
MOST_LABELS = 1_000

SHOWN = {
    ValueType.FLOAT: "a number",
    ValueType.INT: "an integer",
    ValueType.BOOL: "true or false",
    ValueType.STR: "text",
}


def make_target(
    raw: Raw, options: DataOptions
) -> tuple[tuple[Label, ...], np.ndarray, list[str]]:
    """Labels, the answer of every row (-1 or NaN where missing), and notes."""
    column = raw.distinct()
    name, count = raw.name, len(column.used)
    if not count:
        state = f"target {name!r} has no known value" if len(raw.data) else "no rows"
        raise DataError(f"{state}: there is nothing to learn from")
    type_ = type_of(column)
    if options.task is None:
        refuse_dates(column)
    task = task_for(name, type_, count, options, raw.stated)
    if task == REGRESS:
        y: np.ndarray = numbers_of(raw)
        if np.isinf(y).any():
            where = raw.row(int(np.isinf(y).argmax()))
            raise DataError(f"row {where}: {name!r} is infinite: correct or remove it")
        known = y[~np.isnan(y)]
        check_range(name, float(np.abs(known).max()), len(known))
        return (), y, target_notes(name, type_, count, (), options)
    labels = _labels(column, type_, options.labels)
    y = coded(column, type_, labels)
    return labels, y, target_notes(name, type_, count, labels, options)


def task_for(
    name: str,
    type_: ValueType,
    count: int,
    options: DataOptions,
    stated: Stated | None = None,
) -> str:
    """What is to be learned of a target with so many values."""
    is_number = type_ in (ValueType.INT, ValueType.FLOAT)
    few = type_ is ValueType.INT and count <= MOST_INTEGER_LABELS
    by_type = REGRESS if is_number and not few else CLASSIFY
    by_file = {Stated.NUMERIC: REGRESS, Stated.NOMINAL: CLASSIFY}
    task = options.task or (by_file[stated] if stated else by_type)
    if task == REGRESS:
        if not is_number:
            raise OptionError(
                f"target {name!r} is {SHOWN[type_]}, not a number: use --task classify"
            )
        if options.labels:
            raise OptionError("--labels is for classes: use it with --task classify")
    return task


def check_range(name: str, widest: float, count: int) -> None:
    """Refuse numbers whose squares could not be added up."""
    if widest > (LARGEST / count) ** 0.5 / 2:
        raise DataError(
            f"target {name!r} reaches {widest!r}, whose square is no double: "
            "use a larger unit"
        )


def target_notes(
    name: str,
    type_: ValueType,
    count: int,
    labels: Sequence[Label],
    options: DataOptions,
) -> list[str]:
    """What a user should hear about the target."""
    notes = []
    task, thing = (CLASSIFY, "label") if labels else (REGRESS, "value")
    if options.task is None:
        found = f"is {SHOWN[type_]} with {_count(len(labels) or count, thing)}"
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
    if column.raw.stated is Stated.NOMINAL and not given:
        present = typed  # all that are declared, in that order
    if type_ is ValueType.FLOAT and not all(map(isfinite, present)):
        raise DataError(f"target {name!r} has an infinite label: correct or remove it")
    if len(present) > MOST_LABELS:
        numeric = type_ in (ValueType.INT, ValueType.FLOAT)
        advice = "use --task regress" if numeric else "group them, or choose another"
        raise DataError(
            f"target {name!r} has {len(present)} labels, more than {MOST_LABELS}: "
            + advice
        )
    if not given:
        return tuple(present)
    labels = listed(name, type_, given, "--labels")
    unlisted = [label for label in present if label not in labels]
    if unlisted:
        raise OptionError(
            f"--labels lacks {unlisted[0]!r}, a value of {name!r}: add it"
        )
    return labels


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
