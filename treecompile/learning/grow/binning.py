"""Numbers of a column -> codes in the order of the numbers.

The leading bits of a code are a bin, more or fewer of them as nodes have more or fewer
rows; all its bits are a bin of a bin. Bins hold about as many rows each, by quantiles
of a sample. Any codes in order are correct, since bins that may hold the best cut are
looked into (`binned`); good ones only save work. C4.5 makes no cut between numbers that
are too near to each other; for C4.5 the bins are set apart (`_set_apart`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treecompile.model.arrays import Floats, Positions

BITS, MOST_BITS, LEAST_BITS = 16, 8, 4  # of a code; of a bin at a level
WIDTH = 1 << MOST_BITS  # bins, with that of missing values
PARTS_BITS = BITS - MOST_BITS
PARTS = 1 << PARTS_BITS  # of a bin, between two quantiles
BINS = (1 << MOST_BITS) - (1 << (MOST_BITS - LEAST_BITS))  # the last code is no number,
MISSING = (1 << BITS) - 1  # whatever the number of leading bits
SAMPLE = 25_000  # rows
CELLS = 1 << 16  # of a grid that is mapped to codes
CHUNK = 1 << 15  # rows that fit the processor's cache
FINE_ENOUGH = 0.75  # share of the bins that a grid must tell apart
WINDOW = 16  # parts of a bin in which a gap is looked for
FEW_BINS = 64  # fewer that are apart are not worth counting

Codes = NDArray[np.uint16]


def make_codes(values: Floats, few: int, gap: float | None = None) -> Codes | None:
    """The codes of a column; None if a sample has at most a few distinct numbers.

    With a gap, numbers in different bins are further apart than that; None if that
    leaves too few bins.
    """
    sample = values[:: 1 + len(values) // SAMPLE]
    sample = np.sort(sample[~np.isnan(sample)])
    if np.count_nonzero(sample[1:] != sample[:-1]) < few:
        return None
    edges = sample.take(np.arange(1, BINS) * len(sample) // BINS)
    edges = edges[np.isfinite(edges)]
    codes = _by_grid(values, edges)
    if codes is None:
        codes = _by_edges(values, edges)
    codes[np.isnan(values)] = MISSING
    return codes if gap is None else _set_apart(values, codes, gap)


def _by_grid(values: Floats, edges: Floats) -> Codes | None:
    """Codes of the cells of an even grid, much faster than to search for edges.

    None if the numbers are too unevenly distributed, or often equal.
    """
    if len(edges) < 2:
        return None
    low = edges[0]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = CELLS / (edges[-1] - low)
    if not 0 < scale < np.inf:
        return None

    def cells(numbers: Floats) -> NDArray[np.uint16]:
        # Every step is monotonic under rounding, so the codes are in order.
        with np.errstate(over="ignore"):
            place = numbers - low
            place *= scale
        np.fmax(place, 0.0, out=place)  # NaN becomes 0, too
        np.fmin(place, CELLS - 1.0, out=place)
        cell: NDArray[np.uint16] = place.astype(np.uint16)
        return cell

    ends = cells(edges).astype(np.float64)
    if np.count_nonzero(ends[1:] != ends[:-1]) < FINE_ENOUGH * len(edges):
        return None
    # The codes grow evenly between two edges.
    places = np.arange(1, len(ends) + 1) * float(PARTS)
    codes_of = np.interp(np.arange(CELLS), ends, places).astype(np.uint16)
    codes_of[0], codes_of[-1] = 0, len(ends) * PARTS
    codes = np.empty(len(values), np.uint16)
    for start in range(0, len(values), CHUNK):
        chunk = slice(start, start + CHUNK)
        codes_of.take(cells(values[chunk]), out=codes[chunk], mode="clip")
    return codes


def _by_edges(values: Floats, edges: Floats) -> Codes:
    """Codes of bins that end at the edges.

    A number that is often met has a bin of its own.
    """
    often = edges[:-1][edges[1:] == edges[:-1]]
    with np.errstate(over="ignore"):
        before = np.nextafter(often, -np.inf)
    edges = np.unique(np.concatenate([edges, before[np.isfinite(before)]]))
    codes = np.searchsorted(edges, values).astype(np.uint16)
    codes *= PARTS
    return codes


# --- bins that are apart --------------------------------------------------------------


def _set_apart(values: Floats, codes: Codes, gap: float) -> Codes | None:
    """The codes, with the ends of bins moved to gaps; bins without a gap are joined."""
    bins = codes >> PARTS_BITS
    least, greatest = np.full(WIDTH, np.inf), np.full(WIDTH, -np.inf)
    # Two equal infinities are not apart; neither are NaN, in a bin of their own.
    with np.errstate(invalid="ignore"):
        np.minimum.at(least, bins, values)
        np.maximum.at(greatest, bins, values)
        used = np.flatnonzero(least[:-1] <= greatest[:-1])
        is_near = ~(least[used[1:]] - greatest[used[:-1]] > gap)
    if not is_near.any():
        return codes
    near = used[1:][is_near]
    joined = np.setdiff1d(near, _move_ends(values, codes, near, gap))
    kept = np.setdiff1d(used, joined)
    return _joined(kept).take(codes) if len(kept) >= FEW_BINS else None


def _move_ends(values: Floats, codes: Codes, bins: Positions, gap: float) -> Positions:
    """Move the starts of some bins to the first gap in each; the bins that have one.

    The numbers below the gap go to the bin before.
    """
    is_asked = np.zeros(WIDTH, np.bool_)
    is_asked[bins] = True
    places = np.flatnonzero((codes & (PARTS - 1)) < WINDOW)
    places = places[is_asked.take(codes.take(places) >> PARTS_BITS)]
    numbers = values.take(places)
    order = np.argsort(numbers)
    places, numbers = places.take(order), numbers.take(order)
    mine = (codes.take(places) >> PARTS_BITS).astype(np.intp)
    with np.errstate(invalid="ignore"):
        ends = np.flatnonzero((np.diff(numbers) > gap) & (mine[1:] == mine[:-1]))
    moved, firsts = np.unique(mine.take(ends), return_index=True)
    end = np.full(WIDTH, -1)
    end[moved] = ends[firsts]
    below = np.flatnonzero(np.arange(len(mine)) <= end.take(mine))
    codes[places.take(below)] = (mine.take(below) << PARTS_BITS) - 1
    return moved


def _joined(kept: Positions) -> Codes:
    """For each code a new one: all bins but some are joined to the bin before."""
    starts = np.zeros(WIDTH, np.bool_)
    starts[kept] = starts[[0, -1]] = True
    firsts = np.flatnonzero(starts)
    group = np.cumsum(starts) - 1
    place, size = np.arange(WIDTH) - firsts[group], np.bincount(group)[group]
    group[-1] = WIDTH - 1  # where missing values stay
    old, part = np.divmod(np.arange(1 << BITS), PARTS)
    part = (place[old] * PARTS + part) // size[old]
    codes: Codes = (group[old] * PARTS + part).astype(np.uint16)
    return codes
