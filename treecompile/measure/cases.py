"""Holds rows with known answers, and finds the conditions that each row satisfies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from treecompile.model import ir
from treecompile.model.arrays import Array, Floats, Mask
from treecompile.model.batch import Columns, holds
from treecompile.model.errors import DataError
from treecompile.model.file.limits import MOST_SQUARES


def squared_errors(actual: Array, predicted: Array | float) -> Floats:
    """Return the squared difference for each row; refuse a sum that is too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.asarray((actual - predicted) ** 2, np.float64)
        check_squares(float(squares.sum()))
    return squares


def check_squares(total: float) -> None:
    """Refuse a sum of squared errors that a model file could not hold."""
    if not total <= MOST_SQUARES:  # or NaN
        raise DataError(
            f"the squared errors of the predictions add up to more than"
            f" {MOST_SQUARES:g}: use a larger unit for the target"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Columns as `dataset.encode` makes them, and an answer for every row."""

    columns: Columns
    y: Array  # codes into the labels, or doubles

    @property
    def rows(self) -> int:
        return len(self.y)

    def by_label(self, mask: Mask, labels: int) -> Array:
        """Count the rows in the mask that have each label."""
        return np.bincount(self.y[mask], minlength=labels)

    def bits(self, body: ir.Body) -> ConditionBits:
        return ConditionBits(body.features, self.columns, self.rows)

    def errors(self, value: ir.Label, body: ir.Body) -> Floats:
        """Return the error of an answer per row: 1 if wrong, or squared distance."""
        if body.labels:
            return np.asarray(self.y != body.labels.index(value), np.float64)
        assert isinstance(value, float)
        return squared_errors(self.y, value)

    def stats(self, mask: Mask, body: ir.Body) -> ir.Stats | None:
        """Return the statistics of answers of rows in the mask; None without rows."""
        answers = self.y[mask]
        if not len(answers):
            return None
        if body.labels:
            counts = self.by_label(mask, len(body.labels))
            return ir.ClassCounts(tuple(map(float, counts)))
        size = float(len(answers))
        mean = float(answers.sum()) / size
        return ir.Moments(size, mean, float(((answers - mean) ** 2).sum()))


def has_answer(y: Array, body: ir.AnyBody) -> Mask:
    """Mark the rows that have an answer that the model knows."""
    return (y >= 0) & (y < len(body.labels)) if body.labels else ~np.isnan(y)


def known_cases(columns: Columns, y: Array, body: ir.AnyBody) -> Cases:
    """Return the rows whose answer is not missing and known to the model."""
    known = has_answer(y, body)
    if known.all():
        return Cases(columns, y)
    kept = [None if column is None else column[known] for column in columns]
    return Cases(kept, y[known])


# ---------------------------------------------------------------- conditions as bits

Bits = NDArray[np.uint8]  # eight rows to a byte, padded to words of 64 rows
KEPT = 256 << 20  # bytes


class ConditionBits:
    """Finds which rows satisfy which conditions.

    Rules share most of their conditions, so each condition is evaluated once over all
    rows and kept as bits. The least recently used conditions are dropped when the
    memory limit is reached, and evaluated again when needed.
    """

    def __init__(
        self, features: Sequence[ir.Feature], columns: Columns, rows: int
    ) -> None:
        self.rows = rows

        @lru_cache(max(64, KEPT // max(1, rows // 8)))
        def of(condition: ir.Condition) -> Bits:
            """Return where a condition holds; the bits after the last row are 0."""
            column = columns[condition.feature]
            assert column is not None
            return packed(holds(condition, features[condition.feature], column))

        self.of = of  # no method: the bits are freed with this object, not later

    def of_all(self, conditions: Sequence[ir.Condition]) -> Bits:
        """Return where all of the conditions hold, as bits."""
        if not conditions:
            return packed(np.ones(self.rows, np.bool_))
        found = self.of(conditions[0])
        for condition in conditions[1:]:
            found = found & self.of(condition)
        return found

    def mask(self, conditions: Sequence[ir.Condition]) -> Mask:
        """Return where all of the conditions hold, as a mask over the rows."""
        return unpacked(self.of_all(conditions), self.rows).view(np.bool_)

    def table(self, conditions: Sequence[ir.Condition]) -> NDArray[np.uint8]:
        """Return a line for each condition, with 0 or 1 for each row."""
        if not conditions:
            return np.zeros((0, self.rows), np.uint8)
        return unpacked(np.stack([self.of(c) for c in conditions]), self.rows)


def packed(mask: Mask) -> Bits:
    """Turn a mask into bits, with zeros after the last row up to a whole word."""
    bits = np.packbits(mask)
    return np.pad(bits, (0, -len(bits) % 8))


def as_words(bits: Bits) -> NDArray[np.uint64]:
    """View bits as words of 64 rows."""
    return np.ascontiguousarray(bits).view(np.uint64)


def unpacked(bits: Bits, rows: int) -> NDArray[np.uint8]:
    """Turn bits into bytes that are 0 or 1."""
    return np.unpackbits(bits, axis=-1, count=rows)
