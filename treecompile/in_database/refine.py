"""Look into bins until every cut that may be the best is known by its value.

A cut between two bins is as exact as any. A cut inside a bin can gain no more than the
bound says; if that is less than what is known to be gained at the node, the bin need
not be opened. The others are cut more finely, bounded again, and at last asked for
their values, of which few are left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treecompile.in_database.bounds import Bound
from treecompile.in_database.work import Ranges, Tally, WorkTable
from treecompile.learners.blocks import Blocks
from treecompile.learners.level import Terms
from treecompile.learners.stretches import Array, Floats, Mask, Stretches

FEW_ROWS = 300_000  # in bins of one feature: as many are fetched value by value
ROUNDS = 4  # of cutting more finely
SLACK = 1e-9  # by which a bound may be too small, from rounding


@dataclass(frozen=True, slots=True, eq=False)
class Cells(Tally):
    """The known values of a feature at the open nodes, or bins of them, in order."""

    @classmethod
    def of(cls, tally: Tally, missing: int) -> Cells:
        return cls._of(tally, tally.code != missing)

    @classmethod
    def _of(cls, tally: Tally, which: Array) -> Cells:
        return cls(
            tally.node[which],
            tally.code[which],
            tally.counts[which],
            tally.low[which],
            tally.high[which],
        )

    def some(self, which: Array) -> Cells:
        return Cells._of(self, which)

    def blocks(self) -> Blocks:
        """As the columns in memory have them."""
        sizes = self.counts.sum(axis=1)
        sums = [self.counts[:, label] for label in range(self.counts.shape[1])]
        parts = self.parts()
        known = self.node[parts.starts]
        return Blocks(known, parts, self.node, self.code, sizes, sizes, sums)

    def parts(self) -> Stretches:
        """The cells of each node."""
        starts = np.flatnonzero(np.diff(self.node, prepend=-1))
        return Stretches(starts, np.diff(starts, append=len(self.node)))

    def of_node(self, node: int) -> slice:
        return slice(*np.searchsorted(self.node, [node, node + 1]).tolist())

    def ranges(self, which: Mask) -> Ranges:
        """Some cells, those that are neighbours within a bin as one range."""
        some = np.flatnonzero(which)
        is_new = np.ones(len(some), np.bool_)
        is_new[1:] = np.diff(some) > 1
        for key in (self.node, self.code):
            is_new[1:] |= np.diff(key[some]) != 0
        starts = np.flatnonzero(is_new)
        cells = np.diff(starts, append=len(some))
        first, last = some[starts], some[starts + cells - 1]
        return Ranges(
            self.node[first], self.code[first], self.low[first], self.high[last], cells
        )

    def opened(self, which: Mask, inner: Tally) -> Cells:
        """With some cells replaced by those that lie in them."""
        both = [self.some(~which), inner]
        low = np.concatenate([each.low for each in both])
        order = np.lexsort((low, np.concatenate([each.node for each in both])))
        return Cells(
            *(
                np.concatenate([getattr(each, name) for each in both])[order]
                for name in ("node", "code", "counts", "low", "high")
            )
        )


def refine(
    work: WorkTable,
    position: int,
    cells: Cells,
    terms: Terms,
    bound: Bound,
    least: Floats,
) -> Cells:
    """The cells of a feature with many numbers, those opened that may win.

    `least` is the gain at each node that a cut must have to be of interest.
    """
    for _ in range(ROUNDS):
        alive = _alive(cells, terms, bound, least)
        if cells.counts[alive].sum() <= FEW_ROWS:
            break
        cells = cells.opened(alive, work.finer(position, cells.ranges(alive)))
    alive = _alive(cells, terms, bound, least)
    if not alive.any():
        return cells
    return cells.opened(alive, work.values(position, cells.ranges(alive)))


def _alive(cells: Cells, terms: Terms, bound: Bound, least: Floats) -> Mask:
    """Which cells have several values, between which may be the best cut."""
    alive: Mask = cells.low < cells.high
    if not alive.any():
        return alive
    parts = cells.parts()
    totals = np.add.reduceat(cells.counts, parts.starts)
    upto = np.cumsum(cells.counts, axis=0)
    start = (upto - cells.counts)[parts.starts]
    whose = parts.spread(np.arange(len(parts.starts)))
    before = upto - cells.counts - start[whose]
    node = cells.node[parts.starts]
    share = parts.spread(totals.sum(axis=1) / terms.opened.sizes[node])
    some = np.flatnonzero(alive)
    most = bound(
        before[some].astype(np.float64),
        cells.counts[some].astype(np.float64),
        totals[whose[some]].astype(np.float64),
    )
    gain = most * share[some] * (1 + SLACK) + SLACK
    alive[some] = gain >= least[cells.node[some]]
    return alive
