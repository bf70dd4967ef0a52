"""Sums a target of numbers in a database, for regression trees.

What is summed is the distance of each row's number from the mean of its node. As in
memory, it is rounded to whole units of the node, so sums do not depend on the order of
the rows. The unit is a power of two so small that the sum of all distances of a node
just fits 61 bits.

The mean of a new node is not known before it is queried. So its distances and their
squares are measured from a centre, which is estimated from the sums of the parent. Each
sum is queried in two whole numbers: the units, and the remainders of rounding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.targets import Rows, TableTarget
from treecompile.database.schema import Schema
from treecompile.engines.base import Store
from treecompile.learning.grow.bounds import squares_bound
from treecompile.learning.grow.criteria import LEAST_SQUARES
from treecompile.learning.grow.draft import Draft
from treecompile.learning.grow.growth import NodeStats
from treecompile.learning.grow.responses import SPARE_BITS, NumberResponse, OpenNodes
from treecompile.learning.pruning import TIE
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import Stats

SQUARED = 2.0**-SPARE_BITS  # unit of squared distances: their sum fits as well
# A node is measured again if its mean is off the centre by more than CENTRED times its
# mean distance, or if its reach is less than NEARER times the assumed one.
CENTRED, NEARER = 2.0**-34, 2.0**-10
DISTANCES = 3  # the column of a node's statistics that has the sum of distances
LARGEST_POWER = 1000  # the greatest power of 2 in one factor


class DistanceResponse(NumberResponse):
    """Numbers with a sum of distances besides the moments."""

    def stats(self, measured: Floats) -> list[Stats]:
        return super().stats(measured[:, :DISTANCES])


def distances(draft: Draft) -> list[float]:
    """Return the sum of the distances from the mean at each node of a tree."""
    found: list[float] = draft.stats[draft.reading_order(), DISTANCES].tolist()
    return found


@dataclass(frozen=True, slots=True, eq=False)
class NumberStats:
    """Figures about the numbers at some nodes, with an entry for each node."""

    rows: Array
    low: Floats
    high: Floats
    mean: Floats
    distances: Floats  # the sum of the distances from the mean
    squares: Floats  # the sum of squared distances, each distance times 2^-power
    power: Array

    @property
    def sse(self) -> Floats:
        """The sum of squared errors; 0 if it is too small for a double."""
        sse: Floats = np.ldexp(self.squares, 2 * self.power)
        return sse

    @property
    def varies(self) -> Mask:
        varies: Mask = self.low < self.high
        return varies

    def some(self, which: Array | slice) -> NumberStats:
        return NumberStats(
            *(getattr(self, name)[which] for name in NumberStats.__slots__)
        )

    def reach(self, centre: Floats, which: Array | slice) -> Floats:
        """Return the greatest distance of a number from the centre, for some nodes."""
        return np.maximum(self.high[which] - centre, centre - self.low[which])


class NumberTarget(TableTarget):
    """Numbers; the two sums are the rows and their distances from the node's mean."""

    criterion = LEAST_SQUARES
    groups = 1

    def __init__(self, store: Store, schema: Schema) -> None:
        super().__init__(store, schema)
        self.response = DistanceResponse(np.zeros(0))
        # The bits that one row may take, so that the sum over all rows fits.
        self.bits = SPARE_BITS - schema.rows.bit_length()
        self.held = self._root()  # the new nodes; after `keep`, the open ones
        self.unit = self._units()

    # ------------------------------------------------------------ in queries

    def columns(self) -> dict[str, str]:
        value = self.schema.target.value
        return {"y": value, "d": self._distance(value)}

    def moved(self) -> dict[str, str]:
        return {"d": self._distance("y")}

    def _distance(self, value: str) -> str:
        mean = self._of_node(self.held.mean)
        return self._whole(self._scaled(f"({value} - {mean})", -self.unit))

    def _of_node(self, values: Floats) -> str:
        return self.writer.of_node(map(self.writer.double, values.tolist()))

    def _scaled(self, value: str, power: Array) -> str:
        """Multiply a value by its node's power of two, in factors that fit a double."""
        first = np.clip(power, -LARGEST_POWER, LARGEST_POWER)
        for each in (first, power - first):
            if each.any():
                value = f"{value} * {self._of_node(np.ldexp(1.0, each))}"
        return value

    def _whole(self, value: str) -> str:
        dialect = self.store.dialect
        return f"CAST({dialect.learning.round.fill(value)} AS {dialect.long})"

    def asked(self, *, is_bounded: bool) -> list[str]:
        asked = ["count(*)", self.writer.sum("d")]
        if is_bounded:
            unit, double = self.writer.double(SQUARED), self.store.dialect.types.number
            squared = self._whole(f"CAST(d AS {double}) * d * {unit}")
            asked += ["min(d)", "max(d)", self.writer.sum(squared)]
        return asked

    def gather(
        self, bins: int, line: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        gathered = np.zeros((bins, len(found)), np.int64)
        gathered[line] = np.column_stack(found)
        return gathered[:, :2], gathered[:, 2:]

    # ------------------------------------------------------------ of nodes

    def root(self, rows: str) -> Array:
        return np.array([[self.held.rows[0], 0]])

    def measure(self, sums: Array, parent: Positions, rows: Rows) -> NodeStats:
        if len(parent):
            size, total = sums.T
            away = np.ldexp(total / size, self.unit[parent])
            centre = self.held.mean[parent] + away
            reach = self.held.reach(centre, parent)
            self.held = self._ask(rows(), centre, reach)
        held = self.held = self.held.some(slice(len(sums)))  # there may be no new nodes
        size = held.rows.astype(np.float64)
        stats = np.stack([size, held.mean, held.sse, held.distances], axis=1)
        return NodeStats(stats, size, held.rows, held.varies)

    def keep(self, is_open: Mask) -> None:
        self.held = self.held.some(is_open)
        self.unit = self._units()

    def _units(self) -> Array:
        """Return the exponent of each node's unit, the finest in which its sums fit."""
        _, exponent = np.frexp(self.held.distances)
        return exponent - SPARE_BITS

    def open(self, sums: Array) -> OpenNodes:
        size = self.rows(sums).astype(np.float64)
        held, unit = self.held, self.unit
        tie = TIE * np.ldexp(held.squares / size, 2 * (held.power - unit))
        return OpenNodes([sums[:, 1]], size, tie, 2 * unit)

    def _root(self) -> NumberStats:
        target = self.schema.target
        rows = (
            f"(SELECT 0 AS node, {target.value} AS y FROM {self.schema.relation}"
            f" WHERE {target.known}) AS source"
        )
        low, high = self.store.arrays(f"SELECT min(y), max(y) FROM {rows}")
        centre = low / 2 + high / 2
        return self._ask(rows, centre, np.maximum(high - centre, centre - low))

    def _ask(self, rows: str, centre: Floats, reach: Floats) -> NumberStats:
        """Measure the nodes from a centre, and again if it was far from their mean.

        `reach` bounds the distances from the centre.
        """
        held = self._about(rows, centre, reach)
        nearer = held.reach(held.mean, slice(None))
        off = np.abs(held.mean - centre) * held.rows > CENTRED * held.distances
        if np.any((off | (nearer < reach * NEARER)) & held.varies):
            held = self._about(rows, held.mean, nearer)
        return held

    def _about(self, rows: str, centre: Floats, reach: Floats) -> NumberStats:
        _, exponent = np.frexp(reach)
        power, bits = self.bits - exponent, self.bits
        coarse = self.writer.double(2.0**-bits)
        away = f"(y - {self._of_node(centre)})"
        scaled = self._scaled(away, power)
        inner = f"SELECT node, y, {scaled} AS t FROM {rows} WHERE node >= 0"
        asked = ["count(*)", "min(y)", "max(y)"]
        for value in ("t", f"t * t * {coarse}", "abs(t)"):
            asked += self.writer.sum_in_two(value, bits)
        found = self.store.arrays(
            f"SELECT node, {', '.join(asked)} FROM ({inner}) AS scaled GROUP BY node"
        )
        order = np.argsort(found[0])
        size, low, high, *parts = (each[order] for each in found[1:])
        total, squares, distances = (
            whole.astype(np.float64) + np.ldexp(rest.astype(np.float64), -bits)
            for whole, rest in zip(parts[::2], parts[1::2], strict=True)
        )
        size = size.astype(np.int64)
        mean = np.clip(centre + np.ldexp(total / size, -power), low, high)
        off = np.ldexp(mean - centre, power)
        # The squares are to be from the mean, not from the centre.
        squares = squares * 2.0**bits - off * (2 * total - size * off)
        varies = low < high
        return NumberStats(
            size,
            low,
            high,
            np.where(varies, mean, low) + 0.0,
            np.where(varies, np.ldexp(distances, -power), 0.0),
            np.where(varies, np.maximum(squares, 0.0), 0.0),
            -power,
        )

    # ------------------------------------------------------------ of bins

    def rows(self, sums: Array) -> Array:
        rows: Array = sums[:, 0]
        return rows

    def summands(self, sums: Array) -> list[Array]:
        return [sums[:, 1]]

    def joined(self, spread: Array, starts: Positions) -> Array:
        least, greatest, squares = spread.T
        ends = np.minimum.reduceat(least, starts), np.maximum.reduceat(greatest, starts)
        return np.stack([*ends, np.add.reduceat(squares, starts)], axis=1)

    def rest(self, spread: Array, taken: Array) -> Array:
        least, greatest, squares = spread  # the remaining values lie in the same range
        return np.array([least, greatest, squares - taken[:, 2].sum()])

    def bound(self, before: Floats, inside: BinHistogram, totals: Floats) -> Floats:
        spread = inside.spread.astype(np.float64)
        # Rounding may have reduced the square of each row by half a unit.
        spread[:, 2] = (spread[:, 2] + 0.5 * self.rows(inside.sums)) / SQUARED
        return squares_bound(before, inside.sums.astype(np.float64), spread, totals)
