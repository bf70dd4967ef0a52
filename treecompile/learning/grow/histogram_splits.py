"""Finds the best splits from a histogram, counted in memory or in a database.

The sums to the left of the cuts are running sums over the bars of a node (the values
that occur there); categories are put in the order of the share of a label, or of the
mean. If no order is sure to contain the best binary split of the categories, and they
are few, all subsets are tried. The last part is for ID3: a branch for each category.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, starmap

import numpy as np

from treecompile.learning.grow.criteria import ContingencyTable, by_chance
from treecompile.learning.grow.cuts import Sides, too_few
from treecompile.learning.grow.draft import Groups
from treecompile.learning.grow.histogram import Histogram
from treecompile.learning.grow.search import (
    SUBSET,
    BestCuts,
    CandidateSplits,
    FeatureSplits,
    SplitSearch,
    in_two,
)
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Mask, Positions

MOST_SEARCHED = 10  # categories at a node whose subsets, 511 at most, are all tried
AT_ONCE = 1 << 16  # subsets, of several nodes, that are tried at once
# With more labels than this, and no more bars, all labels are summed at once.
FEW_LABELS, FEW_BARS = 3, 4_096


def search_histogram(
    search: SplitSearch, histogram: Histogram, is_ordered: bool
) -> CandidateSplits:
    """Find the best binary split at every node; categories are not `is_ordered`."""
    found = CandidateSplits.none(len(search.opened.sizes), histogram)
    if not len(histogram.nodes):
        return found
    doubtful = np.zeros(len(histogram.nodes), np.bool_)
    orders = [Orders.given(histogram)] if is_ordered else _orders(histogram)
    for some in orders:
        _cut(search, histogram, some, found, doubtful)
    if not is_ordered:
        doubtful |= not search.measure.is_concave
        if len(histogram.sums) > 2:
            totals = [histogram.segments.sums(each) > 0 for each in histogram.sums]
            doubtful |= np.sum(totals, axis=0) > 2
        lengths = histogram.segments.lengths
        doubtful &= (lengths > 2) & (lengths <= MOST_SEARCHED)
        _search_subsets(search, histogram, np.flatnonzero(doubtful), found)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Orders:
    """The bars of some nodes in new orders; a node may have one for each label."""

    ordered: Histogram  # a segment for each order
    of: Positions  # for each order: the segment of the histogram that is put in order
    by: Positions  # for each order: the label by whose share bars are sorted

    @classmethod
    def given(cls, histogram: Histogram) -> Orders:
        """Leave all bars in the order that they have."""
        count = len(histogram.nodes)
        return cls(histogram, np.arange(count), np.zeros(count, np.intp))

    def labels(self) -> Iterator[slice]:
        """Yield the slice of orders by each label; within it, nodes are distinct."""
        starts = np.flatnonzero(np.diff(self.by, prepend=-1)).tolist()
        yield from starmap(slice, pairwise([*starts, len(self.by)]))


def _orders(histogram: Histogram) -> Iterator[Orders]:
    """Yield the orders of categories to try at all nodes, in parts of limited size.

    With three labels or more there is an order by each label. Two categories have the
    same cut in any order. Labels that do not occur at a node leave its bars as they
    are, so one of these labels is enough.
    """
    labels, lengths = len(histogram.sums), histogram.segments.lengths
    is_tried = np.zeros((labels if labels > 2 else 1, len(lengths)), np.bool_)
    if labels > 2:
        absent = np.stack([*map(histogram.segments.sums, histogram.sums)]) == 0
        is_tried = (~absent | (np.cumsum(absent, axis=0) == 1)) & (lengths > 2)
    is_tried[0] = True
    by, of = np.nonzero(is_tried)
    part = (np.cumsum(lengths[of]) - 1) * labels // AT_ONCE
    starts = np.flatnonzero(np.diff(part, prepend=-1)).tolist()
    for start, end in pairwise([*starts, len(of)]):
        some = of[start:end], by[start:end]
        yield Orders(histogram.ordered(*some)[0], *some)


def _cut(
    search: SplitSearch,
    histogram: Histogram,
    orders: Orders,
    found: CandidateSplits,
    doubtful: Mask,
) -> None:
    """Try the cuts of some orders, and write the best ones into `found`.

    A segment is marked as doubtful if a better cut is barred by `min_leaf`.
    """
    ordered, of = orders.ordered, orders.of
    tie = search.opened.tie[ordered.nodes]
    sides = sides_of(ordered, search.min_leaf)

    def lefts() -> Iterable[Array]:
        summands = ordered.summands()
        if len(summands) > FEW_LABELS and len(ordered.code) <= FEW_BARS:
            return ordered.segments.run(np.stack(summands), np.stack(sides.totals))
        copies = (each.copy() for each in summands)
        return map(ordered.segments.run, copies, sides.totals)

    every = search.measure.cuts(lefts(), sides)
    free = None
    if search.min_leaf > 1:
        free = np.maximum.reduceat(every, ordered.segments.starts)
    best = sides.best(every, tie)
    if free is not None:
        doubtful[of[free > best[0] + tie]] = True
    cuts = BestCuts.of(search, ordered.nodes, sides, lefts, best)
    # Positions among the ordered bars become positions among all bars.
    position = cuts.cut - ordered.segments.starts + histogram.segments.starts[of]
    for some in orders.labels():
        cuts.improve(found, int(orders.by[some.start]), position, some)


def sides_of(histogram: Histogram, min_leaf: int) -> Sides:
    """Make the sides of the cuts after every bar."""
    segments = histogram.segments
    rows = segments.run(histogram.sizes.copy(), segments.sums(histogram.sizes))
    barred = too_few(segments, rows, min_leaf)
    counts = segments.sums(histogram.weights)
    left = rows
    if histogram.weights is not histogram.sizes:
        left = segments.run(histogram.weights.copy(), counts)
    totals = [segments.sums(each) for each in histogram.summands()]
    whole = counts.astype(np.float64)
    return Sides.of(segments, left.astype(np.float64), whole, totals, barred)


def divide_categories(
    search: SplitSearch, found: CandidateSplits, some: Positions
) -> tuple[Mask, FeatureSplits]:
    """Return which bars of some nodes go to the left, and the splits of these nodes."""
    histogram = found.histogram
    assert histogram is not None
    is_left = _left_bars(histogram, found, some)
    # The first category always goes to the left: swap the sides if necessary.
    mine = np.searchsorted(histogram.nodes, some)
    places = histogram.segments.within(mine)
    lengths = histogram.segments.lengths[mine]
    first = is_left[histogram.segments.starts[mine]]
    left, right = found.left[some], found.right[some]
    left, right = np.where(first, left, right), np.where(first, right, left)
    is_left[places] ^= np.repeat(~first, lengths)
    codes = histogram.code[places].tolist()
    sides = is_left[places].tolist()
    groups: list[Groups] = []
    end = 0
    for length in lengths.tolist():
        start, end = end, end + length
        bars = list(zip(codes[start:end], sides[start:end], strict=True))
        groups.append(
            (
                tuple(code for code, goes in bars if goes),
                tuple(code for code, goes in bars if not goes),
            )
        )
    return is_left, in_two(search, left, right, groups=groups)


def _left_bars(histogram: Histogram, found: CandidateSplits, some: Positions) -> Mask:
    """Return which bars are left of the split found at some nodes."""
    segments = histogram.segments
    is_left = np.zeros(len(histogram.code), np.bool_)  # for bars in the original order
    for by in np.unique(found.order[some]).tolist():
        nodes = some[found.order[some] == by]
        mine = np.searchsorted(histogram.nodes, nodes)
        places, lengths = segments.within(mine), segments.lengths[mine]
        chosen = np.repeat(found.position[nodes], lengths)
        if by == SUBSET:
            starts = np.repeat(segments.starts[mine], lengths)
            is_left[places] = _is_in_subset(chosen, places - starts)
        else:
            _, order = histogram.ordered(mine, np.full(len(mine), by))
            is_left[order] = places <= chosen
    return is_left


# --- all subsets of few categories, at many nodes at once -----------------------------
#
# A subset is written as a number: bit n says whether category n + 1 of those at the
# node goes to the left. The first category always goes to the left. The subset with all
# bits set leaves nothing on the right, so it is barred.


def _is_in_subset(subset: Array, place: Array) -> Mask:
    """Return whether a subset has the category at this place."""
    result: Mask = (place == 0) | ((subset >> np.maximum(place - 1, 0)) & 1 == 1)
    return result


def _search_subsets(
    search: SplitSearch, histogram: Histogram, some: Positions, found: CandidateSplits
) -> None:
    """Try all subsets of the categories in some segments, and improve `found`."""
    lengths = histogram.segments.lengths[some]
    for size in np.unique(lengths).tolist():
        same = some[lengths == size]
        subsets = np.arange(1 << (size - 1))
        members = _is_in_subset(subsets[None, :], np.arange(size)[:, None])
        step = max(1, AT_ONCE // len(subsets))
        for start in range(0, len(same), step):
            _try_subsets(search, histogram, same[start : start + step], members, found)


def _try_subsets(
    search: SplitSearch,
    histogram: Histogram,
    some: Positions,
    members: Mask,
    found: CandidateSplits,
) -> None:
    size, count = members.shape
    places = histogram.segments.starts[some][:, None] + np.arange(size)
    segments = Segments.of(np.full(len(some), count))

    # Counts are exact in doubles, which are faster; sums of numbers need integers.
    is_counts = len(histogram.sums) > 1

    def lefts_of(values: Array) -> Array:
        values = values[places].astype(np.float64 if is_counts else values.dtype)
        sums: Array = values @ members.astype(values.dtype)
        return sums.ravel()

    rows = lefts_of(histogram.sizes)
    totals = [each[places].sum(axis=1) for each in histogram.summands()]
    sides = Sides.of(
        segments,
        lefts_of(histogram.weights).astype(np.float64),
        histogram.weights[places].sum(axis=1).astype(np.float64),
        totals,
        too_few(segments, rows, search.min_leaf),
    )
    nodes = histogram.nodes[some]

    def lefts() -> map[Array]:
        return map(lefts_of, histogram.summands())

    scores = search.measure.cuts(lefts(), sides)
    best = sides.best(scores, search.opened.tie[nodes])
    cuts = BestCuts.of(search, nodes, sides, lefts, best)
    cuts.improve(found, SUBSET, cuts.cut % count)


# --- a branch for each category -------------------------------------------------------


def search_branches(search: SplitSearch, histogram: Histogram) -> CandidateSplits:
    """Compute what a branch for each category gains at every node."""
    assert search.measure.branches is not None
    found = CandidateSplits.none(len(search.opened.sizes), histogram)
    if not len(histogram.nodes):
        return found
    table = _table(search, histogram)
    scores = search.measure.branches(table)
    least = np.minimum.reduceat(histogram.sizes, histogram.segments.starts)
    barred = (histogram.segments.lengths < 2) | (least < search.min_leaf)
    if search.chi2 is not None:
        sizes = search.real(search.opened.sizes[histogram.nodes])
        barred |= by_chance(table, search.chi2, sizes)
    found.gain[histogram.nodes] = np.where(barred, -np.inf, scores)
    return found


def _table(search: SplitSearch, histogram: Histogram) -> ContingencyTable:
    """Make a table of class counts; missing values go to the most common category."""
    counts = np.stack(histogram.sums, axis=1).astype(np.float64)
    opened, segments = search.opened, histogram.segments
    first = opened.sizes - sum(opened.totals)
    whole = np.stack([first, *opened.totals], axis=1)[histogram.nodes]
    known = np.add.reduceat(counts, segments.starts)
    nothing = np.zeros(len(histogram.nodes))
    _, common = segments.pick(histogram.weights.astype(np.float64), nothing)
    counts[common] += whole - known
    return ContingencyTable(counts, segments)


def divide_branches(
    search: SplitSearch, branches: int, found: CandidateSplits, some: Positions
) -> FeatureSplits:
    """Make the splits of some nodes with a branch for each category."""
    histogram = found.histogram
    assert histogram is not None
    mine = np.searchsorted(histogram.nodes, some)
    places = histogram.segments.within(mine)
    weights = np.zeros((len(some), branches))
    line = np.repeat(np.arange(len(some)), histogram.segments.lengths[mine])
    weights[line, histogram.code[places]] = histogram.weights[places]
    return FeatureSplits(search.real(weights))
