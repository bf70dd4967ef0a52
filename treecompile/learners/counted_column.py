"""A column with few values, or with categories: counted rather than sorted.

The cases of a level are counted in a table of nodes by values. The sums to the left of
a cut run over the values that occur at a node, in their order, or for categories in the
order of the share of a label or of the mean.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from treecompile.ir import Feature, Kind
from treecompile.learners.criteria import Sides
from treecompile.learners.level import (
    LEFT,
    RIGHT,
    Blocks,
    Divided,
    Found,
    Level,
    Test,
    thresholds,
)
from treecompile.learners.responses import Rows
from treecompile.learners.stretches import Array, Floats, Mask, Positions, Stretches

ROOM = 4  # cells of a table for each case; with more, only what occurs is counted


class Tallied(Protocol):
    """The part of a response that a counted column needs."""

    @property
    def summands(self) -> int:
        """How many sums there are for each cell."""

    def tally(self, keys: Array, rows: Rows, cells: int) -> tuple[Array, list[Array]]:
        """How many rows have each key, and their sums: of labels, of every label."""


class Counted:
    """A column of codes: categories, the ranks of an ordinal feature, few numbers."""

    def __init__(
        self,
        feature: Feature,
        codes: Array,
        size: int,
        values: tuple[Floats, Floats] | None = None,
    ) -> None:
        self.feature = feature
        self.codes = codes.astype(np.int32)  # `size` where it is missing
        self.size = size
        self.values = values  # of numbers: the least and the greatest with each code
        self.is_ordered = feature.kind is not Kind.CATEGORICAL

    def search(self, level: Level) -> Found:
        nodes = len(level.nodes.lengths)
        blocks = self.blocks(level.rows, level.nodes, level.response)
        found = Found.nothing(nodes, blocks)
        if not len(blocks.known):
            return found
        tie = level.opened.tie[blocks.known]
        for by in self._orders(blocks):
            ordered = blocks if self.is_ordered else blocks.ordered(by)[0]
            sides = self._sides(ordered, level.min_leaf)
            running = map(
                ordered.parts.run,
                (each.copy() for each in ordered.summands()),
                sides.totals,
            )
            scores, cut = sides.best(level.gain(running, sides), tie)
            scores *= sides.counts / level.nodes.lengths[blocks.known]
            better = np.flatnonzero(scores > found.gain[blocks.known] + tie)
            here, at = blocks.known[better], cut[better]
            found.gain[here], found.position[here] = scores[better], at
            found.order[here] = by
            found.left[here] = sides.left[at]
            found.right[here] = sides.counts[better] - sides.left[at]
        return found

    def _orders(self, blocks: Blocks) -> range:
        """With three labels or more, each of them puts the categories in order."""
        labels = len(blocks.sums)
        return range(1 if self.is_ordered or labels <= 2 else labels)

    def blocks(self, rows: Rows, nodes: Stretches, response: Tallied) -> Blocks:
        """The values that occur at each node, counted."""
        width, count = self.size + 1, len(nodes.lengths)
        keys = nodes.spread(np.arange(count) * width)
        keys += self.codes.take(rows)
        cells, occurring = count * width, None
        if cells * (1 + response.summands) > ROOM * len(keys) + 4096:
            occurring, keys = np.unique(keys, return_inverse=True)
            cells = len(occurring)
        sizes, sums = response.tally(keys, rows, cells)
        used = np.flatnonzero(sizes)
        key = used if occurring is None else occurring
        is_known = key % width != self.size
        used, key = used[is_known], key[is_known]
        node, code = np.divmod(key, width)
        starts = np.flatnonzero(np.diff(node, prepend=-1))
        lengths = np.diff(starts, append=len(node))
        return Blocks(
            node[starts],
            Stretches(starts, lengths),
            node,
            code,
            sizes[used],
            [each[used] for each in sums],
        )

    def _sides(self, blocks: Blocks, min_leaf: int) -> Sides:
        parts = blocks.parts
        counts = parts.sums(blocks.sizes)
        left = parts.run(blocks.sizes.copy(), counts).astype(np.float64)
        totals = [parts.sums(each) for each in blocks.summands()]
        return Sides.of(parts, left, counts.astype(np.float64), totals, min_leaf)

    def divide(self, level: Level, found: Found, some: Positions) -> Divided:
        assert found.blocks is not None
        places = level.nodes.within(some)
        rows = level.rows.take(places)
        codes = self.codes.take(rows)
        lengths = level.nodes.lengths[some]
        if not self.is_ordered:
            return self._divide_categories(level, found, some, rows)
        position = found.position[some]
        code = found.blocks.code
        goes_left = codes <= np.repeat(code[position], lengths)
        is_known = codes < self.size
        level.side[rows[is_known]] = np.where(goes_left, LEFT, RIGHT)[is_known]
        low: Array = code[position]
        high: Array = code[position + 1]
        if self.values is not None:
            low, high = self.values[1][low], self.values[0][high]
        tests = thresholds(self.feature, low, high)
        return tests, found.left[some], found.right[some]

    def _divide_categories(
        self, level: Level, found: Found, some: Positions, rows: Rows
    ) -> Divided:
        blocks = found.blocks
        assert blocks is not None
        is_left = np.zeros(len(blocks.code), np.bool_)  # of blocks in their first order
        for by in self._orders(blocks):
            mine = some[found.order[some] == by]
            _, order = blocks.ordered(by)
            parts = np.searchsorted(blocks.known, mine)
            places = blocks.parts.within(parts)
            cut = np.repeat(found.position[mine], blocks.parts.lengths[parts])
            is_left[order[places]] = places <= cut
        # The side with the first category is the one on the left.
        parts = np.searchsorted(blocks.known, some)
        places = blocks.parts.within(parts)
        lengths = blocks.parts.lengths[parts]
        first = is_left[blocks.parts.starts[parts]]
        left, right = found.left[some], found.right[some]
        left, right = np.where(first, left, right), np.where(first, right, left)
        is_left[places] ^= np.repeat(~first, lengths)
        self._send(level, blocks, rows, is_left)
        names = self.feature.categories
        codes = blocks.code[places].tolist()
        sides = is_left[places].tolist()
        tests: list[Test] = []
        end = 0
        for length in lengths.tolist():
            start, end = end, end + length
            block = list(zip(codes[start:end], sides[start:end], strict=True))
            tests.append(
                (
                    tuple(names[code] for code, goes in block if goes),
                    tuple(names[code] for code, goes in block if not goes),
                )
            )
        return tests, left, right

    def _send(self, level: Level, blocks: Blocks, rows: Rows, is_left: Mask) -> None:
        """Send each row to the side of the block that counts it."""
        codes = self.codes.take(rows)
        is_known = codes < self.size
        rows, codes = rows[is_known], codes[is_known]
        width = self.size + 1
        keys = blocks.node * width + blocks.code
        wanted = level.of_row.take(rows).astype(np.intp) * width + codes
        block = np.searchsorted(keys, wanted)
        level.side[rows] = np.where(is_left.take(block), LEFT, RIGHT)
