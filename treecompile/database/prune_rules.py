"""Prunes rules by a table in a database; `rules.pruning` does so in memory.

The conditions of the rules cut each feature into a few parts: numbers between two
thresholds, or categories that all conditions treat alike. A query finds the part of
each feature that a row is in, and counts the rows that agree in all parts and in the
answer. Each such group becomes one weighted case, and the code that prunes in memory
works on these cases. Rules for labels come out as in memory; for numbers, means may
differ in the last digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.database.evaluate import evaluate
from treecompile.database.locations import TableLocation
from treecompile.database.model_rows import ModelRows, rows_for_model
from treecompile.emit.sql.text import ConditionWriter, literal
from treecompile.engines.base import Store
from treecompile.measure.cases import Cases
from treecompile.measure.quality import no_known_answer, no_row, with_quality
from treecompile.model.errors import DataError
from treecompile.model.ir import (
    Condition,
    Feature,
    Kind,
    NotedProgram,
    Op,
    Program,
    RuleSet,
)
from treecompile.model.semantics import conditions, is_missing
from treecompile.model.words import by_feature
from treecompile.regions.region import Interval, parts, where
from treecompile.rules.extract import extract
from treecompile.rules.postprune.c45rules import check_labels, strict
from treecompile.rules.postprune.description_length import category_bits, threshold_bits
from treecompile.rules.pruning import (
    C45RULES,
    Start,
    pruned_rules,
    pruning_notes,
    silent,
)

MOST = 1_000_000  # groups that are fetched at most


def prune_in_database(
    program: Program,
    location: TableLocation,
    how: str,
    na_values: tuple[str, ...] = (),
    start: Start = silent,
) -> NotedProgram:
    """Prune the rules of a program by the rows of a table.

    `how` is C45RULES if the tree was learned from these rows, otherwise VALIDATION.
    """
    store, relation, rules = location.store, location.relation, extract(program.body)
    by_training = how == C45RULES
    if by_training:
        check_labels(rules)
    flat = replace(program, body=rules)
    read = rows_for_model(store, relation, flat, na_values, with_all=by_training)
    grouping = RowGroups(store, read, _strict(rules) if by_training else rules)
    left_out, cases = grouping.unknown(), grouping.cases()
    if not cases.rows:
        if not left_out:
            raise no_row(location.source)
        raise no_known_answer(program.target, rules.labels, location.source)
    tests = grouping.bits() if by_training else None
    pruned = pruned_rules(program, how, cases, start, tests)
    if pruned.training is not None:
        found = evaluate(store, relation, pruned, na_values)
        pruned = with_quality(
            pruned, *((found, None) if by_training else (None, found))
        )
    return NotedProgram(pruned, pruning_notes(program, how, cases.total, left_out))


def _strict(rules: RuleSet) -> RuleSet:
    """Return the rules as c4.5rules reads them: a missing value meets no condition."""
    made = []
    for rule in rules.rules:
        tests = (strict(c, rules.features[c.feature]) for c in rule.conditions)
        made.append(replace(rule, conditions=tuple(tests)))
    return replace(rules, rules=tuple(made))


# ---------------------------------------------------------------- groups of rows


@dataclass(frozen=True, slots=True, eq=False)
class FeatureParts:
    """The parts into which the conditions cut one feature."""

    sql: str  # an expression for the number of the part that a row is in
    values: NDArray[Any]  # a value from each part, encoded as by `tables.dataset`


class RowGroups:
    """Queries the groups of rows that the rules do not tell apart, and other counts."""

    def __init__(self, store: Store, read: ModelRows, rules: RuleSet) -> None:
        self.store, self.rules, self.read = store, rules, read
        self.rows = f"{read.rows} WHERE {read.known}"  # those with a known answer
        # The writer tests thresholds and sets of categories only.
        sets = replace(rules, features=tuple(map(_as_set, rules.features)))
        self.writer = ConditionWriter(store.dialect, sets, read.columns)
        self.parts = parts_of(rules, self.writer)

    def unknown(self) -> int:
        """Return how many rows have no known answer."""
        known = f"count(CASE WHEN {self.read.known} THEN 1 END)"
        every, some = self._counts(self.read.rows, "count(*)", known)
        return every - some

    def _counts(self, rows: str, *asked: str) -> list[int]:
        found = self.store.arrays(f"SELECT {', '.join(asked)} FROM {rows}")
        return [int(column[0]) for column in found]

    def cases(self) -> Cases:
        """Return the groups as weighted cases; too many groups are an error."""
        if self.rules.labels:
            keys, (counts,) = self._groups("y", ["count(*)"])
            y = keys[-1].astype(np.int32)
            return Cases(self._columns(keys), y, counts)
        (mean,) = self.store.arrays(f"SELECT avg(y) FROM {self.rows}")
        centre = 0.0 if np.isnan(mean[0]) else float(mean[0])
        off = f"(y - {literal(centre, self.store.dialect)})"
        # GROUP BY needs a column even if the rules test no feature: a constant.
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
        """Return the key columns of all groups, in order, and the wanted aggregates.

        The keys are the part of each feature and, last, the column `last`.
        """
        asked = [f"{part.sql} AS p{index}" for index, part in self.parts.items()]
        keys = [*(f"p{index}" for index in self.parts), last.rpartition(" ")[2]]
        inner = ", ".join(dict.fromkeys([*asked, last, "y"]))
        found = self.store.arrays(
            f"SELECT {', '.join([*keys, *wanted])} FROM (SELECT {inner}"
            f" FROM {self.rows}) AS treecompile_parts"
            f" GROUP BY {', '.join(keys)} LIMIT {MOST + 1}"
        )
        if len(found[0]) > MOST:
            raise DataError(
                f"the rules distinguish more than {MOST:,} kinds of rows: prune by a"
                " part of the rows, or prune the tree first"
            )
        codes = [column.astype(np.int64) for column in found[: len(keys)]]
        order = np.lexsort(codes[::-1])
        values = [column.astype(np.float64)[order] for column in found[len(keys) :]]
        return [column[order] for column in codes], values

    # ------------------------------------------------------------ description length

    def bits(self) -> list[float]:
        """Return the bits of a test of each feature, over rows with a known answer.

        `rules.postprune.description_length` computes the bits from counts queried here.
        """
        (rows,) = self._counts(self.rows, "count(*)")
        return [
            (
                category_bits(self._by_code(index)[:-1], rows)
                if feature.kind is Kind.CATEGORICAL
                else threshold_bits(self._distinct(index))
            )
            for index, feature in enumerate(self.rules.features)
        ]

    def _missing(self, index: int) -> str:
        return self.writer.text(is_missing(index, self.rules.features[index]))

    def _by_code(self, index: int) -> NDArray[np.int64]:
        """Count the rows of each category; last, of all unseen ones together."""
        column, feature = self.writer.columns[index], self.rules.features[index]
        codes = {category: code for code, category in enumerate(feature.categories)}
        counts = np.zeros(len(codes) + 1, np.int64)
        values, times = self.store.arrays(
            f"SELECT {column}, count(*) FROM {self.rows}"
            f" AND NOT ({self._missing(index)}) GROUP BY {column}"
        )
        for value, count in zip(values.tolist(), times.tolist(), strict=True):
            counts[codes.get(value, len(codes))] += int(count)
        return counts

    def _distinct(self, index: int) -> int:
        """Count the distinct values; all missing ones are one, all unseen ones too."""
        missing = self._missing(index)
        absent = f"count(CASE WHEN {missing} THEN 1 END)"
        if self.rules.features[index].kind is not Kind.NUMERIC:
            (rows,) = self._counts(self.rows, absent)
            return int((self._by_code(index) > 0).sum()) + bool(rows)
        # -0.0 + 0 is 0.0: both zeros are one value.
        value = f"{self.writer.typed[index]} + 0e0"
        known = f"count(DISTINCT CASE WHEN NOT ({missing}) THEN {value} END)"
        values, rows = self._counts(self.rows, known, absent)
        return values + bool(rows)


# ---------------------------------------------------------------- parts of features


def parts_of(rules: RuleSet, writer: ConditionWriter) -> dict[int, FeatureParts]:
    """Return the parts into which the rules cut each feature that they test."""
    found = {}
    for tests in by_feature(dict.fromkeys(conditions(rules))):
        index = tests[0].feature
        cut = _intervals if rules.features[index].kind is Kind.NUMERIC else _groups
        found[index] = cut(index, rules.features[index], tests, writer)
    return dict(sorted(found.items()))


def _as_set(feature: Feature) -> Feature:
    """Drop the order of an ordinal, so that a test can name any categories."""
    is_ordinal = feature.kind is Kind.ORDINAL
    return replace(feature, kind=Kind.CATEGORICAL) if is_ordinal else feature


def _intervals(
    index: int, feature: Feature, tests: Sequence[Condition], writer: ConditionWriter
) -> FeatureParts:
    """Cut a numeric feature at its thresholds; missing values are the last part."""
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
    """Group the categories, unseen and missing values that all tests treat alike."""
    regions = [where(test, feature) for test in tests]
    groups: dict[tuple[bool, ...], list[int]] = {}
    for code, part in enumerate(parts(feature, tests)):
        groups.setdefault(tuple(map(part.overlaps, regions)), []).append(code)
    ordered = [groups[truth] for truth in sorted(groups)]
    number = {code: place for place, codes in enumerate(ordered) for code in codes}
    # After the categories come the unseen values and, last, the missing value.
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
