"""What the columns of a table in a database are: the decisions of `data`, by query.

Kinds, types, categories and labels depend on the distinct values of a column alone. So
those are fetched, and `data` decides on them as it does for a table in memory: the same
features, the same notes, the same refusals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from treecompile.data import (
    FEWEST_IDENTIFIERS,
    LEAST_WEIGHT,
    MOST_CATEGORIES,
    MOST_LABELS,
    MOST_WEIGHT,
    REGRESS,
    DataOptions,
    check_range,
    make_feature,
    make_target,
    stated_kinds,
    target_notes,
    task_for,
)
from treecompile.errors import DataError
from treecompile.ir import ColumnSummary, Feature, Kind, Label, ValueType
from treecompile.lower.sql_conditions import literal
from treecompile.lower.sql_names import Quoting
from treecompile.raw import DATE_ADVICE, Raw
from treecompile.read import Table
from treecompile.stores.base import Family, Store

WEIGHTS = (LEAST_WEIGHT, MOST_WEIGHT)
FEW = 256  # distinct numbers of a column that is counted value by value
AT_ONCE = 40  # columns that one query summarises
BEGINNING = 2000  # rows of which the numbers may tell that there are more than a few


@dataclass(frozen=True, slots=True)
class Source:
    """A column of the database, spelt for queries."""

    name: str
    column: str  # quoted
    value: str  # of the type that the law compares
    missing: str  # a condition

    @property
    def known(self) -> str:
        return f"NOT ({self.missing})"


@dataclass(frozen=True, slots=True)
class Schema:
    """A table to learn from: what is read of it, and how."""

    relation: str  # what stands behind FROM
    target: Source
    features: tuple[Feature, ...]
    sources: tuple[Source, ...]  # one for each feature
    values: tuple[tuple[float, ...], ...]  # the numbers of a feature, if they are few
    labels: tuple[Label, ...]
    rows: int  # with a known target
    summaries: tuple[ColumnSummary, ...]
    notes: tuple[str, ...]
    weights: Source | None = None  # how much each row counts; None: all the same


def read_schema(store: Store, relation: str, options: DataOptions) -> Schema:
    """Decide what every column of a table is."""
    reader = Reader(store, relation, options)
    stated = stated_kinds(reader.names(), options)
    target = reader.source(options.target)
    labels, notes = reader.target(target)
    rows, dropped = reader.count(target)
    if dropped:
        notes.insert(0, f"rows without a known {options.target!r}: {dropped}, dropped")
    found = []
    used = [
        reader.source(column.name, stated.get(column.name))
        for column in reader.columns
        if column.name != options.target
        and stated.get(column.name) not in ("ignore", "weights")
    ]
    reader.look_for_many(used, target)
    for source, digest in zip(used, reader.digests(used, target), strict=True):
        made = reader.feature(source, stated.get(source.name), digest, target)
        if made is None:
            notes.append(f"column {source.name!r} has no known value: dropped")
            continue
        feature, values, warnings = made
        notes += warnings
        is_numeric = feature.kind is Kind.NUMERIC
        summary = ColumnSummary(
            rows - digest.known,
            digest.low if is_numeric else None,
            digest.high if is_numeric else None,
        )
        found.append((feature, source, values, summary))
    if not found:
        raise DataError(f"no column but {options.target!r} is left to learn from")
    features, sources, numbers, summaries = zip(*found, strict=True)
    return Schema(
        relation,
        target,
        features,
        sources,
        numbers,
        labels,
        rows,
        summaries,
        (*notes,),
        reader.weights(target) if options.weights else None,
    )


@dataclass(frozen=True, slots=True)
class Digest:
    """A column in a few numbers."""

    known: int
    low: float | None = None
    high: float | None = None


class Reader:
    def __init__(self, store: Store, relation: str, options: DataOptions) -> None:
        self.store, self.relation, self.options = store, relation, options
        self.columns = store.columns(relation)
        self.quoting = Quoting(store.dialect)
        self.many: set[str] = set()  # columns of numbers that are surely not few

    def names(self) -> Table:
        """The names of the columns, for what only asks for those."""
        names = tuple(column.name for column in self.columns)
        return Table(names, tuple(map(_no_values, names)), text=False, source="")

    def source(self, name: str, stated: str | None = None) -> Source:
        """How queries mention a column; what cannot be learned from is refused."""
        (stored,) = (column for column in self.columns if column.name == name)
        column = self.quoting.name(name)
        dialect = self.store.dialect
        if stored.family is Family.OTHER:
            is_time = stored.type.lower().startswith(("date", "time"))
            advice = DATE_ADVICE if is_time else "make numbers or texts of it"
            raise DataError(
                f"column {name!r} holds {stored.type} values: {advice}, or leave it"
                " out with --ignore"
            )
        if stored.family in (Family.INTEGER, Family.NUMBER):
            value = dialect.columns.number.format(column)
            missing = dialect.conditions.number_missing.format(column=column, x=value)
            return Source(name, column, value, missing)
        kind = ValueType.STR if stored.family is Family.TEXT else ValueType.BOOL
        value = dialect.columns.of(kind).format(column)
        missing = f"{column} IS NULL"
        if kind is ValueType.STR and self.options.na_values:
            texts = ", ".join(literal(text, dialect) for text in self.options.na_values)
            missing = f"({missing} OR {value} IN ({texts}))"
        return Source(name, column, value, missing)

    def family(self, source: Source) -> Family:
        (stored,) = (column for column in self.columns if column.name == source.name)
        return stored.family

    def count(self, target: Source) -> tuple[int, int]:
        """The rows with a known target, and those without."""
        known, every = self.store.arrays(
            f"SELECT count(CASE WHEN {target.known} THEN 1 END), count(*)"
            f" FROM {self.relation}"
        )
        return int(known[0]), int(every[0] - known[0])

    # ------------------------------------------------------------ the target

    def target(self, source: Source) -> tuple[tuple[Label, ...], list[str]]:
        distinct = self.distinct(source, "", MOST_LABELS)
        family, name = self.family(source), source.name
        type_ = ValueType.INT if family is Family.INTEGER else ValueType.FLOAT
        is_number = family in (Family.INTEGER, Family.NUMBER)
        if is_number and len(distinct):
            count = (
                self.distinct_count(source, "") if _full(distinct) else len(distinct)
            )
            if task_for(name, type_, count, self.options) == REGRESS:
                self._check_numbers(source)
                return (), target_notes(name, type_, count, (), self.options)
        series = self._series(distinct, family)
        labels, _, notes = make_target(self._raw(name, series), self.options)
        return labels, notes

    def _check_numbers(self, source: Source) -> None:
        low, high, count = self.store.arrays(
            f"SELECT min({source.value}), max({source.value}), count(*)"
            f" FROM {self.relation} WHERE {source.known}"
        )
        widest = max(abs(float(low[0])), abs(float(high[0])))
        if np.isinf(widest):
            raise DataError(f"{source.name!r} is infinite somewhere: correct it")
        check_range(source.name, widest, int(count[0]))

    def weights(self, target: Source) -> Source:
        """The column of weights, which is a number above 0 in every row."""
        source = self.source(self.options.weights)
        name = source.name
        if self.family(source) not in (Family.INTEGER, Family.NUMBER):
            raise DataError(
                f"the weights {name!r} are no numbers: make numbers of them"
            )
        least, most = (literal(each, self.store.dialect) for each in WEIGHTS)
        right = f"{source.value} >= {least} AND {source.value} <= {most}"
        missing, wrong = self.store.arrays(
            f"SELECT count(CASE WHEN {source.missing} THEN 1 END),"
            f" count(CASE WHEN {source.known} AND NOT ({right}) THEN 1 END)"
            f" FROM {self.relation} WHERE {target.known}"
        )
        if missing[0]:
            raise DataError(
                f"the weight {name!r} is missing in {missing[0]} rows: add it"
            )
        if wrong[0]:
            raise DataError(
                f"the weight {name!r} is 0, negative or not finite in {wrong[0]} rows:"
                " expected numbers above 0"
            )
        return source

    # ------------------------------------------------------------ the features

    def look_for_many(self, sources: Sequence[Source], target: Source) -> None:
        """Find columns of many numbers by a few rows.

        It spares them to be asked for their distinct numbers, which in Spark sends all
        of them from task to task.
        """
        kinds = (Family.INTEGER, Family.NUMBER)
        numbers = [source for source in sources if self.family(source) in kinds]
        for start in range(0, len(numbers), AT_ONCE):
            some = numbers[start : start + AT_ONCE]
            values = ", ".join(source.value for source in some)
            found = self.store.arrays(
                f"SELECT {values} FROM {self.relation} WHERE {target.known}"
                f" LIMIT {BEGINNING}"
            )
            for source, column in zip(some, found, strict=True):
                known = column.astype(np.float64)
                if len(np.unique(known[~np.isnan(known)])) > FEW:
                    self.many.add(source.name)

    def digests(self, sources: Sequence[Source], target: Source) -> Iterable[Digest]:
        """Known values, and the range of numbers, over the rows that are learned."""
        for start in range(0, len(sources), AT_ONCE):
            some = sources[start : start + AT_ONCE]
            asked = []
            for source in some:
                known = f"CASE WHEN {source.known} THEN {{}} END"
                asked.append(f"count({known.format('1')})")
                if self.family(source) in (Family.INTEGER, Family.NUMBER):
                    inner = known.format(source.value)
                    asked += [f"min({inner})", f"max({inner})"]
            found = iter(
                self.store.arrays(
                    f"SELECT {', '.join(asked)} FROM {self.relation}"
                    f" WHERE {target.known}"
                )
            )
            for source in some:
                known_rows = int(next(found)[0])
                if self.family(source) in (Family.INTEGER, Family.NUMBER):
                    low, high = float(next(found)[0]), float(next(found)[0])
                    yield Digest(known_rows, low, high)
                else:
                    yield Digest(known_rows)

    def feature(
        self, source: Source, stated: str | None, digest: Digest, target: Source
    ) -> tuple[Feature, tuple[float, ...], list[str]] | None:
        """The feature that a column makes, its numbers if few, and warnings."""
        if not digest.known:
            return None
        family = self.family(source)
        is_number = family in (Family.INTEGER, Family.NUMBER)
        numbers: tuple[float, ...] = ()
        if is_number and stated in (None, "numeric"):
            series = pd.Series([digest.low, digest.high], dtype="float64")
            if source.name in self.many:
                distinct = np.zeros(FEW + 1)  # at least
            else:
                distinct = self.distinct(source, target.known, FEW)
            if not _full(distinct, FEW):
                numbers = tuple(sorted(float(each) for each in distinct))
        else:
            distinct = self.distinct(source, target.known, MOST_CATEGORIES)
            if _full(distinct, MOST_CATEGORIES):
                count = self.distinct_count(source, target.known)
                raise DataError(
                    f"column {source.name!r} has {count} categories, more than "
                    f"{MOST_CATEGORIES}: leave it out with --ignore or make it numeric"
                )
            series = self._series(distinct, family)
        listed = dict(self.options.ordinal).get(source.name, ())
        made = make_feature(self._raw(source.name, series), stated, listed)
        assert made is not None
        feature = made[0]
        return feature, numbers, self._warnings(feature, source, digest, len(distinct))

    def _warnings(
        self, feature: Feature, source: Source, digest: Digest, distinct: int
    ) -> list[str]:
        if distinct == 1:
            return [f"column {feature.name!r} has one value only and cannot split"]
        if digest.known < FEWEST_IDENTIFIERS or feature.kind is Kind.ORDINAL:
            return []
        if feature.kind is Kind.NUMERIC:
            assert digest.low is not None
            assert digest.high is not None
            if digest.high - digest.low != digest.known - 1 or digest.low % 1:
                return []
            distinct = self.distinct_count(
                source, f"{source.value} = floor({source.value})"
            )
        if distinct < digest.known:
            return []
        advice = f"leave it out with --ignore {feature.name!r}"
        return [f"column {feature.name!r} looks like an identifier: {advice}"]

    # ------------------------------------------------------------ distinct values

    def distinct(self, source: Source, where: str, most: int) -> np.ndarray:
        """The distinct known values, or one more than the most."""
        conditions = " AND ".join(filter(None, (source.known, where)))
        # Whole numbers as they are; texts as the law compares them, not their column.
        is_whole = self.family(source) is Family.INTEGER
        column = source.column if is_whole else source.value
        (found,) = self.store.arrays(
            f"SELECT DISTINCT {column} FROM {self.relation} WHERE {conditions}"
            f" LIMIT {most + 1}"
        )
        return found

    def distinct_count(self, source: Source, where: str) -> int:
        conditions = " AND ".join(filter(None, (source.known, where)))
        (found,) = self.store.arrays(
            f"SELECT count(DISTINCT {source.value}) FROM {self.relation}"
            f" WHERE {conditions}"
        )
        return int(found[0])

    def _series(self, values: np.ndarray, family: Family) -> pd.Series:
        dtype = {
            Family.INTEGER: "Int64",
            Family.NUMBER: "float64",
            Family.BOOLEAN: "bool",
        }.get(family, "object")
        ordered = sorted(values.tolist())
        return pd.Series(ordered, dtype=dtype)

    def _raw(self, name: str, series: pd.Series) -> Raw:
        table = Table((name,), (series,), text=False, source="")
        return Raw.of(table, name, frozenset())


def _no_values(name: str) -> pd.Series:
    return pd.Series([], dtype="float64")


def _full(distinct: np.ndarray, most: int = MOST_LABELS) -> bool:
    """Whether there are more values than were fetched."""
    return len(distinct) > most
