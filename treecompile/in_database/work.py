"""The working table: each row by its node, its answer and its codes, in the database.

Nodes are numbered within the level that is open, and -1 is a row that needs no more
asking. A feature with few values has a code for each; one with many has its number, and
as code the bin. Missing values have the code behind all others.

Where no temporary table may be made, the same queries read the source table and work
all of that out anew each time: the node by the tree so far.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from treecompile.in_database.bins import BINS, Bins
from treecompile.in_database.schema import Schema
from treecompile.ir import Kind
from treecompile.learners.stretches import Array, Floats, Positions
from treecompile.literals import DOUBLES
from treecompile.lower.sql import literal
from treecompile.stores.base import NoTemporaryTableError, Store

NAME = "treecompile_rows"
CLOSED = -1
SAMPLED = 20_000  # rows from which bins are made
FINER = 64  # parts into which a bin is cut that may hold the best cut
SPELT_OUT = 60  # categories beyond which codes are looked up by a join


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """What one feature's values at the open nodes add up to: a cell for each."""

    node: Positions
    code: Positions
    counts: Array  # cells by classes
    low: Floats  # the least and the greatest number of the cell
    high: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Neighbouring cells of a feature at open nodes, each row of them as one."""

    node: Positions
    code: Positions
    low: Floats
    high: Floats
    cells: Positions  # how many there are


@dataclass(frozen=True, slots=True)
class Route:
    """Where the rows of an open node go: by number, or by code."""

    node: int
    feature: int  # -1: nowhere
    cut: float = 0.0
    below: int = CLOSED  # number up to the cut
    above: int = CLOSED
    missing: int = CLOSED
    by_code: tuple[int, ...] = ()  # a child for each code, the missing one the last


class WorkTable:
    def __init__(
        self,
        store: Store,
        schema: Schema,
        bins: Mapping[int, Bins] | None = None,
        *,
        is_inline: bool = False,
    ) -> None:
        self.store, self.schema = store, schema
        self.double = DOUBLES[store.dialect.literals.double]
        self.sizes = [self._size(position) for position in range(len(schema.features))]
        self.bins = self._bins() if bins is None else bins
        self.is_inline = is_inline  # whether there is no table
        self.node = "0"  # of a row of the source, by the tree so far
        self.columns, self.joins = self._columns()  # but the node
        self.waiting: Sequence[Route] = ()  # by which rows are to be moved

    def _size(self, position: int) -> int:
        feature, values = self.schema.features[position], self.schema.values[position]
        if feature.kind is not Kind.NUMERIC:
            return len(feature.categories)
        return len(values) or BINS

    def is_binned(self, position: int) -> bool:
        numeric = self.schema.features[position].kind is Kind.NUMERIC
        return numeric and not self.schema.values[position]

    # ------------------------------------------------------------ making it

    def create(self) -> None:
        """Make the table; without the right to, go on without it."""
        if self.is_inline:
            return
        try:
            self.store.make(NAME, self._query())
        except NoTemporaryTableError:
            self.is_inline = True

    def rows(self) -> str:
        """What queries read from: a relation, every row at its node of now."""
        if self.is_inline:
            return f"({self._query()})"
        if self.waiting:
            self._move(self.waiting)
            self.waiting = ()
        return NAME

    def _query(self) -> str:
        columns = [f"CAST({self.node} AS INTEGER) AS node"]
        columns += [f"{value} AS {name}" for name, value in self.columns.items()]
        return (
            f"SELECT {', '.join(columns)} FROM {self.schema.relation}"
            f"{''.join(self.joins)} WHERE {self.schema.target.known}"
        )

    def _columns(self) -> tuple[dict[str, str], list[str]]:
        """What each column is of a row of the source, and the joins that it takes."""
        columns, joins = {"y": self._answer()}, []
        for position, source in enumerate(self.schema.sources):
            if self.is_binned(position):
                value = self.bins[position].sql(source.value, self.double)
                # Added to 0 no zero is negative: all zeros are one value.
                columns[f"x{position}"] = f"{source.value} + 0e0"
            else:
                value, join = self._code(position)
                joins.append(join)
            size = self.sizes[position]
            code = f"CASE WHEN {source.missing} THEN {size} ELSE {value} END"
            columns[f"c{position}"] = f"CAST({code} AS {self._small(size)})"
        return columns, joins

    def _small(self, size: int) -> str:
        return self.store.phrases.byte if size < 256 else "INTEGER"

    def _answer(self) -> str:
        target, dialect = self.schema.target, self.store.dialect
        if not self.schema.labels:
            return target.value
        arms = " ".join(
            f"WHEN {target.value} = {literal(label, dialect)} THEN {code}"
            for code, label in enumerate(self.schema.labels)
        )
        small = self._small(len(self.schema.labels))
        return f"CAST(CASE {arms} END AS {small})"

    def _bins(self) -> dict[int, Bins]:
        """Bins for each feature with many numbers, from one sample of all."""
        binned = [p for p in range(len(self.sizes)) if self.is_binned(p)]
        if not binned:
            return {}
        columns = ", ".join(self.schema.sources[position].value for position in binned)
        rows = f"(SELECT * FROM {self.schema.relation}) AS source"
        found = self.store.arrays(
            self.store.phrases.sample.format(
                columns=columns, relation=rows, rows=SAMPLED
            )
        )
        return {p: Bins.of(values) for p, values in zip(binned, found, strict=True)}

    def _code(self, position: int) -> tuple[str, str]:
        """The code of a known value, and the join that looks it up, if there is one."""
        feature, source = self.schema.features[position], self.schema.sources[position]
        numbers = self.schema.values[position]
        texts = [self._number(value) for value in numbers] or [
            literal(value, self.store.dialect) for value in feature.categories
        ]
        if len(texts) <= SPELT_OUT:
            arms = (f"WHEN {source.value} = {t} THEN {n}" for n, t in enumerate(texts))
            return f"CASE {' '.join(arms)} END", ""
        pairs = ", ".join(f"({text}, {n})" for n, text in enumerate(texts))
        # Names that no column of the source has.
        value, code = (f"treecompile_{what}{position}" for what in ("value", "code"))
        join = (
            f" LEFT JOIN (VALUES {pairs}) AS treecompile_codes{position}"
            f"({value}, {code}) ON {source.value} = {value}"
        )
        return code, join

    # ------------------------------------------------------------ asking it

    def totals(self) -> Array:
        """The cases of each class at the root."""
        y, count = self.store.arrays(
            f"SELECT y, count(*) FROM {self.rows()} AS w GROUP BY y"
        )
        counts = np.zeros((1, len(self.schema.labels)), np.int64)
        counts[0, y.astype(np.intp)] = count
        return counts

    def count(self, position: int) -> Tally:
        """The values or bins of a feature at all open nodes."""
        # Packed into one number, which is grouped by in two thirds of the time.
        width, classes = self.sizes[position] + 1, len(self.schema.labels)
        key = f"(CAST(node AS BIGINT) * {width} + c{position}) * {classes} + y"
        asked = ", min({0}), max({0})".format(f"x{position}")
        keys, count, *ends = self.store.arrays(
            f"SELECT {key} AS k, count(*){asked if self.is_binned(position) else ''}"
            f" FROM {self.rows()} AS w WHERE node >= 0 GROUP BY k"
        )
        cell, y = np.divmod(keys.astype(np.int64), classes)
        node, code = np.divmod(cell, width)
        low, high = ends or (code, code)
        found = self._cells(node, code, y, count, low, high, ())
        values = self.schema.values[position]
        if not values:
            return found
        numbers = np.array([*values, np.nan])[found.code]
        return Tally(found.node, found.code, found.counts, numbers, numbers)

    def finer(self, position: int, ranges: Ranges) -> Tally:
        """The rows in some ranges of a feature with many numbers, in small cells."""
        number = f"w.x{position}"
        part = (
            f"CASE WHEN {number} <= a.low THEN 0 WHEN {number} >= a.high THEN a.most"
            f" ELSE least(a.most - 1e0,"
            f" greatest(1e0, floor(({number} - a.low) * a.scale))) END"
        )
        return self._tally(
            f"SELECT w.node, a.code, w.y, count(*), min({number}), max({number}),"
            f" a.low AS start, {part} AS part FROM {self._within(position, ranges)}"
            f" GROUP BY w.node, a.code, w.y, start, part"
        )

    def values(self, position: int, ranges: Ranges) -> Tally:
        """Every value in some ranges."""
        number = f"w.x{position}"
        node, code, y, count, value = self.store.arrays(
            f"SELECT w.node, a.code, w.y, count(*), {number}"
            f" FROM {self._within(position, ranges)}"
            f" GROUP BY w.node, a.code, w.y, {number}"
        )
        return self._cells(node, code, y, count, value, value, [value])

    def _within(self, position: int, ranges: Ranges) -> str:
        """The rows of some ranges, each beside its range."""
        rows = []
        for node, code, low, high, cells in zip(
            ranges.node.tolist(),
            ranges.code.tolist(),
            ranges.low.tolist(),
            ranges.high.tolist(),
            ranges.cells.tolist(),
            strict=True,
        ):
            parts = cells * FINER
            scale = _scale(parts, low, high)
            numbers = ", ".join(map(self._number, (low, high, scale, parts - 1.0)))
            rows.append(f"({node}, {code}, {numbers})")
        return (
            f"{self.rows()} AS w JOIN (VALUES {', '.join(rows)})"
            " AS a(node, code, low, high, scale, most)"
            f" ON w.node = a.node AND w.c{position} = a.code"
            f" AND w.x{position} >= a.low AND w.x{position} <= a.high"
        )

    def _number(self, value: float) -> str:
        if isfinite(value):
            return self.double(value)
        sign = "-" if value < 0 else ""
        return f"CAST('{sign}Infinity' AS {self.store.dialect.types.number})"

    def _tally(self, query: str) -> Tally:
        """Counts by node, code, class and what else is asked; a cell for all classes.

        The cells come in the order of the numbers.
        """
        node, code, y, count, low, high, *further = self.store.arrays(query)
        return self._cells(node, code, y, count, low, high, further)

    def _cells(
        self,
        node: Array,
        code: Array,
        y: Array,
        count: Array,
        low: Array,
        high: Array,
        further: Sequence[Array],
    ) -> Tally:
        keys = [node.astype(np.intp), code.astype(np.intp), *further]
        order = np.lexsort(keys[::-1])
        keys = [key[order] for key in keys]
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = np.any([key[1:] != key[:-1] for key in keys], axis=0)
        starts = np.flatnonzero(is_new)
        counts = np.zeros((len(starts), len(self.schema.labels)), np.int64)
        counts[np.cumsum(is_new) - 1, y[order].astype(np.intp)] = count[order]
        return Tally(
            keys[0][starts],
            keys[1][starts],
            counts,
            np.minimum.reduceat(low[order].astype(np.float64), starts),
            np.maximum.reduceat(high[order].astype(np.float64), starts),
        )

    # ------------------------------------------------------------ moving on

    def route(self, routes: Sequence[Route]) -> None:
        """Send the rows of the open nodes to the nodes of the next level.

        They are moved when they are next asked for. Where there is no table, it is
        `node` that must say where they are.
        """
        self.waiting = routes

    def _move(self, routes: Sequence[Route]) -> None:
        """Give the rows of the table their new nodes.

        What each node does stands in lists, in which its number is the place: no join.
        """
        here = "CAST(node AS INTEGER) + 1"

        def of_node(values: Iterable[str]) -> str:
            return self._item(self._list(values), here)

        arms = []
        for position in sorted({route.feature for route in routes} - {-1}):
            mine = [route if route.feature == position else NOTHING for route in routes]
            code = f"c{position}"
            if self.is_binned(position):
                cut = of_node(self.double(route.cut) for route in mine)
                to = (
                    f"CASE WHEN {code} = {self.sizes[position]}"
                    f" THEN {of_node(str(route.missing) for route in mine)}"
                    f" WHEN x{position} <= {cut}"
                    f" THEN {of_node(str(route.below) for route in mine)}"
                    f" ELSE {of_node(str(route.above) for route in mine)} END"
                )
            else:
                width = self.sizes[position] + 1
                nothing = (CLOSED,) * width
                children = (str(c) for route in mine for c in route.by_code or nothing)
                place = f"CAST(node AS INTEGER) * {width} + {code} + 1"
                to = self._item(self._list(children), place)
            arms.append(f"WHEN {position} THEN {to}")
        feature = of_node(str(route.feature) for route in routes)
        node = f"CASE {feature} {' '.join(arms)} ELSE {CLOSED} END" if arms else CLOSED
        if self.store.phrases.updates:
            self.store.update(f"UPDATE {NAME} SET node = {node} WHERE node >= 0")
            return
        kept = ", ".join(self.columns)
        moved = f"SELECT {node} AS node, {kept} FROM {NAME} WHERE node >= 0"
        self.store.make(NAME, moved)

    def _list(self, values: Iterable[str]) -> str:
        return self.store.phrases.list.format(", ".join(values))

    def _item(self, of: str, place: str) -> str:
        return self.store.phrases.item.format(list=of, place=place)


NOTHING = Route(0, -1)


def _scale(parts: int, low: float, high: float) -> float:
    """Parts by number within a range; 0 where its ends are too far apart."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        scale = float(np.divide(parts, high - low))
    return scale if np.isfinite(scale) else 0.0
