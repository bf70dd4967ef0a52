"""A table in a database as a model reads it: in the types that the law compares.

`data.encode` does this for tables in memory. A column that the model does not read as
its type says (numbers for integers, 0 and 1 for booleans) is converted where memory
would convert it; what memory would refuse is refused here, after a look at the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from treecompile.data import SHOWN
from treecompile.errors import DataError
from treecompile.ir import Body, Feature, Label, Program, ValueType
from treecompile.lower.sql_conditions import compared, literal
from treecompile.lower.sql_names import Quoting
from treecompile.read import Table
from treecompile.semantics import required_features
from treecompile.stores.base import Family, Store, StoredColumn

MISSING = -1  # the code of an answer that is not known; one behind the labels: not ours
WIDEST = 2.0**63
NUMBERS = (Family.INTEGER, Family.NUMBER)
SAMPLES: dict[ValueType, Label] = {
    ValueType.FLOAT: 0.0,
    ValueType.STR: "x",
    ValueType.INT: 0,
    ValueType.BOOL: True,
}
TYPES = {bool: ValueType.BOOL, int: ValueType.INT, float: ValueType.FLOAT}


@dataclass(frozen=True, slots=True)
class Reading:
    """A query of what a model reads: the features by position, as c0, and y.

    `y` is the place of the label, -1 where it is missing and behind the last where it
    is none of the model's; of a regression the number, or NULL.
    """

    query: str
    columns: Mapping[int, str]


def reading(
    store: Store,
    relation: str,
    program: Program,
    na_values: tuple[str, ...] = (),
    *,
    with_all: bool = False,
) -> Reading:
    """How to read what a program needs of a table, and the actual answers.

    `with_all` reads every feature, also those that the program never tests.
    """
    reader = ColumnReader(store, relation, (*program.na_values, *na_values))
    body = program.body
    columns = reader.features(body)
    if with_all:
        columns = {n: reader.feature(each) for n, each in enumerate(body.features)}
    parts = [f"{column} AS c{position}" for position, column in columns.items()]
    parts.append(f"{reader.answer(program.target, body.labels)} AS y")
    query = f"SELECT {', '.join(parts)} FROM {relation}"
    return Reading(query, {position: f"c{position}" for position in columns})


class ColumnReader:
    """Spells the columns of a table in the types of a model."""

    def __init__(self, store: Store, relation: str, na_values: Sequence[str]) -> None:
        self.store, self.relation, self.na_values = store, relation, na_values
        self.stored = store.columns(relation)
        self.quoting = Quoting(store.dialect)

    def features(self, body: Body) -> dict[int, str]:
        """What stands for each feature that the body tests."""
        found = ((place, body.features[place]) for place in required_features(body))
        return {place: self.feature(feature) for place, feature in found}

    def feature(self, feature: Feature) -> str:
        return self._converted(feature.name, feature.type, feature.categories)

    def answer(self, target: str, labels: Sequence[Label]) -> str:
        """The actual answer: a code, or a number; see `Reading`."""
        dialect = self.store.dialect
        type_ = TYPES.get(type(labels[0]), ValueType.STR) if labels else ValueType.FLOAT
        column = self._converted(target, type_, labels)
        x = dialect.columns.of(type_).format(column)
        missing = dialect.conditions.missing.format(column=column, x=x)
        if type_ is ValueType.FLOAT:
            missing = dialect.conditions.number_missing.format(column=column, x=x)
        if not labels:
            return f"CASE WHEN {missing} THEN NULL ELSE {x} END"
        arms = " ".join(
            f"WHEN {x} = {self._literal(label)} THEN {code}"
            for code, label in enumerate(labels)
        )
        return f"CASE WHEN {missing} THEN {MISSING} {arms} ELSE {len(labels)} END"

    def _literal(self, label: Label) -> str:
        dialect = self.store.dialect
        if isinstance(label, float):
            return literal(label, dialect)
        return compared(label, dialect)

    # ------------------------------------------------------------ types

    def _converted(
        self, name: str, type_: ValueType, categories: Sequence[Label]
    ) -> str:
        """A column of the table as one of a type, or an error that names it."""
        stored = self._stored(name)
        column = self.quoting.name(name)
        match type_, stored.family:
            case (ValueType.FLOAT, Family.INTEGER | Family.NUMBER) | (
                ValueType.INT,
                Family.INTEGER,
            ):
                return column
            case ValueType.BOOL, Family.BOOLEAN:
                return column
            case ValueType.STR, Family.TEXT:
                return self._text(column)
            case ValueType.FLOAT, Family.BOOLEAN:
                return f"(CASE WHEN {column} THEN 1 WHEN NOT {column} THEN 0 END)"
            case ValueType.INT, Family.NUMBER:
                return self._integers(stored, column, categories)
            case ValueType.BOOL, Family.INTEGER | Family.NUMBER:
                return self._booleans(stored, column)
        return self._nothing(stored, column, type_)

    def _stored(self, name: str) -> StoredColumn:
        names = tuple(column.name for column in self.stored)
        none = pd.Series([], dtype="float64")
        Table(names, tuple(none for _ in names), text=False, source="").column(name)
        return next(column for column in self.stored if column.name == name)

    def _text(self, column: str) -> str:
        if not self.na_values:
            return column
        return f"(CASE WHEN {self._is_na(column)} THEN NULL ELSE {column} END)"

    def _is_na(self, column: str) -> str:
        dialect = self.store.dialect
        value = dialect.columns.text.format(column)
        texts = ", ".join(compared(text, dialect) for text in self.na_values)
        return f"{value} IN ({texts})"

    def _integers(
        self, stored: StoredColumn, column: str, categories: Sequence[Label]
    ) -> str:
        """Whole numbers; those beyond 64 bits become one that is no category."""
        dialect = self.store.dialect
        x = dialect.columns.number.format(column)
        known = dialect.conditions.number_known.format(column=column, x=x)
        wide = literal(WIDEST, dialect)
        within = f"{known} AND abs({x}) < {wide}"
        self._refuse_if(stored, column, f"{within} AND {x} <> floor({x})", "an integer")
        infinite = f"{known} AND abs({x}) > {literal(1.7976931348623157e308, dialect)}"
        self._refuse_if(stored, column, infinite, "an integer")
        free = next(n for n in range(len(categories) + 1) if n not in categories)
        return (
            f"(CASE WHEN {within} THEN CAST({column} AS {self.store.phrases.long})"
            f" WHEN {known} THEN {free} END)"
        )

    def _booleans(self, stored: StoredColumn, column: str) -> str:
        dialect = self.store.dialect
        x = dialect.columns.number.format(column)
        known = dialect.conditions.number_known.format(column=column, x=x)
        self._refuse_if(stored, column, f"{known} AND {x} NOT IN (0, 1)", "0 or 1")
        true, false = dialect.literals.true, dialect.literals.false
        return f"(CASE WHEN {x} = 1 THEN {true} WHEN {x} = 0 THEN {false} END)"

    def _refuse_if(
        self, stored: StoredColumn, column: str, wrong: str, expected: str
    ) -> None:
        (found,) = self.store.arrays(
            f"SELECT {column} FROM {self.relation} WHERE {wrong} LIMIT 1"
        )
        if len(found):
            raise DataError(
                f"column {stored.name!r} holds {found[0]}: expected {expected}"
            )

    def _nothing(self, stored: StoredColumn, column: str, type_: ValueType) -> str:
        """A column of a wrong type will do if it has no value."""
        known = f"{column} IS NOT NULL"
        if stored.family is Family.TEXT and self.na_values:
            known += f" AND NOT ({self._is_na(column)})"
        (found,) = self.store.arrays(
            f"SELECT 1 FROM {self.relation} WHERE {known} LIMIT 1"
        )
        if len(found):
            raise DataError(
                f"column {stored.name!r} holds {stored.type} values, and the model"
                f" reads {SHOWN[type_]} there: convert the column first"
            )
        # NULL alone would be a text to some databases, and not all cast it to any type.
        value = literal(SAMPLES[type_], self.store.dialect)
        return f"(CASE WHEN {self.store.dialect.conditions.never} THEN {value} END)"
