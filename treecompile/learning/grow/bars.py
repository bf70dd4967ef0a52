"""The bars of a histogram by bins, and which of them may hold the best cut inside.

A bar is one bin of one node. The gain of a cut between two bars is exact. A cut inside
a bar gains at most a bound from `bounds`; `binned.BinnedColumn` opens only bars whose
bound is high enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treecompile.learning.grow.bin_counts import BinCounter, KeySums
from treecompile.learning.grow.bounds import (
    SLACK,
    TIES,
    deviation_bound,
    label_bound,
    rough_squares_bound,
)
from treecompile.learning.grow.histogram import Histogram
from treecompile.learning.grow.responses import Response
from treecompile.learning.grow.search import RowLevel
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Positions


class BinnedLevel(Protocol):
    """The open nodes of a level, with their rows."""

    @property
    def rows(self) -> Positions: ...

    @property
    def nodes(self) -> Segments: ...

    @property
    def response(self) -> Response: ...

    @property
    def counter(self) -> BinCounter | None: ...


@dataclass(frozen=True, slots=True, eq=False)
class BinBars(Histogram):
    """A bar for each bin that has rows at a node; some bins are divided more finely.

    The code of a bar is the greatest code that its rows may have.
    """

    number: Floats  # for a bar of one single number: that number; NaN for bins
    squares: Array | None  # for a numeric target: about the sum of squares in each bar


def counter_of(level: BinnedLevel) -> BinCounter:
    assert level.counter is not None
    return level.counter


def bars_of(counter: BinCounter, counted: list[Array]) -> BinBars:
    """Make a bar for each bin that has rows, from the sums of a counter."""
    width, found = counter.bins.width, counter.summed.finish(counted)
    used = found.sizes.astype(np.bool_)
    used[width - 1 :: width] = False  # missing values
    places = np.flatnonzero(used)
    bars = Histogram.of_keys(found, places, width)
    return BinBars(
        bars.nodes,
        bars.segments,
        bars.node,
        ((bars.code + 1) << counter.bins.shift) - 1,
        bars.sizes,
        bars.weights,
        bars.sums,
        np.full(len(places), np.nan),
        None if found.squares is None else found.squares[places],
    )


def bars_with(
    bars: BinBars,
    old: Positions,
    code: Positions,
    number: Floats,
    found: KeySums,
    used: Positions,
) -> tuple[BinBars, Positions]:
    """Replace some bars by several new ones; return all bars, and where the new are.

    Arrays are by new bar: `old` is the bar that it replaces, `code` and `number` are
    its own, and `used` is its place in the sums `found`.
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
    level: RowLevel, least: Floats, bars: BinBars, among: Positions | None = None
) -> Positions:
    """Return the bars, of those `among`, that may hold a cut that gains `least`."""
    if not len(bars.nodes):
        return bars.nodes
    segments = bars.segments
    # Bounds are for known cases only.
    share = segments.sums(bars.weights) / level.opened.sizes[bars.nodes]
    wanted = (least - TIES * level.opened.tie)[bars.nodes] / share / (1 + SLACK)
    can_be_cut = bars.sizes > 1
    some = np.flatnonzero(can_be_cut)
    if among is not None:
        some = among[can_be_cut[among]]
    wanted = segments.spread(wanted)[some]
    if bars.squares is None:
        return some[bounds_of_labels(level.measure.name, bars, some) >= wanted]
    squares = bars.squares
    parts = _told(segments, [bars.weights, bars.sums[0]], some)
    for bound in (rough_squares_bound, deviation_bound):
        before, own, totals = parts
        stays = np.flatnonzero(bound(before, own, squares[some], totals) >= wanted)
        some, wanted = some[stays], wanted[stays]
        parts = [each[stays] for each in parts]
    return some


def bounds_of_labels(criterion: str, bars: BinBars, some: Positions) -> Floats:
    """Return the most that a cut inside or beside each of some bars can gain."""
    return label_bound(criterion, *_told(bars.segments, bars.sums, some))


def _told(segments: Segments, sums: Sequence[Array], some: Positions) -> list[Floats]:
    """Return sums before some bars, in them, and at their nodes: bars x summands."""
    own = np.stack(sums)
    totals = np.add.reduceat(own, segments.starts, axis=1)
    before = segments.run(own.copy(), totals)
    before -= own
    spread = np.repeat(totals, segments.lengths, axis=1)
    return [
        each.take(some, axis=1).T.astype(np.float64) for each in (before, own, spread)
    ]
