"""The values that occur at the nodes of a level, counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treecompile.learners.responses import Rows, Tallied
from treecompile.learners.stretches import Array, Positions, Stretches

EQUAL = 2.0**-36  # of the largest mean at a node: less is no difference
ROOM = 4  # cells of a table for each case; with more, only what occurs is counted


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """The values that occur at each node, in order, with their cases."""

    known: Positions  # nodes with a known value
    parts: Stretches  # one for each of them
    node: Positions  # of each block
    code: Positions
    sizes: Array  # rows
    weights: Array  # the same, where rows have no weights
    sums: list[Array]  # of labels: of every label, the first too

    def summands(self) -> list[Array]:
        return self.sums[1:] if len(self.sums) > 1 else self.sums

    def ordered(self, by: int) -> tuple[Blocks, Positions]:
        """The blocks of each node by their share of a label or by their mean."""
        order = np.lexsort((self._keys(by), self.node))
        ordered = Blocks(
            self.known,
            self.parts,
            self.node,
            self.code[order],
            self.sizes[order],
            self.weights[order],
            [each[order] for each in self.sums],
        )
        return ordered, order

    def _keys(self, by: int) -> Array:
        """What blocks are sorted by: the share of a label, or the mean.

        Sums of numbers are rounded to units, so that equal means may differ by one of
        them: they count as equal, and the blocks keep their order.
        """
        keys = self.sums[by] / self.weights
        if len(self.sums) > 1:
            return keys
        largest = np.maximum.reduceat(np.abs(keys), self.parts.starts)
        least = np.maximum(self.parts.spread(largest) * EQUAL, np.finfo(float).tiny)
        rounded: Array = np.rint(keys / least)
        return rounded


class Countable(Protocol):
    """The part of a response that is needed to count values."""

    @property
    def summands(self) -> int:
        """How many sums there are for each cell."""

    def tally(self, keys: Array, rows: Rows, cells: int) -> Tallied:
        """What the rows with each key add up to."""


def count_blocks(
    codes: Array, size: int, rows: Rows, nodes: Stretches, response: Countable
) -> Blocks:
    """Count the codes of the rows of nodes; `size` is the code of a missing value."""
    width, count = size + 1, len(nodes.lengths)
    keys = nodes.spread(np.arange(count) * width)
    keys += codes.take(rows)
    cells, occurring = count * width, None
    if cells * (1 + response.summands) > ROOM * len(keys) + 4096:
        occurring, keys = np.unique(keys, return_inverse=True)
        cells = len(occurring)
    tallied = response.tally(keys, rows, cells)
    used = np.flatnonzero(tallied.sizes)
    key = used if occurring is None else occurring
    is_known = key % width != size
    used, key = used[is_known], key[is_known]
    node, code = np.divmod(key, width)
    starts = np.flatnonzero(np.diff(node, prepend=-1))
    lengths = np.diff(starts, append=len(node))
    sizes = tallied.sizes[used]
    is_weighted = tallied.weights is not tallied.sizes
    return Blocks(
        node[starts],
        Stretches(starts, lengths),
        node,
        code,
        sizes,
        tallied.weights[used] if is_weighted else sizes,
        [each[used] for each in tallied.sums],
    )
