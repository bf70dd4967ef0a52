"""C4.5's cases in the working table: where they are, and where they came to rest.

A row is at an open node, or rests: at a leaf, or, where its value is missing and it is
divided, at the split. Its parts are rows of their own, and know at which depth they
came up. So the cases of any node of the tree can be found again, with their weights.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.in_database.bins import Bins
from treecompile.in_database.c45_answers import BORN, WEIGHT, CaseAnswers
from treecompile.in_database.cells import Ranges
from treecompile.in_database.schema import Schema
from treecompile.in_database.work import NAME, WorkTable
from treecompile.ir import Kind
from treecompile.learners.c45_cuts import GAP
from treecompile.learners.c45_draft import SplitTests
from treecompile.learners.stretches import Array, Floats, Positions
from treecompile.learners.thresholds import LARGEST
from treecompile.stores.base import Store

MISSING = -1  # the place of a row whose value is missing
GONE = -1  # the node of a row that is not asked for again
FAR = 1e300  # numbers beyond are far apart, or equal: no need to subtract them

Part = tuple[int, int, float]  # a node, a branch, and the share that goes there


def at_rest(number: int) -> int:
    """The node of rows that rest at a node of this number; see `learners.c45_draft`."""
    return -2 - number


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Where the rows of the open nodes of a level go."""

    tests: SplitTests  # of all open nodes
    branches: Sequence[Sequence[int]]  # the new nodes for the branches of each
    missing: Sequence[int]  # and for rows without a branch ...
    parts: Sequence[Part]  # ... from which parts of them go on
    depth: int  # of the new nodes


class ByCode:
    """The tests of nodes whose features have codes."""

    def __init__(self, table: CaseTable, tests: SplitTests) -> None:
        self.last = np.zeros(len(tests.feature), np.intp)  # code that is not above
        self.start = np.zeros(len(tests.feature), np.intp)  # of the places by group
        self.places: list[int] = []
        self.grouped: set[int] = set()  # features
        for node, groups in sorted(tests.groups.items()):
            feature = int(tests.feature[node])
            lookup = np.full(table.sizes[feature], MISSING)
            for place, group in enumerate(groups):
                lookup[list(group)] = place
            self.start[node] = len(self.places)
            self.places += lookup.tolist()
            self.grouped.add(feature)
        for feature in np.unique(tests.feature[tests.feature >= 0]).tolist():
            kind = table.schema.features[feature].kind
            if kind is not Kind.CATEGORICAL and not table.is_binned(feature):
                mine = tests.feature == feature
                found = np.searchsorted(
                    table.numbers(feature), tests.cut[mine], side="right"
                )
                self.last[mine] = found - 1


class CaseTable(WorkTable):
    def __init__(
        self,
        store: Store,
        schema: Schema,
        answers: CaseAnswers,
        bins: Mapping[int, Bins] | None = None,
        *,
        is_inline: bool = False,
    ) -> None:
        super().__init__(store, schema, answers, bins, is_inline=is_inline)
        self.weights = answers
        self.inline = self._query()  # where there is no table

    def rows(self) -> str:
        return f"({self.inline})" if self.is_inline else NAME

    @property
    def is_changed(self) -> bool:
        """Whether rows are moved in the table, not into a new one."""
        phrases = self.store.phrases
        return phrases.updates and not phrases.replaces and not self.is_inline

    # ------------------------------------------------------------ tests in SQL

    def branch(self, tests: SplitTests, node: str = "node") -> str:
        """Which branch a row takes, by the test of its node; `MISSING` for none.

        `tests` are those of all nodes, the number of a node being its place.
        """
        of_node, by_code = self.spelling.of_node, ByCode(self, tests)
        cuts = np.where(np.isfinite(tests.cut), tests.cut, 0.0)
        cut = of_node(map(self.spelling.double, cuts.tolist()), node)
        last = of_node(map(str, by_code.last.tolist()), node)
        start = of_node(map(str, by_code.start.tolist()), node)
        arms = []
        for feature in np.unique(tests.feature[tests.feature >= 0]).tolist():
            code = f"CAST(c{feature} AS INTEGER)"
            if self.is_binned(feature):
                known = f"CASE WHEN x{feature} <= {cut} THEN 0 ELSE 1 END"
            elif self.schema.features[feature].kind is not Kind.CATEGORICAL:
                known = f"CASE WHEN {code} <= {last} THEN 0 ELSE 1 END"
            elif feature in by_code.grouped:
                places = map(str, by_code.places)
                known = self.spelling.item(places, f"{start} + {code} + 1")
            else:
                known = code
            arms.append(
                f"WHEN {feature} THEN CASE WHEN c{feature} = {self.sizes[feature]}"
                f" THEN {MISSING} ELSE {known} END"
            )
        if not arms:
            return str(MISSING)
        features = of_node(map(str, tests.feature.tolist()), node)
        return f"CASE {features} {' '.join(arms)} ELSE {MISSING} END"

    def numbers(self, feature: int) -> Floats:
        """The numbers that the codes of a feature stand for, if they are in order."""
        values = self.schema.values[feature]
        return np.array(values or range(self.sizes[feature]), np.float64)

    # ------------------------------------------------------------ moving on

    def move(self, move: Move) -> None:
        """Send the rows of the open nodes on."""
        where: list[int] = []
        starts: list[int] = []
        for each, none in zip(move.branches, move.missing, strict=True):
            starts.append(len(where) + 2)  # that of the first branch, counted from 1
            where += [none, *each]
        start = self.spelling.of_node(map(str, starts))
        node = self.spelling.item(
            map(str, where), f"{start} + {self.branch(move.tests)}"
        )
        columns = ", ".join(self.columns)
        if self.is_changed:
            self.store.update(f"UPDATE {NAME} SET node = {node} WHERE node >= 0")
            if move.parts:
                divided = self._parts(NAME, move.parts, move.depth)
                self.store.update(f"INSERT INTO {NAME} (node, {columns}) {divided}")
            return
        moved = (
            f"SELECT CASE WHEN node >= 0 THEN {node} ELSE node END AS node, {columns}"
            f" FROM {self.rows()} AS w WHERE node <> {GONE}"
        )
        query = self.store.phrases.once.format(name="moved", query=moved)
        query += " SELECT * FROM moved"
        if move.parts:
            query += f" UNION ALL {self._parts('moved', move.parts, move.depth)}"
        if self.is_inline:
            self.inline = query
        else:
            self.store.make(NAME, query)

    def _parts(self, rows: str, parts: Sequence[Part], depth: int) -> str:
        changed = {
            WEIGHT: f"CAST(round({WEIGHT} * part.share) AS {self.store.phrases.long})",
            BORN: f"CAST({depth} AS INTEGER)",
        }
        columns = ", ".join(changed.get(name, name) for name in self.columns)
        number = self.spelling.number
        table = self.spelling.table(
            "part",
            ("parent", "child", "share"),
            [(str(a), str(b), number(share)) for a, b, share in parts],
        )
        return (
            f"SELECT part.child, {columns} FROM {rows} AS w JOIN {table}"
            " ON w.node = part.parent"
        )

    # ------------------------------------------------------------ cuts

    def gaps(self, feature: int, nodes: Array) -> tuple[Array, Array, Array]:
        """How many cuts there are within the bins of some open nodes.

        `nodes` says of all open nodes whether they are asked for.
        """
        wanted = "node >= 0"
        if not nodes.all():
            flags = self.spelling.of_node(map(str, nodes.astype(int).tolist()))
            wanted += f" AND {flags} = 1"
        x, code = f"x{feature}", f"c{feature}"
        node, codes, count = self.store.arrays(
            f"SELECT node, {code}, count(*) FROM (SELECT node, {code}, {x},"
            f" lag({x}) OVER (PARTITION BY node, {code} ORDER BY {x}) AS former"
            f" FROM {self.rows()} AS v"
            f" WHERE {wanted} AND {code} <> {self.sizes[feature]})"
            f" AS w WHERE {self._are_apart('former', x)} GROUP BY node, {code}"
        )
        return node.astype(np.intp), codes.astype(np.intp), count.astype(np.intp)

    def gaps_between(
        self, feature: int, bins: Ranges, least: Array, most: Array
    ) -> Positions:
        """How many cuts there are in some bins with so much of the bin below."""
        columns = (range(len(bins.node)), bins.node, bins.code, least, most)
        table = self.spelling.table(
            "a",
            ("place", "a_node", "a_code", "least_weight", "most_weight"),
            [tuple(map(str, row)) for row in zip(*columns, strict=True)],
        )
        x = f"x{feature}"
        over = f"OVER (PARTITION BY place ORDER BY {x})"
        place, count = self.store.arrays(
            "SELECT place, count(*) FROM (SELECT place, least_weight, most_weight,"
            f" {x}, lead({x}) {over} AS following, sum(weight) {over} AS below FROM"
            f" (SELECT place, least_weight, most_weight, {x},"
            f" {self.weights.weight()} AS weight FROM {self.rows()} AS w"
            f" JOIN {table} ON w.node = a_node AND w.c{feature} = a_code"
            f" GROUP BY place, least_weight, most_weight, {x}) AS v) AS r"
            " WHERE below >= least_weight AND below <= most_weight"
            f" AND {self._are_apart(x, 'following')} GROUP BY place"
        )
        found = np.zeros(len(bins.node), np.intp)
        found[place.astype(np.intp)] = count
        return found

    def _are_apart(self, low: str, high: str) -> str:
        """`learners.c45_cuts.are_apart`; no sum of far numbers, which PostgreSQL bars.

        NaN, the difference of infinities, is above all numbers in databases.
        """
        number = self.spelling.number
        near = " AND ".join(f"abs({each}) < {number(FAR)}" for each in (low, high))
        none = f"{high} = {number(-LARGEST)} AND {low} = {number(-np.inf)}"
        return (
            f"CASE WHEN {near} THEN {high} - {low} > {number(GAP)}"
            f" ELSE {high} > {low} AND NOT ({none}) END"
        )

    def greatest(self, feature: int, codes: Iterable[int], bounds: Floats) -> Floats:
        """The greatest number in a bin up to each bound; there is one."""
        rows = enumerate(zip(codes, bounds.tolist(), strict=True))
        table = self.spelling.table(
            "a",
            ("place", "code", "bound"),
            [(str(n), str(code), self.spelling.number(b)) for n, (code, b) in rows],
        )
        # A table that is made anew at each level has no more than is still asked for.
        source = NAME if self.is_changed else f"({self._query()})"
        place, found = self.store.arrays(
            f"SELECT place, max(x{feature}) FROM {source} AS w"
            f" JOIN {table} ON w.c{feature} = a.code"
            f" AND w.x{feature} <= a.bound GROUP BY place"
        )
        result = np.zeros(len(bounds))
        result[place.astype(np.intp)] = found
        return result
