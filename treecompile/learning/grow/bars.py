"""The bars of a histogram by bins, and which of them may hold the best cut inside.

A bar is one bin of one node. The gain of a cut between two bars is exact (or, for a
numeric target, rounded at first: `RoughGains`). A cut inside a bar gains at most a
bound from `bounds`; `binned.BinnedColumn` opens only bars whose bound is high enough.
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
from treecompile.learning.grow.histogram_splits import sides_of
from treecompile.learning.grow.responses import Response
from treecompile.learning.grow.search import RowLevel
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions

HALF = 0.5 + SLACK  # units by which rounding may change the root of a gain


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
    # For a numeric target: about the sum of squares in each bar, or 0 once it is
    # decided whether the bin is opened.
    squares: Array | None


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
    """Return the bars that may hold a cut that gains at least `least` at their node."""
    if not len(bars.nodes):
        return bars.nodes
    wanted = (least - TIES * level.opened.tie)[bars.nodes] / _share(level, bars)
    return inside_of(level, bars, wanted / (1 + SLACK), among)


def _share(level: RowLevel, bars: BinBars) -> Floats:
    """Return the share of known cases at each node; bounds are for known cases only."""
    share: Floats = bars.segments.sums(bars.weights) / level.opened.sizes[bars.nodes]
    return share


def inside_of(
    level: RowLevel, bars: BinBars, wanted: Floats, among: Positions | None = None
) -> Positions:
    """Return the bars, of those `among`, that may hold a cut that gains `wanted`."""
    segments = bars.segments
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


# --- rounded numbers ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class RoughGains:
    """Gains with a rounded target: the root of each is off by half a unit at most.

    `responses.RoundedNumbers` explains why. Arrays have an entry for each node of bars.
    """

    bars: BinBars
    root: Floats  # the root of the gain of the best cut between bins
    scale: Floats  # converts the root to the unit of exact gains
    share: Floats  # the share of the cases with a known value

    @classmethod
    def of(cls, level: RowLevel, bars: BinBars, unit: float) -> RoughGains:
        sides = sides_of(bars, level.min_leaf)
        lefts = bars.segments.run(bars.sums[0].copy(), sides.totals[0])
        gains = level.measure.cuts([lefts], sides)
        gains[sides.barred] = 0.0
        root = np.sqrt(np.maximum.reduceat(gains, bars.segments.starts))
        scale = np.ldexp(unit, -level.opened.unit[bars.nodes] // 2)
        return cls(bars, root, scale, _share(level, bars))

    def least(self) -> Floats:
        """Return a lower bound of what the best cut gains at each node of the bars."""
        root = np.maximum(self.root - HALF, 0.0) * self.scale
        gain: Floats = root * root * self.share * (1 - SLACK)
        return gain

    def worth(self, level: RowLevel, least: Floats) -> tuple[Positions, Mask]:
        """Return the nodes where a cut may gain so much, and which bars may hold it."""
        nodes, bars = self.bars.nodes, self.bars
        wanted = (least - TIES * level.opened.tie)[nodes] / self.share
        root = np.sqrt(np.maximum(wanted, 0.0)) / (self.scale * (1 + SLACK)) - HALF
        inside = np.zeros(len(bars.code), np.bool_)
        inside[inside_of(level, bars, np.maximum(root, 0.0) ** 2)] = True
        is_worth: Mask = self.root >= root
        is_worth |= np.logical_or.reduceat(inside, bars.segments.starts)
        return nodes[is_worth], inside
