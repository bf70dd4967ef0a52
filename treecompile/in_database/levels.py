"""Grow a tree in a database level by level: begin or go on, keep the state, tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from treecompile.errors import DataError
from treecompile.in_database.journal import Journal
from treecompile.in_database.node_of_row import node_of_row
from treecompile.in_database.source import EngineSource
from treecompile.in_database.state import State, dumps
from treecompile.in_database.work import CLOSED, WorkTable
from treecompile.learners.drafts import Drafts
from treecompile.learners.growth import Growth, go_on
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.stretches import Positions

NO_TABLE = (
    "no temporary table: each query works out the node of every row anew, which is"
    " slower"
)
CHANGED = (
    "the rows of the table have changed since the run was interrupted: remove its state"
    " file to start anew"
)


@dataclass(frozen=True, slots=True)
class Level:
    """What is about to be counted."""

    number: int  # 1 is the root
    nodes: int  # that are open
    rows: int  # at these


@dataclass(frozen=True, slots=True)
class Listener:
    """Whom a long run keeps informed."""

    level: Callable[[Level], None] = lambda level: None
    say: Callable[[str], None] = lambda line: None


def grow_levels(
    work: WorkTable,
    limits: Limits,
    progress: Progress,
    listener: Listener,
    journal: Journal | None,
    former: State | None,
    *,
    is_multiway: bool,
) -> Drafts:
    """All nodes of a tree; `former` is the state to go on from, if there is one."""
    if former:
        work.answers.restore(former.answers)
        _place(work, former.drafts, former.numbers)
    work.create()
    if work.is_inline:
        listener.say(NO_TABLE)

    def watch(growth: Growth) -> None:
        if work.is_inline:
            _place(work, growth.drafts, growth.numbers)
        if journal and growth.depth > journal.levels:
            state = _state(source, growth)
            journal.write(state, dumps(state))
        open_rows = int(growth.rows.sum())
        listener.level(Level(growth.depth + 1, len(growth.numbers), open_rows))

    sums = former.sums if former else None
    source = EngineSource(work, limits, sums, is_multiway=is_multiway)
    growth = Growth(source, limits)
    if former:
        _check(work, former)
        growth.resume(former.drafts, former.depth, former.numbers, former.rows)
        progress(work.schema.rows - int(former.rows.sum()))
    else:
        progress(growth.settle())
    return go_on(growth, progress, watch)


def _place(work: WorkTable, drafts: Drafts, opened: Positions) -> None:
    schema, response, dialect = work.schema, work.answers.response, work.store.dialect
    node = node_of_row(drafts, opened, schema, response, dialect, CLOSED)
    work.place(node, len(opened))


def _state(source: EngineSource, growth: Growth) -> State:
    return State(
        source.work.bins,
        growth.drafts,
        growth.depth,
        growth.numbers,
        growth.rows,
        source.sums,
        source.answers.state(),
    )


def _check(work: WorkTable, former: State) -> None:
    """The open nodes must hold what they held: not every change is seen before."""
    has_labels = work.answers.groups > 1 and work.answers.units is None
    held = former.sums if has_labels else former.rows[:, None]
    key, count = work.store.arrays(
        f"SELECT node * {held.shape[1]} + {'y' if has_labels else 0} AS k, count(*)"
        f" FROM {work.rows()} AS w WHERE node >= 0 GROUP BY k"
    )
    found = np.zeros_like(held)
    found.flat[key.astype(np.intp)] = count
    if not np.array_equal(found, held):
        raise DataError(CHANGED)
