"""The working table: each row by its node, its answer and its codes, in the database.

Nodes are numbered within the level that is open, and -1 is a row that needs no more
asking. A feature with few values has a code for each; one with many has its number, and
as code the bin. Missing values have the code behind all others.

Where no temporary table may be made, the same queries read the source table and work
all of that out anew each time: the node by the tree so far.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treecompile.in_database import counting
from treecompile.in_database.answers import Answers
from treecompile.in_database.bins import BINS, Bins
from treecompile.in_database.cells import Ranges, Tally
from treecompile.in_database.schema import Schema
from treecompile.in_database.spelling import Spelling
from treecompile.ir import Kind
from treecompile.lower.sql_conditions import literal
from treecompile.stores.base import NoTemporaryTableError, Store

NAME = "treecompile_rows"
CLOSED = -1
SAMPLED = 20_000  # rows from which bins are made
SPELT_OUT = 60  # categories beyond which codes are looked up by a join


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
        answers: Answers,
        bins: Mapping[int, Bins] | None = None,
        *,
        is_inline: bool = False,
    ) -> None:
        self.store, self.schema, self.answers = store, schema, answers
        self.spelling = Spelling(store)
        self.sizes = [self._size(position) for position in range(len(schema.features))]
        self.bins = self._bins() if bins is None else bins
        self.is_inline = is_inline  # whether there is no table
        self.node = ""  # of a row of the source, by the tree so far; "": the root
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

    def place(self, node: str, opened: int) -> None:
        """Say by SQL at which of so many open nodes a row of the source is.

        That is for the table still to be made, or for queries where there is none.
        """
        self.node, self.open = node, opened

    def rows(self) -> str:
        """What queries read from: a relation, every row at its node of now."""
        if self.is_inline:
            return f"({self._query()})"
        routes, self.waiting = self.waiting, ()
        if routes:
            self._move(routes)
        return NAME

    def _query(self) -> str:
        columns = [f"CAST({self.node or 0} AS INTEGER) AS node"]
        columns += [f"{value} AS {name}" for name, value in self.columns.items()]
        rows = (
            f"SELECT {', '.join(columns)} FROM {self.schema.relation}"
            f"{''.join(self.joins)} WHERE {self.schema.target.known}"
        )
        moved = self.answers.moved("node") if self.node else {}
        if not moved:
            return rows
        kept = ["node", *(name for name in self.columns if name not in moved)]
        kept += [f"{value} AS {name}" for name, value in moved.items()]
        return f"SELECT {', '.join(kept)} FROM ({rows}) AS treecompile_moved"

    def _columns(self) -> tuple[dict[str, str], list[str]]:
        """What each column is of a row of the source, and the joins that it takes."""
        joins, columns = [], {}
        for column in self.answers.columns():
            value, _, name = column.rpartition(" AS ")
            columns[name] = value
        self.kept = ["node", *columns]  # and what is for the target
        for position, source in enumerate(self.schema.sources):
            if self.is_binned(position):
                value = self.bins[position].sql(source.value, self.spelling)
                # Added to 0 no zero is negative: all zeros are one value.
                columns[f"x{position}"] = f"{source.value} + 0e0"
            else:
                value, join = self._code(position)
                joins.append(join)
            size = self.sizes[position]
            code = f"CASE WHEN {source.missing} THEN {size} ELSE {value} END"
            columns[f"c{position}"] = f"CAST({code} AS {self.spelling.small(size)})"
        return columns, joins

    def _bins(self) -> dict[int, Bins]:
        """Bins for each feature with many numbers, from one sample of all."""
        binned = [p for p in range(len(self.sizes)) if self.is_binned(p)]
        if not binned:
            return {}
        columns = ", ".join(self.schema.sources[position].value for position in binned)
        rows = f"(SELECT * FROM {self.schema.relation}) AS source"
        found = self.store.arrays(
            self.store.phrases.sample.format(
                columns=columns,
                relation=rows,
                rows=SAMPLED,
                share=min(1.0, SAMPLED / max(self.schema.rows, 1)),
            )
        )
        return {p: Bins.of(values) for p, values in zip(binned, found, strict=True)}

    def _code(self, position: int) -> tuple[str, str]:
        """The code of a known value, and the join that looks it up, if there is one."""
        feature, source = self.schema.features[position], self.schema.sources[position]
        numbers = self.schema.values[position]
        texts = [self.spelling.number(value) for value in numbers] or [
            literal(value, self.store.dialect) for value in feature.categories
        ]
        if len(texts) <= SPELT_OUT:
            arms = (f"WHEN {source.value} = {t} THEN {n}" for n, t in enumerate(texts))
            return f"CASE {' '.join(arms)} END", ""
        pairs = [(text, str(n)) for n, text in enumerate(texts)]
        # Names that no column of the source has.
        value, code = (f"treecompile_{what}{position}" for what in ("value", "code"))
        table = self.spelling.table(
            f"treecompile_codes{position}", (value, code), pairs
        )
        join = f" LEFT JOIN {table} ON {source.value} = {value}"
        return code, join

    # ------------------------------------------------------------ asking it

    def counts(
        self, positions: Sequence[int], nodes: range | None = None
    ) -> list[Tally]:
        """The values or bins of features at all open nodes, or at some of them."""
        return counting.counts(self, positions, nodes)

    def finer(self, ranges: Mapping[int, Ranges]) -> dict[int, Tally]:
        """The rows in some ranges of features with many numbers, in small cells."""
        return counting.finer(self, ranges)

    def values(self, ranges: Mapping[int, Ranges]) -> dict[int, Tally]:
        """Every value in some ranges of features."""
        return counting.values(self, ranges)

    def first_values(self, position: int, ranges: Ranges, lines: int) -> Tally:
        """The first values in one range, as many as so many lines tell of."""
        return counting.first_values(self, position, ranges, lines)

    # ------------------------------------------------------------ moving on

    def route(self, routes: Sequence[Route]) -> None:
        """Send the rows of the open nodes to the nodes of the next level.

        They are moved when they are next asked for. Where there is no table, it must
        be said by `place` where they are.
        """
        self.waiting = routes

    def _move(self, routes: Sequence[Route]) -> None:
        """Give the rows of the table their new nodes.

        What each node does stands in lists, in which its number is the place: no join.
        """
        if self.store.phrases.updates and not self.store.phrases.replaces:
            node = self._destination(routes)
            moved = {"node": node, **self.answers.moved(node)}
            changes = ", ".join(f"{name} = {value}" for name, value in moved.items())
            self.store.update(f"UPDATE {NAME} SET {changes} WHERE node >= 0")
            return
        changed = self.answers.moved("node")
        selected = [f"{value} AS {name}" for name, value in changed.items()]
        selected += (name for name in self.columns if name not in changed)
        self.store.make(
            NAME,
            f"SELECT node, {', '.join(selected)} FROM {self.moved(routes)}"
            " WHERE node >= 0",
        )

    def moved(self, routes: Sequence[Route]) -> str:
        """The rows as if they were sent: what stands behind FROM."""
        node = self._destination(routes)
        stays = ", ".join(self.columns)
        return (
            f"(SELECT {node} AS node, {stays} FROM {self.rows()} AS w WHERE node >= 0)"
            " AS moved"
        )

    def _destination(self, routes: Sequence[Route]) -> str:
        """The node to which a row goes.

        One list has the ways out of all nodes, by code or in the order below, above,
        missing; others say for each node which feature decides, at which cut, and where
        its ways out begin.
        """
        ways: list[int] = []
        starts = []
        for route in routes:
            starts.append(str(len(ways) + 1))
            ways += route.by_code or (route.below, route.above, route.missing)
        of_node, double = self.spelling.of_node, self.spelling.double
        cut = of_node(double(route.cut) for route in routes)
        arms = []
        for position in sorted({route.feature for route in routes} - {-1}):
            way = f"CAST(c{position} AS INTEGER)"
            if self.is_binned(position):
                way = (
                    f"CASE WHEN c{position} = {self.sizes[position]} THEN 2"
                    f" WHEN x{position} <= {cut} THEN 0 ELSE 1 END"
                )
            arms.append(f"WHEN {position} THEN {way}")
        if not arms:
            return str(CLOSED)
        feature = of_node(str(route.feature) for route in routes)
        way = f"CASE {feature} {' '.join(arms)} ELSE 0 END"
        # Counted from 1: minus signs take databases long to read.
        children = (str(way - CLOSED) for way in ways)
        place = f"{of_node(starts)} + {way}"
        return f"{self.spelling.item(children, place)} + {CLOSED}"
