"""Which rows satisfy which conditions, eight rows to a byte, in words of 64.

Rules have most of their conditions in common, so each condition is tried once over all
rows and kept as bits. What is kept is bounded: conditions that were not asked for
lately go first, and are tried again when they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from treecompile.batch import Columns, holds
from treecompile.ir import Condition, Feature

Bits = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Positions = NDArray[np.intp]

KEPT = 256 << 20  # bytes


class ConditionBits:
    """The truth of conditions over the rows of some columns."""

    def __init__(
        self, features: Sequence[Feature], columns: Columns, rows: int
    ) -> None:
        self.features, self.columns, self.rows = features, columns, rows
        self._kept: OrderedDict[Condition, Bits] = OrderedDict()
        self._most = max(64, KEPT // max(1, rows // 8))

    def of(self, condition: Condition) -> Bits:
        """Where a condition holds; the bits behind the last row are 0."""
        found = self._kept.get(condition)
        if found is not None:
            self._kept.move_to_end(condition)
            return found
        column = self.columns[condition.feature]
        assert column is not None
        found = packed(holds(condition, self.features[condition.feature], column))
        self._kept[condition] = found
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found

    def of_all(self, conditions: Sequence[Condition]) -> Bits:
        """Where all of some conditions hold."""
        if not conditions:
            return packed(np.ones(self.rows, np.bool_))
        found = self.of(conditions[0])
        for condition in conditions[1:]:
            found = found & self.of(condition)
        return found

    def mask(self, conditions: Sequence[Condition]) -> Mask:
        """The same as a mask over the rows."""
        return unpacked(self.of_all(conditions), self.rows).view(np.bool_)

    def table(self, conditions: Sequence[Condition]) -> NDArray[np.uint8]:
        """The truth of each condition (a line) for each row: 0 or 1."""
        if not conditions:
            return np.zeros((0, self.rows), np.uint8)
        return unpacked(np.stack([self.of(c) for c in conditions]), self.rows)


def packed(mask: Mask) -> Bits:
    """A mask as bits, with zeros behind the last row up to a whole word."""
    bits = np.packbits(mask)
    return np.pad(bits, (0, -len(bits) % 8))


def as_words(bits: Bits) -> NDArray[np.uint64]:
    """The same bits, 64 rows at once."""
    return np.ascontiguousarray(bits).view(np.uint64)


def unpacked(bits: Bits, rows: int) -> NDArray[np.uint8]:
    """Bits as bytes that are 0 or 1."""
    return np.unpackbits(bits, axis=-1, count=rows)
