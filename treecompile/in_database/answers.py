"""The target of the rows in a database, as queries and the judges of cuts see it.

What is asked of the rows of a cell comes back in whole numbers, whose sums are the same
in whatever order a database adds them. The sums of cells side by side add up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from treecompile.in_database.bounds import Bound
from treecompile.in_database.cells import Cells
from treecompile.in_database.schema import Schema
from treecompile.in_database.spelling import Spelling
from treecompile.learners.criteria import Measure
from treecompile.learners.growth import Newest
from treecompile.learners.limits import TIE
from treecompile.learners.responses import Labels, Opened, Response
from treecompile.learners.stretches import Array, Floats, Mask, Positions
from treecompile.learners.units import Units
from treecompile.lower.sql_conditions import literal
from treecompile.stores.base import Store

# What stands behind FROM for the rows of the newest nodes, by their numbers.
Rows = Callable[[], str]


class Answers(Protocol):
    """The target of a table."""

    measure: Measure  # of splits
    response: Response  # of which the tree has its statistics and its answers
    groups: int  # answers that are counted apart, by a column `y` from 0 on; 1: none
    units: Units | None  # of the weights of the rows; None: each counts 1

    # ------------------------------------------------------------ in queries

    def columns(self) -> list[str]:
        """The columns of the working table that are for the target."""

    def moved(self, node: str) -> dict[str, str]:
        """What becomes of those columns as rows move to a node."""

    def asked(self, *, is_bounded: bool) -> list[str]:
        """What is asked of the rows of each cell; what is bounded is asked for more."""

    def gather(
        self, cell: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        """The sums and the spread of each cell, from lines that tell of parts of it."""

    # ------------------------------------------------------------ of nodes

    def root(self, rows: str) -> Array:
        """The sums of all rows."""

    def newest(self, sums: Array, parent: Positions, rows: Rows) -> Newest:
        """What the newest nodes hold, from their sums and the open node above each."""

    def keep(self, is_open: Mask) -> None:
        """Go on with the open ones of the newest nodes."""

    def open(self, sums: Array) -> Opened:
        """What the open nodes have to do with the target, from the sums of each."""

    def state(self) -> dict[str, Array]:
        """What is known of the open nodes besides their sums, to be kept in a file."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on with open nodes of which that is known."""

    # ------------------------------------------------------------ of cells

    def rows(self, sums: Array) -> Array:
        """How many rows there are."""

    def weights(self, sums: Array) -> Array:
        """How much these weigh, in units."""

    def summands(self, sums: Array) -> list[Array]:
        """The sums that blocks have; see `learners.blocks`."""

    def joined(self, spread: Array, starts: Positions) -> Array:
        """The spread of cells that become one, from where each of these begins."""

    def rest(self, spread: Array, taken: Array) -> Array:
        """The spread of what is left of a cell from which others are taken."""

    def bound(self, before: Array, cells: Cells, totals: Array) -> Floats:
        """The most that a cut inside each cell can gain.

        From the sums of what lies before it, and of all known rows of its node.
        """


class LabelAnswers:
    """Labels, as codes. The sums are the cases of each label."""

    units: Units | None = None

    def __init__(
        self,
        store: Store,
        schema: Schema,
        measure: Measure,
        most: Bound | None,  # None: no feature has bins
    ) -> None:
        self.store, self.schema, self.most = store, schema, most
        self.measure = measure
        self.groups = len(schema.labels)
        self.response: Response = Labels(np.zeros(0), schema.labels)

    def columns(self) -> list[str]:
        small = Spelling(self.store).small(self.groups)
        codes = by_label(self.store, self.schema, map(str, range(self.groups)))
        return [f"CAST({codes} AS {small}) AS y"]

    def moved(self, node: str) -> dict[str, str]:
        return {}

    def asked(self, *, is_bounded: bool) -> list[str]:
        return ["count(*)"]

    def gather(
        self, cell: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        size = int(cell[-1]) + 1 if len(cell) else 0
        counts = np.zeros((size, self.groups), np.int64)
        counts[cell, group] = found[0]
        return counts, np.zeros((size, 0), np.int64)

    def root(self, rows: str) -> Array:
        y, count = self.store.arrays(f"SELECT y, count(*) FROM {rows} GROUP BY y")
        counts = np.zeros((1, self.groups), np.int64)
        counts[0, y.astype(np.intp)] = count
        return counts

    def newest(self, sums: Array, parent: Positions, rows: Rows) -> Newest:
        size = self.rows(sums)
        varies = sums.max(axis=1) < size
        return Newest(sums.astype(np.float64), size.astype(np.float64), size, varies)

    def keep(self, is_open: Mask) -> None:
        pass  # nothing but the sums is known of them

    def state(self) -> dict[str, Array]:
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        pass

    def open(self, sums: Array) -> Opened:
        size = len(sums)
        tie = np.full(size, TIE * self.measure.slack)
        rows = self.rows(sums).astype(np.float64)
        totals = [sums[:, label] for label in range(1, self.groups)]
        return Opened(totals, rows, tie, np.zeros(size, np.int32))

    def rows(self, sums: Array) -> Array:
        rows: Array = sums.sum(axis=1)
        return rows

    def weights(self, sums: Array) -> Array:
        return self.rows(sums)

    def summands(self, sums: Array) -> list[Array]:
        return [sums[:, label] for label in range(self.groups)]

    def joined(self, spread: Array, starts: Positions) -> Array:
        return spread[starts]  # which has no columns

    def rest(self, spread: Array, taken: Array) -> Array:
        return spread

    def bound(self, before: Array, cells: Cells, totals: Array) -> Floats:
        assert self.most is not None
        return self.most(
            before.astype(np.float64),
            cells.sums.astype(np.float64),
            totals.astype(np.float64),
        )


def by_label(store: Store, schema: Schema, values: Iterable[str]) -> str:
    """The value for the label of a row of the source."""
    value = schema.target.value
    arms = " ".join(
        f"WHEN {value} = {literal(label, store.dialect)} THEN {each}"
        for label, each in zip(schema.labels, values, strict=True)
    )
    return f"CASE {arms} END"
