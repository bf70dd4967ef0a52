"""Look into bins until every cut that may be the best is known by its value.

A cut between two bins is as exact as any. A cut inside a bin can gain no more than the
bound says; if that is less than what is known to be gained at the node, the bin need
not be opened. The others are cut more finely, bounded again, and at last asked for
their values. What was asked for is judged at once, and what is of no interest joined
again, so that no more is held than a few hundred thousand lines, whatever the data.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from treecompile.in_database.cells import FIELDS, Cells, Ranges, Tally
from treecompile.in_database.counting import FINER
from treecompile.in_database.judge import SLACK, Judged, judge
from treecompile.in_database.work import WorkTable
from treecompile.learners.level import Terms
from treecompile.learners.stretches import Floats, Mask

__all__ = ["FEW_ROWS", "ROUNDS", "SLACK", "open_cells", "refine"]

FEW_ROWS = 300_000  # whose values are fetched at once
SHARE = 8  # values are fetched of no more than such a part of all rows, if it is much
FEW_ENOUGH = 20_000  # rows that are not much
MOST_CELLS = 600_000  # beyond those that there were, before values are fetched
AT_ONCE = 4_000  # cells that are cut more finely at once
ROUNDS = 4  # of cutting more finely


Judge = Callable[[Cells], Judged]


class Ask(Enum):
    """What is asked of the rows in some ranges of a feature."""

    FINER = "counts of small cells"
    VALUES = "counts of all values"
    FIRST_VALUES = "counts of the first values"


@dataclass(frozen=True, slots=True)
class Question:
    ask: Ask
    ranges: Ranges


def refine(
    work: WorkTable, cells: Mapping[int, Cells], terms: Terms, least: Floats
) -> dict[int, Cells]:
    """The cells of features with many numbers, those opened that may win.

    `least` is the gain at each node that a cut must have to be of interest. Of features
    without such cells nothing is returned.
    """

    def judge_it(now: Cells) -> Judged:
        return judge(work.answers, now, terms, least)

    found = open_cells(work, cells, dict.fromkeys(cells, judge_it))
    return {p: each for p, each in found.items() if each is not cells[p]}


def open_cells(
    work: WorkTable,
    cells: Mapping[int, Cells],
    judges: Mapping[int, Judge],
    unit: float = 1.0,  # of a row, in which the rows of cells are counted
) -> dict[int, Cells]:
    """The cells of features with many numbers, opened until none is alive."""
    runs = {p: _opening(work, each, judges[p], unit) for p, each in cells.items()}
    asked: dict[int, Question] = {}
    found: dict[int, Cells] = {}

    def go_on(position: int, answer: Tally | None) -> None:
        try:
            asked[position] = runs[position].send(answer)  # type: ignore[arg-type]
        except StopIteration as end:
            found[position] = end.value

    for position in runs:
        go_on(position, None)
    while asked:
        questions, asked = asked, {}
        for position, answer in _answers(work, questions).items():
            go_on(position, answer)
    return found


def _answers(work: WorkTable, questions: Mapping[int, Question]) -> dict[int, Tally]:
    """What is asked of several features, in as few queries as the database likes."""

    def those(ask: Ask) -> dict[int, Ranges]:
        return {p: each.ranges for p, each in questions.items() if each.ask is ask}

    answers: dict[int, Tally] = {}
    if some := those(Ask.FINER):
        answers |= work.finer(some)
    if some := those(Ask.VALUES):
        answers |= work.values(some)
    for position, ranges in those(Ask.FIRST_VALUES).items():
        answers[position] = work.first_values(position, ranges, _lines(work))
    return answers


def _opening(
    work: WorkTable, cells: Cells, judge_: Judge, unit: float
) -> Generator[Question, Tally, Cells]:
    """Look into the cells of one feature, asking as needed."""
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
                finer = yield Question(Ask.FINER, cells.ranges(young))
                cells = cells.opened(young, finer)
                continue
        batch = alive & (np.cumsum(np.where(alive, sizes, 0)) <= FEW_ROWS)
        if batch.any():
            values = yield Question(Ask.VALUES, cells.ranges(batch))
            cells = cells.opened(batch, values)
        else:
            one = _first(alive, 1)
            begun = yield Question(Ask.FIRST_VALUES, cells.ranges(one))
            cells = _begun(work, cells, one, begun)


def _first(which: Mask, most: int) -> Mask:
    """The first of them, as many as that."""
    first: Mask = which & (np.cumsum(which) <= most)
    return first


def _least(values: np.ndarray, which: Mask) -> int:
    return int(values[which].min()) if which.any() else 0


def _lines(work: WorkTable) -> int:
    """Of which the first values of a cell come that has too many to fetch them all."""
    return max(FEW_ROWS, 2 * work.answers.groups + 1)


def _begun(work: WorkTable, cells: Cells, one: Mask, found: Tally) -> Cells:
    """With the beginning of one cell opened."""
    answers = work.answers
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
