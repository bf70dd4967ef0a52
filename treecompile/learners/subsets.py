"""The best of all subsets of few categories, at many nodes at once.

A subset is a number: its bit n says whether category n + 1 of those at the node goes to
the left, where the first always goes. With all bits set nothing is left over: that one
is barred.
"""

from __future__ import annotations

import numpy as np

from treecompile.learners.blocks import Blocks
from treecompile.learners.cuts import Sides, too_few
from treecompile.learners.level import SUBSET, Found, Terms, chance_of_cuts
from treecompile.learners.stretches import Array, Mask, Positions, Stretches

MOST_SEARCHED = 10  # categories at a node: with these, 511 subsets
AT_ONCE = 1 << 16  # subsets of several nodes


def is_in_subset(subset: Array, place: Array) -> Mask:
    """Does a subset have the category at this place?"""
    result: Mask = (place == 0) | ((subset >> np.maximum(place - 1, 0)) & 1 == 1)
    return result


def search_subsets(level: Terms, blocks: Blocks, some: Positions, found: Found) -> None:
    """Improve what was found in some of the parts."""
    lengths = blocks.parts.lengths[some]
    for size in np.unique(lengths).tolist():
        same = some[lengths == size]
        subsets = np.arange(1 << (size - 1))
        members = is_in_subset(subsets[None, :], np.arange(size)[:, None])
        step = max(1, AT_ONCE // len(subsets))
        for start in range(0, len(same), step):
            _search(level, blocks, same[start : start + step], members, found)


def _search(
    level: Terms, blocks: Blocks, parts: Positions, members: Mask, found: Found
) -> None:
    size, count = members.shape
    places = blocks.parts.starts[parts][:, None] + np.arange(size)
    stretches = Stretches.of(np.full(len(parts), count))

    # Counts are exact as doubles, and faster; sums of numbers are so as integers only.
    is_counts = len(blocks.sums) > 1

    def lefts_of(values: Array) -> Array:
        values = values[places].astype(np.float64 if is_counts else values.dtype)
        sums: Array = values @ members.astype(values.dtype)
        return sums.ravel()

    rows = lefts_of(blocks.sizes)
    totals = [each[places].sum(axis=1) for each in blocks.summands()]
    sides = Sides.of(
        stretches,
        lefts_of(blocks.weights).astype(np.float64),
        blocks.weights[places].sum(axis=1).astype(np.float64),
        totals,
        too_few(stretches, rows, level.min_leaf),
    )
    nodes = blocks.known[parts]
    tie = level.opened.tie[nodes]
    scores, best = sides.best(
        level.measure.cuts(map(lefts_of, blocks.summands()), sides), tie
    )
    if level.chi2 is not None:
        lefts = map(lefts_of, blocks.summands())
        scores[chance_of_cuts(level, lefts, sides, best)] = -np.inf
    scores *= sides.counts / level.opened.sizes[nodes]
    better = np.flatnonzero(scores > found.gain[nodes] + tie)
    here, at = nodes[better], best[better]
    found.gain[here], found.position[here] = scores[better], at % count
    found.order[here] = SUBSET
    found.left[here] = sides.left[at]
    found.right[here] = sides.counts[better] - sides.left[at]
