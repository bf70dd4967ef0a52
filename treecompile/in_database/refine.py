"""Look into bins until every cut that may be the best is known by its value.

A cut between two bins is as exact as any. A cut inside a bin can gain no more than the
bound says; if that is less than what is known to be gained at the node, the bin need
not be opened. The others are cut more finely, bounded again, and at last asked for
their values, of which few are left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from treecompile.in_database.answers import Answers
from treecompile.in_database.cells import Cells, Ranges, Tally
from treecompile.in_database.work import WorkTable
from treecompile.learners.level import Terms
from treecompile.learners.stretches import Floats, Mask

FEW_ROWS = 300_000  # in bins of one feature: as many are fetched value by value
ROUNDS = 4  # of cutting more finely
Ask = Callable[[Mapping[int, Ranges]], Mapping[int, Tally]]
SLACK = 1e-9  # by which a bound may be too small, from rounding: of its own size,
TIES = 1e3  # and by so many times what makes no difference between two cuts


def refine(
    work: WorkTable, cells: Mapping[int, Cells], terms: Terms, least: Floats
) -> dict[int, Cells]:
    """The cells of features with many numbers, those opened that may win.

    `least` is the gain at each node that a cut must have to be of interest. Of features
    without such cells nothing is returned.
    """
    answers, now = work.answers, dict(cells)
    few = FEW_ROWS // len(cells)

    def alive() -> dict[int, Mask]:
        masks = {p: _alive(answers, now[p], terms, least) for p in now}
        return {p: mask for p, mask in masks.items() if mask.any()}

    def opened(ask: Ask, masks: Mapping[int, Mask]) -> None:
        inner = ask({p: now[p].ranges(mask) for p, mask in masks.items()})
        now.update({p: now[p].opened(masks[p], inner[p]) for p in masks})

    masks = alive()
    for _ in range(ROUNDS):
        many = {
            p: mask
            for p, mask in masks.items()
            if answers.rows(now[p].sums[mask]).sum() > few
        }
        if not many:
            break
        opened(work.finer, many)
        masks = alive()
    if masks:
        opened(work.values, masks)
    return {p: each for p, each in now.items() if each is not cells[p]}


def _alive(answers: Answers, cells: Cells, terms: Terms, least: Floats) -> Mask:
    """Which cells have several values, between which may be the best cut."""
    alive: Mask = cells.low < cells.high
    if not alive.any():
        return alive
    parts = cells.parts()
    totals = np.add.reduceat(cells.sums, parts.starts)
    upto = np.cumsum(cells.sums, axis=0)
    start = (upto - cells.sums)[parts.starts]
    whose = parts.spread(np.arange(len(parts.starts)))
    before = upto - cells.sums - start[whose]
    node = cells.node[parts.starts]
    share = parts.spread(answers.rows(totals) / terms.opened.sizes[node])
    some = np.flatnonzero(alive)
    most = answers.bound(before[some], cells.some(some), totals[whose[some]])
    node = cells.node[some]
    gain = most * share[some] * (1 + SLACK) + terms.opened.tie[node] * TIES
    alive[some] = gain >= least[node]
    return alive
