"""How much the rows of a table in a database count: by a column, and by their labels.

As in memory, weights are whole numbers of a unit, a power of two; see `learners.units`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from treecompile.data import Dataset
from treecompile.in_database.answers import LabelAnswers, by_label
from treecompile.in_database.bounds import Bound
from treecompile.in_database.cells import Cells
from treecompile.in_database.schema import Schema
from treecompile.in_database.spelling import Spelling
from treecompile.learners.criteria import Measure
from treecompile.learners.growth import Newest
from treecompile.learners.limits import TIE
from treecompile.learners.responses import Opened
from treecompile.learners.stretches import Array, Floats, Positions
from treecompile.learners.units import Units
from treecompile.learners.weighting import Weighting
from treecompile.stores.base import Store

BITS = 61  # of a sum of whole numbers
SMALL = 1e-4  # part of the weight of a node, for which a ratio is not exact


@dataclass(frozen=True, slots=True)
class RowWeights:
    sql: str  # of a row of the source: its weight, in units
    units: Units
    mean: float | None  # of the column of weights, if there is one


def weigh(
    store: Store, schema: Schema, data: Dataset, weighting: Weighting
) -> RowWeights | None:
    """How much each row counts, for labels; None if all count the same."""
    if not weighting and schema.weights is None:
        return None
    spelling, own = Spelling(store), schema.weights
    value = own.value if own else "1e0"
    counts, sums, _ = _sums(store, schema, value)
    total = sum(sums)
    if weighting:
        weighting.check(_with_labels(data, counts))
    of_labels = np.array([float(each) for each in sums])
    factors = weighting.factors(data, counts, of_labels, float(total))
    if weighting:
        texts = map(spelling.double, factors.tolist())
        factor = by_label(store, schema, texts)
        value = f"({value} * {factor})" if own else factor
    counts, sums, is_whole = _sums(store, schema, value)
    rows = int(counts.sum())
    units = Units.of_total(float(sum(sums)), rows, is_whole=is_whole)
    if units.exponent:
        value = f"{value} * {spelling.double(2.0**-units.exponent)}"
    whole = store.phrases.round_even.format(value)
    mean = float(total) / rows if own else None
    at_least = f"CASE WHEN {whole} < 1 THEN 1 ELSE {whole} END"
    return RowWeights(f"CAST({at_least} AS {store.phrases.long})", units, mean)


def _with_labels(data: Dataset, counts: Array) -> Dataset:
    """With a row for each label that there is."""

    return replace(data, y=np.flatnonzero(counts))


def _sums(
    store: Store, schema: Schema, weight: str
) -> tuple[Array, Sequence[Fraction], bool]:
    """The rows of each label, their weights added up, and whether all are whole."""
    spelling, rounded = Spelling(store), store.phrases.round_even
    long = store.phrases.long

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
    scaled = f"w * {spelling.double(2.0**power)}"
    fine = spelling.double(2.0**bits)
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


class WeightedLabels(LabelAnswers):
    """The sums are the weights of each label, in units, and the rows."""

    def __init__(
        self,
        store: Store,
        schema: Schema,
        measure: Measure,
        most: Bound | None,
        weights: RowWeights,
    ) -> None:
        super().__init__(store, schema, measure, most)
        self.of_row, self.units = weights.sql, weights.units

    def columns(self) -> list[str]:
        return [*super().columns(), f"{self.of_row} AS u"]

    def asked(self, *, is_bounded: bool) -> list[str]:
        return [f"CAST(sum(u) AS {self.store.phrases.long})", "count(*)"]

    def gather(
        self, cell: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        size = int(cell[-1]) + 1 if len(cell) else 0
        sums = np.zeros((size, self.groups + 1), np.int64)
        sums[cell, group] = found[0]
        np.add.at(sums[:, -1], cell, found[1].astype(np.int64))
        return sums, np.zeros((size, 0), np.int64)

    def root(self, rows: str) -> Array:
        y, *found = self.store.arrays(
            f"SELECT y, {', '.join(self.asked(is_bounded=False))}"
            f" FROM {rows} GROUP BY y"
        )
        nothing = np.zeros(len(y), np.intp)
        sums, _ = self.gather(nothing, y.astype(np.intp), found)
        return sums

    def newest(self, sums: Array, parent: Positions, rows: object) -> Newest:
        assert self.units is not None
        weights, of_labels = self.weights(sums), sums[:, :-1]
        varies = of_labels.max(axis=1) < weights
        stats, real = self.units.real(of_labels), self.units.real(weights)
        return Newest(stats, real, self.rows(sums), varies)

    def open(self, sums: Array) -> Opened:
        size = len(sums)
        tie = np.full(size, TIE * self.measure.slack)
        weights = self.weights(sums).astype(np.float64)
        totals = [sums[:, label] for label in range(1, self.groups)]
        return Opened(totals, weights, tie, np.zeros(size, np.int32))

    def rows(self, sums: Array) -> Array:
        rows: Array = sums[:, -1]
        return rows

    def weights(self, sums: Array) -> Array:
        weights: Array = sums[:, :-1].sum(axis=1)
        return weights

    def bound(self, before: Array, cells: Cells, totals: Array) -> Floats:
        assert self.most is not None
        parts = [
            each[:, :-1].astype(np.float64) for each in (before, cells.sums, totals)
        ]
        most = self.most(*parts)
        if self.measure.slack > 1:
            # A ratio to the information of a cut that divides hardly any weight.
            start, size, whole = (each.sum(axis=1) for each in parts)
            most[np.minimum(start, whole - start - size) < SMALL * whole] = np.inf
        return most
