"""Numbers of a column -> codes in the order of the numbers.

The leading bits of a code are a bin, more or fewer of them as nodes have more or fewer
rows; all its bits are a bin of a bin. Bins hold about as many rows each, by quantiles
of a sample. Any codes in order are correct, since bins that may hold the best cut are
looked into (`binned`); good ones only save work.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from treecompile.model.arrays import Floats

BITS, MOST_BITS, LEAST_BITS = 16, 8, 4  # of a code; of a bin at a level
PARTS = 1 << (BITS - MOST_BITS)  # of a bin, between two quantiles
BINS = (1 << MOST_BITS) - (1 << (MOST_BITS - LEAST_BITS))  # the last code is no number,
MISSING = (1 << BITS) - 1  # whatever the number of leading bits
SAMPLE = 25_000  # rows
CELLS = 1 << 16  # of a grid that is mapped to codes
CHUNK = 1 << 15  # rows that fit the processor's cache
FINE_ENOUGH = 0.75  # share of the bins that a grid must tell apart

Codes = NDArray[np.uint16]


def make_codes(values: Floats, few: int) -> Codes | None:
    """The codes of a column; None if a sample has at most a few distinct numbers."""
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
    return codes


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
