"""Keeps the working table in the database: each row's node, target and codes.

    node   y   c0   x1      c1
       0   1    2   0.731   17     c0: the code of a value or category of feature 0
       3   0    4   1.25    52     x1, c1: the number of feature 1, and its bin
      -1   1    0   ...            -1: no query needs this row any more

Nodes are numbered within the open level. A missing value has the last code. When a
level has been split, its rows move: they get the numbers of the new nodes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from treecompile.database.grow.bins import BINS, BinEdges, BinHistogram
from treecompile.database.grow.targets import TableTarget
from treecompile.emit.sql.text import literal
from treecompile.learning.grow.draft import Splits
from treecompile.model.arrays import Array, Floats
from treecompile.model.ir import Kind

NAME = "treecompile_rows"
CLOSED = -1  # the node of closed rows
SAMPLED = 20_000  # rows in the sample from which the edges of bins are made
SPELT_OUT = 60  # codes of more values or categories are looked up by a join


class Route(NamedTuple):
    """To which new nodes the rows of an open node go."""

    feature: int  # -1: all rows go to the same node
    ways: Sequence[int]  # the new nodes by code; or those below, above the cut, missing
    cut: float = 0.0


class WorkTable:
    def __init__(self, target: TableTarget) -> None:
        self.store, self.schema, self.target = target.store, target.schema, target
        self.writer = target.writer
        # For each feature, the number of its codes without the one for missing values.
        self.sizes = [self._size(index) for index in range(len(self.schema.features))]
        self.edges = self._edges()
        self.columns, self.joins = self._columns()  # without the node
        # By which rows are moved when a query next needs them.
        self.waiting: Sequence[Route] = ()
        self.store.make(NAME, self._query())

    def _size(self, index: int) -> int:
        feature, values = self.schema.features[index], self.schema.values[index]
        if feature.kind is not Kind.NUMERIC:
            return len(feature.categories)
        return len(values) or BINS

    def is_binned(self, index: int) -> bool:
        """Whether the codes of a feature are bins; then its numbers are stored too."""
        numeric = self.schema.features[index].kind is Kind.NUMERIC
        return numeric and not self.schema.values[index]

    # ------------------------------------------------------------ making it

    def rows(self) -> str:
        """Return the table, after moving the rows whose move is waiting."""
        routes, self.waiting = self.waiting, ()
        if routes:
            self._move(routes)
        return NAME

    def _query(self) -> str:
        columns = ["CAST(0 AS INTEGER) AS node"]
        columns += [f"{value} AS {name}" for name, value in self.columns.items()]
        return (
            f"SELECT {', '.join(columns)} FROM {self.schema.relation}"
            f"{''.join(self.joins)} WHERE {self.schema.target.known}"
        )

    def _columns(self) -> tuple[dict[str, str], list[str]]:
        """Return each column as an expression of a source row, and the joins needed."""
        joins, columns = [], self.target.columns()
        self.kept = ["node", *columns]  # the columns that belong to no feature
        for index, source in enumerate(self.schema.columns):
            if self.is_binned(index):
                value = self.edges[index].sql(source.value, self.writer)
                # -0.0 + 0 is 0.0: all zeros are one value.
                columns[f"x{index}"] = f"{source.value} + 0e0"
            else:
                value, join = self._code(index)
                joins.append(join)
            size = self.sizes[index]
            code = f"CASE WHEN {source.missing} THEN {size} ELSE {value} END"
            columns[f"c{index}"] = f"CAST({code} AS {self.writer.small(size)})"
        return columns, joins

    def _edges(self) -> dict[int, BinEdges]:
        """Return the edges of each feature with many numbers, from one sample."""
        binned = [i for i in range(len(self.sizes)) if self.is_binned(i)]
        if not binned:
            return {}
        columns = ", ".join(self.schema.columns[index].value for index in binned)
        rows = f"(SELECT * FROM {self.schema.relation}) AS source"
        found = self.store.arrays(
            self.store.dialect.learning.sample.fill(
                columns=columns,
                relation=rows,
                rows=SAMPLED,
                share=min(1.0, SAMPLED / max(self.schema.rows, 1)),
            )
        )
        return {i: BinEdges.of(values) for i, values in zip(binned, found, strict=True)}

    def _code(self, index: int) -> tuple[str, str]:
        """Return the code of a known value, and the join that looks it up, or ""."""
        feature, source = self.schema.features[index], self.schema.columns[index]
        numbers = self.schema.values[index]
        texts = [self.writer.number(value) for value in numbers] or [
            literal(value, self.store.dialect) for value in feature.categories
        ]
        if len(texts) <= SPELT_OUT:
            arms = (f"WHEN {source.value} = {t} THEN {n}" for n, t in enumerate(texts))
            return f"CASE {' '.join(arms)} END", ""
        pairs = [(text, str(n)) for n, text in enumerate(texts)]
        # Column names that the source does not have.
        value, code = (f"treecompile_{what}{index}" for what in ("value", "code"))
        table = self.writer.table(f"treecompile_codes{index}", (value, code), pairs)
        join = f" LEFT JOIN {table} ON {source.value} = {value}"
        return code, join

    # ------------------------------------------------------------ splits

    def numbers(self, index: int) -> Floats:
        """Return the numbers that the codes of a feature stand for, in order."""
        values = self.schema.values[index]
        return np.array(values or range(self.sizes[index]), np.float64)

    def branch_of_codes(self, splits: Splits, node: int) -> Array:
        """Return the branch of each code by the split of a node; -1 for none."""
        index = int(splits.feature[node])
        if self.schema.features[index].kind is not Kind.CATEGORICAL:
            above: Array = self.numbers(index) > splits.threshold[node]
            return above.astype(np.intp)
        if node not in splits.groups:
            return np.arange(self.sizes[index])
        branch = np.full(self.sizes[index], -1)
        for place, group in enumerate(splits.groups[node]):
            branch[list(group)] = place
        return branch

    def branch_sums(self, splits: Splits, bins: Sequence[BinHistogram]) -> Array:
        """Return the sums of the known rows of each branch, from the bins."""
        starts = splits.starts
        sums = np.zeros((int(splits.size.sum()), bins[0].sums.shape[1]), np.int64)
        for index in splits.features():
            mine = bins[index].some(splits.feature[bins[index].node] == index)
            if self.is_binned(index):
                branch: Array = (mine.high > splits.threshold[mine.node]).astype(
                    np.intp
                )
            else:
                nodes, line = np.unique(mine.node, return_inverse=True)
                by_code = [self.branch_of_codes(splits, n) for n in nodes.tolist()]
                branch = np.stack(by_code)[line, mine.code]
            np.add.at(sums, starts[mine.node] + branch, mine.sums)
        return sums

    def routes(
        self, splits: Splits, children: Sequence[int], missing: Sequence[int]
    ) -> list[Route]:
        """Return where the rows of each open node go.

        `children` has the new node of each branch, and `missing` has, for each open
        node, the new node of rows without a branch.
        """
        routes, starts = [], splits.starts
        for node, index in enumerate(splits.feature.tolist()):
            own = slice(starts[node], starts[node] + splits.size[node])
            ways = (*children[own], missing[node])  # branch -1 takes the last
            if index < 0 or self.is_binned(index):
                routes.append(Route(index, ways, float(splits.threshold[node])))
            else:
                codes = [*self.branch_of_codes(splits, node).tolist(), -1]
                routes.append(Route(index, tuple(ways[code] for code in codes)))
        return routes

    # ------------------------------------------------------------ moving on

    def _move(self, routes: Sequence[Route]) -> None:
        """Give the rows of the table their new nodes, by expressions without a join."""
        changed = self.target.moved()
        selected = [f"{value} AS {name}" for name, value in changed.items()]
        selected += (name for name in self.columns if name not in changed)
        self.store.make(
            NAME,
            f"SELECT node, {', '.join(selected)} FROM {self.moved(routes)}"
            " WHERE node >= 0",
        )

    def moved(self, routes: Sequence[Route]) -> str:
        """Return a FROM clause for the open rows as if they were moved."""
        node = self.destination(routes)
        stays = ", ".join(self.columns)
        return (
            f"(SELECT {node} AS node, {stays} FROM {self.rows()} AS w WHERE node >= 0)"
            " AS moved"
        )

    def destination(self, routes: Sequence[Route]) -> str:
        """Return a SQL expression for the new node of a row, from its old node.

        One list has the ways out of all nodes. Other lists have, for each node, the
        feature that decides, its cut, and where the ways of the node begin in the first
        list.
        """
        ways: list[int] = []
        starts = []
        for route in routes:
            starts.append(str(len(ways) + 1))
            ways += route.ways
        of_node = self.writer.of_node
        cut = of_node(self.writer.double(route.cut) for route in routes)
        arms = []
        for index in sorted({route.feature for route in routes} - {-1}):
            way = f"CAST(c{index} AS INTEGER)"
            if self.is_binned(index):
                way = (
                    f"CASE WHEN c{index} = {self.sizes[index]} THEN 2"
                    f" WHEN x{index} <= {cut} THEN 0 ELSE 1 END"
                )
            arms.append(f"WHEN {index} THEN {way}")
        place = of_node(starts)
        if arms:
            feature = of_node(str(route.feature) for route in routes)
            place += f" + CASE {feature} {' '.join(arms)} ELSE 0 END"
        # No number is negative, because databases are slow to read minus signs.
        least = min(CLOSED, *ways)
        nodes = (str(each - least) for each in ways)
        return f"{self.writer.item(nodes, place)} + {least}"
