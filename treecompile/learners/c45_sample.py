"""The cases that C4.5 works on, and how they pass the tests of a whole level.

A case whose value is missing goes down several branches at once, each with a part of
its weight. So a level has cases with weights, never just rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.data import Dataset
from treecompile.ir import Kind
from treecompile.learners.c45_draft import Draft, Groups, SplitTests
from treecompile.learners.c45_passing import Leaves, fall_by_levels
from treecompile.learners.passage import Passage
from treecompile.learners.stretches import (
    Array,
    Floats,
    Mask,
    Positions,
    Stretches,
)

Rows = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """The cases of some nodes, one node after the other; no node is without any."""

    rows: Rows
    weights: Floats | None  # None where all of them are 1
    nodes: Stretches

    def some(self, chosen: Positions) -> Cases:
        """The cases of some of the nodes."""
        if len(chosen) == len(self.nodes.lengths):
            return self
        places = self.nodes.within(chosen)
        weights = None if self.weights is None else self.weights.take(places)
        lengths = self.nodes.lengths[chosen]
        return Cases(self.rows.take(places), weights, Stretches.of(lengths))


@dataclass(frozen=True, slots=True, eq=False)
class Divided:
    """The cases behind the tests of all nodes."""

    cases: Cases
    branches: Positions  # of each node of these cases: which of all branches it is
    known: Floats  # of each branch: the weight of the cases whose value is known
    origin: Positions  # of each case: its position before the test
    bounds: Positions  # where the cases of all first branches end, of all second, ...
    places: Array  # the branch of each case before the test; -1 where it is missing

    def passage(self, is_open: Mask, before: Positions, size: int) -> Passage:
        """How the cases of open nodes have come there.

        Those that were divided stood at these positions, out of so many.
        """
        origin, bounds = self.origin, self.bounds
        if not is_open.all():
            stays = self.cases.nodes.spread(is_open)
            origin = origin.take(np.flatnonzero(stays))
            bounds = np.concatenate(([0], np.cumsum(stays)))[bounds]
        return Passage.of(before.take(origin), size, bounds)


class Sample:
    """The training set, and how its cases pass tests."""

    def __init__(self, data: Dataset, *, is_fractional: bool) -> None:
        self.data = data
        self.classes = len(data.labels)
        self.y: Array = data.y.astype(np.int8 if self.classes < 128 else np.int16)
        self.is_fractional = is_fractional
        # More than all cases weigh together.
        self.most = len(data.y) + 1.0
        if data.weights is not None:
            self.most = 2.0 * float(data.weights.sum())
        self.columns: list[NDArray[Any]] = [
            _as_numbers(column) if feature.kind is Kind.ORDINAL else column
            for feature, column in zip(data.features, data.columns, strict=True)
        ]
        self.is_nominal = np.array(
            [feature.kind is Kind.CATEGORICAL for feature in data.features]
        )

    def everything(self) -> Cases:
        size = len(self.y)
        rows = np.arange(size, dtype=np.int32)
        return Cases(rows, self.data.weights, Stretches.of(np.array([size])))

    def some(self, cases: Cases, chosen: Positions) -> Cases:
        return cases.some(chosen)

    def counts(self, cases: Cases) -> Floats:
        """The weight of each class at each node."""
        nodes = len(cases.nodes.lengths)
        cells = cases.nodes.spread(np.arange(nodes) * self.classes)
        cells += self.y.take(cases.rows)
        table = np.bincount(cells, cases.weights, nodes * self.classes)
        return table.reshape(nodes, self.classes).astype(np.float64)

    def table(self, tests: SplitTests, cases: Cases, places: Array) -> Floats:
        """The weight of each class in each branch, of known values."""
        cells = cases.nodes.spread(np.cumsum(tests.size) - tests.size)
        cells += places
        cells *= self.classes
        cells += self.y.take(cases.rows)
        weights, size = cases.weights, int(tests.size.sum()) * self.classes
        if (places < 0).any():
            known = np.flatnonzero(places >= 0)
            cells = cells.take(known)
            weights = None if weights is None else weights.take(known)
        table = np.bincount(cells, weights, size)
        return table.reshape(-1, self.classes).astype(np.float64)

    def fall(self, draft: Draft, nodes: Positions, cases: Cases) -> Leaves:
        return fall_by_levels(self, draft, nodes, cases)

    def divide(self, tests: SplitTests, cases: Cases) -> Divided:
        """See `c45_source.Passing`."""
        places = self.places(tests, cases)
        nodes = len(tests.size)
        starts = np.cumsum(tests.size) - tests.size  # of the branches of each node
        here = places >= 0
        slots = cases.nodes.spread(starts)
        slots += places
        count = int(tests.size.sum())
        if here.all():
            known = np.bincount(slots, cases.weights, count).astype(np.float64)
            if count == 2 * nodes:
                return self._in_two(cases, places, known)
            origin, weights = np.arange(len(slots)), cases.weights
        else:
            present, absent = np.flatnonzero(here), np.flatnonzero(~here)
            given = cases.weights
            some = None if given is None else given.take(present)
            known = np.bincount(slots.take(present), some, count).astype(np.float64)
            shares = shares_of(
                known, tests.size, starts, is_fractional=self.is_fractional
            )
            node = cases.nodes.spread(np.arange(nodes)).take(absent)
            open_slots = np.flatnonzero(shares)
            ends = np.searchsorted(open_slots, [*starts.tolist(), count])
            times = np.diff(ends).take(node)
            within = np.arange(times.sum())
            within -= np.repeat(np.cumsum(times) - times, times)
            more = open_slots.take(np.repeat(ends.take(node), times) + within)
            origin = np.concatenate([present, np.repeat(absent, times)])
            slots = np.concatenate([slots.take(present), more])
            weights = _weights(given, present, np.repeat(absent, times), shares[more])
        # The first branches of all nodes come first, then the second ones.
        place = np.arange(count) - np.repeat(starts, tests.size)
        layout = np.argsort(place, kind="stable")
        rank = np.empty(count, np.intp)
        rank[layout] = np.arange(count)
        ranks = rank.take(slots)
        order = np.argsort(ranks, kind="stable")
        lengths = np.bincount(ranks, minlength=count)
        of_place = np.bincount(place[layout], lengths).astype(np.intp)
        filled = np.flatnonzero(lengths)
        origin = origin.take(order)
        divided = Cases(
            cases.rows.take(origin),
            None if weights is None else weights.take(order),
            Stretches.of(lengths[filled]),
        )
        bounds = np.cumsum(of_place)
        return Divided(divided, layout[filled], known, origin, bounds, places)

    def _in_two(self, cases: Cases, places: Array, known: Floats) -> Divided:
        """The usual case: two branches everywhere, and no value is missing."""
        is_right = places > 0
        sides = [np.flatnonzero(~is_right), np.flatnonzero(is_right)]
        right = cases.nodes.sums(is_right.astype(np.intp))
        lengths = np.concatenate([cases.nodes.lengths - right, right])
        origin = np.concatenate(sides)
        nodes = len(right)
        layout = np.concatenate([np.arange(nodes) * 2, np.arange(nodes) * 2 + 1])
        filled = np.flatnonzero(lengths)
        divided = Cases(
            cases.rows.take(origin),
            None if cases.weights is None else cases.weights.take(origin),
            Stretches.of(lengths[filled]),
        )
        bounds = np.array([len(sides[0]), len(origin)])
        return Divided(divided, layout[filled], known, origin, bounds, places)

    def places(self, tests: SplitTests, cases: Cases) -> Array:
        """The branch of each case; -1 where its value is missing."""
        result = np.empty(len(cases.rows), np.int16)
        lengths = cases.nodes.lengths
        for feature in sorted(set(tests.feature.tolist())):
            some = np.flatnonzero(tests.feature == feature)
            where = cases.nodes.within(some)
            column = self.columns[feature].take(cases.rows.take(where))
            if not self.is_nominal[feature]:
                found = (column > np.repeat(tests.cut[some], lengths[some])).view(
                    np.int8
                )
                found[np.isnan(column)] = -1
                result[where] = found
                continue
            groups = [tests.groups.get(node) for node in some.tolist()]
            if any(groups):
                width = len(self.data.features[feature].categories) + 1
                table = np.stack([_lookup(each, width) for each in groups])
                row = np.repeat(np.arange(len(some)), lengths[some])
                column = table[row, column]
            result[where] = column
        return result


def shares_of(
    known: Floats, sizes: Positions, starts: Positions, *, is_fractional: bool
) -> Floats:
    """The part of a missing case that each branch gets."""
    shares = np.zeros(len(known))
    for size in sorted(set(sizes.tolist())):
        some = starts[sizes == size, None] + np.arange(size)
        mine = known[some]
        if is_fractional:
            total = mine.sum(axis=1, keepdims=True)
            np.divide(mine, total, out=mine, where=total > 0)
            shares[some] = mine
        else:
            shares[some[np.arange(len(some)), mine.argmax(axis=1)]] = 1.0
    return shares


def _weights(
    given: Floats | None, present: Positions, absent: Positions, shares: Floats
) -> Floats | None:
    """The weights of cases that are whole, and then of those that are divided."""
    if given is None:
        if (shares == 1.0).all():
            return None
        return np.concatenate([np.ones(len(present)), shares])
    return np.concatenate([given.take(present), given.take(absent) * shares])


def _lookup(groups: Groups | None, width: int) -> Array:
    """The branch of each code; the last is what -1, a missing value, finds."""
    if groups is None:
        return np.concatenate([np.arange(width - 1), [-1]])
    found = np.full(width, -1)
    for place, group in enumerate(groups):
        found[list(group)] = place
    return found


def _as_numbers(codes: NDArray[Any]) -> Floats:
    """The codes of an ordinal feature, NaN for missing."""
    return np.where(codes < 0, np.nan, codes)
