"""The best cut of a numeric feature with many values at open nodes, for C4.5.

C4.5 takes the cut with the greatest gain within each feature, then compares features by
ratio. So a bin is of interest as long as a cut in it may gain as much as the best known
of that feature. The correction for the number of possible cuts needs these counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from treecompile.in_database import refine
from treecompile.in_database.c45_table import CaseTable
from treecompile.in_database.cells import Cells
from treecompile.in_database.judge import Judged as Opened
from treecompile.in_database.judge import joined_again
from treecompile.learners.blocks import Blocks
from treecompile.learners.c45_cuts import (
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


class Binned:
    """A feature with many numbers at the open nodes: what is known of it so far.

    At first that is what the bins say: between what its gain lies.
    """

    def __init__(
        self, table: CaseTable, feature: int, bins: Cells, terms: Terms
    ) -> None:
        self.table, self.feature, self.terms = table, feature, terms
        self.bins = self.cells = bins  # with those opened that mattered
        size = len(terms.totals)
        self.judged = Judged.nothing(size)  # gains: the least that there may be
        self.high = np.full(size, -np.inf)
        self.has_cut, self.is_exact = (np.zeros(size, np.bool_) for _ in range(2))
        # What the cut gains before the correction, and how many there may be.
        self.raw = np.full(size, -np.inf)
        self.fewest, self.most = np.ones(size), np.ones(size)
        if len(bins.node):
            self._look()

    def _look(self) -> None:
        """What can be said without a query."""
        bins, terms = self.bins, self.terms
        runs = Runs.of_blocks(blocks_of(bins))
        found = find_cuts(terms, runs, neighbours_of(bins))
        nodes = runs.nodes[found.parts]
        self.fewest[nodes] = found.tries
        self.raw[nodes] = found.gains
        open_, bounds = _bounds(self.table, bins, terms)
        # Behind each row of a bin there may be a cut; into how many parts rows have
        # been divided is not known, but each has one of the numbers of the table.
        more = np.zeros(len(self.raw))
        inside = bins.sums[open_].sum(axis=1) * terms.scale.unit
        np.add.at(more, bins.node[open_], inside)
        if self.table.weights.is_divided:
            more[more > 0] = self.table.schema.rows
        self.most = self.fewest + more
        best = self.raw.copy()
        np.maximum.at(best, bins.node[open_], bounds)
        self._note(np.full(len(best), True), self.raw, best)

    def _note(self, some: Mask, low: Floats, high: Floats) -> None:
        """Between what the gain at some nodes lies, before the correction."""
        total = self.terms.totals
        low = low - np.log2(self.most) / total
        high = high - np.log2(self.fewest) / total
        low = np.where(low > TIE + refine.SLACK, low, -np.inf)
        self.judged.gains[some] = low[some]
        self.high[some] = np.where(high > TIE, high, -np.inf)[some]

    def to_open(self, some: Mask) -> tuple[Cells, refine.Judge]:
        """The bins of some nodes, and how they are judged while they are opened."""
        terms = self.terms
        least = np.log2(self.fewest) / terms.totals
        tie = np.full(len(least), TIE)

        def judge(cells: Cells) -> Opened:
            runs = Runs.of_blocks(blocks_of(cells))
            cuts = possible_cuts(terms, runs, neighbours_of(cells))
            gain = np.full(len(cells.node), -np.inf)
            gain[cuts.places] = cuts.gains
            bounds = np.full(len(cells.node), -np.inf)
            within, most = _bounds(self.table, cells, terms)
            bounds[within] = most
            return joined_again(self.table.answers, cells, gain, bounds, least, tie)

        return self.bins.some(some[self.bins.node]), judge

    def opened(self, some: Mask, cells: Cells) -> None:
        """No cut in a cell of these nodes is of interest: so the best is known."""
        terms = self.terms
        self.cells = self.cells.opened(some[self.cells.node], cells)
        runs = Runs.of_blocks(blocks_of(cells))
        found = find_cuts(terms, runs, neighbours_of(cells))
        uncorrected = replace(found, tries=np.ones(len(found.parts), np.intp))
        judged = judge_cuts(terms, runs, neighbours_of(cells), uncorrected)
        self.raw[some] = judged.gains[some]
        self.judged.splits[some] = judged.splits[some]
        self.judged.cuts[some] = judged.cuts[some]
        self.has_cut |= some
        self._note(some, self.raw, self.raw)
        self.is_exact |= some & (self.high == -np.inf)

    def count(self, some: Mask) -> None:
        """Count the cuts at some nodes with a cut, so that the gain is exact."""
        tries = count_cuts(self.table, self.feature, self.bins, self.terms, some)
        self.is_exact |= some
        nodes = np.flatnonzero(some)
        gains = self.raw[nodes] - np.log2(tries[nodes]) / self.terms.totals[nodes]
        gains = np.where(gains > TIE, gains, -np.inf)
        self.judged.gains[nodes] = self.high[nodes] = gains
        self.judged.tries[nodes] = tries[nodes]


def find_cuts_in(columns: Mapping[int, Binned], where: Mask) -> None:
    """Find the best cuts of features at some nodes; `where` is nodes by features."""
    some = {p: where[:, p] for p in columns if where[:, p].any()}
    if not some:
        return
    asked = {position: columns[position].to_open(some[position]) for position in some}
    first = columns[next(iter(some))]
    opened = refine.open_cells(
        first.table,
        {position: cells for position, (cells, _) in asked.items()},
        {position: judge for position, (_, judge) in asked.items()},
        first.terms.scale.unit,
    )
    for position, cells in opened.items():
        columns[position].opened(some[position], cells)


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
