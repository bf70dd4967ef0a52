"""Grows a tree level by level in a database.

`learn` calls `grow_in_table`, which begins or resumes, saves the state after each level
and reports progress. A `TableSource` supplies the counts of each level: there is one
for ID3 and CART and one for C4.5.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treecompile.database.grow.work import WorkTable
from treecompile.database.journal import Journal, TableState
from treecompile.learning.grow.draft import DraftLevel
from treecompile.learning.grow.growth import AnyGrowth, GrowthState
from treecompile.model.arrays import Positions

NO_TABLE = (
    "no temporary table: each query computes the node of every row again, which is"
    " slower"
)
CHANGED = (
    "the rows of the table have changed since the run was interrupted: remove its state"
    " file to start over"
)


@dataclass(frozen=True, slots=True)
class LevelProgress:
    """The level that is about to be counted."""

    number: int  # 1 is the root
    nodes: int  # open nodes
    rows: int  # rows at the open nodes


@dataclass(frozen=True, slots=True)
class Listener:
    """Functions called with the progress of a long run."""

    level: Callable[[LevelProgress], None] = lambda level: None
    say: Callable[[str], None] = lambda line: None


class TableSource(ABC):
    """A source of counts whose rows are in a working table."""

    work: WorkTable

    @abstractmethod
    def begin(self) -> None:
        """Make the working table, and open the root."""

    @abstractmethod
    def resume(self, growth: GrowthState, state: Mapping[str, Any]) -> None:
        """Make the working table, with each row at its open node of a former run."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return what `resume` needs besides the state of the growth."""

    def before_level(self, levels: Sequence[DraftLevel], opened: Positions) -> None:
        """Prepare the queries of a level; called before its nodes are searched."""
        return


def grow_in_table(
    growth: AnyGrowth,
    source: TableSource,
    listener: Listener,
    journal: Journal | None,
    former: TableState | None,
) -> list[DraftLevel]:
    """Grow a tree and return its levels; `former` is a state to continue from."""
    if former is None:
        source.begin()
    else:
        source.resume(former.growth, former.source)
        growth.resume(former.growth)
    if source.work.is_inline:
        listener.say(NO_TABLE)

    def watch(growth: AnyGrowth) -> None:
        source.before_level(growth.levels, growth.nodes)
        if journal and growth.depth > journal.levels:
            edges = source.work.edges
            journal.write(TableState(edges, growth.state(), source.state()))
        rows = round(float(growth.rows.sum()))
        listener.level(LevelProgress(growth.depth + 1, len(growth.nodes), rows))

    return growth.run(watch)
