"""The best cut of a numeric feature with many values at open nodes, for C4.5.

C4.5 takes the cut with the greatest gain within each feature, then compares features by
ratio. So a bin is of interest as long as a cut in it may gain as much as the best known
of that feature. The correction for the number of possible cuts needs these counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treecompile.in_database import refine
from treecompile.in_database.c45_table import CaseTable
from treecompile.in_database.cells import Cells
from treecompile.in_database.judge import Judged as Opened
from treecompile.in_database.judge import joined_again
from treecompile.learners.blocks import Blocks
from treecompile.learners.c45_cuts import (
    Found,
    Judged,
    Neighbours,
    Runs,
    are_apart,
    find_cuts,
    judge_cuts,
    possible_cuts,
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


@dataclass(frozen=True, slots=True, eq=False)
class Glance:
    """Between what the gain of a feature lies at each node, from its bins alone."""

    low: Floats  # -inf where there may be no split
    high: Floats  # -inf where there surely is none


def glance(table: CaseTable, bins: Cells, terms: Terms) -> Glance:
    """What can be said without a query."""
    size = len(terms.totals)
    low, high = np.full(size, -np.inf), np.full(size, -np.inf)
    if not len(bins.node):
        return Glance(low, high)
    runs = Runs.of_blocks(blocks_of(bins))
    found = find_cuts(terms, runs, neighbours_of(bins))
    nodes, fewest = runs.nodes[found.parts], np.ones(size)
    fewest[nodes] = found.tries
    low[nodes] = high[nodes] = found.gains
    open_, most = _bounds(table, bins, terms)
    np.maximum.at(high, bins.node[open_], most)
    # Behind each row of a bin there may be a cut; how many rows have been divided into
    # how many is not known.
    more = np.zeros(size)
    inside = bins.sums[open_].sum(axis=1) * terms.scale.unit
    np.add.at(more, bins.node[open_], inside)
    if table.weights.is_divided:
        more[more > 0] = table.schema.rows
    low -= np.log2(fewest + more) / terms.totals
    high -= np.log2(fewest) / terms.totals
    low[low <= TIE + refine.SLACK] = -np.inf
    high[high <= TIE] = -np.inf
    return Glance(low, high)


def judge_bins(
    table: CaseTable, feature: int, bins: Cells, terms: Terms
) -> tuple[Judged, Cells]:
    """What the feature offers, and its bins with those opened that mattered."""
    if not len(bins.node):
        return Judged.nothing(len(terms.totals)), bins
    least = _least(bins, terms)
    cells = _open(table, feature, bins, terms, least)
    runs = Runs.of_blocks(blocks_of(cells))
    found = find_cuts(terms, runs, neighbours_of(cells))
    nodes = runs.nodes[found.parts]
    worthy = found.gains - least[nodes] > TIE
    wanted = np.zeros(len(terms.totals), np.bool_)
    wanted[nodes[worthy]] = True
    tries = count_cuts(table, feature, bins, terms, wanted)
    found = Found(
        found.parts[worthy],
        found.gains[worthy],
        found.places[worthy],
        tries[nodes[worthy]],
    )
    return judge_cuts(terms, runs, neighbours_of(cells), found), cells


def _least(bins: Cells, terms: Terms) -> Floats:
    """What a cut at each node must gain, or the correction leaves nothing of it.

    There may be more cuts than those between bins, but not fewer.
    """
    least = np.zeros(len(terms.totals))
    runs = Runs.of_blocks(blocks_of(bins))
    found = find_cuts(terms, runs, neighbours_of(bins))
    node = runs.nodes[found.parts]
    least[node] = np.log2(found.tries) / terms.totals[node]
    return least


def _open(
    table: CaseTable, feature: int, bins: Cells, terms: Terms, least: Floats
) -> Cells:
    """Open bins until no cut in one can be the best of the feature at its node."""
    tie = np.full(len(terms.totals), TIE)

    def judge(cells: Cells) -> Opened:
        runs = Runs.of_blocks(blocks_of(cells))
        cuts = possible_cuts(terms, runs, neighbours_of(cells))
        gain = np.full(len(cells.node), -np.inf)
        gain[cuts.places] = cuts.gains
        bounds = np.full(len(cells.node), -np.inf)
        some, most = _bounds(table, cells, terms)
        bounds[some] = most
        return joined_again(table.answers, cells, gain, bounds, least, tie)

    return refine.open_cells(table, feature, bins, judge, terms.scale.unit)


def _bounds(table: CaseTable, cells: Cells, terms: Terms) -> tuple[Positions, Floats]:
    """The cells that may have cuts inside, and the most that each of these gains."""
    spans = Spans(cells, terms)
    some = np.flatnonzero(spans.is_open)
    if not len(some):
        return some, np.zeros(0)
    part = spans.part[some]
    most = table.answers.bound(spans.before[some], cells.some(some), spans.totals[part])
    known = spans.totals.sum(axis=1)[part] * terms.scale.unit
    share = known / terms.totals[cells.node[some]]
    return some, most * share * (1 + refine.SLACK) + refine.SLACK


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
