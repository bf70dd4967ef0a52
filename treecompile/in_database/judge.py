"""Which cells of a feature may still hold the best cut, and which may be joined.

A cut is of interest as long as it may be the one that is chosen: the first of those
that gain the most, or as good as that. So a cut that gains no more than one before it
never is. Cells between which there is no cut of interest, and within which there is
none, are joined: what is kept of a feature does not grow with its rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treecompile.in_database.answers import Answers
from treecompile.in_database.cells import Cells
from treecompile.learners.blocks import Blocks
from treecompile.learners.counted_column import sides_of
from treecompile.learners.level import Terms
from treecompile.learners.stretches import Floats, Mask, Positions, Stretches

SLACK = 1e-9  # by which a bound may be too small, from rounding: of its own size,
TIES = 1e3  # and by so many times what makes no difference between two cuts


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    cells: Cells
    alive: Mask  # within which cells there may be the best cut


def blocks_of(answers: Answers, cells: Cells) -> Blocks:
    """Cells as the columns in memory have them."""
    rows = answers.rows(cells.sums)
    weights = answers.weights(cells.sums) if answers.units else rows
    parts = cells.parts()
    known = cells.node[parts.starts]
    summands = answers.summands(cells.sums)
    return Blocks(known, parts, cells.node, cells.code, rows, weights, summands)


def judge(answers: Answers, cells: Cells, terms: Terms, least: Floats) -> Judged:
    """Join the cells that need not be told apart.

    `least` is the gain at each node that a cut must have to be of interest.
    """
    if not len(cells.node):
        return Judged(cells, np.zeros(0, np.bool_))
    gain = _gains(answers, cells, terms)
    bounds = _bounds(answers, cells, terms, cells.parts())
    return joined_again(answers, cells, gain, bounds, least, terms.opened.tie)


def joined_again(
    answers: Answers,
    cells: Cells,
    gain: Floats,  # of the cut behind each cell; -inf if there must not be one
    bounds: Floats,  # the most that a cut inside each cell gains
    least: Floats,  # of each node: what a cut must gain to be of interest
    tie: Floats,  # of each node: gains that differ by less are equal
) -> Judged:
    """The cells without those that need not be told apart."""
    parts = cells.parts()
    node = cells.node[parts.starts]
    own = np.maximum.reduceat(gain, parts.starts) - tie[node]
    floor = parts.spread(np.maximum(least[node], own))
    inside = np.minimum(bounds, cells.most)
    alive = inside >= floor
    is_apart = alive | _records(cells.node, gain, floor)
    is_apart[:-1] |= alive[1:]
    is_apart[:-1] |= (np.diff(cells.node) != 0) | (np.diff(cells.code) != 0)
    is_apart[-1] = True
    if is_apart.all():
        return Judged(cells, alive)
    # What a cut gains that is passed over counts, unless one before it gains as much.
    passed = np.where(is_apart | (gain >= floor), -np.inf, gain)
    ends = np.flatnonzero(is_apart)
    starts = np.append(0, ends[:-1] + 1)
    joined = Cells(
        cells.node[starts],
        cells.code[starts],
        np.add.reduceat(cells.sums, starts),
        answers.joined(cells.spread, starts),
        cells.low[starts],
        cells.high[ends],
        np.maximum.reduceat(np.maximum(inside, passed), starts),
        np.where(starts < ends, 0, cells.age[starts]),
    )
    return Judged(joined, alive[ends])


def _gains(answers: Answers, cells: Cells, terms: Terms) -> Floats:
    """What the cut behind each cell gains; -inf if there must not be one."""
    blocks = blocks_of(answers, cells)
    sides = sides_of(blocks, terms.min_leaf)
    lefts = map(blocks.parts.run, (s.copy() for s in blocks.summands()), sides.totals)
    gain = terms.measure.cuts(lefts, sides)
    gain *= blocks.parts.spread(sides.counts / terms.opened.sizes[blocks.known])
    gain[sides.barred] = -np.inf
    return gain


def _bounds(answers: Answers, cells: Cells, terms: Terms, parts: Stretches) -> Floats:
    """The most that a cut inside each cell gains; -inf where there is one value."""
    bounds = np.full(len(cells.node), -np.inf)
    some = np.flatnonzero(cells.low < cells.high)
    if not len(some):
        return bounds
    totals = np.add.reduceat(cells.sums, parts.starts)
    upto = np.cumsum(cells.sums, axis=0)
    start = (upto - cells.sums)[parts.starts]
    whose = parts.spread(np.arange(len(parts.starts)))
    before = upto - cells.sums - start[whose]
    node = cells.node[some]
    share = answers.weights(totals)[whose[some]] / terms.opened.sizes[node]
    most = answers.bound(before[some], cells.some(some), totals[whose[some]])
    bounds[some] = most * share * (1 + SLACK) + terms.opened.tie[node] * TIES
    return bounds


def _records(node: Positions, gain: Floats, floor: Floats) -> Mask:
    """Which cuts of interest gain more than all before them at their node."""
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
