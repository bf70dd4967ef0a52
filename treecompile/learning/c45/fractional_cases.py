"""The cases that C4.5 learns from in memory, and how they pass the splits of a level.

A case whose value is missing goes down several branches at once, each with a part of
its weight. So a level has cases with weights, and a row may occur several times. A
case is known by its position in its level. The next level has the first branches of all
nodes first, then all second ones, and so on, each in the old order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.learning.c45.gain_ratio import bits
from treecompile.learning.c45.pessimistic_pruning import PassedCases, Passing
from treecompile.learning.grow.draft import Groups, Splits, is_categorical
from treecompile.learning.grow.responses import Rows, count_classes
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import Kind
from treecompile.tables.dataset import Dataset

Order = NDArray[np.int32]
# Of cases after a test: the position before it, the branch, and the weights.
MovedCases = tuple[Positions, Positions, Floats | None]


@dataclass(frozen=True, slots=True, eq=False)
class NodeCases:
    """The cases of some nodes, one node after the other; every node has some."""

    rows: Rows
    weights: Floats | None  # None where all of them are 1
    nodes: Segments

    def some(self, chosen: Positions) -> NodeCases:
        """The cases of some of the nodes."""
        if len(chosen) == len(self.nodes.lengths):
            return self
        places = self.nodes.within(chosen)
        weights = None if self.weights is None else self.weights.take(places)
        lengths = self.nodes.lengths[chosen]
        return NodeCases(self.rows.take(places), weights, Segments.of(lengths))


@dataclass(frozen=True, slots=True, eq=False)
class CaseDescent:
    """Where the cases of a level have gone, so that sorted columns can follow them."""

    first: Order  # of each case: its new position, or the start of several in `all`
    times: Order | None  # how many positions it has; None: at most one
    all: Order  # the new positions of cases that may have several
    bounds: Positions  # where the cases of the first branches end, of the second, ...

    @classmethod
    def of(cls, origin: Positions, size: int, bounds: Positions) -> CaseDescent:
        """From the old position of each new case; `size` is the number of old cases."""
        times = np.bincount(origin, minlength=size)
        places = np.arange(len(origin), dtype=np.int32)
        if len(times) == 0 or times.max() <= 1:
            first = np.full(size, len(origin), np.int32)  # beyond the end: gone
            first[origin] = places
            return cls(first, None, places[:0], bounds)
        ordered = np.argsort(origin, kind="stable").astype(np.int32)
        starts = (np.cumsum(times) - times).astype(np.int32)
        return cls(starts, times.astype(np.int32), ordered, bounds)

    def follow(self, order: Order) -> Order:
        """Sorted positions, node by node, as positions in the next level."""
        moved = self.first.take(order)
        if self.times is not None:
            times = self.times.take(order)
            ends = np.cumsum(times, dtype=np.intp)
            within = np.arange(ends[-1] if len(ends) else 0)
            within += np.repeat(moved - (ends - times), times)
            moved = self.all.take(within)
        return self._arranged(moved)

    def _arranged(self, moved: Order) -> Order:
        """The first branches first; within a branch the order is kept."""
        one, two, *more = self.bounds.tolist()
        first = moved < one
        parts = [moved.take(np.flatnonzero(first))]
        rest = ~first
        rest &= moved < two
        parts.append(moved.take(np.flatnonzero(rest)))
        if more and more[-1] > two:
            left = moved.take(np.flatnonzero((moved >= two) & (moved < more[-1])))
            branch = np.searchsorted(self.bounds, left, side="right")
            # numpy's stable sort of short integers takes linear time.
            parts.append(left.take(np.argsort(branch.astype(np.int16), kind="stable")))
        result: Array = np.concatenate(parts)
        return result


@dataclass(frozen=True, slots=True, eq=False)
class DividedCases(PassedCases[NodeCases]):
    origin: Positions  # of each case: its position before the test
    bounds: Positions  # where the cases of all first branches end, of all second, ...
    places: Array  # the branch of each case before the test; -1 where it is missing

    def descent(self, is_open: Mask, before: Positions, size: int) -> CaseDescent:
        """How the cases of open nodes came to them.

        Before the test they were at the positions `before`, of `size` positions.
        """
        origin, bounds = self.origin, self.bounds
        if not is_open.all():
            stays = self.cases.nodes.spread(is_open)
            origin = origin.take(np.flatnonzero(stays))
            bounds = np.concatenate(([0], np.cumsum(stays)))[bounds]
        return CaseDescent.of(before.take(origin), size, bounds)


class Sample(Passing[NodeCases]):
    """The training set, and how its cases pass tests."""

    def __init__(self, data: Dataset, *, is_fractional: bool) -> None:
        self.data = data
        self.classes = len(data.labels)
        self.y: Array = data.y.astype(np.int8 if self.classes < 128 else np.int16)
        self.is_fractional = is_fractional
        self.most = len(data.y) + 1.0  # above the weight of all cases
        if data.weights is not None:
            self.most = 2.0 * float(data.weights.sum())
        self.columns: list[NDArray[Any]] = [
            _as_numbers(column) if feature.kind is Kind.ORDINAL else column
            for feature, column in zip(data.features, data.columns, strict=True)
        ]
        self.is_categorical = is_categorical(data.features)
        self.log_table = bits(np.arange(len(data.y) + 1.0))  # n log2 n of whole cases

    def everything(self) -> NodeCases:
        size = len(self.y)
        rows = np.arange(size, dtype=np.int32)
        return NodeCases(rows, self.data.weights, Segments.of(np.array([size])))

    def counts(self, cases: NodeCases) -> Floats:
        count = len(cases.nodes.lengths)
        nodes = cases.nodes.spread(np.arange(count))
        return self._count(nodes, self.y.take(cases.rows), cases.weights, count)

    def _count(
        self, keys: Array, y: Array, weights: Floats | None, count: int
    ) -> Floats:
        table = count_classes(keys, y, weights, count, self.classes)
        return table.astype(np.float64)

    def table(self, splits: Splits, cases: NodeCases, places: Array) -> Floats:
        """The weight of each class in each branch, of known values."""
        branches = cases.nodes.spread(splits.starts)
        branches += places
        y, weights = self.y.take(cases.rows), cases.weights
        if (places < 0).any():
            known = np.flatnonzero(places >= 0)
            branches, y = branches.take(known), y.take(known)
            weights = None if weights is None else weights.take(known)
        return self._count(branches, y, weights, int(splits.size.sum()))

    def divide(self, splits: Splits, cases: NodeCases) -> DividedCases:
        places = self.places(splits, cases)
        slots = cases.nodes.spread(splits.starts)  # the branch of each case, of all
        slots += places
        count = int(splits.size.sum())
        is_known = places >= 0
        if not is_known.all():
            moved, known = self._with_shares(splits, cases, slots, is_known)
            return self._by_branch(splits, cases, moved, known, places)
        known = np.bincount(slots, cases.weights, count).astype(np.float64)
        if count == 2 * len(splits.size):
            return self._in_two(cases, places, known)
        moved = np.arange(len(slots)), slots, cases.weights
        return self._by_branch(splits, cases, moved, known, places)

    def _with_shares(
        self, splits: Splits, cases: NodeCases, slots: Positions, is_known: Mask
    ) -> tuple[MovedCases, Floats]:
        """Cases with a missing value go to several branches, after all others."""
        present, absent = np.flatnonzero(is_known), np.flatnonzero(~is_known)
        starts, given = splits.starts, cases.weights
        count = int(splits.size.sum())
        some = None if given is None else given.take(present)
        known = np.bincount(slots.take(present), some, count).astype(np.float64)
        shares = shares_of(known, splits.size, starts, is_fractional=self.is_fractional)
        node = cases.nodes.spread(np.arange(len(starts))).take(absent)
        open_slots = np.flatnonzero(shares)
        ends = np.searchsorted(open_slots, [*starts.tolist(), count])
        times = np.diff(ends).take(node)
        within = np.arange(times.sum())
        within -= np.repeat(np.cumsum(times) - times, times)
        more = open_slots.take(np.repeat(ends.take(node), times) + within)
        absent = np.repeat(absent, times)
        origin = np.concatenate([present, absent])
        slots = np.concatenate([slots.take(present), more])
        return (origin, slots, _weights(given, present, absent, shares[more])), known

    def _by_branch(
        self,
        splits: Splits,
        cases: NodeCases,
        moved: MovedCases,
        known: Floats,
        places: Array,
    ) -> DividedCases:
        """The first branches of all nodes come first, then the second ones."""
        origin, slots, weights = moved
        place = np.arange(len(known)) - np.repeat(splits.starts, splits.size)
        layout = np.argsort(place, kind="stable")
        rank = np.empty(len(known), np.intp)
        rank[layout] = np.arange(len(known))
        ranks = rank.take(slots)
        order = np.argsort(ranks, kind="stable")
        lengths = np.bincount(ranks, minlength=len(known))
        bounds = np.cumsum(np.bincount(place[layout], lengths).astype(np.intp))
        filled = np.flatnonzero(lengths)
        origin = origin.take(order)
        divided = NodeCases(
            cases.rows.take(origin),
            None if weights is None else weights.take(order),
            Segments.of(lengths[filled]),
        )
        return DividedCases(divided, layout[filled], known, origin, bounds, places)

    def _in_two(self, cases: NodeCases, places: Array, known: Floats) -> DividedCases:
        """The usual case, faster: two branches everywhere, and no value is missing."""
        is_right = places > 0
        sides = [np.flatnonzero(~is_right), np.flatnonzero(is_right)]
        right = cases.nodes.sums(is_right.astype(np.intp))
        lengths = np.concatenate([cases.nodes.lengths - right, right])
        origin = np.concatenate(sides)
        first = np.arange(len(right)) * 2
        layout = np.concatenate([first, first + 1])
        filled = np.flatnonzero(lengths)
        divided = NodeCases(
            cases.rows.take(origin),
            None if cases.weights is None else cases.weights.take(origin),
            Segments.of(lengths[filled]),
        )
        bounds = np.array([len(sides[0]), len(origin)])
        return DividedCases(divided, layout[filled], known, origin, bounds, places)

    def places(self, splits: Splits, cases: NodeCases) -> Array:
        """The branch of each case; -1 where its value is missing."""
        result = np.empty(len(cases.rows), np.int16)
        lengths = cases.nodes.lengths
        for index in splits.features():
            some = np.flatnonzero(splits.feature == index)
            where = cases.nodes.within(some)
            column = self.columns[index].take(cases.rows.take(where))
            if not self.is_categorical[index]:
                threshold = np.repeat(splits.threshold[some], lengths[some])
                found = (column > threshold).view(np.int8)
                found[np.isnan(column)] = -1
                result[where] = found
                continue
            groups = [splits.groups.get(node) for node in some.tolist()]
            if any(groups):
                width = len(self.data.features[index].categories) + 1
                table = np.stack([_lookup(each, width) for each in groups])
                row = np.repeat(np.arange(len(some)), lengths[some])
                column = table[row, column]
            result[where] = column
        return result


def shares_of(
    known: Floats, sizes: Positions, starts: Positions, *, is_fractional: bool
) -> Floats:
    """The share of a case with a missing value that each branch gets."""
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
    """The weights of whole cases, followed by those of divided cases."""
    if given is None:
        if (shares == 1.0).all():
            return None
        return np.concatenate([np.ones(len(present)), shares])
    return np.concatenate([given.take(present), given.take(absent) * shares])


def _lookup(groups: Groups | None, width: int) -> Array:
    """The branch of each code; the last entry is for -1, a missing value."""
    if groups is None:
        return np.concatenate([np.arange(width - 1), [-1]])
    found = np.full(width, -1)
    for place, group in enumerate(groups):
        found[list(group)] = place
    return found


def _as_numbers(codes: NDArray[Any]) -> Floats:
    """The codes of an ordinal feature, NaN for missing."""
    return np.where(codes < 0, np.nan, codes)
