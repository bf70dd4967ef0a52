"""Sends cases in a database through tests of a C4.5 tree, for pruning.

The cases of the grown tree have been counted, and the working table says where they
are. When pruning tries other tests on them, as when it raises a branch, a query
computes where they go. Such queries build on each other. Where temporary tables may be
made, the result of each query is kept in one as long as it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import count
from weakref import finalize

import numpy as np

from treecompile.database.c45.source import CaseTableSource
from treecompile.database.c45.table import BORN, Part
from treecompile.database.grow.work import CLOSED
from treecompile.engines.base import Store
from treecompile.learning.c45.pessimistic_pruning import (
    CaseDraft,
    PassedCases,
    Passing,
    ReachedLeaves,
)
from treecompile.learning.grow.draft import Draft, DraftLevel, Splits
from treecompile.model.arrays import Floats, Positions
from treecompile.model.errors import EngineError

NONE = np.zeros(0, np.intp)
NAME, STEP = "treecompile_passed", "treecompile_step"  # a number is appended


class TemporaryTable:
    """A temporary table that is removed when nothing refers to it any more."""

    def __init__(self, store: Store, name: str, query: str) -> None:
        store.make(name, query)
        finalize(self, _discard, store, name)


def _discard(store: Store, name: str) -> None:
    with suppress(EngineError):  # closing the connection removes the table, too
        store.discard(name)


@dataclass(frozen=True, slots=True, eq=False)
class QueriedCases:
    """The cases at some nodes: nodes of the grown tree, or cases that a query finds."""

    counts: Floats  # of each class at each node
    nodes: Positions  # numbers in the grown tree, or values of the query's column `m`
    query: str = ""  # returns their rows; "": the cases are at nodes of the grown tree
    size: int = 0  # all values of `m` are below this
    table: TemporaryTable | None = None  # the table that the query reads

    def some(self, chosen: Positions) -> QueriedCases:
        return replace(self, counts=self.counts[chosen], nodes=self.nodes[chosen])


class CasePassing(Passing[QueriedCases]):
    """Sends the cases of a grown tree through its own or other tests."""

    def __init__(
        self,
        source: CaseTableSource,
        levels: Sequence[DraftLevel],  # of the grown tree
        draft: CaseDraft,
    ) -> None:
        self.work, self.target = source.work, source.target
        self.options = source.options
        self.columns = ", ".join(source.work.columns)
        self.parents = Draft.of(levels).parents()
        sizes = [len(level.weight) for level in levels]
        self.depths = np.repeat(np.arange(len(levels)), sizes)
        self.grown = deepcopy(draft)
        self.has_missing = any(each.missing for each in self.work.schema.summaries)
        self.numbers = count()

    def everything(self) -> QueriedCases:
        return QueriedCases(self.grown.stats[:1], np.zeros(1, np.intp))

    def counts(self, cases: QueriedCases) -> Floats:
        return cases.counts

    def fall(
        self, draft: CaseDraft, nodes: Positions, cases: QueriedCases
    ) -> ReachedLeaves:
        if self.has_missing:  # where they go depends on where the known ones have gone
            return super().fall(draft, nodes, cases)
        return self._fall_at_once(draft, nodes, cases)

    def divide(self, splits: Splits, cases: QueriedCases) -> PassedCases[QueriedCases]:
        if cases.query:
            return self._asked(splits, cases)
        if self._are_grown(splits, cases.nodes):
            return self._as_grown(cases.nodes)
        return self._asked(splits, self._found(cases))

    # ------------------------------------------------------------ the grown tree

    def _are_grown(self, splits: Splits, numbers: Positions) -> bool:
        """Whether these nodes of the grown tree have these splits."""
        grown = self.grown.splits.some(numbers)
        return (
            np.array_equal(grown.feature, splits.feature)
            and np.array_equal(grown.threshold, splits.threshold)
            and grown.groups == splits.groups
        )

    def _as_grown(self, numbers: Positions) -> PassedCases[QueriedCases]:
        slots = self.grown.branches(numbers)
        known = self.grown.known[slots]
        branches = np.flatnonzero(known)
        here = self.grown.child[slots[branches]]
        return PassedCases(QueriedCases(self.grown.stats[here], here), branches, known)

    def _found(self, cases: QueriedCases, but: Positions = NONE) -> QueriedCases:
        """Return the rows that were at some nodes, all of one depth, of the grown tree.

        Rows that went on to the nodes `but` below them are left out.
        """
        numbers = cases.nodes
        depth = int(self.depths[numbers[0]])
        place = np.full(len(self.parents), -1)
        place[numbers] = np.arange(len(numbers))
        # A row that was at a node now rests there, or at a node below it.
        is_left_out = np.zeros(len(place), np.bool_)
        is_left_out[but] = True
        for number in np.flatnonzero(self.depths > depth).tolist():
            if not is_left_out[number]:
                place[number] = place[self.parents[number]]
        node = self.work.writer.item(map(str, place.tolist()), "-1 - node")
        was_there = "node <= -2"
        if self.target.is_divided:
            was_there += f" AND {BORN} <= {depth}"
        query = (
            f"SELECT m, {self.columns} FROM (SELECT {node} AS m, {self.columns}"
            f" FROM {self.work.rows()} AS v WHERE {was_there}) AS w WHERE m >= 0"
        )
        return QueriedCases(cases.counts, np.arange(len(numbers)), query, len(numbers))

    # ------------------------------------------------------------ all tests at once

    def _fall_at_once(
        self, draft: CaseDraft, nodes: Positions, cases: QueriedCases
    ) -> ReachedLeaves:
        """Do what `fall` does, by one query, where no value is missing.

        Cases that came to these nodes in growth are counted already, so the query is
        for the other cases only.
        """
        roots, leaves = leaves_below(draft, nodes)
        counts = draft.stats[leaves]
        if cases.query:
            counts = np.zeros_like(counts)
        else:
            cases = self._found(cases, but=nodes)
        at = np.full(cases.size, -1)  # the node of the draft at each `m`
        at[cases.nodes] = nodes
        # A WITH query, one step per test: SQLite cannot nest so many subqueries. Each
        # step is evaluated once, since the next one mentions its `m` many times.
        steps = [cases.query]
        while len(inner := np.flatnonzero((at >= 0) & draft.is_split[at])):
            before = f"{STEP}{len(steps) - 1}"
            sent, at = self._all_sent(draft, at, inner)
            steps.append(
                f"SELECT {sent} AS m, {self.columns} FROM {before} AS w WHERE w.m >= 0"
            )
        once = self.work.store.dialect.learning.once
        named = (
            once.fill(name=f"{STEP}{n}", query=q).removeprefix("WITH ")
            for n, q in enumerate(steps)
        )
        reached = f"(WITH {', '.join(named)} SELECT * FROM {STEP}{len(steps) - 1})"
        sums = self.target.at_nodes(reached, len(at), "m")
        of_leaf = {leaf: place for place, leaf in enumerate(leaves.tolist())}
        here = np.flatnonzero(at >= 0)
        np.add.at(counts, [of_leaf[leaf] for leaf in at[here].tolist()], sums[here])
        some = np.flatnonzero(counts.sum(axis=1))
        return roots[some], leaves[some], counts[some]

    def _all_sent(
        self, draft: CaseDraft, at: Positions, inner: Positions
    ) -> tuple[str, Positions]:
        """Send all cases that are not at a leaf yet through one test.

        Return their new `m` as SQL, and the node of the draft at each new `m`.
        """
        splits = Splits.none(len(at))
        splits.note(inner, draft.splits.some(at[inner]))
        counts = np.where(at < 0, 0, np.maximum(splits.size, 1))
        new = np.repeat(at, counts)
        children = np.flatnonzero(np.repeat(splits.size > 0, counts))
        new[children] = draft.child[draft.branches(at[inner])]
        stays = np.where(at < 0, CLOSED, np.cumsum(counts) - counts)
        return self._sent(splits, children, stays), new

    def _sent(self, splits: Splits, children: Positions, missing: Positions) -> str:
        """Return where a row goes from its `m`, as SQL; see `WorkTable.routes`."""
        routes = self.work.routes(splits, children.tolist(), missing.tolist())
        return self.work.destination(routes, "m")

    # ------------------------------------------------------------ other tests

    def _asked(self, splits: Splits, cases: QueriedCases) -> PassedCases[QueriedCases]:
        """Send cases through tests by a query; `cases.nodes` must be in order.

        Each row goes to a slot: that of its branch or, without a branch, that of its
        node. The slots of nodes come after those of all branches.
        """
        every = Splits.none(cases.size)
        every.note(cases.nodes, splits)
        size, nodes = int(splits.size.sum()), len(cases.nodes)
        missing = np.full(cases.size, CLOSED)
        missing[cases.nodes] = size + np.arange(nodes)
        slot = self._sent(every, np.arange(size), missing)
        placed = f"SELECT {slot} AS slot, {self.columns} FROM ({cases.query}) AS w"
        placed, kept = self._kept(placed)
        sums = self.target.at_nodes(f"({placed})", size + nodes, "slot")
        known, shares, weights = self.target.shared(
            sums[:size], sums[size:], splits, is_fractional=self.options.is_fractional
        )
        parent = np.repeat(np.arange(nodes), splits.size)
        branches = np.flatnonzero(known)
        parts: list[Part] = []
        for new, branch in enumerate(branches.tolist()):
            parts.append((branch, new, 1.0))
            if shares[branch]:  # part of the rows without a branch
                parts.append((size + int(parent[branch]), new, float(shares[branch])))
        query = self.work.divided(f"({placed})", "slot", parts)
        here = np.arange(len(branches))
        sent = QueriedCases(weights[branches], here, query, len(here), kept)
        return PassedCases(sent, branches, known)

    def _kept(self, query: str) -> tuple[str, TemporaryTable | None]:
        if self.work.is_inline:
            return query, None
        name = f"{NAME}{next(self.numbers)}"
        return f"SELECT * FROM {name}", TemporaryTable(self.work.store, name, query)


def leaves_below(draft: CaseDraft, nodes: Positions) -> tuple[Positions, Positions]:
    """Return (positions of nodes, leaves): all the leaves below some nodes."""
    roots, found = np.arange(len(nodes)), []
    while len(nodes):
        is_leaf = ~draft.is_split[nodes]
        found.append((roots[is_leaf], nodes[is_leaf]))
        roots, nodes = roots[~is_leaf], nodes[~is_leaf]
        roots = np.repeat(roots, draft.splits.size[nodes])
        nodes = draft.child[draft.branches(nodes)]
    of_root, leaves = (np.concatenate(each) for each in zip(*found, strict=True))
    return of_root, leaves
