"""The target of the rows in a database: what queries ask of it, and what it sums to.

The rows of a bin are summed in whole numbers, so sums do not depend on the order in
which a database adds them. The sums of neighbouring bins add up.

As in memory, weights are whole numbers of a unit, a power of two; see
`learning.grow.segments.Units`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.bounds import Bound
from treecompile.database.grow.query_writer import QueryWriter
from treecompile.database.schema import Schema
from treecompile.emit.sql.text import literal
from treecompile.engines.base import Store
from treecompile.learning.grow.criteria import Measure
from treecompile.learning.grow.growth import NodeStats
from treecompile.learning.grow.responses import LabelResponse, OpenNodes, Response
from treecompile.learning.grow.segments import TIE, Units
from treecompile.learning.weighting import Weighting
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.tables.dataset import Dataset

BITS = 61  # of a sum of whole numbers
SMALL = 1e-4  # a share of the weight of a node; below it, a ratio is not exact

# Makes the FROM clause for the rows of the new nodes, by the numbers of these.
Rows = Callable[[], str]


class TableTarget(Protocol):
    """The target column of a table."""

    criterion: Measure  # of splits
    response: Response  # makes the statistics and the answers of the tree
    groups: int  # labels, which are counted apart by a column `y`; 1: no labels
    units: Units | None  # of the weights of the rows; None: each counts 1

    # ------------------------------------------------------------ in queries

    def columns(self) -> list[str]:
        """The columns that the working table has for the target."""

    def moved(self, node: str) -> dict[str, str]:
        """The new values of those columns when rows move to a node."""

    def asked(self, *, is_bounded: bool) -> list[str]:
        """What is asked of the rows of each bin; more if cuts inside are bounded."""

    def gather(
        self, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        """The sums and the spread of each bin, from what a query has found.

        `line` is the bin of each row of the result, and `group` its label.
        """

    # ------------------------------------------------------------ of nodes

    def root(self, rows: str) -> Array:
        """The sums of all rows."""

    def measure(self, sums: Array, parent: Positions, rows: Rows) -> NodeStats:
        """What the new nodes hold, from their sums and the parent of each."""

    def keep(self, is_open: Mask) -> None:
        """Forget new nodes that are not open."""

    def open(self, sums: Array) -> OpenNodes:
        """The target at the open nodes, from the sums of each."""

    def state(self) -> dict[str, Array]:
        """What is known of the open nodes besides their sums, to be saved."""

    def restore(self, state: Mapping[str, Array]) -> None:
        """Continue with the open nodes of that state."""

    # ------------------------------------------------------------ of bins

    def rows(self, sums: Array) -> Array:
        """The number of rows."""

    def weights(self, sums: Array) -> Array:
        """The weight of the rows, in units."""

    def summands(self, sums: Array) -> list[Array]:
        """The sums of a `Histogram`."""

    def joined(self, spread: Array, starts: Positions) -> Array:
        """The spread of joined bins; `starts` is where each of them begins."""

    def rest(self, spread: Array, taken: Array) -> Array:
        """The spread of what is left of a bin from which others are taken."""

    def bound(self, before: Array, bins: BinHistogram, totals: Array) -> Floats:
        """The most that a cut inside each bin can gain.

        From the sums of what lies before it, and of all known rows of its node.
        """


class LabelTarget:
    """Labels, as codes. The sums are the rows of each label."""

    units: Units | None = None

    def __init__(
        self,
        store: Store,
        schema: Schema,
        criterion: Measure,
        most: Bound | None,  # None: no feature has bins
    ) -> None:
        self.store, self.schema, self.most = store, schema, most
        self.criterion = criterion
        self.groups = len(schema.labels)
        self.response: Response = LabelResponse(np.zeros(0), schema.labels)

    def columns(self) -> list[str]:
        small = QueryWriter(self.store).small(self.groups)
        codes = by_label(self.store, self.schema, map(str, range(self.groups)))
        return [f"CAST({codes} AS {small}) AS y"]

    def moved(self, node: str) -> dict[str, str]:
        return {}

    def asked(self, *, is_bounded: bool) -> list[str]:
        return ["count(*)"]

    def gather(
        self, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        size = int(line[-1]) + 1 if len(line) else 0
        counts = np.zeros((size, self.groups), np.int64)
        counts[line, group] = found[0]
        return counts, np.zeros((size, 0), np.int64)

    def root(self, rows: str) -> Array:
        y, *found = self.store.arrays(
            f"SELECT y, {', '.join(self.asked(is_bounded=False))}"
            f" FROM {rows} GROUP BY y"
        )
        nothing = np.zeros(len(y), np.intp)
        sums, _ = self.gather(nothing, y.astype(np.intp), found)
        return sums

    def measure(self, sums: Array, parent: Positions, rows: Rows) -> NodeStats:
        size = self.rows(sums)
        varies = sums.max(axis=1) < size
        weights = size.astype(np.float64)
        return NodeStats(sums.astype(np.float64), weights, size, varies)

    def keep(self, is_open: Mask) -> None:
        pass  # only the sums are known of them

    def state(self) -> dict[str, Array]:
        return {}

    def restore(self, state: Mapping[str, Array]) -> None:
        pass

    def open(self, sums: Array) -> OpenNodes:
        size = len(sums)
        tie = np.full(size, TIE * self.criterion.slack)
        weights = self.weights(sums).astype(np.float64)
        totals = [sums[:, label] for label in range(1, self.groups)]
        return OpenNodes(totals, weights, tie, np.zeros(size, np.int32))

    def rows(self, sums: Array) -> Array:
        rows: Array = sums.sum(axis=1)
        return rows

    def weights(self, sums: Array) -> Array:
        return self.rows(sums)

    def summands(self, sums: Array) -> list[Array]:
        return [sums[:, label] for label in range(self.groups)]

    def joined(self, spread: Array, starts: Positions) -> Array:
        return spread[starts]  # without columns

    def rest(self, spread: Array, taken: Array) -> Array:
        return spread

    def bound(self, before: Array, bins: BinHistogram, totals: Array) -> Floats:
        assert self.most is not None
        return self.most(
            before.astype(np.float64),
            bins.sums.astype(np.float64),
            totals.astype(np.float64),
        )


def by_label(store: Store, schema: Schema, values: Iterable[str]) -> str:
    """A SQL expression: the value given for the label of a row."""
    value = schema.target.value
    arms = " ".join(
        f"WHEN {value} = {literal(label, store.dialect)} THEN {each}"
        for label, each in zip(schema.labels, values, strict=True)
    )
    return f"CASE {arms} END"


# --- weights --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RowWeights:
    """How much the rows of a table count: by a column, and by their labels."""

    sql: str  # the weight of a row of the source, in units
    units: Units
    mean: float | None  # of the column of weights, if there is one


def weigh(
    store: Store, schema: Schema, data: Dataset, weighting: Weighting
) -> RowWeights | None:
    """How much each row counts; None if all count the same."""
    if not weighting and schema.weights is None:
        return None
    writer, own = QueryWriter(store), schema.weights
    value = own.value if own else "1e0"
    counts, sums, _ = _sums(store, schema, value)
    total = sum(sums)
    if weighting:
        weighting.check(_with_labels(data, counts))
    of_labels = np.array([float(each) for each in sums])
    factors = weighting.factors(data, counts, of_labels, float(total))
    if weighting:
        texts = map(writer.double, factors.tolist())
        factor = by_label(store, schema, texts)
        value = f"({value} * {factor})" if own else factor
    counts, sums, is_whole = _sums(store, schema, value)
    rows = int(counts.sum())
    units = Units.of_total(float(sum(sums)), rows, is_whole=is_whole)
    if units.exponent:
        value = f"{value} * {writer.double(2.0**-units.exponent)}"
    whole = store.dialect.learning.round_even.format(value)
    mean = float(total) / rows if own else None
    at_least = f"CASE WHEN {whole} < 1 THEN 1 ELSE {whole} END"
    return RowWeights(f"CAST({at_least} AS {store.dialect.learning.long})", units, mean)


def _with_labels(data: Dataset, counts: Array) -> Dataset:
    """With a row for each label that occurs."""
    return replace(data, y=np.flatnonzero(counts))


def _sums(
    store: Store, schema: Schema, weight: str
) -> tuple[Array, Sequence[Fraction], bool]:
    """The rows of each label, the sum of their weights, and whether all are whole."""
    writer, rounded = QueryWriter(store), store.dialect.learning.round_even
    long = store.dialect.learning.long

    def added(value: str) -> str:
        return f"CAST(sum(CAST({value} AS {long})) AS {long})"

    codes = by_label(store, schema, map(str, range(len(schema.labels))))
    rows = (
        f"(SELECT {codes} AS y, {weight} AS w FROM {schema.relation}"
        f" WHERE {schema.target.known}) AS source"
    )
    (most,) = store.arrays(f"SELECT max(w) FROM {rows}")
    bits = BITS - schema.rows.bit_length()
    power = bits - int(np.frexp(float(most[0]))[1])
    scaled = f"w * {writer.double(2.0**power)}"
    fine = writer.double(2.0**bits)
    rest = f"({scaled} - {rounded.format(scaled)}) * {fine}"
    y, count, odd, first, second = store.arrays(
        f"SELECT y, count(*), count(CASE WHEN w <> {rounded.format('w')} THEN 1 END),"
        f" {added(rounded.format(scaled))}, {added(rounded.format(rest))}"
        f" FROM {rows} GROUP BY y"
    )
    counts = np.zeros(len(schema.labels), np.int64)
    counts[y.astype(np.intp)] = count
    sums = [Fraction(0)] * len(schema.labels)
    for label, whole, part in zip(
        y.astype(np.intp).tolist(), first.tolist(), second.tolist(), strict=True
    ):
        exact = Fraction(int(whole)) + Fraction(int(part), 2**bits)
        sums[label] = exact / Fraction(2) ** power
    return counts, sums, not odd.any()


class WeightedLabelTarget(LabelTarget):
    """The sums are the weight of each label, in units, and the rows."""

    def __init__(
        self,
        store: Store,
        schema: Schema,
        criterion: Measure,
        most: Bound | None,
        weights: RowWeights,
    ) -> None:
        super().__init__(store, schema, criterion, most)
        self.of_row, self.units = weights.sql, weights.units

    def columns(self) -> list[str]:
        return [*super().columns(), f"{self.of_row} AS u"]

    def asked(self, *, is_bounded: bool) -> list[str]:
        return [f"CAST(sum(u) AS {self.store.dialect.learning.long})", "count(*)"]

    def gather(
        self, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        size = int(line[-1]) + 1 if len(line) else 0
        sums = np.zeros((size, self.groups + 1), np.int64)
        sums[line, group] = found[0]
        np.add.at(sums[:, -1], line, found[1].astype(np.int64))
        return sums, np.zeros((size, 0), np.int64)

    def measure(self, sums: Array, parent: Positions, rows: Rows) -> NodeStats:
        assert self.units is not None
        weights, of_labels = self.weights(sums), sums[:, :-1]
        varies = of_labels.max(axis=1) < weights
        stats, real = self.units.real(of_labels), self.units.real(weights)
        return NodeStats(stats, real, self.rows(sums), varies)

    def rows(self, sums: Array) -> Array:
        rows: Array = sums[:, -1]
        return rows

    def weights(self, sums: Array) -> Array:
        weights: Array = sums[:, :-1].sum(axis=1)
        return weights

    def bound(self, before: Array, bins: BinHistogram, totals: Array) -> Floats:
        assert self.most is not None
        parts = [
            each[:, :-1].astype(np.float64) for each in (before, bins.sums, totals)
        ]
        most = self.most(*parts)
        if self.criterion.slack > 1:
            # No bound for the ratio of a cut that divides hardly any weight.
            start, size, whole = (each.sum(axis=1) for each in parts)
            most[np.minimum(start, whole - start - size) < SMALL * whole] = np.inf
        return most
