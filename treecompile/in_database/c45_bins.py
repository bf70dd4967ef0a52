"""The best cut of a numeric feature with many values at open nodes, for C4.5.

C4.5 takes the cut with the greatest gain within each feature, then compares features by
ratio. So a bin is of interest as long as a cut in it may gain as much as the best known
of that feature. The correction for the number of possible cuts needs these counted.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from treecompile.in_database import refine
from treecompile.in_database.c45_table import CaseTable
from treecompile.in_database.cells import Cells
from treecompile.learners.blocks import Blocks
from treecompile.learners.c45_cuts import (
    Found,
    Judged,
    Neighbours,
    Runs,
    are_apart,
    find_cuts,
    judge_cuts,
)
from treecompile.learners.c45_level import Terms
from treecompile.learners.limits import TIE
from treecompile.learners.stretches import Array, Floats, Mask, Positions


def blocks_of(cells: Cells) -> Blocks:
    """As the columns in memory have them."""
    parts = cells.parts()
    sizes = cells.sums.sum(axis=1)
    known = cells.node[parts.starts]
    sums = list(cells.sums.T)
    return Blocks(known, parts, cells.node, cells.code, sizes, sizes, sums)


def neighbours_of(cells: Cells) -> Neighbours:
    return lambda places: (cells.high[places], cells.low[places + 1])


def judge_bins(
    table: CaseTable, feature: int, bins: Cells, terms: Terms
) -> tuple[Judged, Cells]:
    """What the feature offers, and its bins with those opened that mattered."""
    if not len(bins.node):
        return Judged.nothing(len(terms.totals)), bins
    cells, found = _open(table, feature, bins, terms)
    nodes = cells.node[cells.parts().starts][found.parts]
    # Where even so many cuts leave no gain, there is none, however many there are.
    worthy = found.gains - np.log2(found.tries) / terms.totals[nodes] > TIE
    found = Found(
        found.parts[worthy],
        found.gains[worthy],
        found.places[worthy],
        found.tries[worthy],
    )
    wanted = np.zeros(len(terms.totals), np.bool_)
    wanted[nodes[worthy]] = True
    tries = count_cuts(table, feature, bins, terms, wanted)
    found = replace(found, tries=tries[nodes[worthy]])
    runs = Runs.of_blocks(blocks_of(cells))
    return judge_cuts(terms, runs, neighbours_of(cells), found), cells


def _open(
    table: CaseTable, feature: int, cells: Cells, terms: Terms
) -> tuple[Cells, Found]:
    """Open bins until no cut in one can be the best of the feature at its node."""
    for rounds_left in reversed(range(refine.ROUNDS + 1)):
        runs = Runs.of_blocks(blocks_of(cells))
        found = find_cuts(terms, runs, neighbours_of(cells))
        alive = _alive(table, cells, terms, _least(terms, runs, found))
        if not alive.any():
            break
        rows = cells.sums[alive].sum() * terms.scale.unit
        is_last = not rounds_left or rows <= refine.FEW_ROWS
        ask = table.values if is_last else table.finer
        inner = ask({feature: cells.ranges(alive)})[feature]
        cells = cells.opened(alive, inner)
        if is_last:
            runs = Runs.of_blocks(blocks_of(cells))
            found = find_cuts(terms, runs, neighbours_of(cells))
            break
    return cells, found


def _least(terms: Terms, runs: Runs, found: Found) -> Floats:
    """The gain that a cut at each node must have to be of interest."""
    least = np.full(len(terms.totals), -np.inf)
    node = runs.nodes[found.parts]
    correction = np.log2(found.tries) / terms.totals[node]
    least[node] = np.maximum(found.gains - TIE, correction)
    return least


def _alive(table: CaseTable, cells: Cells, terms: Terms, least: Floats) -> Mask:
    """Which cells have several values, between which may be the best cut."""
    spans = Spans(cells, terms)
    alive = spans.is_open
    if not alive.any():
        return alive
    some = np.flatnonzero(alive)
    most = table.answers.bound(
        spans.before[some], cells.some(some), spans.totals[spans.part[some]]
    )
    node = cells.node[some]
    known = spans.totals.sum(axis=1)[spans.part[some]] * terms.scale.unit
    share = known / terms.totals[node]
    alive[some] = most * share * (1 + refine.SLACK) + refine.SLACK >= least[node]
    return alive


class Spans:
    """What lies before each cell and in it, and whether a cut in it has room."""

    def __init__(self, cells: Cells, terms: Terms) -> None:
        parts = cells.parts()
        self.part: Positions = parts.spread(np.arange(len(parts.starts)))
        upto = np.cumsum(cells.sums, axis=0)
        self.totals = np.add.reduceat(cells.sums, parts.starts)
        start = (upto - cells.sums)[parts.starts]
        self.before = upto - cells.sums - start[self.part]  # by class
        self.from_: Array = self.before.sum(axis=1)
        self.upto: Array = self.from_ + cells.sums.sum(axis=1)
        room = terms.room(self.totals.sum(axis=1))
        self.least, self.most = room.least[self.part], room.most[self.part]
        # Behind a first value there is more, and before a last one there is less.
        self.is_open: Mask = are_apart(cells.low, cells.high)
        self.is_open &= (self.upto > self.least) & (self.from_ < self.most)


def count_cuts(
    table: CaseTable, feature: int, bins: Cells, terms: Terms, wanted: Mask
) -> Positions:
    """How many cuts are possible at each node that is asked for."""
    tries = np.zeros(len(wanted), np.intp)
    if not wanted.any():
        return tries
    spans = Spans(bins, terms)
    # Those between bins, of which the last of a node has none behind it.
    inner = np.flatnonzero(np.diff(bins.node, append=-1) == 0)
    upto = spans.upto[inner]
    has_room = (upto >= spans.least[inner]) & (upto <= spans.most[inner])
    has_room &= are_apart(*neighbours_of(bins)(inner))
    np.add.at(tries, bins.node[inner[has_room]], 1)
    is_open = spans.is_open & wanted[bins.node]
    is_inside = is_open & (spans.from_ >= spans.least) & (spans.upto <= spans.most)
    if is_inside.any():
        asked = np.zeros(len(wanted), np.bool_)
        asked[bins.node[is_inside]] = True
        node, code, count = table.gaps(feature, asked)
        width = table.sizes[feature] + 1
        keys = bins.node * width + bins.code  # which are in order
        place = np.searchsorted(keys, node * width + code)
        counts = is_inside[place]
        np.add.at(tries, node[counts], count[counts])
    edge = np.flatnonzero(is_open & ~is_inside)
    if len(edge):
        mask = np.zeros(len(bins.node), np.bool_)
        mask[edge] = True
        least = spans.least[edge] - spans.from_[edge]
        most = spans.most[edge] - spans.from_[edge]
        count = table.gaps_between(feature, bins.ranges(mask), least, most)
        np.add.at(tries, bins.node[edge], count)
    return tries
