"""A column of many numbers at nodes of many rows: counted by bins, exact all the same.

A cut between two bins is exact. A cut inside a bin gains at most what `bounds` says. If
another cut at the node is known to gain more, the bin need not be opened. Else it is
divided into finer bins, and if one of these may still hold the best cut, its rows are
sorted, and every number in it becomes a bar of its own. So the best cut is that of
sorted rows to the last bit, for little more than the price of a histogram.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.learning.grow.binning import MISSING, Codes
from treecompile.learning.grow.bounds import (
    SLACK,
    TIES,
    deviation_bound,
    label_bound,
    rough_squares_bound,
)
from treecompile.learning.grow.histogram import Histogram
from treecompile.learning.grow.histogram_splits import search_histogram
from treecompile.learning.grow.responses import KeySums, Rows
from treecompile.learning.grow.search import (
    LEFT,
    NOWHERE,
    RIGHT,
    CandidateSplits,
    FeatureSplits,
    RowLevel,
    differ,
    in_two,
    thresholds_between,
)
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Positions
from treecompile.model.ir import Feature

FINER_BITS = 6
FINER = 1 << FINER_BITS  # finer bins of a bin that is opened


@dataclass(frozen=True, slots=True, eq=False)
class BinBars(Histogram):
    """The bins that occur at each node; some are divided more finely than others.

    The code of a bar is the greatest that its rows may have.
    """

    number: Floats  # of a bar of one number; NaN for bins
    squares: Array | None  # of a numeric target: about the sum of squares in each bar


class BinnedColumn:
    """Searches a level by bins."""

    def __init__(self, feature: Feature, values: Floats, codes: Codes) -> None:
        self.feature, self.values, self.all_codes = feature, values, codes
        self.codes = codes[:0]  # of the rows of the level

    def search(self, level: RowLevel) -> CandidateSplits:
        """The best cuts between bins."""
        self.codes = self.all_codes.take(level.rows)
        return search_histogram(level, self._count(level), is_ordered=True)

    def _count(self, level: RowLevel) -> BinBars:
        assert level.counter is not None
        shift, width = level.counter.shift, level.counter.width
        found = level.counter.count(self.codes >> shift)
        used = found.sizes.astype(np.bool_)
        used[width - 1 :: width] = False  # missing values
        places = np.flatnonzero(used)
        bars = Histogram.of_keys(found, places, width)
        return BinBars(
            bars.nodes,
            bars.segments,
            bars.node,
            ((bars.code + 1) << shift) - 1,
            bars.sizes,
            bars.weights,
            bars.sums,
            np.full(len(places), np.nan),
            None if found.squares is None else found.squares[places],
        )

    # ------------------------------------------------------------ opening bins

    def refine(
        self, level: RowLevel, found: CandidateSplits, least: Floats
    ) -> CandidateSplits:
        """The best cuts of all, if they gain at least so much at their node."""
        bars = found.histogram
        assert isinstance(bars, BinBars)
        some = to_open(level, bars, least)
        if not len(some):
            return found
        rows, bar = self._rows_of(level, bars, some)
        bars, bar, some = self._divided(level, bars, rows, bar, some)
        some = to_open(level, bars, least, some)
        if len(some):
            is_open = np.zeros(len(bars.code), np.bool_)
            is_open[some] = True
            inside = np.flatnonzero(is_open.take(bar))
            bars = self._sorted(level, bars, rows.take(inside), bar.take(inside))
        return search_histogram(level, bars, is_ordered=True)

    def _rows_of(
        self, level: RowLevel, bars: BinBars, some: Positions
    ) -> tuple[Rows, Array]:
        """The rows in some bins, and the bin of each."""
        assert level.counter is not None
        shift, width = level.counter.shift, level.counter.width
        of_key = np.full(len(level.nodes.lengths) * width, -1, np.int32)
        of_key[bars.node[some] * width + (bars.code[some] >> shift)] = some
        nodes = bars.node[some]
        nodes = nodes[np.flatnonzero(np.diff(nodes, prepend=-1))]
        keys = np.repeat(nodes * width, level.nodes.lengths[nodes])
        rows, codes = level.rows, self.codes
        if len(nodes) < len(level.nodes.lengths):
            places = level.nodes.within(nodes)
            rows, codes = rows.take(places), codes.take(places)
        keys += codes >> shift
        bar = of_key.take(keys)
        inside = np.flatnonzero(bar >= 0)
        return rows.take(inside), bar.take(inside)

    def _divided(
        self,
        level: RowLevel,
        bars: BinBars,
        rows: Rows,
        bar: Array,
        some: Positions,
    ) -> tuple[BinBars, Positions, Positions]:
        """Some bins replaced by finer ones.

        `rows` are those of the bins, and `bar` is the bin of each. Returns all bars,
        the bar of each row, and the new bars.
        """
        assert level.counter is not None
        shift = level.counter.shift - FINER_BITS
        rank = np.zeros(len(bars.code), np.intp)
        rank[some] = np.arange(0, len(some) * FINER, FINER)
        keys = rank.take(bar)
        keys += (self.all_codes.take(rows) >> shift) & (FINER - 1)
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
        self, level: RowLevel, bars: BinBars, rows: Rows, bar: Positions
    ) -> BinBars:
        """Bars with the bars of some rows replaced by bars of single numbers."""
        values = self.values.take(rows)
        # A number that many rows have, such as 0, is often alone in its bar.
        one = np.zeros(len(bars.code))
        one[bar] = values
        varies = np.zeros(len(bars.code), np.bool_)
        varies[bar.take(np.flatnonzero(values != one.take(bar)))] = True
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
        code = self.all_codes.take(rows.take(starts)).astype(np.intp)
        number = values.take(np.append(starts[1:], len(values)) - 1)  # the greatest
        return bars_with(bars, bar.take(starts), code, number, found, used)[0]

    # ------------------------------------------------------------ dividing

    def divide(
        self, level: RowLevel, found: CandidateSplits, some: Positions
    ) -> FeatureSplits:
        bars, position = found.histogram, found.position[some]
        assert isinstance(bars, BinBars)
        assert level.counter is not None
        places, lengths = level.nodes.within(some), level.nodes.lengths[some]
        rows, codes = level.rows.take(places), self.codes.take(places)
        split = np.repeat(np.arange(len(some), dtype=np.int32), lengths)
        cut = bars.code[position].astype(np.uint16).take(split)
        side = (codes > cut).astype(level.side.dtype)
        side += LEFT
        side[codes == MISSING] = NOWHERE
        # Where numbers with one code are divided, their rows go by the number.
        number = bars.number[position]
        beside = np.flatnonzero(codes == cut)
        goes_on = self.values.take(rows.take(beside)) > number.take(split.take(beside))
        side[beside[goes_on]] = RIGHT
        level.side[rows] = side
        # The numbers beside a cut are in the bins of the bars beside it.
        bins = codes >> level.counter.shift
        ends = []
        for bar, mine, extreme in (
            (position, LEFT, np.maximum),
            (position + 1, RIGHT, np.minimum),
        ):
            wanted = (bars.code[bar] >> level.counter.shift).astype(np.uint16)
            near = np.flatnonzero((bins == wanted.take(split)) & (side == mine))
            values = self.values.take(rows.take(near))
            starts = np.flatnonzero(np.diff(split.take(near), prepend=-1))
            ends.append(extreme.reduceat(values, starts))
        thresholds = thresholds_between(self.feature, *ends)
        return in_two(level, found.left[some], found.right[some], thresholds)


def bars_with(
    bars: BinBars,
    old: Positions,
    code: Positions,
    number: Floats,
    found: KeySums,
    used: Positions,
) -> tuple[BinBars, Positions]:
    """Bars with new ones in place of some, and where the new ones are.

    Of each new bar: the bar that it replaces, its code and number, and its place in the
    sums that were found.
    """
    parts = np.ones(len(bars.code), np.intp)
    starts = np.flatnonzero(np.diff(old, prepend=-1))
    some = old[starts]
    parts[some] = np.diff(starts, append=len(old))
    places = Segments.of(parts).within(some)

    def replaced(before: Array, new: Array) -> Array:
        result = np.repeat(before, parts)
        result[places] = new
        return result

    sizes = replaced(bars.sizes, found.sizes[used])
    is_weighted = bars.weights is not bars.sizes
    squares = None
    if bars.squares is not None and found.squares is not None:
        squares = replaced(bars.squares, found.squares[used])
    made = BinBars(
        bars.nodes,
        Segments.of(np.add.reduceat(parts, bars.segments.starts)),
        np.repeat(bars.node, parts),
        replaced(bars.code, code),
        sizes,
        replaced(bars.weights, found.weights[used]) if is_weighted else sizes,
        [
            replaced(before, new[used])
            for before, new in zip(bars.sums, found.sums, strict=True)
        ],
        replaced(bars.number, number),
        squares,
    )
    return made, places


def to_open(
    level: RowLevel, bars: BinBars, least: Floats, among: Positions | None = None
) -> Positions:
    """The bins that may have a cut inside that gains at least so much at its node."""
    segments, opened = bars.segments, level.opened
    if not len(segments.starts):
        return segments.starts
    # The bounds know the cases with a known value only.
    share = segments.sums(bars.weights) / opened.sizes[bars.nodes]
    wanted = (least - TIES * opened.tie)[bars.nodes] / (share * (1 + SLACK))
    can_be_cut = bars.sizes > 1
    some = np.flatnonzero(can_be_cut)
    if among is not None:
        some = among[can_be_cut[among]]
    wanted = segments.spread(wanted)[some]
    if bars.squares is None:
        parts = _told(segments, bars.sums, some)
        return some[label_bound(level.measure.name, *parts) >= wanted]
    squares = bars.squares
    parts = _told(segments, [bars.weights, bars.sums[0]], some)
    for bound in (rough_squares_bound, deviation_bound):
        before, own, totals = parts
        stays = np.flatnonzero(bound(before, own, squares[some], totals) >= wanted)
        some, wanted = some[stays], wanted[stays]
        parts = [each[stays] for each in parts]
    return some


def _told(segments: Segments, sums: Sequence[Array], some: Positions) -> list[Floats]:
    """Of some bars: the sums before each, its own, and those of its node."""
    own = np.stack(sums)
    totals = np.add.reduceat(own, segments.starts, axis=1)
    before = segments.run(own.copy(), totals)
    before -= own
    spread = np.repeat(totals, segments.lengths, axis=1)
    return [
        each.take(some, axis=1).T.astype(np.float64) for each in (before, own, spread)
    ]
