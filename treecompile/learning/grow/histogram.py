"""The histogram of a column: how often each value occurs at each node of a level.

It consists of bars: a bar is one bin of one node, with the rows that fall into it and
the sums of their target. Only bars that have rows are stored, node after node.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treecompile.learning.grow.bin_counts import KeySums
from treecompile.learning.grow.responses import SPARE_BITS
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Positions

# Means are equal if they differ by less than this share of the average distance from
# the mean of the node. The distances of a node add up to about 2^60 of its units.
EQUAL = 2.0**-36
ALL_DISTANCES = 2.0 ** (SPARE_BITS - 1)
ROOM = 4  # sums for each case; with more, only the keys that occur are counted


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """A bar for each value that occurs at a node, in the order of node and code."""

    nodes: Positions  # the nodes with a known value
    segments: Segments  # the bars of each of these nodes
    node: Positions  # for each bar: its node
    code: Positions  # for each bar: the code of its value
    sizes: Array  # for each bar: the number of its rows
    weights: Array  # for each bar: their weight; the same array if rows have no weights
    # For each label, the first included: its cases; or one array of sums of numbers.
    sums: list[Array]

    @classmethod
    def of_keys(
        cls, found: KeySums, used: Positions, width: int, key: Positions | None = None
    ) -> Histogram:
        """Make bars from the sums at the places `used`.

        A place is the key, node * width + code, unless `key` gives the keys of `used`.
        """
        node, code = np.divmod(used if key is None else key, width)
        starts = np.flatnonzero(np.diff(node, prepend=-1))
        lengths = np.diff(starts, append=len(node))
        sizes = found.sizes[used]
        is_weighted = found.weights is not found.sizes
        return cls(
            node[starts],
            Segments(starts, lengths),
            node,
            code,
            sizes,
            found.weights[used] if is_weighted else sizes,
            [each[used] for each in found.sums],
        )

    def summands(self) -> list[Array]:
        return self.sums[1:] if len(self.sums) > 1 else self.sums

    def ordered(self, of: Positions, by: Positions) -> tuple[Histogram, Positions]:
        """Sort the bars of the segments `of` by the share of a label, or by the mean.

        `by` is the label for each segment. Also returns where the bars were before.
        """
        places, lengths = self.segments.within(of), self.segments.lengths[of]
        segment = np.repeat(np.arange(len(of)), lengths)
        keys = self._keys(np.repeat(by, lengths), places)
        order = places[np.lexsort((keys, segment))]
        sizes = self.sizes[order]
        is_weighted = self.weights is not self.sizes
        ordered = Histogram(
            self.nodes[of],
            Segments.of(lengths),
            self.node[order],
            self.code[order],
            sizes,
            self.weights[order] if is_weighted else sizes,
            [each[order] for each in self.sums],
        )
        return ordered, order

    def _keys(self, by: Positions, places: Positions) -> Array:
        """Return the sort keys of bars: the share of a label, or the mean.

        Sums of numbers are rounded to units, so equal means may differ by a unit. Such
        means count as equal, and their bars keep their order.
        """
        if len(self.sums) > 1:
            sums = np.stack(self.sums)[by, places]
            shares: Array = sums / self.weights[places]
            return shares
        keys = self.sums[0] / self.weights
        distance = ALL_DISTANCES / self.segments.sums(self.weights)
        rounded: Array = np.rint(keys / self.segments.spread(EQUAL * distance))
        return rounded[places]


def count_values(
    codes: Array,  # for each case, node after node
    size: int,  # the code of a missing value
    nodes: Segments,
    summands: int,
    sum_by_key: Callable[[Array, int], KeySums],  # from the key of each case
) -> Histogram:
    """Count how often each known code occurs at each node."""
    width, count = size + 1, len(nodes.lengths)
    keys = nodes.spread(np.arange(count) * width)
    keys += codes
    key_count, occurring = count * width, None
    if key_count * (1 + summands) > ROOM * len(keys) + 4096:
        occurring, keys = np.unique(keys, return_inverse=True)
        key_count = len(occurring)
    found = sum_by_key(keys, key_count)
    used = np.flatnonzero(found.sizes)
    key = used if occurring is None else occurring
    is_known = key % width != size
    return Histogram.of_keys(found, used[is_known], width, key[is_known])
