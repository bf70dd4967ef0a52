"""The histogram of a column: how often each value occurs at each node of a level."""

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
ROOM = 4  # keys for each case; with more, only the keys that occur are counted


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The values that occur at each node, in order: a bar for each."""

    nodes: Positions  # those with a known value
    segments: Segments  # the bars of each of these nodes
    node: Positions  # of each bar
    code: Positions  # of its value
    sizes: Array  # its rows
    weights: Array  # the same array, where rows have no weights
    sums: list[Array]  # of labels: the cases of every label, the first included

    @classmethod
    def of_keys(
        cls, found: KeySums, used: Positions, width: int, key: Positions | None = None
    ) -> Histogram:
        """Bars from the sums of some keys: `width` keys for each node, one per code.

        `key` are these keys, if the sums are not listed by key.
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
        """Some segments with their bars by the share of a label, or by the mean.

        `by` has the label of each. Also returned: where the bars were.
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
        """What bars are sorted by: the share of a label, or the mean.

        Sums of numbers are rounded to units, so equal means may differ by a unit. Such
        means count as equal, and the bars keep their order.
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
    codes: Array,  # of the cases of the nodes
    size: int,  # the code of a missing value
    nodes: Segments,
    summands: int,
    sum_by_key: Callable[[Array, int], KeySums],  # from a key of each case
) -> Histogram:
    """Count how often each code occurs at each node."""
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
