"""Opens bins until the best cut of a feature with many numbers is known exactly.

The gain of a cut between two bins is known exactly. For a cut inside a bin,
`learning.grow.bounds` gives an upper bound; if another cut at the node is known to gain
more, the bin stays closed. Other bins are opened: cut more finely, bounded again, and
at last fetched value by value.

A cut is of interest as long as it may be chosen, as the first of the cuts that gain
most. So a cut that gains no more than an earlier one is of no interest. Bins without a
cut of interest inside or between them are joined again, so a feature never takes more
than a few hundred thousand lines of memory, however many rows it has.
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
from treecompile.learning.grow.responses import OpenNodes
from treecompile.learning.grow.search import SplitSearch
from treecompile.model.arrays import Floats, Mask, Positions

FEW_ROWS = 300_000  # rows whose values are fetched at once
SHARE = 8  # values are fetched for at most 1 / SHARE of all rows, or FEW_ENOUGH
FEW_ENOUGH = 20_000
MOST_BINS = 600_000  # bins that are added at most before values are fetched
AT_ONCE = 4_000  # bins that are cut more finely at once
ROUNDS = 4  # how often a bin is cut more finely

# Joins bins, and returns a mask of the joined bins that may have the best cut inside.
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

    `least` is, for each node, the least gain of a cut of interest. Only features whose
    bins have changed are returned.
    """
    target, opened = work.target, search.opened

    def join(now: BinHistogram) -> tuple[BinHistogram, Mask]:
        if not len(now.node):
            return now, np.zeros(0, np.bool_)
        gain = _gains(target, now, search)
        bounds = _bounds_inside(target, now, opened)
        return _join_bins(target, now, gain, bounds, least, opened.tie)

    found = _open_bins(work, bins, join)
    return {index: each for index, each in found.items() if each is not bins[index]}


def _open_bins(
    work: WorkTable, bins: Mapping[int, BinHistogram], join: Join
) -> dict[int, BinHistogram]:
    """Open bins until the best cut cannot be inside any of them.

    In each round, features that need the same kind of query are counted together, if
    that suits the database.
    """
    runs = {index: _opening(work, each, join) for index, each in bins.items()}
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
    """Count the first values in a feature's range, one feature after the other."""
    lines = max(FEW_ROWS, 2 * work.target.groups + 1)
    found: dict[int, BinHistogram] = {}
    for index, each in ranges.items():
        found |= counting.values(work, {index: each}, lines)
    return found


def _opening(
    work: WorkTable, bins: BinHistogram, join: Join
) -> Generator[tuple[Query, BinRanges], BinHistogram, BinHistogram]:
    """Open the bins of one feature: yield queries, receive bins, return the result."""
    room = len(bins.node) + MOST_BINS
    rows = int(work.target.rows(bins.sums).sum())
    few = min(FEW_ROWS, max(FEW_ENOUGH, rows // SHARE))
    while True:
        bins, may_win = join(bins)
        if not may_win.any():
            return bins
        sizes = work.target.rows(bins.sums)
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
    """Keep the first `most` of the marked bins."""
    first: Mask = which & (np.cumsum(which) <= most)
    return first


def _begun(
    target: TableTarget, whole: BinHistogram, found: BinHistogram
) -> BinHistogram:
    """Return a bin for each of a bin's first values, and one for its other rows."""
    if target.rows(found.sums).sum() == target.rows(whole.sums).sum():
        return found
    # Some lines of the last value may be missing: it goes to the bin for the rest.
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
    """Return bins in the form in which columns in memory are searched."""
    rows = target.rows(bins.sums)
    segments = bins.segments()
    nodes = bins.node[segments.starts]
    summands = target.summands(bins.sums)
    return Histogram(nodes, segments, bins.node, bins.code, rows, rows, summands)


def _join_bins(
    target: TableTarget,
    bins: BinHistogram,
    gain: Floats,  # of the cut after each bin; -inf if it is not allowed
    bounds: Floats,  # the most that a cut inside each bin gains
    least: Floats,  # of each node: the least gain of a cut of interest
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
    # A joined bin remembers the gains of the cuts lost between its parts. A lost cut of
    # interest does not count, because an earlier cut gains as much.
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
    """Return the gain of the cut after each bin; -inf if it is not allowed."""
    histogram = histogram_of(target, bins)
    sides = sides_of(histogram, search.min_leaf)
    summands = (each.copy() for each in histogram.summands())
    lefts = map(histogram.segments.run, summands, sides.totals)
    gain = search.measure.cuts(lefts, sides)
    share = sides.counts / search.opened.sizes[histogram.nodes]
    gain *= histogram.segments.spread(share)
    gain[sides.barred] = -np.inf
    return gain


def _bounds_inside(
    target: TableTarget, bins: BinHistogram, opened: OpenNodes
) -> Floats:
    """Return the most that a cut inside each bin gains; -inf if there is no cut."""
    bounds = np.full(len(bins.node), -np.inf)
    some = np.flatnonzero(bins.low < bins.high)
    if not len(some):
        return bounds
    before, node = bins.before(), bins.node[some]
    segment = before.segment[some]
    share = target.rows(before.totals)[segment] / opened.sizes[node]
    sums = before.sums[some].astype(np.float64)
    totals = before.totals[segment].astype(np.float64)
    most = target.bound(sums, bins.some(some), totals)
    bounds[some] = most * share * (1 + SLACK) + opened.tie[node] * TIES
    return bounds


def _records(node: Positions, gain: Floats, floor: Floats) -> Mask:
    """Mark the cuts of interest that gain more than all earlier cuts at their node."""
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
