"""Look into bins until every cut that may be the best is known by its value.

A cut between two bins is as exact as any. A cut inside a bin can gain no more than the
bound says; if that is less than what is known to be gained at the node, the bin need
not be opened. The others are cut more finely, bounded again, and at last asked for
their values. What was asked for is judged at once, and what is of no interest joined
again, so that no more is held than a few hundred thousand lines, whatever the data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from treecompile.in_database.cells import FIELDS, Cells, Tally
from treecompile.in_database.judge import SLACK, Judged, judge
from treecompile.in_database.work import FINER, WorkTable
from treecompile.learners.level import Terms
from treecompile.learners.stretches import Floats, Mask

__all__ = ["FEW_ROWS", "ROUNDS", "SLACK", "open_cells", "refine"]

FEW_ROWS = 300_000  # whose values are fetched at once
SHARE = 8  # values are fetched of no more than such a part of all rows, if it is much
FEW_ENOUGH = 20_000  # rows that are not much
MOST_CELLS = 600_000  # beyond those that there were, before values are fetched
AT_ONCE = 4_000  # cells that are cut more finely at once
ROUNDS = 4  # of cutting more finely


def refine(
    work: WorkTable, position: int, cells: Cells, terms: Terms, least: Floats
) -> Cells:
    """The cells of a feature with many numbers, those opened that may win.

    `least` is the gain at each node that a cut must have to be of interest.
    """
    return open_cells(
        work, position, cells, lambda now: judge(work.answers, now, terms, least)
    )


def open_cells(
    work: WorkTable,
    position: int,
    cells: Cells,
    judge_: Callable[[Cells], Judged],
    unit: float = 1.0,  # of a row, in which the rows of cells are counted
) -> Cells:
    """The cells of a feature, opened until none is alive."""
    answers = work.answers
    room = len(cells.node) + MOST_CELLS

    def sizes_of(some: Cells) -> Floats:
        sizes: Floats = answers.rows(some.sums) * unit
        return sizes

    few = min(FEW_ROWS, max(FEW_ENOUGH, int(sizes_of(cells).sum()) // SHARE))
    while True:
        judged = judge_(cells)
        if not judged.alive.any():
            return judged.cells
        cells, alive = judged.cells, judged.alive
        sizes = sizes_of(cells)
        if sizes[alive].sum() > few:
            young = alive & (cells.age < ROUNDS)
            young = _first(young & (cells.age == _least(cells.age, young)), AT_ONCE)
            if young.any() and len(cells.node) + young.sum() * FINER <= room:
                finer = work.finer(position, cells.ranges(young))
                cells = cells.opened(young, finer)
                continue
        batch = alive & (np.cumsum(np.where(alive, sizes, 0)) <= FEW_ROWS)
        if batch.any():
            cells = cells.opened(batch, work.values(position, cells.ranges(batch)))
        else:
            cells = _first_values(work, position, cells, _first(alive, 1))


def _first(which: Mask, most: int) -> Mask:
    """The first of them, as many as that."""
    first: Mask = which & (np.cumsum(which) <= most)
    return first


def _least(values: np.ndarray, which: Mask) -> int:
    return int(values[which].min()) if which.any() else 0


def _first_values(work: WorkTable, position: int, cells: Cells, one: Mask) -> Cells:
    """Open the beginning of one cell, which has too many values to fetch them all."""
    answers = work.answers
    lines = max(FEW_ROWS, 2 * answers.groups + 1)
    found = work.first_values(position, cells.ranges(one), lines)
    whole = cells.some(one)
    taken = found
    if answers.rows(found.sums).sum() < answers.rows(whole.sums).sum():
        # Of the last value not every line may be among them: it begins what is left.
        place = slice(None, -1)
        first = Tally(*(getattr(found, name)[place] for name in FIELDS))
        rest = Tally(
            whole.node,
            whole.code,
            whole.sums - first.sums.sum(axis=0),
            answers.rest(whole.spread[0], first.spread)[None],
            found.low[-1:],
            whole.high,
        )
        taken = Tally(
            *(
                np.concatenate([getattr(first, name), getattr(rest, name)])
                for name in FIELDS
            )
        )
    return cells.opened(one, taken)
