"""Says which aggregates of the target queries ask for, and what the sums mean.

The sums are the target's figures about a set of rows, such as the rows of each label.
They are whole numbers, so they do not depend on the order in which a database adds
them. The sums of neighbouring bins add up. The spread of a bin is further figures, from
which the gain of a cut inside it is bounded.

As in memory, weights are whole numbers of a unit, a power of two; see
`learning.grow.segments.Units`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

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
    SPARE_BITS,
    LabelResponse,
    OpenNodes,
    Response,
)
from treecompile.learning.grow.segments import Units
from treecompile.learning.options import ClassWeight
from treecompile.learning.pruning import TIE
from treecompile.learning.weighting import check_class_weight, label_factors
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.tables.dataset import Dataset

SMALL = 1e-4  # a share of the weight of a node; below it, a ratio is not exact

# Returns a FROM clause for the rows of the new nodes, each with its node's number.
Rows = Callable[[], str]


class TableTarget(ABC):
    """The target column of a table, with what each kind of target sums."""

    criterion: Measure  # how splits are measured
    response: Response  # makes the statistics and the answers of the tree
    groups: int  # how many labels the column `y` tells apart; 1: no labels
    units: Units | None = None  # in which rows are weighted; None: each row counts 1

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

    def state(self) -> dict[str, Array]:
        """Return what must be saved of the open nodes besides their sums."""
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue with the open nodes of a saved state."""
        return

    # ------------------------------------------------------------ of bins

    @abstractmethod
    def rows(self, sums: Array) -> Array:
        """Return the number of rows in given sums."""

    def weights(self, sums: Array) -> Array:
        """Return the weight of the rows in given sums, in units."""
        return self.rows(sums)

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
        return {"y": f"CAST({self.codes()} AS {self.writer.small(self.groups)})"}

    def codes(self) -> str:
        """Return a SQL expression for the code of a row's label."""
        return self.by_label(map(str, range(self.groups)))

    def by_label(self, values: Iterable[str]) -> str:
        """Return a SQL expression for the value given for a row's label."""
        arms = " ".join(
            f"WHEN {self.schema.target.value} = {literal(label, self.store.dialect)}"
            f" THEN {value}"
            for label, value in zip(self.schema.labels, values, strict=True)
        )
        return f"CASE {arms} END"

    def asked(self, *, is_bounded: bool) -> list[str]:
        return ["count(*)"]

    def gather(
        self, bins: int, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        sums = np.zeros((bins, self.groups), np.int64)
        sums[line, group] = found[0]
        return sums, np.zeros((bins, 0), np.int64)

    def measure(self, sums: Array, parent: Positions, rows: Rows) -> NodeStats:
        weights, of_labels = self.weights(sums), sums[:, : self.groups]
        varies = of_labels.max(axis=1) < weights
        stats, real = of_labels.astype(np.float64), weights.astype(np.float64)
        if self.units:
            stats, real = self.units.real(of_labels), self.units.real(weights)
        return NodeStats(stats, real, self.rows(sums), varies)

    def open(self, sums: Array) -> OpenNodes:
        size = len(sums)
        tie = np.full(size, TIE * self.criterion.slack)
        weights = self.weights(sums).astype(np.float64)
        totals = self.summands(sums)[1:]
        return OpenNodes(totals, weights, tie, np.zeros(size, np.int32))

    def rows(self, sums: Array) -> Array:
        return self.weights(sums)

    def weights(self, sums: Array) -> Array:
        weights: Array = sums[:, : self.groups].sum(axis=1)
        return weights

    def summands(self, sums: Array) -> list[Array]:
        return [sums[:, label] for label in range(self.groups)]

    def bound(self, before: Floats, inside: BinHistogram, totals: Floats) -> Floats:
        sums = inside.sums.astype(np.float64)
        parts = (each[:, : self.groups] for each in (before, sums, totals))
        return label_bound(self.name, *parts)


# --- weights --------------------------------------------------------------------------


class WeightedLabelTarget(LabelTarget):
    """Labels of rows weighted by a column of weights, by their labels, or by both.

    The sums are the weight of each label, in units, and the number of rows.
    """

    mean: float | None = None  # the mean weight, if there is a column of weights

    def __init__(
        self,
        store: Store,
        schema: Schema,
        criterion: str,
        data: Dataset,
        class_weight: ClassWeight,
    ) -> None:
        super().__init__(store, schema, criterion)
        own, double = schema.weights, self.writer.double
        value = own.value if own else "1e0"
        counts, sums, is_whole = self._sums(value)
        rows = int(counts.sum())
        if own:
            self.mean = float(sum(sums)) / rows
        if class_weight:
            check_class_weight(class_weight, data)
            factors = label_factors(class_weight, data, counts)
            factor = self.by_label(map(double, factors.tolist()))
            value = f"({value} * {factor})" if own else factor
            _, sums, is_whole = self._sums(value)
        self.units = Units.of_total(float(sum(sums)), rows, is_whole=is_whole)
        if self.units.exponent:
            value = f"{value} * {double(2.0**-self.units.exponent)}"
        learning = store.dialect.learning
        whole = learning.round_even.fill(value)
        at_least = f"CASE WHEN {whole} < 1 THEN 1 ELSE {whole} END"
        self.of_row = f"CAST({at_least} AS {store.dialect.long})"

    def _sums(self, weight: str) -> tuple[Array, Sequence[Fraction], bool]:
        """Return the rows and weight of each label, and if all weights are whole."""
        schema, rounded = self.schema, self.store.dialect.learning.round_even
        rows = (
            f"(SELECT {self.codes()} AS y, {weight} AS w FROM {schema.relation}"
            f" WHERE {schema.target.known}) AS source"
        )
        (most,) = self.store.arrays(f"SELECT max(w) FROM {rows}")
        bits = SPARE_BITS - schema.rows.bit_length()
        power = bits - int(np.frexp(float(most[0]))[1])
        scaled = f"w * {self.writer.double(2.0**power)}"
        in_two = ", ".join(self.writer.sum_in_two(scaled, rounded, bits))
        y, count, odd, first, second = self.store.arrays(
            f"SELECT y, count(*), count(CASE WHEN w <> {rounded.fill('w')} THEN 1"
            f" END), {in_two} FROM {rows} GROUP BY y"
        )
        labels = y.astype(np.intp)
        counts = np.zeros(self.groups, np.int64)
        counts[labels] = count
        sums = [Fraction(0)] * self.groups
        for label, whole, part in zip(labels, first, second, strict=True):
            exact = Fraction(int(whole)) + Fraction(int(part), 2**bits)
            sums[label] = exact / Fraction(2) ** power
        return counts, sums, not odd.any()

    def columns(self) -> dict[str, str]:
        return {**super().columns(), "u": self.of_row}

    def asked(self, *, is_bounded: bool) -> list[str]:
        return [self.writer.sum("u"), "count(*)"]

    def gather(
        self, bins: int, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        weights, spread = super().gather(bins, line, group, found)
        rows = np.zeros(bins, np.int64)
        np.add.at(rows, line, found[1].astype(np.int64))
        return np.column_stack([weights, rows]), spread

    def rows(self, sums: Array) -> Array:
        rows: Array = sums[:, -1]
        return rows

    def bound(self, before: Floats, inside: BinHistogram, totals: Floats) -> Floats:
        most = super().bound(before, inside, totals)
        if self.criterion.slack > 1:
            # A cut with hardly any weight on one side has no bound for its ratio.
            start, size, whole = map(self.weights, (before, inside.sums, totals))
            most[np.minimum(start, whole - start - size) < SMALL * whole] = np.inf
        return most
