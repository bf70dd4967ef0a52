"""Says which aggregates of the target queries ask for, and what the sums mean.

The sums are the target's figures about a set of rows, such as the rows of each label.
They are whole numbers, so they do not depend on the order in which a database adds
them. The sums of neighbouring bins add up. The spread of a bin is further figures, from
which the gain of a cut inside it is bounded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.query_writer import QueryWriter
from treecompile.database.schema import Schema
from treecompile.emit.sql.text import literal
from treecompile.engines.base import Store
from treecompile.learning.grow.bounds import label_bound
from treecompile.learning.grow.criteria import MEASURES, Measure
from treecompile.learning.grow.growth import NodeStats
from treecompile.learning.grow.responses import (
    LabelResponse,
    OpenNodes,
    Response,
)
from treecompile.learning.pruning import TIE
from treecompile.model.arrays import Array, Floats, Mask, Positions

# Returns a FROM clause for the rows of the new nodes, each with its node's number.
Rows = Callable[[], str]


class TableTarget(ABC):
    """The target column of a table, with what each kind of target sums."""

    criterion: Measure  # how splits are measured
    response: Response  # makes the statistics and the answers of the tree
    groups: int  # how many labels the column `y` tells apart; 1: no labels

    def __init__(self, store: Store, schema: Schema) -> None:
        self.store, self.schema = store, schema
        self.writer = QueryWriter(store)

    # ------------------------------------------------------------ in queries

    @abstractmethod
    def columns(self) -> dict[str, str]:
        """Return the columns of the working table for the target: names and SQL."""

    def moved(self) -> dict[str, str]:
        """Return the columns whose values change when rows move to another node."""
        return {}

    @abstractmethod
    def asked(self, *, is_bounded: bool) -> list[str]:
        """Return the aggregates for each bin; more if cuts inside are to be bounded."""

    @abstractmethod
    def gather(
        self, bins: int, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        """Return the sums and the spread of each bin, from the answer to a query.

        `line` is the bin of each row of the result, and `group` its label.
        """

    # ------------------------------------------------------------ of nodes

    def at_nodes(self, rows: str, nodes: int) -> Array:
        """Return the sums of nodes, whose numbers are in `node` of `rows`."""
        keys = "node, y" if self.groups > 1 else "node"
        found = self.store.arrays(
            f"SELECT {keys}, {', '.join(self.asked(is_bounded=False))}"
            f" FROM {rows} AS w WHERE node >= 0 GROUP BY {keys}"
        )
        node = found.pop(0).astype(np.intp)
        label = found.pop(0).astype(np.intp) if self.groups > 1 else np.zeros_like(node)
        return self.gather(nodes, node, label, found)[0]

    def root(self, rows: str) -> Array:
        """Return the sums of all rows."""
        return self.at_nodes(rows, 1)

    @abstractmethod
    def measure(self, sums: Array, parent: Positions, rows: Rows) -> NodeStats:
        """Return the statistics of the new nodes, from the sums and parent of each."""

    def keep(self, is_open: Mask) -> None:
        """Forget the new nodes that are not open."""
        return

    @abstractmethod
    def open(self, sums: Array) -> OpenNodes:
        """Return the target at the open nodes, from their sums."""

    # ------------------------------------------------------------ of bins

    @abstractmethod
    def rows(self, sums: Array) -> Array:
        """Return the number of rows in given sums."""

    @abstractmethod
    def summands(self, sums: Array) -> list[Array]:
        """Return the columns of the sums that a `Histogram` adds up."""

    def joined(self, spread: Array, starts: Positions) -> Array:
        """Return the spread of joined bins; `starts` is where each of them begins."""
        return spread[starts]

    def rest(self, spread: Array, taken: Array) -> Array:
        """Return the spread of a bin's other rows, after bins are taken out of it."""
        return spread

    @abstractmethod
    def bound(self, before: Floats, inside: BinHistogram, totals: Floats) -> Floats:
        """Return the most that a cut inside each bin can gain.

        `before` has the sums of the bins before it at its node, and `totals` those of
        all known rows of the node.
        """


class LabelTarget(TableTarget):
    """Labels, as codes. The sums are the rows of each label."""

    def __init__(self, store: Store, schema: Schema, criterion: str) -> None:
        super().__init__(store, schema)
        self.criterion, self.name = MEASURES[criterion], criterion
        self.groups = len(schema.labels)
        self.response = LabelResponse(np.zeros(0), schema.labels)

    def columns(self) -> dict[str, str]:
        arms = " ".join(
            f"WHEN {self.schema.target.value} = {literal(label, self.store.dialect)}"
            f" THEN {code}"
            for code, label in enumerate(self.schema.labels)
        )
        return {"y": f"CAST(CASE {arms} END AS {self.writer.small(self.groups)})"}

    def asked(self, *, is_bounded: bool) -> list[str]:
        return ["count(*)"]

    def gather(
        self, bins: int, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        sums = np.zeros((bins, self.groups), np.int64)
        sums[line, group] = found[0]
        return sums, np.zeros((bins, 0), np.int64)

    def measure(self, sums: Array, parent: Positions, rows: Rows) -> NodeStats:
        sizes, stats = self.rows(sums), sums.astype(np.float64)
        varies = sums.max(axis=1) < sizes
        return NodeStats(stats, sizes.astype(np.float64), sizes, varies)

    def open(self, sums: Array) -> OpenNodes:
        size = len(sums)
        tie = np.full(size, TIE * self.criterion.slack)
        sizes = self.rows(sums).astype(np.float64)
        totals = self.summands(sums)[1:]
        return OpenNodes(totals, sizes, tie, np.zeros(size, np.int32))

    def rows(self, sums: Array) -> Array:
        rows: Array = sums.sum(axis=1)
        return rows

    def summands(self, sums: Array) -> list[Array]:
        return [sums[:, label] for label in range(self.groups)]

    def bound(self, before: Floats, inside: BinHistogram, totals: Floats) -> Floats:
        return label_bound(self.name, before, inside.sums.astype(np.float64), totals)
