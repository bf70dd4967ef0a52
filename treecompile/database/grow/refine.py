"""Look into bins until the best cut of a feature is known exactly.

A cut between two bins is exact. A cut inside a bin gains at most what `bounds` says; if
another cut at the node is known to gain more, the bin need not be opened. Other bins
are cut more finely, bounded again, and at last fetched value by value.

A cut is of interest as long as it may be chosen, as the first of the cuts that gain
most. So a cut that gains no more than one before it is of no interest. Bins are joined
again if there is no cut of interest in them or between them. So a feature never takes
more than a few hundred thousand lines of memory, however many rows it has.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import replace

import numpy as np

from treecompile.database.grow import counting
from treecompile.database.grow.bins import BinHistogram, BinRanges
from treecompile.database.grow.counting import FINER
from treecompile.database.grow.targets import TableTarget
from treecompile.database.grow.work import WorkTable
from treecompile.learning.grow.bounds import SLACK, TIES
from treecompile.learning.grow.histogram import Histogram
from treecompile.learning.grow.histogram_splits import sides_of
from treecompile.learning.grow.search import SplitSearch
from treecompile.model.arrays import Floats, Mask, Positions

FEW_ROWS = 300_000  # rows whose values are fetched at once
SHARE = 8  # values are fetched of at most 1 / SHARE of all rows, or of FEW_ENOUGH rows
FEW_ENOUGH = 20_000
MOST_BINS = 600_000  # more bins than at the beginning, before values are fetched
AT_ONCE = 4_000  # bins that are cut more finely at once
ROUNDS = 4  # of cutting more finely

# Joins bins again; also says which of the joined bins may have the best cut inside.
Join = Callable[[BinHistogram], tuple[BinHistogram, Mask]]
# Counts the rows in some ranges of each feature.
Query = Callable[[WorkTable, Mapping[int, BinRanges]], dict[int, BinHistogram]]


def refine(
    work: WorkTable,
    bins: Mapping[int, BinHistogram],
    search: SplitSearch,
    least: Floats,
) -> dict[int, BinHistogram]:
    """Open the bins of features with many numbers that may have the best cut inside.

    `least` is the gain at each node that a cut must have to be of interest. Only
    features with opened bins are returned.
    """
    target, opened = work.target, search.opened

    def join(now: BinHistogram) -> tuple[BinHistogram, Mask]:
        if not len(now.node):
            return now, np.zeros(0, np.bool_)
        gain = _gains(target, now, search)
        bounds = bounds_inside(
            target, now, now.low < now.high, opened.sizes, opened.tie * TIES
        )
        return join_bins(target, now, gain, bounds, least, opened.tie)

    found = open_bins(work, bins, dict.fromkeys(bins, join))
    return {index: each for index, each in found.items() if each is not bins[index]}


def open_bins(
    work: WorkTable,
    bins: Mapping[int, BinHistogram],
    joins: Mapping[int, Join],
    unit: float = 1.0,  # in which the rows of bins are counted
) -> dict[int, BinHistogram]:
    """Open bins until the best cut cannot be inside any.

    In each round, features that need the same query share it, if that suits the
    database.
    """
    runs = {i: _opening(work, each, joins[i], unit) for i, each in bins.items()}
    found: dict[int, BinHistogram] = {}
    answers: dict[int, BinHistogram | None] = dict.fromkeys(runs)
    while answers:
        asked: dict[Query, dict[int, BinRanges]] = {
            counting.finer: {},
            counting.values: {},
            _first_values: {},
        }
        for index, answer in answers.items():
            try:
                query, ranges = runs[index].send(answer)  # type: ignore[arg-type]
                asked[query][index] = ranges
            except StopIteration as end:
                found[index] = end.value
        answers = {}
        for query, of_features in asked.items():
            if of_features:
                answers |= query(work, of_features)
    return found


def _first_values(
    work: WorkTable, ranges: Mapping[int, BinRanges]
) -> dict[int, BinHistogram]:
    """Count the first values in one range of each feature."""
    lines = max(FEW_ROWS, 2 * work.target.groups + 1)
    found: dict[int, BinHistogram] = {}
    for index, each in ranges.items():
        found |= counting.values(work, {index: each}, lines)
    return found


def _opening(
    work: WorkTable, bins: BinHistogram, join: Join, unit: float
) -> Generator[tuple[Query, BinRanges], BinHistogram, BinHistogram]:
    """Look into the bins of one feature, asking as needed."""
    room = len(bins.node) + MOST_BINS

    def sizes_of(some: BinHistogram) -> Floats:
        sizes: Floats = work.target.rows(some.sums) * unit
        return sizes

    few = min(FEW_ROWS, max(FEW_ENOUGH, int(sizes_of(bins).sum()) // SHARE))
    while True:
        bins, may_win = join(bins)
        if not may_win.any():
            return bins
        sizes = sizes_of(bins)
        if sizes[may_win].sum() > few:
            young = may_win & (bins.age < ROUNDS)
            if young.any():
                young = _first(young & (bins.age == bins.age[young].min()), AT_ONCE)
                if len(bins.node) + young.sum() * FINER <= room:
                    finer = yield counting.finer, bins.ranges(young)
                    bins = bins.opened(young, finer)
                    continue
        batch = may_win & (np.cumsum(np.where(may_win, sizes, 0)) <= FEW_ROWS)
        if batch.any():
            values = yield counting.values, bins.ranges(batch)
            bins = bins.opened(batch, values)
        else:
            one = _first(may_win, 1)
            begun = yield _first_values, bins.ranges(one)
            bins = bins.opened(one, _begun(work.target, bins.some(one), begun))


def _first(which: Mask, most: int) -> Mask:
    """The first of them, at most so many."""
    first: Mask = which & (np.cumsum(which) <= most)
    return first


def _begun(
    target: TableTarget, whole: BinHistogram, found: BinHistogram
) -> BinHistogram:
    """The first values of a bin, and a bin of what is left of it."""
    if target.rows(found.sums).sum() == target.rows(whole.sums).sum():
        return found
    # Some lines of the last value may be missing: it begins the bin that is left.
    first = found.some(slice(None, -1))
    rest = replace(
        whole,
        sums=whole.sums - first.sums.sum(axis=0),
        spread=target.rest(whole.spread[0], first.spread)[None],
        low=found.low[-1:],
        most=found.most[-1:],
    )
    return BinHistogram.joined([first, rest])


# --- joining bins ---------------------------------------------------------------------


def histogram_of(target: TableTarget, bins: BinHistogram) -> Histogram:
    """Bins in the form in which columns in memory are searched."""
    rows = target.rows(bins.sums)
    weights = target.weights(bins.sums) if target.units else rows
    segments = bins.segments()
    nodes = bins.node[segments.starts]
    summands = target.summands(bins.sums)
    return Histogram(nodes, segments, bins.node, bins.code, rows, weights, summands)


def join_bins(
    target: TableTarget,
    bins: BinHistogram,
    gain: Floats,  # of the cut after each bin; -inf if it is not allowed
    bounds: Floats,  # the most that a cut inside each bin gains
    least: Floats,  # of each node: what a cut must gain to be of interest
    tie: Floats,  # of each node: gains that differ by less are equal
) -> tuple[BinHistogram, Mask]:
    """Join neighbouring bins unless there is a cut of interest in or between them."""
    segments = bins.segments()
    node = bins.node[segments.starts]
    own = np.maximum.reduceat(gain, segments.starts) - tie[node]
    floor = segments.spread(np.maximum(least[node], own))
    inside = np.minimum(bounds, bins.most)
    may_win = inside >= floor
    is_end = may_win | _records(bins.node, gain, floor)
    is_end[:-1] |= may_win[1:]
    is_end[:-1] |= (np.diff(bins.node) != 0) | (np.diff(bins.code) != 0)
    is_end[-1] = True
    if is_end.all():
        return bins, may_win
    # The gain of a cut that is lost counts, unless a cut before it gains as much.
    lost = np.where(is_end | (gain >= floor), -np.inf, gain)
    ends = np.flatnonzero(is_end)
    starts = np.append(0, ends[:-1] + 1)
    joined = BinHistogram(
        bins.node[starts],
        bins.code[starts],
        np.add.reduceat(bins.sums, starts),
        target.joined(bins.spread, starts),
        bins.low[starts],
        bins.high[ends],
        np.maximum.reduceat(np.maximum(inside, lost), starts),
        np.where(starts < ends, 0, bins.age[starts]),
    )
    return joined, may_win[ends]


def _gains(target: TableTarget, bins: BinHistogram, search: SplitSearch) -> Floats:
    """The gain of the cut after each bin; -inf if it is not allowed."""
    histogram = histogram_of(target, bins)
    sides = sides_of(histogram, search.min_leaf)
    summands = (each.copy() for each in histogram.summands())
    lefts = map(histogram.segments.run, summands, sides.totals)
    gain = search.measure.cuts(lefts, sides)
    share = sides.counts / search.opened.sizes[histogram.nodes]
    gain *= histogram.segments.spread(share)
    gain[sides.barred] = -np.inf
    return gain


def bounds_inside(
    target: TableTarget,
    bins: BinHistogram,
    can_be_cut: Mask,  # which bins
    sizes: Floats,  # of each node: its weight, in units
    slack: Floats,  # of each node: by how much rounding may reduce a bound
) -> Floats:
    """The most that a cut inside each bin gains; -inf where there is none."""
    bounds = np.full(len(bins.node), -np.inf)
    some = np.flatnonzero(can_be_cut)
    if not len(some):
        return bounds
    before, node = bins.before(), bins.node[some]
    segment = before.segment[some]
    share = target.weights(before.totals)[segment] / sizes[node]
    sums = before.sums[some].astype(np.float64)
    totals = before.totals[segment].astype(np.float64)
    most = target.bound(sums, bins.some(some), totals)
    bounds[some] = most * share * (1 + SLACK) + slack[node]
    return bounds


def _records(node: Positions, gain: Floats, floor: Floats) -> Mask:
    """Which cuts of interest gain more than all cuts before them at their node."""
    is_record: Mask = np.zeros(len(gain), np.bool_)
    some = np.flatnonzero(gain >= floor)
    is_record[some] = True
    starts = np.flatnonzero(np.diff(node[some], prepend=-1))
    lengths = np.diff(starts, append=len(some))
    several = lengths > 1
    for start, length in zip(starts[several], lengths[several], strict=True):
        mine = some[start : start + length]
        best = np.maximum.accumulate(gain[mine])
        is_record[mine[1:]] = best[1:] > best[:-1]
    return is_record
