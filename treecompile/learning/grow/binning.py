"""Assigns the numbers of a column to bins: 16-bit codes in the order of the numbers.

The leading bits of a code are its bin: more bits if nodes have more rows. All 16 bits
divide a bin more finely. The edges of bins are quantiles of a sample, so that bins hold
about the same number of rows. Good edges only save work: bins that may hold the best
cut are opened in any case (`binned`). C4.5 makes no cut between two numbers that are
too close to each other, so for C4.5 the bins are set apart (`_set_apart`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treecompile.model.arrays import Floats, Positions

BITS, MOST_BITS, LEAST_BITS = 16, 8, 4  # bits of a code; the most and fewest of a bin
WIDTH = 1 << MOST_BITS  # number of bins, including the one of missing values
PARTS_BITS = BITS - MOST_BITS
PARTS = 1 << PARTS_BITS  # codes of a bin, between two quantiles
# No number is in the last bin, that of missing values, however wide the bins are.
BINS = (1 << MOST_BITS) - (1 << (MOST_BITS - LEAST_BITS))
MISSING = (1 << BITS) - 1
SAMPLE = 25_000  # rows
CELLS = 1 << 16  # of an even grid whose cells are mapped to codes
CHUNK = 1 << 15  # rows that fit the processor's cache
FINE_ENOUGH = 0.75  # share of the bins that a grid must tell apart
WINDOW = 16  # parts at the start of a bin in which a gap is looked for
FEW_BINS = 64  # with fewer bins that are apart, counting by bins does not pay

Codes = NDArray[np.uint16]


def make_codes(values: Floats, few: int, gap: float | None = None) -> Codes | None:
    """Return the codes of a column, or None if a sample has too few distinct numbers.

    With a gap, numbers in different bins are further apart than that; then the result
    is also None if too few bins are left.
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
    """Assign codes by the cells of an even grid: much faster than a search for edges.

    None if the numbers are distributed too unevenly, or too many are equal.
    """
    if len(edges) < 2:
        return None
    low = edges[0]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        scale = CELLS / (edges[-1] - low)
    if not 0 < scale < np.inf:
        return None

    def cells(numbers: Floats) -> NDArray[np.uint16]:
        # Every step is monotonic, even with rounding, so the codes are in order.
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
    # Between two edges, the codes increase evenly.
    places = np.arange(1, len(ends) + 1) * float(PARTS)
    codes_of = np.interp(np.arange(CELLS), ends, places).astype(np.uint16)
    codes_of[0], codes_of[-1] = 0, len(ends) * PARTS
    codes = np.empty(len(values), np.uint16)
    for start in range(0, len(values), CHUNK):
        chunk = slice(start, start + CHUNK)
        codes_of.take(cells(values[chunk]), out=codes[chunk], mode="clip")
    return codes


def _by_edges(values: Floats, edges: Floats) -> Codes:
    """Assign codes by a search for edges, at which bins end.

    A frequent number gets a bin of its own.
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
    """Return codes with the ends of bins moved to gaps; join bins without a gap."""
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
    """Move the start of each of some bins to its first gap; return bins with a gap.

    Changes `codes`: the numbers below the gap go to the bin before.
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
    """Return a new code for each code; bins that are not kept join the bin before."""
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
