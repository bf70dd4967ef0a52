"""A column of many numbers, counted by bins where nodes have many rows, yet exact.

`search` finds the best cuts between bins. If a bin may hold a better cut inside
(`bars`), then `refine` opens it: the bin is divided into finer bins, and if one of
these may still hold the best cut, its rows are sorted, and every number in it becomes
a bar of its own. So the best cut is exactly the one that sorting all rows would find,
at little more than the cost of a histogram.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from treecompile.learning.grow.bars import (
    BinBars,
    BinnedLevel,
    bars_of,
    bars_with,
    counter_of,
    to_open,
)
from treecompile.learning.grow.bin_counts import CHUNK, BinnedRows
from treecompile.learning.grow.binning import MISSING, Codes
from treecompile.learning.grow.histogram_splits import search_histogram
from treecompile.learning.grow.search import (
    LEFT,
    NOWHERE,
    RIGHT,
    CandidateSplits,
    FeatureSplits,
    RowLevel,
    differ,
    ends_of,
    in_two,
)
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.ir import Feature

FINER_BITS = 6
FINER = 1 << FINER_BITS  # the number of finer bins of a bin that is opened

# Returns which of some bars may hold a cut of interest.
Choose = Callable[[BinBars, Positions], Positions]


class BinnedColumn:
    """A column that is searched by bins; C4.5 uses it too, without `search`."""

    def __init__(self, feature: Feature, values: Floats, codes: Codes) -> None:
        self.feature, self.values, self.codes = feature, values, codes
        self.counted: list[Array] = []  # the sums by bins at the last level

    def search(self, level: RowLevel) -> CandidateSplits:
        """Find the best cuts between bins."""
        return search_histogram(level, self.count(level), is_ordered=True)

    def count(self, level: BinnedLevel) -> BinBars:
        """Count the bars of a level; to be called for every level in turn."""
        counter = counter_of(level)
        self.counted = counter.count(self.codes, self.counted)
        return bars_of(counter, self.counted)

    def beside(self, numbers: Floats) -> Positions:
        """Return rows that include, for each number, the greatest value up to it."""
        of_code = np.full(MISSING + 1, -np.inf)
        np.fmax.at(of_code, self.codes, self.values)  # ignores NaN
        upto = np.maximum.accumulate(of_code[:MISSING])
        above = np.searchsorted(upto, numbers, side="right")  # the first code above
        below = np.searchsorted(upto, upto[np.maximum(above - 1, 0)])
        is_asked = np.zeros(MISSING + 1, np.bool_)
        is_asked[above] = is_asked[below] = True
        return np.flatnonzero(is_asked.take(self.codes))

    # ------------------------------------------------------------ opening bins

    def refine(
        self, level: RowLevel, found: CandidateSplits, least: Floats
    ) -> CandidateSplits:
        """Open bins, and return the best cuts of all that gain at least `least`."""
        bars = found.histogram
        assert isinstance(bars, BinBars)
        some = to_open(level, least, bars)
        if not len(some):
            return found
        bars = self.opened(level, bars, some, partial(to_open, level, least))
        return search_histogram(level, bars, is_ordered=True)

    def opened(
        self, level: BinnedLevel, bars: BinBars, some: Positions, choose: Choose
    ) -> BinBars:
        """Divide some bars into finer ones, and sort the rows of those of interest."""
        rows, bar = self._rows_of(level, bars, some)
        bars, bar, some = self._divided(level, bars, rows, bar, some)
        some = choose(bars, some)
        if not len(some):
            return bars
        is_open = np.zeros(len(bars.code), np.bool_)
        is_open[some] = True
        chosen = np.flatnonzero(is_open.take(bar))
        return self._sorted(level, bars, rows.take(chosen), bar.take(chosen))

    def _rows_of(
        self, level: BinnedLevel, bars: BinBars, some: Positions
    ) -> tuple[Positions, Array]:
        """Return the rows in some bars, and the bar of each row."""
        bins, node = counter_of(level).bins, bars.node[some]
        is_first = np.diff(node, prepend=-1) != 0
        of_key = np.full((np.count_nonzero(is_first), bins.width), -1)
        of_key[np.cumsum(is_first) - 1, bars.code[some] >> bins.shift] = some
        found = [
            BinnedRows.of(rows, part, bins).find(self.codes, of_key[mine].ravel())
            for mine, rows, part in _parts(level, node[is_first])
        ]
        found_rows, bar = map(np.concatenate, zip(*found, strict=True))
        return found_rows, bar

    def _divided(
        self,
        level: BinnedLevel,
        bars: BinBars,
        rows: Positions,
        bar: Array,
        some: Positions,
    ) -> tuple[BinBars, Positions, Positions]:
        """Replace the bars `some` by finer ones.

        `rows` are the rows of these bars, and `bar` is the bar of each row. Returns all
        bars, the new bar of each row, and the positions of the new bars.
        """
        shift = counter_of(level).bins.shift - FINER_BITS
        rank = np.zeros(len(bars.code), np.intp)
        rank[some] = np.arange(0, len(some) * FINER, FINER)
        keys = rank.take(bar)
        keys += (self.codes.take(rows) >> shift) & (FINER - 1)
        count = len(some) * FINER
        found = level.response.sum_by_key(rows, keys.copy(), count, is_bounded=True)
        used = np.flatnonzero(found.sizes)
        old, part = np.divmod(used, FINER)
        old = some[old]
        code = bars.code[old] - ((FINER - 1 - part) << shift)
        made, places = bars_with(
            bars, old, code, np.full(len(old), np.nan), found, used
        )
        number = np.zeros(count, np.intp)
        number[used] = places
        return made, number.take(keys), places

    def _sorted(
        self, level: BinnedLevel, bars: BinBars, rows: Positions, bar: Positions
    ) -> BinBars:
        """Replace the bars of the given rows by a bar for each distinct number."""
        values = self.values.take(rows)
        # A frequent number, such as 0, is often alone in its bar.
        one = np.zeros(len(bars.code))
        one[bar] = values
        varies = np.zeros(len(bars.code), np.bool_)
        varies[bar.take(np.flatnonzero(values != one.take(bar)))] = True
        number = bars.number.copy()
        number[bar] = values  # correct for bars of one number; others are replaced
        bars = replace(bars, number=number)
        inside = np.flatnonzero(varies.take(bar))
        if not len(inside):
            return bars
        rows, bar, values = rows.take(inside), bar.take(inside), values.take(inside)
        order = np.lexsort((values, bar))
        rows, bar, values = rows.take(order), bar.take(order), values.take(order)
        is_new = np.ones(len(rows), np.bool_)
        is_new[1:] = differ(values)
        is_new[1:] |= bar[1:] != bar[:-1]
        starts = np.flatnonzero(is_new)
        keys, used = np.cumsum(is_new) - 1, np.arange(len(starts))
        found = level.response.sum_by_key(rows, keys, len(starts))
        code = self.codes.take(rows.take(starts)).astype(np.intp)
        number = values.take(np.append(starts[1:], len(values)) - 1)  # the greatest
        return bars_with(bars, bar.take(starts), code, number, found, used)[0]

    # ------------------------------------------------------------ dividing

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        bars, position = found.histogram, found.position[some]
        assert isinstance(bars, BinBars)
        beside = [
            self._send(level, bars, position[mine], rows, nodes.lengths)
            for mine, rows, nodes in _parts(level, some)
        ]
        low, high = map(np.concatenate, zip(*beside, strict=True))
        ends = ends_of(self.feature, low, high)
        return in_two(level, found.left[some], found.right[some], ends)

    def _send(
        self,
        level: RowLevel,
        bars: BinBars,
        position: Positions,
        rows: Positions,
        lengths: Positions,
    ) -> tuple[Floats, Floats]:
        """Send the rows of some nodes to their sides; return the values beside cuts.

        `position` is the bar of each node that its cut follows.
        """
        shift = counter_of(level).bins.shift
        codes = self.codes.take(rows)
        split = np.repeat(np.arange(len(position)), lengths)
        cut = np.repeat(bars.code[position].astype(np.uint16), lengths)
        side = (codes > cut).astype(level.side.dtype)
        side += LEFT
        side[codes == MISSING] = NOWHERE
        # If a cut divides numbers that have the same code, rows go by their number.
        number = bars.number[position]
        beside = np.flatnonzero(codes == cut)
        goes_on = self.values.take(rows.take(beside)) > number.take(split.take(beside))
        side[beside[goes_on]] = RIGHT
        level.side[rows] = side
        # The numbers beside a cut lie in the bins of the bars beside it.
        bins = codes >> shift
        ends = []
        for bar, mine, extreme in (
            (position, LEFT, np.maximum),
            (position + 1, RIGHT, np.minimum),
        ):
            wanted = (bars.code[bar] >> shift).astype(np.uint16)
            near = np.flatnonzero((bins == np.repeat(wanted, lengths)) & (side == mine))
            values = self.values.take(rows.take(near))
            starts = np.flatnonzero(np.diff(split.take(near), prepend=-1))
            ends.append(extreme.reduceat(values, starts))
        low, high = ends
        return low, high


def _parts(
    level: BinnedLevel, some: Positions
) -> Iterator[tuple[slice, Positions, Segments]]:
    """Yield the nodes, rows and segments of a few nodes at a time, to fit the cache."""
    for part in Segments.of(level.nodes.lengths[some]).parts(CHUNK):
        nodes = some[part]
        rows = level.nodes.take(level.rows, nodes)
        yield part, rows, Segments.of(level.nodes.lengths[nodes])
