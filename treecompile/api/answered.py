"""The rows of a table as a forest reads and answers them, to learn from."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

import numpy as np

from treecompile.measure.cases import Cases
from treecompile.model import ir, words
from treecompile.model.arrays import Array, Positions
from treecompile.model.batch import Columns, answers
from treecompile.model.semantics import required_features
from treecompile.tables.columns import Raw
from treecompile.tables.dataset import Dataset, encode
from treecompile.tables.dates import with_dates
from treecompile.tables.features import summaries
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.roles import check_range


@dataclass(frozen=True, slots=True, eq=False)
class Answered:
    """The rows of a table, and what the forest answers to them."""

    forest: ir.ForestProgram
    table: RawTable  # with what is computed from dates
    na_values: tuple[str, ...]
    columns: Columns  # as `encode` makes them; None: not in the table, and not tested
    answers: Array

    def cases(self, rows: Positions) -> Cases:
        """Some rows, as a model reads them."""
        columns = [None if each is None else each[rows] for each in self.columns]
        return Cases(columns, self.answers[rows])

    def dataset(self, rows: Positions) -> Dataset:
        """Some rows, as a learner sees them.

        What the forest never tests is missing everywhere, so that the tree cannot test
        it either. A category that the forest does not know is missing, too.
        """
        tested = set(required_features(self.forest.body))
        columns = []
        for index, feature in enumerate(self.forest.body.features):
            column = self.columns[index] if index in tested else None
            columns.append(_learnable(feature, column, rows))
        forest, source = self.forest, self.table.source
        labels, y = forest.body.labels, self.answers[rows]
        features = forest.body.features
        return Dataset(forest.target, features, tuple(columns), labels, y, (), source)

    def summaries(self, rows: Positions) -> tuple[ir.ColumnSummary, ...]:
        """What the columns have in some rows; nothing if the table lacks one."""
        features = self.forest.body.features
        pairs = zip(features, self.columns, strict=True)
        return summaries(features, [_learnable(*pair, rows) for pair in pairs])

    def notes(self) -> list[str]:
        """A note on each column with categories that the forest does not know."""
        pairs = zip(self.forest.body.features, self.columns, strict=True)
        counts = [(each.name, _unseen(each, column)) for each, column in pairs]
        return [
            f"column {name!r} has categories that the forest does not know, in"
            f" {words.quantity(count, 'row')}: they are learned from as missing values"
            for name, count in counts
            if count
        ]

    def value(self, index: int, row: int) -> ir.Value:
        """The value of a feature that the forest tests."""
        feature, column = self.forest.body.features[index], self.columns[index]
        assert column is not None
        if feature.kind is ir.Kind.NUMERIC:
            number = float(column[row])
            return None if isnan(number) else number
        code = int(column[row])
        if code < len(feature.categories):
            return feature.categories[code] if code >= 0 else None
        kept = np.array([row], np.intp)
        raw = Raw.of(self.table, feature.name, frozenset(self.na_values), kept)
        found: ir.Value = raw.distinct().typed(feature.type)[0]
        return found


def answers_of(
    forest: ir.ForestProgram, table: RawTable, reading: ReadOptions
) -> Answered:
    na = tuple(dict.fromkeys((*forest.na_values, *reading.na_values)))
    table = with_dates(table, forest.dates, frozenset(na))
    features, tested = forest.body.features, required_features(forest.body)
    present = [i for i, each in enumerate(features) if each.name in table.places]
    columns = encode(features, table, {*tested, *present}, na)
    found = answers(forest.body, columns, table.rows)
    if not forest.body.labels and len(found):
        where = f"row {1 + int(np.isinf(found).argmax())}: the forest's "
        check_range(forest.target, float(np.abs(found).max()), len(found), where)
    return Answered(forest, table, na, columns, found)


def _learnable(feature: ir.Feature, column: Array | None, rows: Positions) -> Array:
    """A column as a learner sees it: its unseen categories are missing."""
    if feature.kind is ir.Kind.NUMERIC:
        return np.full(len(rows), np.nan) if column is None else column[rows]
    if column is None:
        return np.full(len(rows), -1, np.int32)
    codes = column[rows]
    return np.where(codes < len(feature.categories), codes, -1).astype(np.int32)


def _unseen(feature: ir.Feature, column: Array | None) -> int:
    if column is None or feature.kind is ir.Kind.NUMERIC:
        return 0
    return int((column >= len(feature.categories)).sum())
