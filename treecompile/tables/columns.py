"""Raw columns: their distinct values, and the type of those.

A column is converted as a whole if its form allows that, otherwise by its distinct
values, and never cell by cell. `roles` decides what the values mean.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import nan
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.errors import DataError
from treecompile.model.ir import Label, ValueType
from treecompile.model.options import sentence
from treecompile.model.unicode import NOT_UNICODE, is_unicode
from treecompile.model.values import (
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
from treecompile.tables.numbers import plain, read_numbers
from treecompile.tables.raw import Column, RawTable
from treecompile.tables.suspicions import FEW
from treecompile.tables.texts import TextColumn

Codes = NDArray[np.int32]

DIGITS = 1_000  # of an integer; see also INTEGER
LARGEST_INTEGER = 10**DIGITS - 1
CATEGORICAL = "category"  # the name of this dtype of pandas
TEXTS = ("str", "string")  # the names of those that have nothing but texts

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


@dataclass(frozen=True, slots=True, eq=False)
class Raw:
    """One column as it was read, and the texts in it that mean missing."""

    name: str
    data: Column
    text: bool
    na: frozenset[str]
    kept: Positions | None  # rows of the source; None: all
    decimal: str = "."  # of a text file

    @classmethod
    def of(
        cls,
        table: RawTable,
        name: str,
        na: frozenset[str],
        kept: Positions | None = None,
    ) -> Raw:
        data = table.column(name)
        if kept is not None:
            data = data.take(kept)
        if table.text:
            na |= {""}
        return cls(name, data, table.text, na, kept, table.reading.decimal)

    @property
    def is_declared(self) -> bool:
        """Whether the source lists the categories."""
        dtype: Any = self.data.dtype
        return bool(dtype.name == CATEGORICAL)

    def row(self, position: int) -> int:
        """The number of a row in its source, from 1."""
        return 1 + int(position if self.kept is None else self.kept[position])

    def numbers(self) -> Floats | None:
        """All values as doubles, if their texts or their dtype are numeric."""
        if isinstance(self.data, TextColumn) and self.decimal == ".":
            found = self.data.numbers(self.na)
            if found is not None:
                return found
        if isinstance(self.data, (np.ndarray, TextColumn)):
            values = self.data.tolist()
            if not self.text:
                return _plain_numbers(values)
            if self.na != {""} or None in values:
                values = ["" if v is None or v in self.na else v for v in values]
            return read_numbers(values, self.decimal)
        if self.data.dtype.kind not in "iuf":
            return None
        return self.data.to_numpy(dtype=np.float64, na_value=np.nan)

    def distinct(self) -> Distinct:
        """The known values, each once."""
        values, codes = self._factorized()
        known = [place for place, value in enumerate(values) if not self.misses(value)]
        if len(known) < len(values):
            places = np.full(len(values) + 1, -1)
            places[known] = np.arange(len(known))
            values, codes = [values[place] for place in known], places[codes]
        dtype: Any = self.data.dtype
        ordered = dtype.name == CATEGORICAL and bool(dtype.ordered)
        codes = codes.astype(np.int32)
        return Distinct(self, values, codes, self.is_declared, ordered)

    def _factorized(self) -> tuple[list[Any], Array]:
        """The values that the column lists or has, and the code of each row."""
        if isinstance(self.data, TextColumn):
            return self.data.factorized()
        if self.text:
            return _indexed(self.data.tolist())
        if isinstance(self.data, np.ndarray):
            return self._objects(self.data.tolist())
        if self.data.dtype.name == CATEGORICAL:
            return self.data.cat.categories.tolist(), self.data.cat.codes.to_numpy()
        if self.data.dtype.kind in "biuf" or self.data.dtype.name in TEXTS:
            codes, values = self.data.factorize()
            return values.tolist(), codes
        return self._objects(self.data.to_numpy(dtype=object).tolist())

    def _objects(self, objects: list[Any]) -> tuple[list[Any], Array]:
        samples = {type(value): value for value in objects}
        for value in samples.values():
            if not is_missing(value):
                _family(self.name, value)  # refuses lists, which cannot be hashed
        if Decimal in samples:  # whose signaling NaN cannot be hashed
            objects = [None if is_missing(value) else value for value in objects]
        # With their types, since True equals 1.
        keys, codes = _indexed(list(zip(map(type, objects), objects, strict=True)))
        return [value for _, value in keys], codes

    def misses(self, value: Any) -> bool:
        """Whether a value is missing."""
        if not isinstance(value, str):
            return is_missing(value)
        return value in self.na or (self.text and value.isspace())


@dataclass(frozen=True, slots=True, eq=False)
class Distinct:
    """A column as distinct known values and codes: row i has values[codes[i]]."""

    raw: Raw
    values: list[Any]
    codes: Codes  # -1 where it is missing
    declared: bool  # a Categorical lists its values in its own order
    ordered: bool

    @property
    def used(self) -> list[int]:
        """The positions of the values that occur; a declared value may not."""
        return list(np.unique(self.codes[self.codes >= 0]))

    def typed(self, type_: ValueType) -> list[Any]:
        """The values, converted to a type."""
        return [self._converted(type_, place) for place in range(len(self.values))]

    def where(self, place: int) -> str:
        """The first row with a value, as the start of a message."""
        rows = self.codes == place
        return f"row {self.raw.row(int(rows.argmax()))}: " if rows.any() else ""

    def _converted(self, type_: ValueType, place: int) -> Any:
        convert = (PARSE if self.raw.text else CONVERT)[type_]
        text = self.values[place]
        if self.raw.text and type_ is ValueType.FLOAT:
            text = plain(text, self.raw.decimal) or text
        try:
            value = convert(self.raw.name, text)
        except (TypeError, ValueError, ArithmeticError) as error:
            advice = "convert the column first"
            if isinstance(text, str):
                advice = "if it means missing, say so with na_value"
            raise DataError(f"{self.where(place)}{error}; {advice}") from error
        if isinstance(value, str):
            if not is_unicode(value):
                said = f"{self.raw.name!r} is {value!r}, which {NOT_UNICODE}"
                raise DataError(f"{self.where(place)}{said}: correct it")
            return str.__str__(value)  # the str of numpy prints as np.str_('x')
        if isinstance(value, int) and not -LARGEST_INTEGER <= value <= LARGEST_INTEGER:
            said = f"{self.raw.name!r} is an integer of more than {DIGITS:,} digits"
            raise DataError(f"{self.where(place)}{said}: correct it")
        return value


def _indexed(values: Sequence[Hashable]) -> tuple[list[Any], Array]:
    """The distinct values in order of occurrence, and the code of each row's."""
    index = {value: place for place, value in enumerate(dict.fromkeys(values))}
    codes = np.fromiter(map(index.__getitem__, values), np.int32, len(values))
    return list(index), codes


def _plain_numbers(values: list[Any]) -> Floats | None:
    """Integers and floats as doubles, NaN for None; None if any other type occurs."""
    if not {int, float, type(None)} >= set(map(type, values)):
        return None
    try:
        return np.array([nan if v is None else float(v) for v in values], np.float64)
    except OverflowError:  # an integer larger than all doubles
        return None


def numbers_of(raw: Raw) -> Floats:
    """A column as doubles; a value that is not a number is an error."""
    numbers = raw.numbers()
    if numbers is None:
        column = raw.distinct()
        numbers = np.array([*column.typed(ValueType.FLOAT), nan])[column.codes]
    return numbers


def coded(column: Distinct, type_: ValueType, known: Sequence[Label]) -> Codes:
    """A column as codes into the known values; others have the code len(known)."""
    index = {value: place for place, value in enumerate(known)}
    places = [index.get(value, len(known)) for value in column.typed(type_)]
    return np.array([*places, -1], dtype=np.int32)[column.codes]


def type_of(column: Distinct, listed: tuple[str, ...] = ()) -> ValueType:
    """The common type of all values, and in a text file also of the listed ones."""
    if column.raw.text:
        texts = [*column.values, *listed]
        if all(map(INTEGER.fullmatch, texts)):
            return ValueType.INT
        if read_numbers(texts, column.raw.decimal) is not None:
            return ValueType.FLOAT
        return ValueType.BOOL if BOOLEANS.keys() >= set(texts) else ValueType.STR
    samples = {type(value): value for value in column.values}
    found = {_family(column.raw.name, v): t.__name__ for t, v in samples.items()}
    if found.keys() == {ValueType.INT, ValueType.FLOAT}:
        return ValueType.FLOAT
    if len(found) > 1:
        raise _mixed(column, found)
    return next(iter(found))


def _mixed(column: Distinct, found: Mapping[ValueType, str]) -> DataError:
    """The error of a column with values of several types."""
    one, other, *_ = found.values()
    said = f"column {column.raw.name!r} mixes {one} and {other}"
    texts = sorted(value for value in column.values if isinstance(value, str))
    if 0 < len(texts) <= FEW and len(texts) < len(column.values):
        option = sentence((f"na_value={text!r}" for text in texts), "and")
        return DataError(
            f"{said}: if {sentence(map(repr, texts), 'and')} means missing, add"
            f" {option}; otherwise convert it to one type"
        )
    return DataError(f"{said}: convert it to one type")


def _family(name: str, value: Any) -> ValueType:
    """The type of an object in a frame."""
    kind = type(value).__name__
    if isinstance(value, str):
        return ValueType.STR
    if is_boolean(value):
        return ValueType.BOOL
    # numpy counts its timedelta64 among the integers.
    if isinstance(value, Integral) and not isinstance(value, np.timedelta64):
        return ValueType.INT
    if isinstance(value, (Real, Decimal)):
        return ValueType.FLOAT
    raise DataError(
        f"column {name!r} holds {kind} values: convert them to numbers, text or "
        f"booleans, or add ignore={name!r}"
    )
