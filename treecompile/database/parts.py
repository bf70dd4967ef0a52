"""Rows of a database that no condition of some rules tells apart, counted together.

The conditions cut each feature into a few parts: numbers between two thresholds, or
categories that all conditions treat alike. A query finds the parts that each row is in
and counts the rows that have all their parts and the answer in common. Each such group
becomes one weighted case, and the code that measures rules in memory measures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.database.model_rows import ModelRows
from treecompile.emit.literals import DOUBLES
from treecompile.emit.sql.text import ConditionWriter
from treecompile.engines.base import Store
from treecompile.measure.cases import Cases
from treecompile.model.errors import DataError
from treecompile.model.ir import Condition, Feature, Kind, Op, RuleSet
from treecompile.model.semantics import conditions, is_missing
from treecompile.model.words import by_feature
from treecompile.regions.region import Interval, parts, where

MOST = 1_000_000  # groups that the client takes


@dataclass(frozen=True, slots=True, eq=False)
class FeatureParts:
    """The parts into which the conditions cut one feature."""

    sql: str  # gives the number of the part that a row is in
    values: NDArray[Any]  # a value from each part, encoded as by `tables.dataset`


class RowGroups:
    """Queries the groups of rows that some rules do not tell apart."""

    def __init__(self, store: Store, read: ModelRows, rules: RuleSet) -> None:
        self.store, self.rules = store, rules
        self.source, self.known = read.rows, read.known
        self.parts = parts_of(store, read, rules)

    def unknown(self) -> int:
        """How many rows have no known answer."""
        every, known = self.store.arrays(
            f"SELECT count(*), count(CASE WHEN {self.known} THEN 1 END)"
            f" FROM {self.source}"
        )
        return int(every[0]) - int(known[0])

    def cases(self) -> Cases:
        """The groups as weighted cases; too many groups are an error."""
        if self.rules.labels:
            keys, (counts,) = self._groups("y", ["count(*)"])
            y = keys[-1].astype(np.int32)
            return Cases(self._columns(keys), y, counts)
        (mean,) = self.store.arrays(
            f"SELECT avg(y) FROM {self.source} WHERE {self.known}"
        )
        centre = 0.0 if np.isnan(mean[0]) else float(mean[0])
        off = f"(y - {DOUBLES[self.store.dialect.literals.double](centre)})"
        # There must be something to group by: a constant.
        keys, (counts, sums, squares) = self._groups(
            "0 AS one", ["count(*)", f"sum({off})", f"sum({off} * {off})"]
        )
        means = sums / counts
        spread = np.maximum(squares - sums * means, 0.0)
        return Cases(self._columns(keys), centre + means, counts, spread)

    def _columns(self, keys: Sequence[np.ndarray]) -> list[NDArray[Any] | None]:
        columns: list[NDArray[Any] | None] = [None] * len(self.rules.features)
        for (index, part), codes in zip(self.parts.items(), keys, strict=False):
            columns[index] = part.values[codes]
        return columns

    def _groups(
        self, last: str, wanted: Sequence[str]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The parts of each group, in order, and the wanted aggregates of its rows."""
        asked = [f"{part.sql} AS p{index}" for index, part in self.parts.items()]
        keys = [*(f"p{index}" for index in self.parts), last.rpartition(" ")[2]]
        inner = ", ".join(dict.fromkeys([*asked, last, "y"]))
        found = self.store.arrays(
            f"SELECT {', '.join([*keys, *wanted])} FROM (SELECT {inner}"
            f" FROM {self.source} WHERE {self.known}) AS treecompile_parts"
            f" GROUP BY {', '.join(keys)} LIMIT {MOST + 1}"
        )
        if len(found[0]) > MOST:
            raise DataError(
                f"the rules tell more than {MOST:,} kinds of rows apart: prune by a"
                " part of the rows, or prune the tree first"
            )
        codes = [column.astype(np.int64) for column in found[: len(keys)]]
        order = np.lexsort(codes[::-1])
        values = [column.astype(np.float64)[order] for column in found[len(keys) :]]
        return [column[order] for column in codes], values


# ---------------------------------------------------------------- parts of features


def parts_of(store: Store, read: ModelRows, rules: RuleSet) -> dict[int, FeatureParts]:
    """The parts into which the rules cut each feature that they test."""
    writer = writer_of(store, read, rules)
    found = {}
    for tests in by_feature(dict.fromkeys(conditions(rules))):
        index = tests[0].feature
        cut = _intervals if rules.features[index].kind is Kind.NUMERIC else _groups
        found[index] = cut(index, rules.features[index], tests, writer)
    return dict(sorted(found.items()))


def writer_of(store: Store, read: ModelRows, rules: RuleSet) -> ConditionWriter:
    """Writes tests of the columns that are read: thresholds and sets of categories."""
    features = tuple(map(_as_set, rules.features))
    return ConditionWriter(
        store.dialect, replace(rules, features=features), read.columns
    )


def _as_set(feature: Feature) -> Feature:
    """An ordinal without its order, so that any of its categories can be a set."""
    is_ordinal = feature.kind is Kind.ORDINAL
    return replace(feature, kind=Kind.CATEGORICAL) if is_ordinal else feature


def _intervals(
    index: int, feature: Feature, tests: Sequence[Condition], writer: ConditionWriter
) -> FeatureParts:
    """The numbers up to each threshold, those beyond the last, and missing."""
    known = [p for p in parts(feature, tests) if isinstance(p, Interval)][:-1]

    def search(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high) // 2
        test = writer.text(Condition(index, Op.LE, known[middle].high, missing=False))
        below, above = search(low, middle), search(middle + 1, high)
        return f"CASE WHEN {test} THEN {below} ELSE {above} END"

    missing = writer.text(is_missing(index, feature))
    found = search(0, len(known) - 1)
    sql = f"CASE WHEN {missing} THEN {len(known)} ELSE {found} END"
    return FeatureParts(sql, np.array([*(part.high for part in known), np.nan]))


def _groups(
    index: int, feature: Feature, tests: Sequence[Condition], writer: ConditionWriter
) -> FeatureParts:
    """Categories that all tests treat alike; unseen and missing values among them."""
    regions = [where(test, feature) for test in tests]
    groups: dict[tuple[bool, ...], list[int]] = {}
    for code, part in enumerate(parts(feature, tests)):
        groups.setdefault(tuple(map(part.overlaps, regions)), []).append(code)
    ordered = [groups[truth] for truth in sorted(groups)]
    number = {code: place for place, codes in enumerate(ordered) for code in codes}
    # Behind the categories comes the part of the unseen values, and missing is last.
    unseen, missing = len(feature.categories), max(number)
    arms = [f"WHEN {writer.text(is_missing(index, feature))} THEN {number[missing]}"]
    for place, codes in enumerate(ordered):
        named = tuple(feature.categories[code] for code in codes if code < unseen)
        if named and place != number[unseen]:
            test = writer.text(Condition(index, Op.IN, named, missing=False))
            arms.append(f"WHEN {test} THEN {place}")
    sql = f"CASE {' '.join(arms)} ELSE {number[unseen]} END"
    values = [-1 if codes[0] == missing else codes[0] for codes in ordered]
    return FeatureParts(sql, np.array(values))
