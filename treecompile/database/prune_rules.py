"""Prune rules by a table in a database; `rules.pruning` does it in memory.

Rows that no condition tells apart are fetched as one group (see `parts`). Rules for
labels are the same as in memory; for numbers, means may differ in the last digits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from treecompile.database.evaluate import evaluate
from treecompile.database.locations import TableLocation
from treecompile.database.model_rows import ModelRows, rows_for_model
from treecompile.database.parts import RowGroups, writer_of
from treecompile.engines.base import Store
from treecompile.measure.cases import Cases
from treecompile.measure.quality import no_known_answer, no_row, with_quality
from treecompile.model.ir import Kind, Program, RuleSet
from treecompile.model.semantics import is_missing
from treecompile.rules.extract import extract
from treecompile.rules.postprune.c45rules import check_labels, strict
from treecompile.rules.postprune.description_length import category_bits, threshold_bits
from treecompile.rules.pruning import (
    C45RULES,
    Pruned,
    Start,
    pruned_rules,
    pruning_notes,
    silent,
)


def prune_in_database(
    program: Program,
    location: TableLocation,
    how: str,
    na_values: tuple[str, ...] = (),
    start: Start = silent,
) -> Pruned:
    """Prune the rules of a program by the rows of a table.

    `how` is C45RULES for the rows that the tree was learned from, else VALIDATION.
    """
    store, relation, rules = location.store, location.relation, extract(program.body)
    by_training = how == C45RULES
    if by_training:
        check_labels(rules)
    flat = replace(program, body=rules)
    read = rows_for_model(store, relation, flat, na_values, with_all=by_training)
    grouping = RowGroups(store, read, _strict(rules) if by_training else rules)
    left_out, cases = grouping.unknown(), grouping.cases()
    _check_known(program, cases, left_out, location.source)
    tests = FeatureCoding(store, read, rules).bits() if by_training else None
    pruned = pruned_rules(program, how, cases, start, tests)
    if pruned.training is not None:
        found = evaluate(store, relation, pruned, na_values)
        pruned = with_quality(
            pruned, *((found, None) if by_training else (None, found))
        )
    return Pruned(pruned, pruning_notes(program, how, cases.total, left_out))


def _strict(rules: RuleSet) -> RuleSet:
    """The rules as c4.5rules reads them: a missing value meets no condition."""
    made = []
    for rule in rules.rules:
        tests = (strict(c, rules.features[c.feature]) for c in rule.conditions)
        made.append(replace(rule, conditions=tuple(tests)))
    return replace(rules, rules=tuple(made))


def _check_known(program: Program, cases: Cases, left_out: int, source: str) -> None:
    if cases.rows:
        return
    if not left_out:
        raise no_row(source)
    raise no_known_answer(program.target, program.body.labels, source)


class FeatureCoding:
    """The bits of a test of each feature, over the rows with a known answer.

    `rules.postprune.description_length` computes them from the counts queried here.
    """

    def __init__(self, store: Store, read: ModelRows, rules: RuleSet) -> None:
        self.store, self.features = store, rules.features
        self.rows = f"{read.rows} WHERE {read.known}"
        self.writer = writer_of(store, read, rules)

    def bits(self) -> list[float]:
        (rows,) = self._counts("count(*)")
        return [
            (
                category_bits(self._by_code(index)[:-1], rows)
                if feature.kind is Kind.CATEGORICAL
                else threshold_bits(self._distinct(index))
            )
            for index, feature in enumerate(self.features)
        ]

    def _counts(self, *asked: str) -> list[int]:
        query = f"SELECT {', '.join(asked)} FROM {self.rows}"
        return [int(column[0]) for column in self.store.arrays(query)]

    def _missing(self, index: int) -> str:
        return self.writer.text(is_missing(index, self.features[index]))

    def _by_code(self, index: int) -> NDArray[np.int64]:
        """The rows of each category; last, those of all unseen ones."""
        column, categories = self.writer.columns[index], self.features[index].categories
        codes = {category: code for code, category in enumerate(categories)}
        counts = np.zeros(len(codes) + 1, np.int64)
        values, times = self.store.arrays(
            f"SELECT {column}, count(*) FROM {self.rows}"
            f" AND NOT ({self._missing(index)}) GROUP BY {column}"
        )
        for value, count in zip(values.tolist(), times.tolist(), strict=True):
            counts[codes.get(value, len(codes))] += int(count)
        return counts

    def _distinct(self, index: int) -> int:
        """The different values; all missing ones are one, all unseen ones another."""
        missing = self._missing(index)
        absent = f"count(CASE WHEN {missing} THEN 1 END)"
        if self.features[index].kind is not Kind.NUMERIC:
            (rows,) = self._counts(absent)
            return int((self._by_code(index) > 0).sum()) + bool(rows)
        # -0.0 + 0 is 0.0: both zeros are one value.
        value = f"{self.writer.typed[index]} + 0e0"
        known = f"count(DISTINCT CASE WHEN NOT ({missing}) THEN {value} END)"
        values, rows = self._counts(known, absent)
        return values + bool(rows)
