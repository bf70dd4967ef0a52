"""Keeps C4.5's working table, whose rows are cases and may be divided.

A row is at an open node, or at rest: at a leaf, or at a split where its value is
missing and it was divided. The parts of a divided row are rows of their own, with the
depth at which they were made. So the cases of any node of the tree can be found again,
with their weights.

The part of a divided case weighs less than 1. Weights are whole numbers of a unit, a
small power of two, so sums do not depend on the order in which a database adds them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from treecompile.database.grow.bins import BinRanges
from treecompile.database.grow.targets import LabelTarget
from treecompile.database.grow.work import CLOSED, NAME, Route, WorkTable
from treecompile.database.schema import Schema
from treecompile.engines.base import Store
from treecompile.learning.c45.fractional_cases import shares_of
from treecompile.learning.c45.gain_ratio import Scale
from treecompile.learning.c45.thresholds import GAP
from treecompile.learning.grow.draft import Splits
from treecompile.learning.grow.search import LARGEST
from treecompile.model.arrays import Array, Floats, Positions

WEIGHT, BORN = "u", "born"  # columns: the weight, and the depth where a part was made
FAR = 1e300  # greater numbers are far apart or equal: no need to subtract them

Part = tuple[int, int, float]  # parent, child, and the share that the child gets


def at_rest(number: int) -> int:
    """Return the value of `node` for rows at rest at this node of the draft."""
    return -2 - number


class Move(NamedTuple):
    """To which nodes the rows of the open nodes of a level go."""

    routes: Sequence[Route]
    parts: Sequence[Part]  # the parts of rows that rest because their value is missing
    depth: int  # the depth of the new nodes


class CaseTarget(LabelTarget):
    """Labels of cases; the sums are the weight of each label, in units."""

    def __init__(self, store: Store, schema: Schema, *, is_divided: bool) -> None:
        super().__init__(store, schema, "entropy")
        self.is_divided = is_divided
        self.scale = Scale.of(schema.rows + 1.0, np.zeros(0), is_divided=is_divided)

    @property
    def unit(self) -> float:
        return self.scale.unit

    def shared(
        self, sums: Array, missing: Array, splits: Splits, *, is_fractional: bool
    ) -> tuple[Floats, Floats, Floats]:
        """Return each branch's known weight, its share of the missing, and its total.

        The total is for each label. `sums` has the known weights of the branches,
        `missing` the weights without a branch at the nodes, both in units.
        """
        known, some = sums.sum(axis=1) * self.unit, splits.nodes
        size, starts = splits.size[some], splits.starts[some]
        shares = shares_of(known, size, starts, is_fractional=is_fractional)
        of_branch = np.repeat(missing, splits.size, axis=0) * shares[:, None]
        return known, shares, (sums + of_branch) * self.unit

    def columns(self) -> dict[str, str]:
        columns = super().columns()
        if self.is_divided:
            long = self.store.dialect.learning.long
            columns[WEIGHT] = f"CAST({round(1 / self.unit)} AS {long})"
            columns[BORN] = "CAST(0 AS INTEGER)"
        return columns

    def asked(self, *, is_bounded: bool) -> list[str]:
        return [self.writer.sum(WEIGHT) if self.is_divided else "count(*)"]


class CaseTable(WorkTable):
    target: CaseTarget

    # ------------------------------------------------------------ moving on

    def move(self, move: Move) -> None:
        """Move the rows of the open nodes to their new nodes."""
        node = self.destination(move.routes)
        columns = ", ".join(self.columns)
        if self.is_changed:
            self.store.update(f"UPDATE {NAME} SET node = {node} WHERE node >= 0")
            if move.parts:
                divided = self.divided(NAME, "node", move.parts, move.depth)
                self.store.update(f"INSERT INTO {NAME} (node, {columns}) {divided}")
            return
        moved = (
            f"SELECT CASE WHEN node >= 0 THEN {node} ELSE node END AS node, {columns}"
            f" FROM {self.rows()} AS w WHERE node <> {CLOSED}"
        )
        query = self.store.dialect.learning.once.fill(name="moved", query=moved)
        query += " SELECT * FROM moved"
        if move.parts:
            divided = self.divided("moved", "node", move.parts, move.depth)
            query += f" UNION ALL {divided}"
        if self.is_inline:
            self.inline = query
        else:
            self.store.make(NAME, query)

    def divided(
        self, rows: str, column: str, parts: Sequence[Part], depth: int | None = None
    ) -> str:
        """Return a query for the parts of rows: `m`, the node of each, and its columns.

        `column` of `rows` has the parent of a part. `depth` is the depth of the new
        nodes; None if it does not matter.
        """
        number, long = self.writer.number, self.store.dialect.learning.long
        changed = {WEIGHT: f"CAST(round(w.{WEIGHT} * part.share) AS {long})"}
        if depth is not None:
            changed[BORN] = f"CAST({depth} AS INTEGER)"
        values = (
            f"{changed.get(name, f'w.{name}')} AS {name}" for name in self.columns
        )
        table = self.writer.table(
            "part",
            ("parent", "child", "share"),
            [(str(a), str(b), number(share)) for a, b, share in parts],
        )
        return (
            f"SELECT part.child AS m, {', '.join(values)} FROM {rows} AS w JOIN {table}"
            f" ON w.{column} = part.parent"
        )

    # ------------------------------------------------------------ cuts

    def gaps(self, index: int, nodes: Array) -> tuple[Array, Array, Array]:
        """Count the possible cuts inside the bins of some open nodes.

        `nodes` is a mask of the open nodes.
        """
        wanted = "node >= 0"
        if not nodes.all():
            flags = self.writer.of_node(map(str, nodes.astype(int).tolist()))
            wanted += f" AND {flags} = 1"
        x, code = f"x{index}", f"c{index}"
        node, codes, count = self.store.arrays(
            f"SELECT node, {code}, count(*) FROM (SELECT node, {code}, {x},"
            f" lag({x}) OVER (PARTITION BY node, {code} ORDER BY {x}) AS former"
            f" FROM {self.rows()} AS v"
            f" WHERE {wanted} AND {code} <> {self.sizes[index]})"
            f" AS w WHERE {self._are_apart('former', x)} GROUP BY node, {code}"
        )
        return node.astype(np.intp), codes.astype(np.intp), count.astype(np.intp)

    def gaps_between(
        self, index: int, bins: BinRanges, least: Array, most: Array
    ) -> Positions:
        """Count the possible cuts in some bins, by the weight of the bin below the cut.

        Only cuts with a weight from `least` to `most` count.
        """
        columns = (range(len(bins.node)), bins.node, bins.code, least, most)
        table = self.writer.table(
            "a",
            ("place", "a_node", "a_code", "least_weight", "most_weight"),
            [tuple(map(str, row)) for row in zip(*columns, strict=True)],
        )
        x, (weight,) = f"x{index}", self.target.asked(is_bounded=False)
        over = f"OVER (PARTITION BY place ORDER BY {x})"
        place, count = self.store.arrays(
            "SELECT place, count(*) FROM (SELECT place, least_weight, most_weight,"
            f" {x}, lead({x}) {over} AS following, sum(weight) {over} AS below FROM"
            f" (SELECT place, least_weight, most_weight, {x},"
            f" {weight} AS weight FROM {self.rows()} AS w"
            f" JOIN {table} ON w.node = a_node AND w.c{index} = a_code"
            f" GROUP BY place, least_weight, most_weight, {x}) AS v) AS r"
            " WHERE below >= least_weight AND below <= most_weight"
            f" AND {self._are_apart(x, 'following')} GROUP BY place"
        )
        found = np.zeros(len(bins.node), np.intp)
        found[place.astype(np.intp)] = count
        return found

    def _are_apart(self, low: str, high: str) -> str:
        """Return `learning.c45.thresholds.are_apart` as a SQL condition.

        Far numbers are not subtracted: PostgreSQL refuses an overflow, and to databases
        NaN, the difference of infinities, is above all numbers.
        """
        number = self.writer.number
        near = " AND ".join(f"abs({each}) < {number(FAR)}" for each in (low, high))
        none = f"{high} = {number(-LARGEST)} AND {low} = {number(-np.inf)}"
        return (
            f"CASE WHEN {near} THEN {high} - {low} > {number(GAP)}"
            f" ELSE {high} > {low} AND NOT ({none}) END"
        )

    def greatest(self, index: int, codes: Iterable[int], bounds: Floats) -> Floats:
        """Return the greatest number of each bin up to the bound given for it."""
        rows = enumerate(zip(codes, bounds.tolist(), strict=True))
        table = self.writer.table(
            "a",
            ("place", "code", "bound"),
            [(str(n), str(code), self.writer.number(b)) for n, (code, b) in rows],
        )
        # A table that is replaced at each level has lost closed rows: read the source.
        source = NAME if self.is_changed else f"({self._query()})"
        place, found = self.store.arrays(
            f"SELECT place, max(x{index}) FROM {source} AS w"
            f" JOIN {table} ON w.c{index} = a.code"
            f" AND w.x{index} <= a.bound GROUP BY place"
        )
        result = np.zeros(len(bounds))
        result[place.astype(np.intp)] = found
        return result
