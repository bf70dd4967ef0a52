"""How cases pass the tests of a C4.5 tree in a database: for pruning.

Where the cases of the grown tree are is known from growth, with all counts. If other
tests are tried on them, as where a branch is raised, a query says where they go. Such
queries build on each other; where there may be temporary tables, each is worked out
once, and its rows are there as long as somebody holds them.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from weakref import finalize

import numpy as np

from treecompile.errors import EngineError
from treecompile.in_database.c45_answers import BORN, WEIGHT
from treecompile.in_database.c45_source import CaseSource
from treecompile.in_database.c45_table import MISSING
from treecompile.learners.c45_draft import Draft, SplitTests
from treecompile.learners.c45_passing import Leaves, fall_by_levels
from treecompile.learners.c45_sample import shares_of
from treecompile.learners.stretches import Array, Floats, Positions
from treecompile.stores.base import Store

NONE = np.zeros(0, np.intp)
NAME = "treecompile_passed"  # and a number


class Kept:
    """A temporary table that is removed when nobody holds it any more."""

    def __init__(self, store: Store, name: str, query: str) -> None:
        store.make(name, query)
        finalize(self, _discard, store, name)


def _discard(store: Store, name: str) -> None:
    with suppress(EngineError):  # it goes with the connection, too
        store.discard(name)


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The cases of some nodes."""

    counts: Floats  # of each class at each node
    nodes: Positions  # numbers in the grown tree; with a query, what `m` is there
    query: str = ""  # for their rows
    size: int = 0  # `m` is below
    table: Kept | None = None  # from which the query reads

    def some(self, chosen: Positions) -> Cases:
        return replace(self, counts=self.counts[chosen], nodes=self.nodes[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    cases: Cases
    branches: Positions
    known: Floats


class CasePassing:
    """The cases of a tree as it was grown, before anything of it is pruned."""

    def __init__(self, source: CaseSource, draft: Draft) -> None:
        self.work, self.answers = source.work, source.answers
        self.options = source.options
        self.parents, self.depths = np.array(source.parents), np.array(source.depths)
        self.counts_, self.known = draft.counts.copy(), draft.known.copy()
        self.tests = draft.tests.some(np.arange(len(draft.label)))
        self.first, self.child = draft.first.copy(), draft.child
        self.has_missing = any(each.missing for each in self.work.schema.summaries)
        self.numbers = count()

    def everything(self) -> Cases:
        return Cases(self.counts_[:1], np.zeros(1, np.intp))

    def some(self, cases: Cases, chosen: Positions) -> Cases:
        return cases.some(chosen)

    def counts(self, cases: Cases) -> Floats:
        return cases.counts

    def fall(self, draft: Draft, nodes: Positions, cases: Cases) -> Leaves:
        if self.has_missing:  # where these go depends on where the others have gone
            return fall_by_levels(self, draft, nodes, cases)
        return self._fall_at_once(draft, nodes, cases)

    def divide(self, tests: SplitTests, cases: Cases) -> Passed:
        if cases.query:
            return self._asked(tests, cases)
        if self._are_grown(tests, cases.nodes):
            return self._grown(cases.nodes, tests)
        return self._asked(tests, self._found(cases))

    # ------------------------------------------------------------ the grown tree

    def _are_grown(self, tests: SplitTests, numbers: Positions) -> bool:
        """Whether these nodes were split in this way."""
        grown = self.tests.some(numbers)
        return (
            np.array_equal(grown.feature, tests.feature)
            and np.array_equal(grown.cut, tests.cut)
            and grown.groups == tests.groups
        )

    def _grown(self, numbers: Positions, tests: SplitTests) -> Passed:
        within = np.arange(tests.size.sum())
        within -= np.repeat(np.cumsum(tests.size) - tests.size, tests.size)
        slots = np.repeat(self.first[numbers], tests.size) + within
        known, children = self.known[slots], self.child[slots]
        branches = np.flatnonzero(known)
        here = children[branches]
        return Passed(Cases(self.counts_[here], here), branches, known)

    def _found(self, cases: Cases, but: Positions = NONE) -> Cases:
        """The rows that were at some nodes of one depth of the grown tree.

        Without those that went on to some nodes below.
        """
        numbers = cases.nodes
        depth = int(self.depths[numbers[0]])
        place = np.full(len(self.parents), -1)
        place[numbers] = np.arange(len(numbers))
        # A row rests at a node below, or at the very one.
        is_left_out = np.zeros(len(place), np.bool_)
        is_left_out[but] = True
        for number in np.flatnonzero(self.depths > depth).tolist():
            if not is_left_out[number]:
                place[number] = place[self.parents[number]]
        node = self.work.spelling.item(map(str, place.tolist()), "-1 - node")
        columns = ", ".join(self.work.columns)
        was_there = "node <= -2"
        if self.answers.is_divided:
            was_there += f" AND {BORN} <= {depth}"
        query = (
            f"SELECT m, {columns} FROM (SELECT {node} AS m, {columns}"
            f" FROM {self.work.rows()} AS v WHERE {was_there}) AS w WHERE m >= 0"
        )
        return Cases(cases.counts, np.arange(len(numbers)), query, len(numbers))

    # ------------------------------------------------------------ all tests at once

    def _fall_at_once(self, draft: Draft, nodes: Positions, cases: Cases) -> Leaves:
        """`fall` where no value is missing.

        The cases of a node that have come down its own branch are counted there, so
        only the others need to be asked for.
        """
        roots, leaves = leaves_below(draft, nodes)
        counts = draft.counts[leaves]
        if cases.query:
            counts = np.zeros_like(counts)
        else:
            cases = self._found(cases, but=nodes)
        query = cases.query
        at = np.full(cases.size, -1)  # what stands at each `m`
        at[cases.nodes] = nodes
        while (draft.is_split[at] & (at >= 0)).any():
            query, at = self._all_sent(draft, query, at)
        m, y, weight = self.work.store.arrays(
            f"SELECT m, y, {self.answers.weight()} FROM ({query}) AS w GROUP BY m, y"
        )
        of_leaf = {leaf: place for place, leaf in enumerate(leaves.tolist())}
        for here, label, more in zip(
            m.astype(np.intp).tolist(), y.astype(np.intp).tolist(), weight, strict=True
        ):
            if at[here] >= 0:
                counts[of_leaf[int(at[here])], label] += more
        reached = np.flatnonzero(counts.sum(axis=1))
        return roots[reached], leaves[reached], counts[reached]

    def _all_sent(
        self, draft: Draft, query: str, at: Positions
    ) -> tuple[str, Positions]:
        """One step of all cases that are not at a leaf yet.

        The query for them, and what stands at each new `m`.
        """
        splits = np.flatnonzero((at >= 0) & draft.is_split[at])
        tests = SplitTests.none(len(at))
        tests.note(splits, draft.tests.some(at[splits]))
        new: list[int] = []
        rows = []
        for m in np.flatnonzero(at >= 0).tolist():
            node, size = int(at[m]), int(tests.size[m])
            children = [node]
            if size:
                first = int(draft.first[node])
                children = draft.child[first : first + size].tolist()
            for place, child in enumerate(children):
                taken = place if size else MISSING
                rows.append((str(m), str(taken), str(len(new))))
                new.append(child)
        columns = ", ".join(self.work.columns)
        table = self.work.spelling.table("a", ("a_m", "a_place", "child"), rows)
        query = (
            f"SELECT child AS m, {columns} FROM (SELECT m,"
            f" {self.work.branch(tests, 'm')} AS place, {columns} FROM ({query}) AS w)"
            f" AS w JOIN {table} ON w.m = a_m AND w.place = a_place"
        )
        return query, np.array(new, np.intp)

    # ------------------------------------------------------------ other tests

    def _asked(self, tests: SplitTests, cases: Cases) -> Passed:
        every = SplitTests.none(cases.size)
        every.note(cases.nodes, tests)
        columns = ", ".join(self.work.columns)
        placed = (
            f"SELECT m, {self.work.branch(every, 'm')} AS place, {columns}"
            f" FROM ({cases.query}) AS w"
        )
        placed, kept = self._kept(placed)
        nodes, size = len(cases.nodes), int(tests.size.sum())
        starts = np.cumsum(tests.size) - tests.size
        table, lost = self._counted(placed, cases, starts, size)
        known = table.sum(axis=1) * self.answers.unit
        shares = shares_of(
            known, tests.size, starts, is_fractional=self.options.is_fractional
        )
        branches = np.flatnonzero(known)
        above = np.repeat(np.arange(nodes), tests.size)
        weights = (table + lost[above] * shares[:, None]) * self.answers.unit
        query = self._sent(placed, cases.nodes, starts, above, branches, shares)
        here = np.arange(len(branches))
        sent = Cases(weights[branches], here, query, len(here), kept)
        return Passed(sent, branches, known)

    def _kept(self, query: str) -> tuple[str, Kept | None]:
        if self.work.is_inline:
            return query, None
        name = f"{NAME}{next(self.numbers)}"
        return f"SELECT * FROM {name}", Kept(self.work.store, name, query)

    def _counted(
        self, placed: str, cases: Cases, starts: Positions, size: int
    ) -> tuple[Array, Array]:
        """The weight of each class in each branch, and of those without one."""
        m, place, y, weight = self.work.store.arrays(
            f"SELECT m, place, y, {self.answers.weight()} FROM ({placed}) AS w"
            " GROUP BY m, place, y"
        )
        of_m = np.full(cases.size, -1)
        of_m[cases.nodes] = np.arange(len(cases.nodes))
        node = of_m[m.astype(np.intp)]
        y, place = y.astype(np.intp), place.astype(np.intp)
        table = np.zeros((size, self.answers.groups), np.int64)
        lost = np.zeros((len(cases.nodes), self.answers.groups), np.int64)
        is_lost = place == MISSING
        here = ~is_lost & (node >= 0)
        table[starts[node[here]] + place[here], y[here]] = weight[here]
        here = is_lost & (node >= 0)
        lost[node[here], y[here]] = weight[here]
        return table, lost

    def _sent(
        self,
        placed: str,
        places: Positions,
        starts: Positions,
        above: Positions,
        branches: Positions,
        shares: Floats,
    ) -> str:
        """A query for the rows behind the tests."""
        number = self.work.spelling.number
        rows = []
        for new, slot in enumerate(branches.tolist()):
            node = int(above[slot])
            m = int(places[node])
            branch = slot - int(starts[node])
            rows.append((str(m), str(branch), str(new), number(1.0)))
            if shares[slot]:
                share = number(float(shares[slot]))
                rows.append((str(m), str(MISSING), str(new), share))
        long = self.work.store.phrases.long
        weight = f"CAST(round(w.{WEIGHT} * share) AS {long}) AS {WEIGHT}"
        columns = ", ".join(
            weight if name == WEIGHT else f"w.{name}" for name in self.work.columns
        )
        names = ("a_m", "a_place", "child", "share")
        table = self.work.spelling.table("a", names, rows)
        return (
            f"SELECT child AS m, {columns} FROM ({placed}) AS w JOIN {table}"
            " ON w.m = a_m AND w.place = a_place"
        )


def leaves_below(draft: Draft, nodes: Positions) -> tuple[Positions, Positions]:
    """All leaves below some nodes: for each the position of the node, and the leaf."""
    roots, found = np.arange(len(nodes)), []
    while len(nodes):
        is_leaf = ~draft.is_split[nodes]
        found.append((roots[is_leaf], nodes[is_leaf]))
        roots, nodes = roots[~is_leaf], nodes[~is_leaf]
        roots = np.repeat(roots, draft.tests.size[nodes])
        nodes = draft.child[draft.branches(nodes)]
    of_root, leaves = (np.concatenate(each) for each in zip(*found, strict=True))
    return of_root, leaves
