"""A table becomes a dataset: kinds, types, missing values, category order.

What a value means is decided here once, at learning, by the converters in `values`;
new data is later read by the schema that came out of it, and by nothing else. A column
is converted by its distinct values, or whole where its form allows: never by the cell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, time, timedelta
from decimal import Decimal
from math import isfinite, nan
from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from treecompile.errors import DataError, OptionError
from treecompile.ir import Category, ColumnSummary, Feature, Kind, Label, ValueType
from treecompile.read import Column, Table
from treecompile.values import (
    BOOLEANS,
    INTEGER,
    as_boolean,
    as_integer,
    as_number,
    as_text,
    is_boolean,
    is_missing,
    parse_boolean,
    parse_integer,
    parse_number,
    parse_text,
)

Doubles: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int32]

LARGEST = 1.7976931348623157e308
CLASSIFY, REGRESS = "classify", "regress"
MOST_INTEGER_LABELS = 10  # an integer target with more values is a number to estimate
MOST_LABELS = 1_000
MOST_CATEGORIES = 10_000
FEWEST_IDENTIFIERS = 11  # fewer distinct values may well be distinct by chance

PARSE: dict[ValueType, Callable[[str, str], Any]] = {
    ValueType.FLOAT: parse_number,
    ValueType.INT: parse_integer,
    ValueType.BOOL: parse_boolean,
    ValueType.STR: parse_text,
}
CONVERT: dict[ValueType, Callable[[str, Any], Any]] = {
    ValueType.FLOAT: as_number,
    ValueType.INT: as_integer,
    ValueType.BOOL: as_boolean,
    ValueType.STR: as_text,
}
SHOWN = {
    ValueType.FLOAT: "a number",
    ValueType.INT: "an integer",
    ValueType.BOOL: "true or false",
    ValueType.STR: "text",
}

# Of texts made of these characters alone, float() reads exactly those that parse_number
# reads: the "a" of "nan", "_" and the digits of other scripts are not among them.
NUMERIC_CHARACTERS = re.compile(r"[0-9+\-.eE \tinftyINFTY]*")
ISO_DATE = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
DATE_ADVICE = (
    "encode it as a number, such as days since a date, or as columns for year, month "
    "and weekday"
)


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

    def summaries(self) -> tuple[ColumnSummary, ...]:
        """Missing values, and the range of the numbers, of every feature."""
        return tuple(map(_summary, self.features, self.columns))


def make_dataset(table: Table, options: DataOptions) -> Dataset:
    """Decide what every column of a table is, and convert it."""
    stated = _stated(table, options)
    na = frozenset(options.na_values)
    target = _Raw.of(table, options.target, na)
    labels, y, notes = _target(target, options)

    known = np.flatnonzero(y >= 0 if labels else ~np.isnan(y))
    dropped = table.rows - len(known)
    if dropped:
        notes.insert(0, f"rows without a known {options.target!r}: {dropped}, dropped")

    features, columns = [], []
    for name in table.names:
        if name == options.target or stated.get(name) == "ignore":
            continue
        raw = _Raw.of(table, name, na, known if dropped else None)
        made = _feature(raw, stated.get(name), dict(options.ordinal).get(name, ()))
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
        _encoded(feature, _Raw.of(table, feature.name, na)) if i in required else None
        for i, feature in enumerate(features)
    )


def encode_target(
    target: str, labels: Sequence[Label], table: Table, na_values: Iterable[str] = ()
) -> np.ndarray:
    """The actual answers in new data: codes into the labels, or doubles without labels.

    Missing is -1 or NaN; a label that the model does not know is len(labels).
    """
    raw = _Raw.of(table, target, frozenset(na_values))
    if not labels:
        return _numbers(raw)
    type_ = {bool: ValueType.BOOL, int: ValueType.INT, float: ValueType.FLOAT}.get(
        type(labels[0]), ValueType.STR
    )
    return _coded(raw.distinct(), type_, labels)


def take(dataset: Dataset, rows: np.ndarray) -> Dataset:
    """The dataset of some of the rows, by position or by mask, with the same schema."""
    columns = tuple(column[rows] for column in dataset.columns)
    return replace(dataset, columns=columns, y=dataset.y[rows])


def _encoded(feature: Feature, raw: _Raw) -> np.ndarray:
    if feature.kind is Kind.NUMERIC:
        return _numbers(raw)
    return _coded(raw.distinct(), feature.type, feature.categories)


# --- the target -----------------------------------------------------------------------


def _target(
    raw: _Raw, options: DataOptions
) -> tuple[tuple[Label, ...], np.ndarray, list[str]]:
    """Labels, the answer of every row (-1 or NaN where missing), and notes."""
    column = raw.distinct()
    name, count = raw.name, len(column.used)
    if not count:
        state = f"target {name!r} has no known value" if len(raw.data) else "no rows"
        raise DataError(f"{state}: there is nothing to learn from")
    type_ = _type_of(column)
    if options.task is None:
        _refuse_dates(column)
    task = options.task or _task_for(type_, count)
    if task == REGRESS:
        if type_ in (ValueType.STR, ValueType.BOOL):
            raise OptionError(
                f"target {name!r} is {SHOWN[type_]}, not a number: use --task classify"
            )
        if options.labels:
            raise OptionError("--labels is for classes: use it with --task classify")
        y: np.ndarray = _numbers(raw)
        if np.isinf(y).any():
            where = raw.row(int(np.isinf(y).argmax()))
            raise DataError(f"row {where}: {name!r} is infinite: correct or remove it")
        known = y[~np.isnan(y)]
        widest = float(np.abs(known).max())
        if widest > (LARGEST / len(known)) ** 0.5 / 2:
            raise DataError(
                f"target {name!r} reaches {widest!r}, whose square is no double: "
                "use a larger unit"
            )
        labels: tuple[Label, ...] = ()
        found = f"is {SHOWN[type_]} with {_count(count, 'value')}"
    else:
        labels = _labels(column, type_, options.labels)
        y = _coded(column, type_, labels)
        found = f"is {SHOWN[type_]} with {_count(len(labels), 'label')}"
    notes = []
    if options.task is None:
        notes.append(f"task: {task} (target {name!r} {found})")
    if count == 1:
        only = "label" if labels else "value"
        notes.append(f"only one {only}: the tree will be a single leaf")
    return labels, y, notes


def _task_for(type_: ValueType, count: int) -> str:
    few = type_ is ValueType.INT and count <= MOST_INTEGER_LABELS
    return CLASSIFY if few or type_ in (ValueType.STR, ValueType.BOOL) else REGRESS


def _labels(
    column: _Distinct, type_: ValueType, given: tuple[str, ...]
) -> tuple[Label, ...]:
    name = column.raw.name
    typed = column.typed(type_)
    present = sorted({typed[place] for place in column.used})
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


def _stated(table: Table, options: DataOptions) -> dict[str, str]:
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


def _feature(
    raw: _Raw, stated: str | None, listed: tuple[str, ...]
) -> tuple[Feature, np.ndarray] | None:
    """The feature that a column makes, and its values; None if it has no known one."""
    numbers = raw.numbers() if stated in (None, "numeric") else None
    if numbers is None:
        column = raw.distinct()
        if not column.used:
            return None
        if stated == "ordinal":
            return _ordinal(column, listed)
        if stated == "categorical" or (stated is None and _is_categorical(column)):
            return _categorical(column, ordered=stated is None and column.ordered)
        numbers = _numbers(raw)
    elif np.isnan(numbers).all():
        return None
    return Feature(raw.name, Kind.NUMERIC, ValueType.FLOAT), numbers


def _is_categorical(column: _Distinct) -> bool:
    _refuse_dates(column)
    type_ = _type_of(column)
    return column.declared or type_ in (ValueType.STR, ValueType.BOOL)


def _categorical(column: _Distinct, ordered: bool) -> tuple[Feature, np.ndarray]:
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
    codes = _coded(column, type_, categories)
    return Feature(name, kind, type_, categories), codes


def _ordinal(column: _Distinct, listed: tuple[str, ...]) -> tuple[Feature, np.ndarray]:
    name = column.raw.name
    type_ = _category_type(column, listed)
    categories = _parsed(name, type_, listed, "--ordinal")
    codes = _coded(column, type_, categories)
    if (codes == len(categories)).any():
        where = int((codes == len(categories)).argmax())
        value = column.values[column.codes[where]]
        raise DataError(
            f"row {column.raw.row(where)}: {name!r} is {value!r}, which --ordinal does "
            "not list: add it"
        )
    return Feature(name, Kind.ORDINAL, type_, categories), codes


def _category_type(column: _Distinct, listed: tuple[str, ...] = ()) -> ValueType:
    type_ = _type_of(column, listed)
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


# --- raw columns ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Raw:
    """One column as it was read, and which texts in it mean missing."""

    name: str
    data: Column
    text: bool
    na: frozenset[str]
    kept: NDArray[np.intp] | None  # rows of the source; None: all

    @classmethod
    def of(
        cls,
        table: Table,
        name: str,
        na: frozenset[str],
        kept: NDArray[np.intp] | None = None,
    ) -> _Raw:
        data = table.column(name)
        if kept is not None:
            data = data[kept] if isinstance(data, np.ndarray) else data.iloc[kept]
        return cls(name, data, table.text, na, kept)

    def row(self, position: int) -> int:
        """The number of a row in its source, the first being 1."""
        return 1 + int(position if self.kept is None else self.kept[position])

    def numbers(self) -> Doubles | None:
        """All values at once, if their text or their dtype makes them numbers."""
        if isinstance(self.data, np.ndarray):
            texts = self.data.tolist()
            if self.na:
                texts = ["" if text in self.na else text for text in texts]
            return _read_numbers(texts)
        from pandas.api.types import is_float_dtype, is_integer_dtype

        dtype = self.data.dtype
        if not is_integer_dtype(dtype) and not is_float_dtype(dtype):
            return None
        return self.data.to_numpy(dtype=np.float64, na_value=np.nan)

    def distinct(self) -> _Distinct:
        """The known values, each once."""
        values, codes, declared, ordered = self._factorized()
        known = [place for place, value in enumerate(values) if not self._misses(value)]
        if len(known) < len(values):
            places = np.full(len(values) + 1, -1)
            places[known] = np.arange(len(known))
            values, codes = [values[place] for place in known], places[codes]
        return _Distinct(self, values, codes.astype(np.int32), declared, ordered)

    def _factorized(self) -> tuple[list[Any], np.ndarray, bool, bool]:
        if isinstance(self.data, np.ndarray):
            return *_indexed(self.data.tolist()), False, False
        import pandas as pd
        from pandas.api.types import is_bool_dtype, is_float_dtype, is_integer_dtype

        dtype = self.data.dtype
        if isinstance(dtype, pd.CategoricalDtype):
            codes = self.data.cat.codes.to_numpy()
            return dtype.categories.tolist(), codes, True, bool(dtype.ordered)
        if is_bool_dtype(dtype) or is_integer_dtype(dtype) or is_float_dtype(dtype):
            codes, values = pd.factorize(self.data)
            return values.tolist(), codes, False, False
        objects = self.data.to_numpy(dtype=object).tolist()
        samples = {type(value): value for value in objects}
        for value in samples.values():
            if not is_missing(value):
                _family(self.name, value)  # before hashing: it refuses lists by name
        if Decimal in samples:  # whose signaling NaN cannot be hashed
            objects = [None if is_missing(value) else value for value in objects]
        # With its type, or True would be taken for the 1 that was there before it.
        keys, codes = _indexed(list(zip(map(type, objects), objects, strict=True)))
        return [value for _, value in keys], codes, False, False

    def _misses(self, value: Any) -> bool:
        if self.text:
            return value == "" or value in self.na
        return is_missing(value) or (isinstance(value, str) and value in self.na)


@dataclass(frozen=True, slots=True, eq=False)
class _Distinct:
    """A column by its distinct known values: row i has values[codes[i]]."""

    raw: _Raw
    values: list[Any]
    codes: Codes  # -1 where it is missing
    declared: (
        bool  # a pandas Categorical, which lists its values in an order of its own
    )
    ordered: bool

    @property
    def used(self) -> list[int]:
        """The places of the values that occur: of a Categorical not always all."""
        return list(np.unique(self.codes[self.codes >= 0]))

    def typed(self, type_: ValueType) -> list[Any]:
        """The values, converted to a type."""
        return [self._converted(type_, place) for place in range(len(self.values))]

    def where(self, place: int) -> str:
        """The first row that has a value, for the start of a message."""
        rows = self.codes == place
        return f"row {self.raw.row(int(rows.argmax()))}: " if rows.any() else ""

    def _converted(self, type_: ValueType, place: int) -> Any:
        convert = (PARSE if self.raw.text else CONVERT)[type_]
        try:
            value = convert(self.raw.name, self.values[place])
        except (TypeError, ValueError, ArithmeticError) as error:
            advice = (
                "if it means missing, say so with --na-value"
                if isinstance(self.values[place], str)
                else "convert the column first"
            )
            raise DataError(f"{self.where(place)}{error}; {advice}") from error
        # The plain str in a numpy str, which would print as np.str_('x').
        return str.__str__(value) if isinstance(value, str) else value


def _indexed(values: Sequence[Hashable]) -> tuple[list[Any], np.ndarray]:
    """The distinct values as they first occur, and the place of every value in them."""
    index = {value: place for place, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(index.__getitem__, values), np.int32, len(values))
    return list(index), codes


def _read_numbers(texts: list[str]) -> Doubles | None:
    """What parse_number reads, NaN for an empty text; None if it refuses any."""
    if not NUMERIC_CHARACTERS.fullmatch("".join(texts)):
        return None
    try:
        numbers = map(float, [text or "nan" for text in texts])
        return np.fromiter(numbers, np.float64, len(texts))
    except ValueError:
        return None


def _numbers(raw: _Raw) -> Doubles:
    """A column as doubles; a value that is no number is an error."""
    numbers = raw.numbers()
    if numbers is None:
        column = raw.distinct()
        numbers = np.array([*column.typed(ValueType.FLOAT), nan])[column.codes]
    return numbers


def _coded(column: _Distinct, type_: ValueType, known: Sequence[Label]) -> Codes:
    """A column as places in the known values, which others lie behind."""
    index = {value: place for place, value in enumerate(known)}
    places = [index.get(value, len(known)) for value in column.typed(type_)]
    return np.array([*places, -1], dtype=np.int32)[column.codes]


def _type_of(column: _Distinct, listed: tuple[str, ...] = ()) -> ValueType:
    """The type that all values (of a text file: also those listed) have."""
    if column.raw.text:
        texts = [*column.values, *listed]
        if all(map(INTEGER.fullmatch, texts)):
            return ValueType.INT
        if _read_numbers(texts) is not None:
            return ValueType.FLOAT
        return ValueType.BOOL if BOOLEANS.keys() >= set(texts) else ValueType.STR
    samples = {type(value): value for value in column.values}
    found = {_family(column.raw.name, v): t.__name__ for t, v in samples.items()}
    if found.keys() == {ValueType.INT, ValueType.FLOAT}:
        return ValueType.FLOAT
    if len(found) > 1:
        one, other, *_ = found.values()
        raise DataError(
            f"column {column.raw.name!r} mixes {one} and {other}: "
            "convert it to one type"
        )
    return next(iter(found))


def _family(name: str, value: Any) -> ValueType:
    """The type to which an object of a frame belongs."""
    kind = type(value).__name__
    if isinstance(value, str):
        return ValueType.STR
    if is_boolean(value):
        return ValueType.BOOL
    # Before the numbers: numpy counts its timedelta64 among the integers.
    temporal = (date, time, timedelta, np.datetime64, np.timedelta64)
    if isinstance(value, temporal) or kind == "Period":
        raise DataError(f"column {name!r} holds {kind} values: {DATE_ADVICE}")
    if isinstance(value, Integral):
        return ValueType.INT
    if isinstance(value, (Real, Decimal)):
        return ValueType.FLOAT
    raise DataError(
        f"column {name!r} holds {kind} values: convert them to numbers, text or "
        "booleans, or leave it out with --ignore"
    )


def _refuse_dates(column: _Distinct) -> None:
    """Dates in a text file: as categories they would never be seen again."""
    if column.raw.text and all(map(ISO_DATE.fullmatch, column.values)):
        raise DataError(
            f"column {column.raw.name!r} holds dates ({column.values[0]!r}): "
            f"{DATE_ADVICE}, or leave it out with --ignore"
        )


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" + ("" if number == 1 else "s")
