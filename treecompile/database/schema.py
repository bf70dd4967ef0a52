"""Decides which features and labels a table in a database has.

Kinds, types, categories and labels depend only on the distinct values of a column. The
database supplies these values, and the code in `tables` judges them as it does for a
table in memory: features, notes and errors are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from treecompile.emit.sql.text import Quoting, compared
from treecompile.engines.base import Family, Store, StoredColumn
from treecompile.model.errors import DataError
from treecompile.model.ir import ColumnSummary, Feature, Kind, Label, ValueType
from treecompile.tables.columns import Raw
from treecompile.tables.features import (
    ColumnDigest,
    FeatureColumn,
    digest_of,
    dropped_note,
    feature_names,
    make_features,
    refuse_identifiers,
    summary,
)
from treecompile.tables.options import REGRESS, DataOptions
from treecompile.tables.raw import RawTable, require_column
from treecompile.tables.roles import (
    MOST_CATEGORIES,
    MOST_LABELS,
    check_range,
    make_feature,
    make_target,
    stated_kinds,
    target_notes,
    task_for,
    too_many_categories,
    type_for_task,
)

FEW = 256  # a column with at most this many distinct numbers is counted by value
AT_ONCE = 40  # columns per query
SAMPLE_ROWS = 2000  # looked at first, for columns with more than FEW numbers

MOST_EXACT = 2**53  # up to here, every integer is a double
DTYPES = {
    Family.INTEGER: "Int64",
    Family.NUMBER: "float64",
    Family.BOOLEAN: "bool",
    Family.TEXT: "object",
}


@dataclass(frozen=True, slots=True)
class ColumnSql:
    """How queries mention a column."""

    name: str  # "size"
    column: str  # '"size"'
    value: str  # in the type that queries compare: 'CAST("size" AS DOUBLE)'
    missing: str  # the condition '"size" IS NULL'
    family: Family  # the family of the type of `value`

    @property
    def known(self) -> str:
        return f"NOT ({self.missing})"


@dataclass(frozen=True, slots=True)
class Schema:
    """A table to learn from."""

    relation: str  # the text that follows FROM
    target: ColumnSql
    features: tuple[Feature, ...]
    columns: tuple[ColumnSql, ...]  # one for each feature
    values: tuple[tuple[float, ...], ...]  # the numbers of a feature, if at most FEW
    labels: tuple[Label, ...]
    rows: int  # with a known target
    summaries: tuple[ColumnSummary, ...]
    notes: tuple[str, ...]


def read_schema(store: Store, relation: str, options: DataOptions) -> Schema:
    """Query a table and decide on its target, labels and features."""
    reader = SchemaReader(store, relation, options)
    rows, dropped = reader.count_rows()
    labels, notes = reader.labels(has_missing=bool(dropped))
    refuse_identifiers(labels, rows, options)
    names = feature_names([*reader.columns], reader.stated, options)
    columns = reader.queried([reader.column_sql(name) for name in names])
    found = dict(zip(names, columns, strict=True))
    made, more = make_features(
        names, reader.stated, options, lambda name: reader.feature(found[name], rows)
    )
    return Schema(
        relation,
        reader.target,
        tuple(each.feature for each in made),
        tuple(each.values.sql for each in made),
        tuple(each.values.numbers for each in made),
        labels,
        rows,
        tuple(summary(each.feature, each.digest) for each in made),
        (*dropped_note(options.target, dropped), *notes, *more),
    )


class StoredTable:
    """A table in a database, and what its columns are stored as."""

    def __init__(self, store: Store, relation: str, na_values: Sequence[str]) -> None:
        self.store, self.relation, self.na_values = store, relation, na_values
        self.dialect = store.dialect
        self.columns = {column.name: column for column in store.columns(relation)}

    def stored(self, name: str) -> StoredColumn:
        """Return the column of that name; raise, with the nearest name, if absent."""
        require_column(name, self.columns)
        return self.columns[name]

    def quoted(self, name: str) -> str:
        return Quoting(self.dialect).name(name)

    def is_na(self, column: str) -> str:
        """Return the condition that a text column holds a text that means missing."""
        return self.is_among(column, self.na_values)

    def is_among(self, column: str, texts: Sequence[str]) -> str:
        """Return the condition that a text column holds one of the given texts."""
        value = self.dialect.columns.text.fill(column)
        listed = ", ".join(compared(text, self.dialect) for text in texts)
        return f"{value} IN ({listed})"

    def one_row(self, query: str) -> list[Any]:
        return [column[0] for column in self.store.arrays(query)]


@dataclass(frozen=True, slots=True)
class QueriedColumn:
    """What queries found about a column, in the rows with a known target."""

    sql: ColumnSql
    known: int
    low: float = nan  # `low` and `high` are the range of numbers
    high: float = nan
    numbers: tuple[float, ...] = ()  # all distinct ones, if at most FEW


class SchemaReader(StoredTable):
    """Queries distinct values and ranges, and lets `tables` decide on them."""

    def __init__(self, store: Store, relation: str, options: DataOptions) -> None:
        super().__init__(store, relation, options.na_values)
        self.options = options
        self.stated = stated_kinds([*self.columns], options)
        self.target = self.column_sql(options.target)

    def column_sql(self, name: str) -> ColumnSql:
        """Return how to query a column; raise if its type cannot be learned from."""
        family, column = self.columns[name].family, self.quoted(name)
        if family is Family.BOOLEAN and self.stated.get(name) == "numeric":
            family, column = Family.NUMBER, boolean_as_number(column)
        typed, conditions = self.dialect.columns, self.dialect.conditions
        if family is Family.OTHER:
            type_ = self.columns[name].type
            raise DataError(
                f"column {name!r} holds {type_} values: convert them to numbers or"
                f" text, or add ignore={name!r}"
            )
        if family.is_number:
            value = typed.number.fill(column)
            missing = conditions.number_missing.fill(column=column, x=value)
            return ColumnSql(name, column, value, missing, family)
        missing = f"{column} IS NULL"
        if family is Family.BOOLEAN:
            value = typed.of(ValueType.BOOL).fill(column)
            return ColumnSql(name, column, value, missing, family)
        if self.na_values:
            missing = f"({missing} OR {self.is_na(column)})"
        return ColumnSql(name, column, typed.text.fill(column), missing, family)

    def count_rows(self) -> tuple[int, int]:
        """Count the rows with a known target, and those without."""
        known, every = self.one_row(
            f"SELECT count(CASE WHEN {self.target.known} THEN 1 END), count(*)"
            f" FROM {self.relation}"
        )
        return int(known), int(every - known)

    # ------------------------------------------------------------ target

    def labels(self, *, has_missing: bool) -> tuple[tuple[Label, ...], list[str]]:
        """Return the labels of the target (none in regression), and notes on them."""
        target, family = self.target, self.target.family
        distinct = self.distinct(target, MOST_LABELS)
        if family.is_number and len(distinct):
            type_ = ValueType.INT if family is Family.INTEGER else ValueType.FLOAT
            count = len(distinct)
            judged = type_for_task(type_, distinct.tolist(), has_missing=has_missing)
            if count > MOST_LABELS:
                count = self.count_distinct(target)
            if task_for(target.name, judged, count, self.options) == REGRESS:
                self._check_numbers()
                return (), target_notes(target.name, type_, count, (), self.options)
        raw = self._raw(target, distinct)
        labels, _, notes = make_target(raw, self.options, has_missing=has_missing)
        return labels, notes

    def _check_numbers(self) -> None:
        y = self.target
        low, high, count = self.one_row(
            f"SELECT min({y.value}), max({y.value}), count(*)"
            f" FROM {self.relation} WHERE {y.known}"
        )
        check_range(y.name, max(abs(float(low)), abs(float(high))), int(count))

    # ------------------------------------------------------------ features

    def queried(self, columns: Sequence[ColumnSql]) -> Iterator[QueriedColumn]:
        """Count the known values of columns, and find the numbers or their range."""
        for start in range(0, len(columns), AT_ONCE):
            some = columns[start : start + AT_ONCE]
            numeric = [sql for sql in some if self.is_numeric(sql)]
            known = "CASE WHEN {.known} THEN {} END".format
            asked = [f"count({known(sql, 1)})" for sql in some]
            asked += [f"min({known(sql, sql.value)})" for sql in numeric]
            asked += [f"max({known(sql, sql.value)})" for sql in numeric]
            found = self.one_row(
                f"SELECT {', '.join(asked)} FROM {self.relation}"
                f" WHERE {self.target.known}"
            )
            highs = len(some) + len(numeric)
            pairs = zip(found[len(some) : highs], found[highs:], strict=True)
            ranges = dict(zip(numeric, pairs, strict=True))
            numbers = dict(self._few_numbers(numeric))
            for sql, count in zip(some, found, strict=False):
                low, high = map(float, ranges.get(sql, (nan, nan)))
                yield QueriedColumn(sql, int(count), low, high, numbers.get(sql, ()))

    def is_numeric(self, sql: ColumnSql) -> bool:
        """Whether a column makes a numeric feature."""
        return sql.family.is_number and self.stated.get(sql.name) in (None, "numeric")

    def _few_numbers(
        self, columns: Sequence[ColumnSql]
    ) -> Iterator[tuple[ColumnSql, tuple[float, ...]]]:
        """Yield each column that has at most FEW distinct numbers, and the numbers."""
        if not columns:
            return
        # A few rows rule most columns out. To find distinct numbers, Spark sends all
        # values from task to task.
        sample = self.store.arrays(
            f"SELECT {', '.join(sql.value for sql in columns)} FROM {self.relation}"
            f" WHERE {self.target.known} LIMIT {SAMPLE_ROWS}"
        )
        for sql, column in zip(columns, sample, strict=True):
            known = column.astype(np.float64)
            if len(np.unique(known[~np.isnan(known)])) > FEW:
                continue
            distinct = self.distinct(sql, FEW, self.target.known)
            if len(distinct) <= FEW:
                yield sql, tuple(sorted(map(float, distinct)))

    def feature(
        self, found: QueriedColumn, rows: int
    ) -> FeatureColumn[QueriedColumn] | None:
        """Return the feature made of a column; None if it has no known value."""
        if not found.known:
            return None
        sql, where = found.sql, self.target.known
        if self.is_numeric(sql):
            raw = self._raw(sql, np.array([found.low, found.high]), "float64")
        else:
            values = self.distinct(sql, MOST_CATEGORIES, where)
            if len(values) > MOST_CATEGORIES:
                return self._too_many(found, rows)
            raw = self._raw(sql, values)
        order = dict(self.options.ordinal).get(sql.name, ())
        made = make_feature(raw, self.stated.get(sql.name), order)
        assert made is not None
        count = partial(self._count_rows_with, sql)
        digest = replace(digest_of(*made), rows=rows, known=found.known, count=count)
        if made[0].kind is Kind.NUMERIC:
            whole = f"{where} AND {sql.value} = floor({sql.value})"
            digest = replace(digest, distinct=partial(self.count_distinct, sql, whole))
        return FeatureColumn(made[0], digest, found)

    def _too_many(
        self, found: QueriedColumn, rows: int
    ) -> FeatureColumn[QueriedColumn] | None:
        """Return a feature with too many categories to fetch; it will be left out.

        If the user stated the kind of the column, this is an error.
        """
        sql = found.sql
        count = self.count_distinct(sql, self.target.known)
        if sql.name in self.stated:
            raise too_many_categories(sql.name, count)
        feature = Feature(sql.name, Kind.CATEGORICAL, ValueType.STR)
        digest = ColumnDigest(rows, found.known, None, None, lambda: count)
        return FeatureColumn(feature, digest, found)

    def _count_rows_with(self, sql: ColumnSql, texts: Sequence[str]) -> int:
        """Count the rows to learn from that have one of the texts in a column."""
        (count,) = self.one_row(
            f"SELECT count(*) FROM {self.relation} WHERE {self.target.known}"
            f" AND {self.is_among(sql.column, texts)}"
        )
        return int(count)

    # ------------------------------------------------------------ distinct values

    def distinct(self, sql: ColumnSql, most: int, *where: str) -> np.ndarray:
        """Return the distinct known values: all of them, or `most` + 1."""
        # Integers are returned as they are stored, text as it is compared.
        is_whole = sql.family is Family.INTEGER
        column = sql.column if is_whole else sql.value
        (found,) = self.store.arrays(
            f"SELECT DISTINCT {column} FROM {self.relation}"
            f" WHERE {' AND '.join([sql.known, *where])} LIMIT {most + 1}"
        )
        return found

    def count_distinct(self, sql: ColumnSql, *where: str) -> int:
        (count,) = self.one_row(
            f"SELECT count(DISTINCT {sql.value}) FROM {self.relation}"
            f" WHERE {' AND '.join([sql.known, *where])}"
        )
        return int(count)

    def _raw(self, sql: ColumnSql, values: np.ndarray, dtype: str = "") -> Raw:
        """Return values as a column in memory, for `tables` to decide on."""
        found = sorted(values.tolist())
        if not dtype and sql.family is Family.INTEGER and found:
            widest = max(abs(found[0]), abs(found[-1]))
            if widest > MOST_EXACT:  # the queries compare doubles
                raise DataError(
                    f"column {sql.name!r} has integers beyond 2^53, such as {widest},"
                    " as labels or categories: store them as text"
                )
        dtype = dtype or DTYPES[sql.family]
        series = pd.Series(found, dtype=dtype)
        table = RawTable((sql.name,), (series,), text=False, source="")
        return Raw.of(table, sql.name, frozenset())


def boolean_as_number(column: str) -> str:
    return f"(CASE WHEN {column} THEN 1 WHEN NOT {column} THEN 0 END)"
