"""A column of categories that splits into all of them at once.

A missing value counts as the most common category at the node. A category that no case
of a node has gets a branch all the same, without cases.
"""

from __future__ import annotations

import numpy as np

from treecompile.ir import Category, Feature
from treecompile.learners.blocks import Blocks, count_blocks
from treecompile.learners.criteria import Table, by_chance
from treecompile.learners.level import LEFT, Divided, Found, Level, Terms
from treecompile.learners.stretches import Array, Positions


class Multiway:
    """A column of codes."""

    def __init__(self, feature: Feature, codes: Array, size: int) -> None:
        self.codes = codes.astype(np.int32)  # `size` where it is missing
        self.size = self.branches = size
        self.test = tuple((category,) for category in feature.categories)

    def search(self, level: Level) -> Found:
        blocks = count_blocks(
            self.codes, self.size, level.rows, level.nodes, level.response
        )
        return search_branches(level, blocks)

    def divide(self, level: Level, found: Found, some: Positions) -> Divided:
        rows = level.rows.take(level.nodes.within(some))
        codes = self.codes.take(rows)
        is_known = codes < self.size
        level.side[rows[is_known]] = codes[is_known] + LEFT
        return divide_branches(level, self.test, found, some)


def search_branches(level: Terms, blocks: Blocks) -> Found:
    """What a branch for each value gains at every node."""
    assert level.measure.branches is not None
    found = Found.nothing(len(level.opened.sizes), blocks)
    if not len(blocks.known):
        return found
    table = _table(level, blocks)
    scores = level.measure.branches(table)
    least = np.minimum.reduceat(blocks.sizes, blocks.parts.starts)
    barred = (blocks.parts.lengths < 2) | (least < level.min_leaf)
    if level.chi2 is not None:
        sizes = level.real(level.opened.sizes[blocks.known])
        barred |= by_chance(table, level.chi2, sizes)
    found.gain[blocks.known] = np.where(barred, -np.inf, scores)
    return found


def _table(level: Terms, blocks: Blocks) -> Table:
    """Class counts, in which missing values are of the most common category."""
    counts = np.stack(blocks.sums, axis=1).astype(np.float64)
    opened = level.opened
    first = opened.sizes - sum(opened.totals)
    whole = np.stack([first, *opened.totals], axis=1)[blocks.known]
    known = np.add.reduceat(counts, blocks.parts.starts)
    nothing = np.zeros(len(blocks.known))
    _, common = blocks.parts.pick(blocks.weights.astype(np.float64), nothing)
    counts[common] += whole - known
    return Table(counts, blocks.parts)


def divide_branches(
    level: Terms, test: tuple[tuple[Category, ...], ...], found: Found, some: Positions
) -> Divided:
    """The splits of some nodes into all values."""
    blocks = found.blocks
    assert blocks is not None
    parts = np.searchsorted(blocks.known, some)
    places = blocks.parts.within(parts)
    weights = np.zeros((len(some), len(test)))
    line = np.repeat(np.arange(len(some)), blocks.parts.lengths[parts])
    weights[line, blocks.code[places]] = blocks.weights[places]
    heaviest = weights.argmax(axis=1) + LEFT
    return Divided([test] * len(some), level.real(weights).tolist(), heaviest)
