"""A table becomes a dataset: kinds, types, missing values, category order.

What a value means is decided here once, at learning, by the converters in `values`;
new data is later read by the schema that came out of it, and by nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

import numpy as np

from treecompile.errors import DataError, OptionError
from treecompile.ir import (
    Category,
    ColumnSummary,
    Feature,
    Kind,
    Label,
    Program,
    ValueType,
)
from treecompile.raw import (
    PARSE,
    Distinct,
    Raw,
    coded,
    numbers_of,
    refuse_dates,
    type_of,
)
from treecompile.read import Stated, Table
from treecompile.semantics import required_features
from treecompile.values import as_integer

LARGEST = 1.7976931348623157e308
CLASSIFY, REGRESS = "classify", "regress"
MOST_INTEGER_LABELS = 10  # an integer target with more values is a number to estimate
MOST_LABELS = 1_000
MOST_CATEGORIES = 10_000
LEAST_WEIGHT, MOST_WEIGHT = 1e-100, 1e100  # whose sums and products are doubles
FEWEST_IDENTIFIERS = 11  # fewer distinct values may well be distinct by chance

SHOWN = {
    ValueType.FLOAT: "a number",
    ValueType.INT: "an integer",
    ValueType.BOOL: "true or false",
    ValueType.STR: "text",
}


@dataclass(frozen=True, slots=True)
class DataOptions:
    """How to read a table for learning; all but the target may be left to the data."""

    target: str
    task: str | None = None  # "classify" or "regress"; None: by the target's type
    labels: tuple[str, ...] = ()  # label order; may name labels that do not occur
    na_values: tuple[str, ...] = ()  # texts that mean missing, besides an empty field
    categorical: tuple[str, ...] = ()  # columns to read as categories
    numeric: tuple[str, ...] = ()  # columns to read as numbers
    ordinal: tuple[tuple[str, tuple[str, ...]], ...] = ()  # and categories, in order
    ignore: tuple[str, ...] = ()  # columns to leave out
    weights: str = ""  # the column that says how much each row counts; "": all the same


@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """What a learner sees: typed columns of known targets."""

    target: str
    features: tuple[Feature, ...]
    columns: tuple[np.ndarray, ...]  # doubles, NaN missing | codes, -1 missing
    labels: tuple[Label, ...]  # in label order; empty for regression
    y: np.ndarray  # codes into the labels | doubles
    notes: tuple[str, ...]  # choices and warnings to show, one line each
    source: str
    weights: np.ndarray | None = None  # of the rows, above 0; None: each counts 1

    def summaries(self) -> tuple[ColumnSummary, ...]:
        """Missing values, and the range of the numbers, of every feature."""
        return tuple(map(_summary, self.features, self.columns))


def make_dataset(table: Table, options: DataOptions) -> Dataset:
    """Decide what every column of a table is, and convert it."""
    stated = stated_kinds(table, options)
    na = frozenset(options.na_values)
    target = Raw.of(table, options.target, na)
    labels, y, notes = make_target(target, options)

    known = np.flatnonzero(y >= 0 if labels else ~np.isnan(y))
    dropped = table.rows - len(known)
    if dropped:
        notes.insert(0, f"rows without a known {options.target!r}: {dropped}, dropped")

    features, columns = [], []
    for name in table.names:
        if name == options.target or stated.get(name) in ("ignore", "weights"):
            continue
        raw = Raw.of(table, name, na, known if dropped else None)
        made = make_feature(raw, stated.get(name), dict(options.ordinal).get(name, ()))
        if made is None:
            notes.append(f"column {name!r} has no known value: dropped")
            continue
        feature, column = made
        notes += _warnings(feature, column)
        features.append(feature)
        columns.append(column)
    if not features:
        raise DataError(f"no column but {options.target!r} is left to learn from")
    return Dataset(
        options.target,
        tuple(features),
        tuple(columns),
        labels,
        y[known],
        tuple(notes),
        table.source,
        (
            _weights(Raw.of(table, options.weights, na, known))
            if options.weights
            else None
        ),
    )


def encode(
    features: Sequence[Feature],
    table: Table,
    required: Collection[int],
    na_values: Iterable[str] = (),
) -> tuple[np.ndarray | None, ...]:
    """Columns of new data for a schema: those of the required features, else None.

    Categories become codes as in a dataset, and an unseen one len(categories).
    """
    na = frozenset(na_values)
    return tuple(
        _encoded(feature, Raw.of(table, feature.name, na)) if i in required else None
        for i, feature in enumerate(features)
    )


def encode_target(
    target: str, labels: Sequence[Label], table: Table, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The actual answers in new data: codes into the labels, or doubles without labels.

    Missing is -1 or NaN; a label that the model does not know is len(labels).
    """
    raw = Raw.of(table, target, frozenset(na_values))
    if not labels:
        return numbers_of(raw)
    type_ = {bool: ValueType.BOOL, int: ValueType.INT, float: ValueType.FLOAT}.get(
        type(labels[0]), ValueType.STR
    )
    return coded(raw.distinct(), type_, labels)


def encode_features(
    program: Program, table: Table, na_values: Iterable[str] = ()
) -> tuple[np.ndarray | None, ...]:
    """The columns that a program reads, as `encode` makes them."""
    body = program.body
    na = (*program.na_values, *na_values)
    return encode(body.features, table, required_features(body), na)


def encode_weights(
    name: str, table: Table, na_values: Iterable[str] = ()
) -> np.ndarray:
    """How much the rows of new data count, by the column of that name."""
    return _weights(Raw.of(table, name, frozenset(na_values)))


def encode_answers(
    program: Program, table: Table, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The actual answers for a program, as `encode_target` makes them."""
    na = (*program.na_values, *na_values)
    return encode_target(program.target, program.body.labels, table, na)


def take(dataset: Dataset, rows: np.ndarray) -> Dataset:
    """The dataset of some of the rows, by position or by mask, with the same schema."""
    columns = tuple(column[rows] for column in dataset.columns)
    weights = None if dataset.weights is None else dataset.weights[rows]
    return replace(dataset, columns=columns, y=dataset.y[rows], weights=weights)


def _encoded(feature: Feature, raw: Raw) -> np.ndarray:
    if feature.kind is Kind.NUMERIC:
        return numbers_of(raw)
    return coded(raw.distinct(), feature.type, feature.categories)


# --- the target -----------------------------------------------------------------------


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
    labels = _parsed(name, type_, given, "--labels")
    unlisted = [label for label in present if label not in labels]
    if unlisted:
        raise OptionError(
            f"--labels lacks {unlisted[0]!r}, a value of {name!r}: add it"
        )
    return labels


# --- the features ---------------------------------------------------------------------


def stated_kinds(table: Table, options: DataOptions) -> dict[str, str]:
    """What the options say of a column: the name of the one that mentions it."""
    if options.task not in (None, CLASSIFY, REGRESS):
        raise OptionError(f"--task {options.task!r}: expected classify or regress")
    table.column(options.target)
    stated: dict[str, str] = {}
    for option, names in (
        ("categorical", options.categorical),
        ("numeric", options.numeric),
        ("ordinal", tuple(name for name, _ in options.ordinal)),
        ("ignore", options.ignore),
        ("weights", (options.weights,) if options.weights else ()),
    ):
        for name in names:
            table.column(name)
            if name == options.target:
                raise OptionError(f"--{option} {name!r}: that is the target")
            if name in stated:
                raise OptionError(
                    f"--{option} {name!r}: --{stated[name]} names it already, keep one"
                )
            stated[name] = option
    return stated


def _weights(raw: Raw) -> np.ndarray:
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


def make_feature(
    raw: Raw, stated: str | None, listed: tuple[str, ...]
) -> tuple[Feature, np.ndarray] | None:
    """The feature that a column makes, and its values; None if it has no known one."""
    is_open = stated is None and raw.stated in (None, Stated.NUMERIC)
    numbers = raw.numbers() if is_open or stated == "numeric" else None
    if numbers is None:
        column = raw.distinct()
        if not column.used:
            return None
        if stated == "ordinal":
            return _ordinal(column, listed)
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


def _ordinal(column: Distinct, listed: tuple[str, ...]) -> tuple[Feature, np.ndarray]:
    name = column.raw.name
    type_ = _category_type(column, listed)
    categories = _parsed(name, type_, listed, "--ordinal")
    codes = coded(column, type_, categories)
    if (codes == len(categories)).any():
        where = int((codes == len(categories)).argmax())
        value = column.values[column.codes[where]]
        raise DataError(
            f"row {column.raw.row(where)}: {name!r} is {value!r}, which --ordinal does "
            "not list: add it"
        )
    return Feature(name, Kind.ORDINAL, type_, categories), codes


def _category_type(column: Distinct, listed: tuple[str, ...] = ()) -> ValueType:
    type_ = type_of(column, listed)
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


def _parsed(
    name: str, type_: ValueType, texts: tuple[str, ...], option: str
) -> tuple[Any, ...]:
    """What an option lists for a column, in the column's type."""
    try:
        parsed = tuple(PARSE[type_](name, text) for text in texts)
    except ValueError as error:
        raise OptionError(f"{option}: {error}, as in the data") from error
    if not parsed:
        raise OptionError(f"{option} {name!r} lists nothing")
    for place, value in enumerate(parsed):
        if value in parsed[:place]:
            raise OptionError(f"{option} lists {value!r} twice")
    return parsed


def _warnings(feature: Feature, column: np.ndarray) -> list[str]:
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


def _summary(feature: Feature, column: np.ndarray) -> ColumnSummary:
    known = _known(feature, column)
    missing = len(column) - len(known)
    if feature.kind is not Kind.NUMERIC or not len(known):
        return ColumnSummary(missing)
    return ColumnSummary(missing, float(known.min()), float(known.max()))


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
