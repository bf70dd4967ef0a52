"""Cases in memory, and how C4.5 sends them down the splits of a level.

A case with a missing value goes down several branches at once, each with a part of its
weight. So a level consists of weighted cases, and a row may occur several times. A case
is identified by its position in its level. The next level starts with the first
branches of all nodes, then come all second ones, and so on; each keeps the old order.

`Sample` is the training set; growth (`case_columns`) and pruning both use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treecompile.learning.c45.gain_ratio import bits
from treecompile.learning.grow.draft import Groups, Splits, is_categorical
from treecompile.learning.grow.responses import LabelResponse, count_classes
from treecompile.learning.grow.search import Run
from treecompile.learning.grow.segments import Segments
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import Kind
from treecompile.tables.dataset import Dataset

Order = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class NodeCases:
    """The cases of some nodes, node after node; every node has at least one."""

    rows: Array  # row numbers: 32-bit integers, or `Positions`, which are faster to use
    weights: Floats | None  # None: all weights are 1
    nodes: Segments

    def some(self, chosen: Positions) -> NodeCases:
        """Return the cases of the chosen nodes."""
        if len(chosen) == len(self.nodes.lengths):
            return self
        span = self.nodes.span(chosen)
        weights = None if self.weights is None else self.weights[span]
        lengths = self.nodes.lengths[chosen]
        return NodeCases(self.rows[span], weights, Segments.of(lengths))


@dataclass(frozen=True, slots=True, eq=False)
class CaseDescent:
    """Where the cases of a level have gone, so that sorted columns can follow them."""

    first: Order  # for each case: its new position, or the start of several in `all`
    times: Order | None  # for each case: its number of positions; None: at most one
    all: Order  # the new positions of cases that may have several
    bounds: Positions  # where the cases of all first branches end, of all second, ...

    @classmethod
    def of(cls, origin: Positions, size: int, bounds: Positions) -> CaseDescent:
        """Invert `origin`, the old position of each new case, of `size` old cases."""
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
        """Convert sorted positions to sorted positions in the next level."""
        moved = self.first.take(order)
        if self.times is not None:
            times = self.times.take(order)
            ends = np.cumsum(times, dtype=np.intp)
            within = np.arange(ends[-1] if len(ends) else 0)
            within += np.repeat(moved - (ends - times), times)
            moved = self.all.take(within)
        return self._arranged(moved)

    def _arranged(self, moved: Order) -> Order:
        """Sort positions by branch, the first ones first; otherwise keep the order."""
        one, two, *more = self.bounds.tolist()
        first = moved < one
        parts = [moved.take(np.flatnonzero(first))]
        rest = ~first
        rest &= moved < two
        parts.append(moved.take(np.flatnonzero(rest)))
        if more and more[-1] > two:
            left = moved.take(np.flatnonzero((moved >= two) & (moved < more[-1])))
            branch = np.searchsorted(self.bounds, left, side="right")
            # numpy sorts 16-bit integers stably in linear time.
            parts.append(left.take(np.argsort(branch.astype(np.int16), kind="stable")))
        result: Array = np.concatenate(parts)
        return result


@dataclass(frozen=True, slots=True, eq=False)
class DividedCases:
    """The cases of some nodes after they were divided among the branches."""

    cases: NodeCases
    branches: Positions  # for each node of `cases`: its number among all branches
    known: Floats  # for each branch: the weight of the cases with a known value
    origin: Positions  # for each case: its position before the test
    bounds: Positions  # where the cases of all first branches end, of all second, ...
    places: Array  # for each case before the test: its branch; -1 for a missing value

    def descent(self, is_open: Mask, before: Positions, size: int) -> CaseDescent:
        """Describe how the cases of the open nodes came to them.

        The divided cases were at the positions `before` of a level of `size` cases.
        """
        origin, bounds = self.origin, self.bounds
        if not is_open.all():
            stays = self.cases.nodes.spread(is_open)
            origin = origin.take(np.flatnonzero(stays))
            bounds = np.concatenate(([0], np.cumsum(stays)))[bounds]
        return CaseDescent.of(before.take(origin), size, bounds)


@dataclass(frozen=True, slots=True, eq=False)
class BranchOrder:
    """The order of the next level: the first branches of all nodes, the second, ..."""

    cases: Positions  # the cases in this order
    branches: Positions  # all branches in this order
    lengths: Positions  # the number of cases of each of these branches
    bounds: Positions  # where the cases of all first branches end, of all second, ...


def by_branch(splits: Splits, slots: Positions) -> BranchOrder:
    """Order the cases by `slots`, the number of each one's branch."""
    place = np.arange(splits.size.sum()) - np.repeat(splits.starts, splits.size)
    branches = np.argsort(place, kind="stable")
    rank = np.empty(len(place), np.intp)
    rank[branches] = np.arange(len(place))
    ranks = rank.take(slots)
    lengths = np.bincount(ranks, minlength=len(place))
    bounds = np.cumsum(np.bincount(place[branches], lengths).astype(np.intp))
    return BranchOrder(np.argsort(ranks, kind="stable"), branches, lengths, bounds)


def in_two(places: Array, nodes: Segments) -> BranchOrder:
    """`by_branch` for binary splits without missing values, which is faster."""
    is_right = places > 0
    sides = [np.flatnonzero(~is_right), np.flatnonzero(is_right)]
    ends = np.append(nodes.starts, len(places))
    lengths = np.concatenate([np.diff(np.searchsorted(side, ends)) for side in sides])
    first = np.arange(len(nodes.lengths)) * 2
    branches = np.concatenate([first, first + 1])
    bounds = np.array([len(sides[0]), len(places)])
    return BranchOrder(np.concatenate(sides), branches, lengths, bounds)


class Sample:
    """The training set, and how its cases are divided by splits."""

    def __init__(self, data: Dataset, *, is_fractional: bool, run: Run = map) -> None:
        self.data, self.run = data, run
        self.classes = len(data.labels)
        self.y: Array = data.y.astype(np.int8 if self.classes < 128 else np.int16)
        self.response = LabelResponse(data.y, data.labels)
        self.is_fractional = is_fractional
        self.most = len(data.y) + 1.0  # above the weight of all cases
        if data.weights is not None:
            self.most = 2.0 * float(data.weights.sum())
        self.columns: list[NDArray[Any]] = [
            (
                np.where(column < 0, np.nan, column)  # the ranks, NaN for missing
                if feature.kind is Kind.ORDINAL
                else column
            )
            for feature, column in zip(data.features, data.columns, strict=True)
        ]
        self.is_categorical = is_categorical(data.features)
        self.is_complete = [  # no number is missing
            not is_category and not np.isnan(column).any()
            for is_category, column in zip(
                self.is_categorical, self.columns, strict=True
            )
        ]
        self.log_table = bits(np.arange(len(data.y) + 1.0))  # n log2 n of whole cases

    def everything(self) -> NodeCases:
        """Return all cases, at one node."""
        size = len(self.y)
        rows = np.arange(size, dtype=np.int32)
        return NodeCases(rows, self.data.weights, Segments.of(np.array([size])))

    def counts(self, cases: NodeCases) -> Floats:
        """Return the weight of each class at each node: nodes x classes."""
        count = len(cases.nodes.lengths)
        nodes = cases.nodes.spread(np.arange(count))
        return self._count(nodes, self.y.take(cases.rows), cases.weights, count)

    def _count(
        self, keys: Array, y: Array, weights: Floats | None, count: int
    ) -> Floats:
        table = count_classes(keys, y, weights, count, self.classes)
        return table.astype(np.float64)

    def table(self, splits: Splits, cases: NodeCases, places: Array) -> Floats:
        """Count the cases with a known value: branches x classes, by weight."""
        branches = cases.nodes.spread(splits.starts)
        branches += places
        y, weights = self.y.take(cases.rows), cases.weights
        if (places < 0).any():
            known = np.flatnonzero(places >= 0)
            branches, y = branches.take(known), y.take(known)
            weights = None if weights is None else weights.take(known)
        return self._count(branches, y, weights, int(splits.size.sum()))

    def divide(self, splits: Splits, cases: NodeCases) -> DividedCases:
        """Send the cases of every node to its branches.

        Cases with a missing value are divided in proportion to the weights of the known
        cases, or all go to the heaviest branch; none to a branch without known cases.
        """
        places = self.places(splits, cases)
        count, weights = int(splits.size.sum()), cases.weights
        is_known = places >= 0
        if is_known.all() and weights is None and count == 2 * len(splits.size):
            order = in_two(places, cases.nodes)
            origin, known = order.cases, np.empty(count)
            known[order.branches] = order.lengths
            return self._divided(cases, None, origin, known, order, places)
        slots = cases.nodes.spread(splits.starts)  # the branch of each case, of all
        slots += places
        if is_known.all():
            known = np.bincount(slots, weights, count).astype(np.float64)
            order = by_branch(splits, slots)
            origin = order.cases
        else:
            moved = self._with_shares(splits, cases, slots, is_known)
            origin, slots, weights, known = moved
            order = by_branch(splits, slots)
            origin = origin.take(order.cases)
        if weights is not None:
            weights = weights.take(order.cases)
        return self._divided(cases, weights, origin, known, order, places)

    @staticmethod
    def _divided(
        cases: NodeCases,
        weights: Floats | None,
        origin: Positions,
        known: Floats,
        order: BranchOrder,
        places: Array,
    ) -> DividedCases:
        filled = np.flatnonzero(order.lengths)
        rows, lengths = cases.rows.take(origin), order.lengths[filled]
        divided = NodeCases(rows, weights, Segments.of(lengths))
        branches = order.branches[filled]
        return DividedCases(divided, branches, known, origin, order.bounds, places)

    def _with_shares(
        self, splits: Splits, cases: NodeCases, slots: Positions, is_known: Mask
    ) -> tuple[Positions, Positions, Floats | None, Floats]:
        """Send cases with a missing value to several branches, after all other cases.

        Returns for each new case its old position, branch and weight, and for each
        branch the weight of the cases with a known value.
        """
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
        origin = np.concatenate([present, np.repeat(absent, times)])
        slots = np.concatenate([slots.take(present), more])
        weights, parts = None, shares[more]
        if given is not None or (parts != 1.0).any():
            weights = np.ones(len(origin)) if given is None else given.take(origin)
            weights[len(present) :] *= parts
        return origin, slots, weights, known

    def places(self, splits: Splits, cases: NodeCases) -> Array:
        """Return the branch of each case, or -1 if its value is missing."""
        result = np.empty(len(cases.rows), np.int16)

        def send(index: int) -> None:
            some = np.flatnonzero(splits.feature == index)
            where = cases.nodes.span(some)
            column = self.columns[index].take(cases.rows[where])
            lengths = cases.nodes.lengths[some]
            if self.is_categorical[index]:
                result[where] = self._branches(splits, index, some, lengths, column)
                return
            threshold = splits.threshold[some]
            if len(some) > 1:
                threshold = np.repeat(threshold, lengths)
            found = (column > threshold).view(np.int8)
            if not self.is_complete[index]:
                found[np.isnan(column)] = -1
            result[where] = found

        list(self.run(send, splits.features()))
        return result

    def _branches(
        self,
        splits: Splits,
        index: int,
        some: Positions,
        lengths: Positions,
        codes: Array,
    ) -> Array:
        """Return the branch of each code; `lengths` are the cases of each node."""
        groups = [splits.groups.get(node) for node in some.tolist()]
        if not any(groups):
            return codes
        width = len(self.data.features[index].categories) + 1
        table = np.stack([_lookup(each, width) for each in groups])
        branches: Array = table[np.repeat(np.arange(len(some)), lengths), codes]
        return branches


def shares_of(
    known: Floats, sizes: Positions, starts: Positions, *, is_fractional: bool
) -> Floats:
    """Return the share of a case with a missing value that each branch gets."""
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


def _lookup(groups: Groups | None, width: int) -> Array:
    """Return the branch of each code; the last entry is for -1, a missing value."""
    if groups is None:
        return np.concatenate([np.arange(width - 1), [-1]])
    found = np.full(width, -1)
    for place, group in enumerate(groups):
        found[list(group)] = place
    return found
