"""Counts by node and bin."""

from __future__ import annotations

import numpy as np
import pytest

from treecompile.learning.grow import bin_counts
from treecompile.learning.grow.bin_counts import (
    BinCounter,
    BinnedRows,
    Bins,
    Lineage,
    Summed,
)
from treecompile.learning.grow.binning import BITS
from treecompile.learning.grow.responses import LabelResponse
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Positions

ROWS = 3_000
CLASSES = 3


def summed(rows: Positions, y: Array) -> Summed:
    return LabelResponse(y, tuple("abc")).summed(rows)


def counter(node: Array, y: Array, bits: int, lineage: Lineage | None) -> BinCounter:
    """Of the rows that have a node; -1 is none."""
    count = int(node.max()) + 1
    lineage = lineage or Lineage.all_counted(count)
    parts = [np.flatnonzero(node == each) for each in lineage.counted.tolist()]
    rows = np.concatenate(parts)
    nodes = Segments.of(np.array([*map(len, parts)]))
    own = summed(rows, y)
    binned = BinnedRows.of(rows, nodes, Bins(bits), own.lines, own.line)
    return BinCounter(binned, own, lineage)


def by_hand(node: Array, y: Array, codes: Array, bits: int) -> Array:
    table = np.zeros((node.max() + 1, CLASSES, 1 << bits), np.intp)
    for row in np.flatnonzero(node >= 0).tolist():
        table[node[row], y[row], codes[row] >> (BITS - bits)] += 1
    return table


@pytest.mark.parametrize("chunk", [7, 1_000, 1 << 16])
@pytest.mark.parametrize("bits", [(6, 6), (8, 5)])
def test_the_largest_child_is_not_counted(
    bits: tuple[int, int], chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bin_counts, "CHUNK", chunk)
    random = np.random.default_rng(chunk)
    codes = random.integers(0, 1 << BITS, ROWS).astype(np.uint16)
    y = random.integers(0, CLASSES, ROWS)
    parent = random.integers(0, 4, ROWS)
    # The first is split in two, the second in three; a child of the third is closed;
    # the last is a leaf.
    part = random.integers(0, 5, ROWS)
    node = np.select(
        [parent == 0, parent == 1, (parent == 2) & (part > 2)],
        [part // 3, 2 + part // 2, 5],
        -1,
    )
    before = counter(parent, y, bits[0], None).count(codes, [])
    assert (before[0] == by_hand(parent, y, codes, bits[0])).all()
    lengths = np.bincount(node[node >= 0])
    of_node = np.array([0, 0, 1, 1, 1, 2])
    lineage = Lineage.of(of_node, lengths, np.bincount(parent))
    assert lineage.derived.tolist() == [0, 2 + int(lengths[2:5].argmax())]
    assert sorted([*lineage.counted, *lineage.derived]) == list(range(6))
    (found,) = counter(node, y, bits[1], lineage).count(codes, before)
    assert (found == by_hand(node, y, codes, bits[1])).all()
