"""Grow a tree in a database level by level, and say at each how it goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from treecompile.in_database.node_of_row import node_of_row
from treecompile.in_database.source import EngineSource
from treecompile.in_database.work import CLOSED
from treecompile.learners.drafts import Drafts
from treecompile.learners.growth import Growth, go_on
from treecompile.learners.limits import Limits, Progress


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
    source: EngineSource,
    limits: Limits,
    progress: Progress,
    listener: Listener,
) -> Drafts:
    """The nodes of a tree whose rows are those of the source's working table."""
    work = source.work

    def watch(growth: Growth) -> None:
        if work.is_inline:
            work.node = node_of_row(
                growth.drafts,
                growth.numbers,
                work.schema,
                work.answers.response,
                work.store.dialect,
                CLOSED,
            )
        open_rows = int(growth.rows.sum())
        listener.level(Level(growth.depth + 1, len(growth.numbers), open_rows))

    growth = Growth(source, limits)
    progress(growth.settle())
    return go_on(growth, progress, watch)
