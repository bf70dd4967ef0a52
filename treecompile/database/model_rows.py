"""Queries a table in a database for the columns of a model, in the model's types.

`tables.dataset.encode` does the same for a table in memory. A column whose type is not
that of its feature is converted wherever `encode` converts it (floats to integers, 0
and 1 to booleans). For values that `encode` refuses, a query looks, and finding one
raises the same error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treecompile.database.schema import StoredTable, boolean_as_number
from treecompile.emit.sql.text import compared, literal
from treecompile.engines.base import Family, Store
from treecompile.model.errors import DataError
from treecompile.model.ir import AnyBody, Feature, Label, Program, ValueType
from treecompile.model.semantics import required_features, type_of_labels
from treecompile.tables.roles import LARGEST, SHOWN

MISSING = -1  # the code of a missing label
BEYOND_BIGINT = 2.0**63
EXAMPLES: dict[ValueType, Label] = {
    ValueType.FLOAT: 0.0,
    ValueType.STR: "x",
    ValueType.INT: 0,
    ValueType.BOOL: True,
}


@dataclass(frozen=True, slots=True)
class ModelRows:
    """A query for what a model reads: feature 3 as `c3`, and the actual answer as `y`.

    `y` is the code of the label; -1 if it is missing, len(labels) if the model does not
    know the label. In regression, `y` is the number, or NULL if it is missing.
    """

    rows: str  # '(SELECT "size" AS c3, ... AS y FROM t) AS treecompile_read'
    known: str  # the condition that `y` is an answer the model knows: "y IS NOT NULL"
    columns: Mapping[int, str]  # {3: "c3"}


def rows_for_model(
    store: Store,
    relation: str,
    program: Program,
    na_values: tuple[str, ...] = (),
    *,
    with_all: bool = False,
) -> ModelRows:
    """Return how to query a table for what a program reads, and for the actual answers.

    `with_all` includes features that the program never tests.
    """
    reader = ColumnReader(store, relation, (*program.na_values, *na_values))
    body = program.body
    columns = reader.features(body)
    if with_all:
        columns = {n: reader.feature(each) for n, each in enumerate(body.features)}
    parts = [f"{column} AS c{index}" for index, column in columns.items()]
    parts.append(f"{reader.answer(program.target, body.labels)} AS y")
    return ModelRows(
        f"(SELECT {', '.join(parts)} FROM {relation}) AS treecompile_read",
        is_known(body.labels),
        {index: f"c{index}" for index in columns},
    )


def is_known(labels: Sequence[Label]) -> str:
    """Return the condition that `y` is an answer known to a model with these labels."""
    return f"y >= 0 AND y < {len(labels)}" if labels else "y IS NOT NULL"


class ColumnReader(StoredTable):
    """Writes SQL expressions for the columns of a table, in the types of a model."""

    def features(self, body: AnyBody) -> dict[int, str]:
        """Return the SQL expression of each tested feature, by its index."""
        indexes = required_features(body)
        return {index: self.feature(body.features[index]) for index in indexes}

    def feature(self, feature: Feature) -> str:
        return self._converted(feature.name, feature.type, feature.categories)

    def answer(self, target: str, labels: Sequence[Label]) -> str:
        """Return the SQL expression of the actual answer; see `ModelRows.y`."""
        type_ = type_of_labels(labels) if labels else ValueType.FLOAT
        column = self._converted(target, type_, labels)
        x = self.dialect.columns.of(type_).fill(column)
        missing = f"{column} IS NULL"
        if type_ is ValueType.FLOAT:
            missing = self.dialect.conditions.number_missing.fill(column=column, x=x)
        if not labels:
            return f"CASE WHEN {missing} THEN NULL ELSE {x} END"
        arms = " ".join(
            f"WHEN {x} = {compared(label, self.dialect)} THEN {code}"
            for code, label in enumerate(labels)
        )
        return f"CASE WHEN {missing} THEN {MISSING} {arms} ELSE {len(labels)} END"

    # ------------------------------------------------------------ types

    def _converted(
        self, name: str, type_: ValueType, categories: Sequence[Label]
    ) -> str:
        """Return a column in a type, as SQL; raise if it cannot be converted."""
        family, column = self.stored(name).family, self.quoted(name)
        match type_, family:
            case ValueType.FLOAT, Family.INTEGER | Family.NUMBER:
                return column
            case (ValueType.INT, Family.INTEGER) | (ValueType.BOOL, Family.BOOLEAN):
                return column
            case ValueType.STR, Family.TEXT:
                if not self.na_values:
                    return column
                return f"(CASE WHEN {self.is_na(column)} THEN NULL ELSE {column} END)"
            case ValueType.FLOAT, Family.BOOLEAN:
                return boolean_as_number(column)
            case ValueType.INT, Family.NUMBER:
                return self._integers(name, categories)
            case ValueType.BOOL, Family.INTEGER | Family.NUMBER:
                return self._booleans(name)
        return self._without_values(name, type_)

    def _integers(self, name: str, categories: Sequence[Label]) -> str:
        """Convert floats to integers; beyond 64 bits, to an unseen category."""
        column, x, known = self._number(name)
        within = f"{known} AND abs({x}) < {literal(BEYOND_BIGINT, self.dialect)}"
        self._refuse_if(name, f"{within} AND {x} <> floor({x})", "an integer")
        infinite = f"{known} AND abs({x}) > {literal(LARGEST, self.dialect)}"
        self._refuse_if(name, infinite, "an integer")
        free = next(n for n in range(len(categories) + 1) if n not in categories)
        return (
            f"(CASE WHEN {within} THEN CAST({column} AS {self.dialect.long})"
            f" WHEN {known} THEN {free} END)"
        )

    def _booleans(self, name: str) -> str:
        _, x, known = self._number(name)
        self._refuse_if(name, f"{known} AND {x} NOT IN (0, 1)", "0 or 1")
        true, false = self.dialect.literals.true, self.dialect.literals.false
        return f"(CASE WHEN {x} = 1 THEN {true} WHEN {x} = 0 THEN {false} END)"

    def _number(self, name: str) -> tuple[str, str, str]:
        """Return a column, its value as a number, and the condition that it has one."""
        column = self.quoted(name)
        x = self.dialect.columns.number.fill(column)
        known = self.dialect.conditions.number_known.fill(column=column, x=x)
        return column, x, known

    def _refuse_if(self, name: str, wrong: str, expected: str) -> None:
        (found,) = self.store.arrays(
            f"SELECT {self.quoted(name)} FROM {self.relation} WHERE {wrong} LIMIT 1"
        )
        if len(found):
            raise DataError(f"column {name!r} holds {found[0]}: expected {expected}")

    def _without_values(self, name: str, type_: ValueType) -> str:
        """Return a typed NULL for a column of another type; raise if it has a value."""
        stored, column = self.stored(name), self.quoted(name)
        known = f"{column} IS NOT NULL"
        if stored.family is Family.TEXT and self.na_values:
            known += f" AND NOT ({self.is_na(column)})"
        (found,) = self.store.arrays(
            f"SELECT 1 FROM {self.relation} WHERE {known} LIMIT 1"
        )
        if len(found):
            raise DataError(
                f"column {name!r} holds {stored.type} values where the model reads"
                f" {SHOWN[type_]}: convert the column first"
            )
        # Some databases take NULL alone for text, and not all cast it to any type.
        value = literal(EXAMPLES[type_], self.dialect)
        return f"(CASE WHEN 1 = 0 THEN {value} END)"
