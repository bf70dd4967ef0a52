"""Rows of a database that no condition of some rules tells apart, counted together.

The conditions cut each feature into a few parts: between thresholds, or categories that
all conditions treat alike. A query says of each row which parts it is in, and counts
the rows that have them all in common, by their answers. Each such group is one row that
stands for many, and the code that judges rules in memory judges it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.cases import Cases
from treecompile.errors import DataError
from treecompile.in_database.reading import Reading
from treecompile.ir import Condition, Feature, Kind, Op, RuleSet
from treecompile.literals import DOUBLES
from treecompile.lower.sql_conditions import Conditions
from treecompile.membership import truth_table
from treecompile.semantics import conditions, is_missing, required_features, threshold
from treecompile.stores.base import Store

MOST = 1_000_000  # groups that the client takes


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """What the conditions leave of one feature."""

    sql: str  # the number of the part that a row is in
    values: NDArray[Any]  # of each part a value, as `data.encode` has them


class Grouping:
    """Asks for the groups of rows that some rules tell apart."""

    def __init__(self, store: Store, read: Reading, rules: RuleSet) -> None:
        self.store, self.rules = store, rules
        self.source = f"({read.query}) AS treecompile_read"
        self.parts = parts_of(store, read, rules)
        self.known = "y IS NOT NULL"
        if rules.labels:
            self.known = f"y >= 0 AND y < {len(rules.labels)}"

    def unknown(self) -> int:
        """How many rows have no answer that the rules know."""
        every, known = self.store.arrays(
            f"SELECT count(*), count(CASE WHEN {self.known} THEN 1 END)"
            f" FROM {self.source}"
        )
        return int(every[0]) - int(known[0])

    def cases(self) -> Cases:
        """The groups as cases; too many are an error."""
        if self.rules.labels:
            keys, (counts,) = self._groups("y", ["count(*)"])
            y = keys[-1].astype(np.int32)
            return Cases(self._columns(keys), y, counts)
        (mean,) = self.store.arrays(
            f"SELECT avg(y) FROM {self.source} WHERE {self.known}"
        )
        centre = 0.0 if np.isnan(mean[0]) else float(mean[0])
        off = f"(y - {DOUBLES[self.store.dialect.literals.double](centre)})"
        # There must be something to group by: one part that has all of them.
        keys, (counts, sums, squares) = self._groups(
            "0 AS one", ["count(*)", f"sum({off})", f"sum({off} * {off})"]
        )
        means = sums / counts
        spread = np.maximum(squares - sums * means, 0.0)
        return Cases(self._columns(keys), centre + means, counts, spread)

    def _columns(self, keys: Sequence[np.ndarray]) -> list[NDArray[Any] | None]:
        columns: list[NDArray[Any] | None] = [None] * len(self.rules.features)
        for (place, part), codes in zip(self.parts.items(), keys, strict=False):
            columns[place] = part.values[codes]
        return columns

    def _groups(
        self, last: str, wanted: Sequence[str]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The parts of each group, in order, and what is wanted of it."""
        asked = [f"{part.sql} AS p{place}" for place, part in self.parts.items()]
        keys = [*(f"p{place}" for place in self.parts), last.rpartition(" ")[2]]
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


def parts_of(store: Store, read: Reading, rules: RuleSet) -> dict[int, Parts]:
    """The parts into which the rules cut each feature that they test."""
    writer = writer_of(store, read, rules)
    tests: dict[int, dict[Condition, None]] = {}
    for test in conditions(rules):
        tests.setdefault(test.feature, {})[test] = None
    found = {}
    for place in required_features(rules):
        cut = _intervals if rules.features[place].kind is Kind.NUMERIC else _groups
        found[place] = cut(place, rules.features[place], [*tests[place]], writer)
    return found


def writer_of(store: Store, read: Reading, rules: RuleSet) -> Conditions:
    """What writes tests of what is read: thresholds, and sets of any categories."""
    features = tuple(map(_as_set, rules.features))
    return Conditions(store.dialect, replace(rules, features=features), read.columns)


def _as_set(feature: Feature) -> Feature:
    """An ordinal without its order, so that any of its categories can be a set."""
    is_ordinal = feature.kind is Kind.ORDINAL
    return replace(feature, kind=Kind.CATEGORICAL) if is_ordinal else feature


def _intervals(
    place: int, feature: Feature, tests: Sequence[Condition], writer: Conditions
) -> Parts:
    """Up to each threshold, beyond the last, and missing."""
    cuts = sorted({threshold(test) for test in tests} - {np.inf})

    def search(low: int, high: int) -> str:
        if low == high:
            return str(low)
        middle = (low + high) // 2
        test = writer.text(Condition(place, Op.LE, cuts[middle], missing=False))
        below, above = search(low, middle), search(middle + 1, high)
        return f"CASE WHEN {test} THEN {below} ELSE {above} END"

    missing = writer.text(is_missing(place, feature))
    sql = f"CASE WHEN {missing} THEN {len(cuts) + 1} ELSE {search(0, len(cuts))} END"
    return Parts(sql, np.array([*cuts, np.inf, np.nan]))


def _groups(
    place: int, feature: Feature, tests: Sequence[Condition], writer: Conditions
) -> Parts:
    """Categories that all tests treat alike; unseen ones and missing among them."""
    truth = np.array([truth_table(test, feature) for test in tests]).T
    _, first, part = np.unique(truth, axis=0, return_index=True, return_inverse=True)
    part = part.ravel()
    unseen, missing = len(feature.categories), len(feature.categories) + 1
    members: dict[int, list[Any]] = {}
    for category, own in zip(feature.categories, part.tolist(), strict=False):
        if own != part[unseen]:
            members.setdefault(own, []).append(category)
    arms = [f"WHEN {writer.text(is_missing(place, feature))} THEN {part[missing]}"]
    for number, named in members.items():
        test = writer.text(Condition(place, Op.IN, tuple(named), missing=False))
        arms.append(f"WHEN {test} THEN {number}")
    sql = f"CASE {' '.join(arms)} ELSE {part[unseen]} END"
    return Parts(sql, np.where(first == missing, -1, first))
