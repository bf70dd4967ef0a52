"""The columns of a dataset, each in the form in which a level of nodes is searched."""

from __future__ import annotations

import numpy as np

from treecompile.ir import Feature, Kind
from treecompile.learners.counted_column import Counted
from treecompile.learners.level import Column
from treecompile.learners.multiway_column import Multiway
from treecompile.learners.responses import Rows
from treecompile.learners.sorted_column import Sorted
from treecompile.learners.stretches import Array
from treecompile.learners.thresholds import LARGEST

FEW_VALUES = 64  # as many distinct numbers are counted rather than sorted


def make_column(
    feature: Feature, values: Array, *, is_multiway: bool = False
) -> Column:
    """The column in the form that suits it; of categories, in two or in all."""
    if feature.kind is Kind.CATEGORICAL:
        size = len(feature.categories)
        form = Multiway if is_multiway else Counted
        return form(feature, np.where(values < 0, size, values), size)
    if feature.kind is Kind.ORDINAL:
        if len(feature.categories) <= FEW_VALUES:
            size = len(feature.categories)
            return Counted(feature, np.where(values < 0, size, values), size)
        values = np.where(values < 0, np.nan, values.astype(np.float64))
    order = np.argsort(values)  # in any order where they are equal: sums are exact
    known = len(values) - np.count_nonzero(np.isnan(values))
    rows: Rows = order[:known].astype(np.int32)
    ordered = values.take(rows)
    steps = ordered[1:] != ordered[:-1]
    # No finite threshold divides these two: let them count as one value.
    steps &= (ordered[1:] != -LARGEST) | (ordered[:-1] != -np.inf)
    distinct = 1 + int(np.count_nonzero(steps))
    if distinct == len(rows):
        return Sorted(feature, values, rows, None)
    ranks = np.empty(len(values), np.int32)
    ranks[rows] = np.concatenate(([0], np.cumsum(steps, dtype=np.int32)))
    if distinct > FEW_VALUES:
        return Sorted(feature, values, rows, ranks)
    ranks[np.isnan(values)] = distinct
    firsts = np.concatenate(([0], np.flatnonzero(steps) + 1, [len(rows)]))
    low, high = ordered[firsts[:-1]], ordered[firsts[1:] - 1]
    return Counted(feature, ranks, distinct, (low, high))
