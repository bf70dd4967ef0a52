"""A target of numbers in a database: distances from the mean of the node.

A distance is written in a unit of the node, a power of two, and rounded: so its sums
are those of whole numbers, which no order of the rows changes, as in memory. The unit
is so small that the sum of all distances of a node just fits 61 bits.

What a node holds is asked for with the node itself, about a mean that the sums of the
node above give: its own mean, the squares and the distances, each in two parts, the
whole units and what rounding them left over, also in whole numbers of a unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.in_database.answers import Rows
from treecompile.in_database.bounds import squares_bound
from treecompile.in_database.cells import Cells
from treecompile.in_database.schema import Schema
from treecompile.in_database.spelling import Spelling
from treecompile.ir import Stats
from treecompile.learners.criteria import LEAST_SQUARES
from treecompile.learners.drafts import Drafts
from treecompile.learners.growth import Newest
from treecompile.learners.limits import TIE
from treecompile.learners.responses import SPARE_BITS, Numbers, Opened, Response
from treecompile.learners.stretches import Array, Floats, Mask, Positions
from treecompile.learners.units import Units
from treecompile.stores.base import Store

SQUARED = 2.0**-SPARE_BITS  # unit of squared distances: their sum fits, too
# A node is asked for again if its mean was not known so well (of the mean distance), or
# its answers are so much nearer to it than was known.
CENTRED, NEARER = 2.0**-34, 2.0**-10
DISTANCES = 3  # which of the statistics of a node are the distances, added up
LARGEST_POWER = 1000  # of two, in one factor


class MeasuredNumbers(Numbers):
    """Numbers of which the mean distance is known besides the moments."""

    def stats(self, measured: Floats) -> list[Stats]:
        return super().stats(measured[:, :DISTANCES])


def distances(drafts: Drafts) -> list[float]:
    """Of each node of a tree: how far its rows are from its mean, added up."""
    measured = drafts.joined("stats")[drafts.reading().numbers]
    added_up: list[float] = measured[:, DISTANCES].tolist()
    return added_up


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """What some nodes hold."""

    rows: Array
    low: Floats
    high: Floats
    mean: Floats
    distances: Floats  # from the mean, added up
    squares: Floats  # of the distances, times 2^-power each
    power: Array

    @property
    def sse(self) -> Floats:
        """The sum of squared errors; no double if it is too small for one."""
        sse: Floats = np.ldexp(self.squares, 2 * self.power)
        return sse

    @property
    def varies(self) -> Mask:
        varies: Mask = self.low < self.high
        return varies

    def some(self, which: Array | slice) -> Held:
        return Held(*(getattr(self, name)[which] for name in Held.__slots__))

    def reach(self, centre: Floats, which: Array | slice) -> Floats:
        """How far from a centre the answers of some nodes lie at most."""
        return np.maximum(self.high[which] - centre, centre - self.low[which])


class NumberAnswers:
    """Numbers. The sums are the rows and their distances from the mean of the node."""

    measure = LEAST_SQUARES
    groups = 1
    units: Units | None = None

    def __init__(self, store: Store, schema: Schema) -> None:
        self.store, self.schema = store, schema
        self.spelling = Spelling(store)
        self.double = store.dialect.types.number
        self.response: Response = MeasuredNumbers(np.zeros(0))
        self.bits = SPARE_BITS - schema.rows.bit_length()  # of one row in a sum
        self.held = self._root()  # by the newest or the open nodes
        self.unit = self._units()

    # ------------------------------------------------------------ in queries

    def columns(self) -> list[str]:
        value = self.schema.target.value
        return [f"{value} AS y", f"{self._distance(value, '0')} AS d"]

    def moved(self, node: str) -> dict[str, str]:
        return {"d": self._distance("y", node)}

    def _distance(self, value: str, node: str) -> str:
        mean = self._of_node(self.held.mean, node)
        return self._whole(self._scaled(f"({value} - {mean})", -self.unit, node))

    def _of_node(self, values: Floats, node: str) -> str:
        return self.spelling.of_node(map(self.spelling.double, values.tolist()), node)

    def _scaled(self, value: str, power: Array, node: str) -> str:
        """A value times a power of two of the node, which may be beyond a double."""
        first = np.clip(power, -LARGEST_POWER, LARGEST_POWER)
        for each in (first, power - first):
            if each.any():
                value = f"{value} * {self._of_node(np.ldexp(1.0, each), node)}"
        return value

    def _whole(self, value: str) -> str:
        phrases = self.store.phrases
        return f"CAST({phrases.round.format(value)} AS {phrases.long})"

    def _sum(self, value: str) -> str:
        return f"CAST(sum({value}) AS {self.store.phrases.long})"

    def asked(self, *, is_bounded: bool) -> list[str]:
        asked = ["count(*)", self._sum("d")]
        if is_bounded:
            unit = self.spelling.double(SQUARED)
            squared = self._whole(f"CAST(d AS {self.double}) * d * {unit}")
            asked += ["min(d)", "max(d)", self._sum(squared)]
        return asked

    def gather(
        self, cell: Positions, group: Array, found: Sequence[Array]
    ) -> tuple[Array, Array]:
        told = [each.astype(np.int64) for each in found]
        spread = np.stack(told[2:], axis=1) if told[2:] else np.zeros((len(cell), 0))
        return np.stack(told[:2], axis=1), spread

    # ------------------------------------------------------------ of nodes

    def root(self, rows: str) -> Array:
        return np.stack([self.held.rows, np.zeros(1, np.int64)], axis=1)

    def newest(self, sums: Array, parent: Positions, rows: Rows) -> Newest:
        if len(parent):
            size, total = sums.T
            away = np.ldexp(total / size, self.unit[parent])
            centre = self.held.mean[parent] + away
            reach = self.held.reach(centre, parent)
            self.held = self._ask(rows(), centre, reach)
        held = self.held = self.held.some(slice(len(sums)))  # none: nothing was split
        size = held.rows.astype(np.float64)
        stats = np.stack([size, held.mean, held.sse, held.distances], axis=1)
        return Newest(stats, size, held.rows, held.varies)

    def keep(self, is_open: Mask) -> None:
        self.held = self.held.some(is_open)
        self.unit = self._units()

    def _units(self) -> Array:
        """The unit of each node, as a power of two: so fine that sums of rows fit."""
        _, exponent = np.frexp(self.held.distances)
        return exponent - SPARE_BITS

    def state(self) -> dict[str, Array]:
        return {name: getattr(self.held, name) for name in Held.__slots__}

    def restore(self, state: Mapping[str, Array]) -> None:
        self.held = Held(**state)
        self.unit = self._units()

    def open(self, sums: Array) -> Opened:
        size = self.rows(sums).astype(np.float64)
        held, unit = self.held, self.unit
        tie = TIE * np.ldexp(held.squares / size, 2 * (held.power - unit))
        return Opened([sums[:, 1]], size, tie, 2 * unit)

    def _root(self) -> Held:
        target = self.schema.target
        rows = (
            f"(SELECT 0 AS node, {target.value} AS y FROM {self.schema.relation}"
            f" WHERE {target.known}) AS source"
        )
        low, high = self.store.arrays(f"SELECT min(y), max(y) FROM {rows}")
        centre = low / 2 + high / 2
        return self._ask(rows, centre, np.maximum(high - centre, centre - low))

    def _ask(self, rows: str, centre: Floats, reach: Floats) -> Held:
        """What the nodes hold, of which a centre is known that is near their mean."""
        held = self._about(rows, centre, reach)
        nearer = held.reach(held.mean, slice(None))
        off = np.abs(held.mean - centre) * held.rows > CENTRED * held.distances
        if np.any((off | (nearer < reach * NEARER)) & held.varies):
            held = self._about(rows, held.mean, nearer)
        return held

    def _about(self, rows: str, centre: Floats, reach: Floats) -> Held:
        _, exponent = np.frexp(reach)
        power, bits = self.bits - exponent, self.bits
        fine = self.spelling.double(2.0**bits)
        coarse = self.spelling.double(2.0**-bits)
        away = f"(y - {self._of_node(centre, 'node')})"
        scaled = self._scaled(away, power, "node")
        inner = f"SELECT node, y, {scaled} AS t FROM {rows} WHERE node >= 0"
        asked = ["count(*)", "min(y)", "max(y)"]
        for value in ("t", f"t * t * {coarse}", "abs(t)"):
            rounded = self.store.phrases.round.format(value)
            asked.append(self._sum(self._whole(value)))
            asked.append(self._sum(self._whole(f"({value} - {rounded}) * {fine}")))
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
        off = np.ldexp(mean - centre, power)  # about the mean, not about the centre
        squares = squares * 2.0**bits - off * (2 * total - size * off)
        varies = low < high
        return Held(
            size,
            low,
            high,
            np.where(varies, mean, low) + 0.0,
            np.where(varies, np.ldexp(distances, -power), 0.0),
            np.where(varies, np.maximum(squares, 0.0), 0.0),
            -power,
        )

    # ------------------------------------------------------------ of cells

    def rows(self, sums: Array) -> Array:
        rows: Array = sums[:, 0]
        return rows

    def weights(self, sums: Array) -> Array:
        return self.rows(sums)

    def summands(self, sums: Array) -> list[Array]:
        return [sums[:, 1]]

    def joined(self, spread: Array, starts: Positions) -> Array:
        least, greatest, squares = spread.T
        ends = np.minimum.reduceat(least, starts), np.maximum.reduceat(greatest, starts)
        return np.stack([*ends, np.add.reduceat(squares, starts)], axis=1)

    def rest(self, spread: Array, taken: Array) -> Array:
        least, greatest, squares = spread  # what is left lies within the same ends
        return np.array([least, greatest, squares - taken[:, 2].sum()])

    def bound(self, before: Array, cells: Cells, totals: Array) -> Floats:
        size = self.rows(cells.sums)
        spread = cells.spread.astype(np.float64)
        # Rounding may have lessened the square of each row by half a unit.
        spread[:, 2] = (spread[:, 2] + 0.5 * size) / SQUARED
        return squares_bound(
            before.astype(np.float64),
            cells.sums.astype(np.float64),
            spread,
            totals.astype(np.float64),
        )
