"""A column with few values, or with categories: counted rather than sorted.

The cases of a level are counted in a table of nodes by values. The sums to the left of
a cut run over the values that occur at a node, in their order, or for categories in the
order of the share of a label or of the mean. Where no order is sure to lead to the best
subset of categories, and they are few, all subsets are tried.
"""

from __future__ import annotations

import numpy as np

from treecompile.ir import Feature, Kind
from treecompile.learners.blocks import Blocks, count_blocks
from treecompile.learners.cuts import Sides, too_few
from treecompile.learners.level import (
    LEFT,
    RIGHT,
    SUBSET,
    Divided,
    Found,
    Level,
    Terms,
    Test,
    chance_of_cuts,
    in_two,
    thresholds,
)
from treecompile.learners.responses import Rows
from treecompile.learners.stretches import Array, Floats, Mask, Positions
from treecompile.learners.subsets import MOST_SEARCHED, is_in_subset, search_subsets


class Counted:
    """A column of codes: categories, the ranks of an ordinal feature, few numbers."""

    branches = 2

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
        blocks = count_blocks(
            self.codes, self.size, level.rows, level.nodes, level.response
        )
        return search_blocks(level, blocks, self.is_ordered)

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
        return in_two(level, tests, found.left[some], found.right[some])

    def _divide_categories(
        self, level: Level, found: Found, some: Positions, rows: Rows
    ) -> Divided:
        assert found.blocks is not None
        is_left, divided = divide_categories(level, self.feature, found, some)
        self._send(level, found.blocks, rows, is_left)
        return divided

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


# --- counted blocks, wherever they were counted ---------------------------------------


def search_blocks(level: Terms, blocks: Blocks, is_ordered: bool) -> Found:
    """The best split in two of the values of every node."""
    found = Found.nothing(len(level.opened.sizes), blocks)
    if not len(blocks.known):
        return found
    doubtful = np.zeros(len(blocks.known), np.bool_)
    # With three labels or more, each of them puts the categories in order.
    labels = len(blocks.sums)
    for by in range(1 if is_ordered or labels <= 2 else labels):
        ordered = blocks if is_ordered else blocks.ordered(by)[0]
        doubtful |= _cut(level, ordered, by, found)
    if not is_ordered:
        doubtful |= not level.measure.is_concave
        if labels > 2:
            totals = [blocks.parts.sums(each) > 0 for each in blocks.sums]
            doubtful |= np.sum(totals, axis=0) > 2
        lengths = blocks.parts.lengths
        doubtful &= (lengths > 2) & (lengths <= MOST_SEARCHED)
        search_subsets(level, blocks, np.flatnonzero(doubtful), found)
    return found


def _cut(level: Terms, ordered: Blocks, by: int, found: Found) -> Mask:
    """Try the cuts of one order; where is a better one barred as too small?"""
    tie = level.opened.tie[ordered.known]
    sides = sides_of(ordered, level.min_leaf)

    def lefts() -> map[Array]:
        summands = (each.copy() for each in ordered.summands())
        return map(ordered.parts.run, summands, sides.totals)

    every = level.measure.cuts(lefts(), sides)
    doubtful: Mask = np.zeros(len(ordered.known), np.bool_)
    free = None
    if level.min_leaf > 1:
        free = np.maximum.reduceat(every, ordered.parts.starts)
    scores, cut = sides.best(every, tie)
    if free is not None:
        doubtful = free > scores + tie
    if level.chi2 is not None:
        scores[chance_of_cuts(level, lefts(), sides, cut)] = -np.inf
    scores *= sides.counts / level.opened.sizes[ordered.known]
    better = np.flatnonzero(scores > found.gain[ordered.known] + tie)
    here, at = ordered.known[better], cut[better]
    found.gain[here], found.position[here] = scores[better], at
    found.order[here] = by
    found.left[here] = sides.left[at]
    found.right[here] = sides.counts[better] - sides.left[at]
    return doubtful


def sides_of(blocks: Blocks, min_leaf: int) -> Sides:
    """What lies on each side of the cuts behind every block."""
    parts = blocks.parts
    rows = parts.run(blocks.sizes.copy(), parts.sums(blocks.sizes))
    barred = too_few(parts, rows, min_leaf)
    counts = parts.sums(blocks.weights)
    left = rows
    if blocks.weights is not blocks.sizes:
        left = parts.run(blocks.weights.copy(), counts)
    totals = [parts.sums(each) for each in blocks.summands()]
    whole = counts.astype(np.float64)
    return Sides.of(parts, left.astype(np.float64), whole, totals, barred)


def divide_categories(
    level: Terms, feature: Feature, found: Found, some: Positions
) -> tuple[Mask, Divided]:
    """Which blocks of some nodes go to the left, and the splits."""
    blocks = found.blocks
    assert blocks is not None
    is_left = _left_blocks(blocks, found, some)
    # The side with the first category is the one on the left.
    parts = np.searchsorted(blocks.known, some)
    places = blocks.parts.within(parts)
    lengths = blocks.parts.lengths[parts]
    first = is_left[blocks.parts.starts[parts]]
    left, right = found.left[some], found.right[some]
    left, right = np.where(first, left, right), np.where(first, right, left)
    is_left[places] ^= np.repeat(~first, lengths)
    names = feature.categories
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
    return is_left, in_two(level, tests, left, right)


def _left_blocks(blocks: Blocks, found: Found, some: Positions) -> Mask:
    """Which blocks of some nodes are on the left."""
    is_left = np.zeros(len(blocks.code), np.bool_)  # of blocks in their first order
    for by in np.unique(found.order[some]).tolist():
        mine = some[found.order[some] == by]
        parts = np.searchsorted(blocks.known, mine)
        places = blocks.parts.within(parts)
        lengths = blocks.parts.lengths[parts]
        chosen = np.repeat(found.position[mine], lengths)
        if by == SUBSET:
            starts = np.repeat(blocks.parts.starts[parts], lengths)
            is_left[places] = is_in_subset(chosen, places - starts)
        else:
            _, order = blocks.ordered(by)
            is_left[order[places]] = places <= chosen
    return is_left
