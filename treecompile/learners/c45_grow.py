"""The growth of a C4.5 tree level by level, what is not worth its while taken back.

All open nodes of a level are judged at once, feature by feature. What there is to know
of their cases is asked of a source: rows in memory, or a table in a database. The nodes
of a level are numbered one after the other, with the branches of a node side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treecompile.ir import Feature, Kind
from treecompile.learners.c45_choice import Choice
from treecompile.learners.c45_cuts import Judged
from treecompile.learners.c45_draft import EPSILON, SLACK, Draft, SplitTests
from treecompile.learners.c45_level import information
from treecompile.learners.criteria import Table, by_chance
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.stretches import Floats, Mask, Positions, Stretches


@dataclass(frozen=True, slots=True, eq=False)
class Parted:
    """What the splits of some nodes have come to."""

    branches: Positions  # those with cases, in the order of the newest nodes
    known: Floats  # of each branch: the weight of the cases whose value is known
    table: Floats  # of each branch: the same for each class


class Source(Protocol):
    """The cases of the newest nodes, then of those of them that are open."""

    features: tuple[Feature, ...]
    rows_by_weight: float

    def counts(self) -> Floats:
        """The weight of each class at those of the newest nodes that have cases."""

    def keep(self, is_open: Mask) -> None:
        """Go on with the open ones of these nodes."""

    def judge(self, counts: Floats, usable: Mask) -> Sequence[Judged]:
        """What each feature offers at the open nodes, whose counts are given.

        `usable` says for nodes by features where a feature may be used.
        """

    def table(self, tests: SplitTests, some: Positions) -> Floats:
        """The weight of each class in each branch if some open nodes had these tests.

        Of cases whose value is known.
        """

    def divide(self, tests: SplitTests, some: Positions) -> Parted:
        """Split some of the open nodes: their branches are the newest nodes then."""

    def greatest(self, feature: int, bounds: Floats) -> Floats:
        """The greatest number of the whole training set up to each bound."""


@dataclass(slots=True, eq=False)
class Grown:
    """The nodes of a level; their branches are the nodes of the next one."""

    tests: SplitTests
    counts: Floats
    label: Positions
    first: Positions  # of each split: its first branch
    known: Floats  # of each branch


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """How far a growth has come: all that is needed to go on with the open nodes."""

    done: list[Grown]
    nodes: Positions  # which of the last level are open
    usable: Mask  # nodes by features
    settled: float  # rows that are done


Watch = Callable[["Growth"], None]  # called before the open nodes of a level are split


def grow(
    source: Source,
    choice: Choice,
    limits: Limits,
    progress: Progress,
    watch: Watch = lambda growth: None,
    former: Kept | None = None,
) -> Draft:
    """Grow a tree, then collapse what does no better than a leaf.

    With what was kept of a former growth, the source being at those open nodes already,
    go on from there.
    """
    growth = Growth(source, choice, limits, progress)
    if former is not None:
        growth.resume(former)
    while growth.is_open or growth.settle():
        watch(growth)
        growth.split()
    draft = assemble(growth.done)
    lower_cuts(draft, source)
    collapse(draft, [len(each.label) for each in growth.done])
    return draft


class Growth:
    """The newest nodes, and all levels so far."""

    def __init__(
        self, source: Source, choice: Choice, limits: Limits, progress: Progress
    ) -> None:
        self.source, self.choice, self.limits = source, choice, limits
        self.settled = _Settled(progress, source.rows_by_weight)
        self.is_nominal = _is_nominal(source.features)
        self.done: list[Grown] = []
        # The newest nodes: those with cases, which they are of all, and the class of
        # the parents of all.
        self.nodes = np.zeros(1, np.intp)
        self.parent = np.zeros(1, np.intp)
        self.usable: Mask = np.full((1, len(source.features)), True)
        self.is_open = False  # whether the newest nodes are counted, and some open

    def kept(self) -> Kept:
        """What to go on from with the open nodes, which are not split yet."""
        return Kept(self.done, self.nodes, self.usable, self.settled.rows)

    def resume(self, former: Kept) -> None:
        self.done, self.nodes, self.usable = former.done, former.nodes, former.usable
        self.settled.add_rows(former.settled)
        self.is_open = True

    def settle(self) -> bool:
        """Count the newest nodes and keep the open ones; False if there are none."""
        here = self.source.counts()
        counts = np.zeros((len(self.parent), here.shape[1]))
        counts[self.nodes] = here
        label = self.parent.copy()
        label[self.nodes] = here.argmax(axis=1)
        weights = here.sum(axis=1)
        is_open = self._is_open(here, weights)
        self.settled.add(float(weights[~is_open].sum()))
        tests, first = SplitTests.none(len(label)), np.zeros(len(label), np.intp)
        self.done.append(Grown(tests, counts, label, first, np.zeros(0)))
        self.source.keep(is_open)
        self.nodes, self.usable = self.nodes[is_open], self.usable[is_open]
        self.is_open = bool(is_open.any())
        return self.is_open

    def _is_open(self, counts: Floats, weights: Floats) -> Mask:
        limits = self.limits
        if limits.max_depth is not None and len(self.done) >= limits.max_depth:
            return np.zeros(len(counts), np.bool_)
        least = max(limits.min_split, 2 * limits.min_leaf)
        several: Mask = np.count_nonzero(counts, axis=1) >= 2
        several &= weights >= least - SLACK
        return several

    def split(self) -> None:
        """Split the nodes for which there is a split; their branches are the newest."""
        self.is_open = False
        done = self.done[-1]
        counts = done.counts[self.nodes]
        totals = counts.sum(axis=1)
        judged = self.source.judge(counts, self.usable)
        feature = self._choose(judged)
        some = np.flatnonzero(feature >= 0)
        self.settled.add(float(totals[feature < 0].sum()))
        tests, tries = self._tests(judged, feature, some)
        parted = self.source.divide(tests, some)
        self._measure(tests, parted.table, totals[some], tries)
        nodes = self.nodes[some]
        done.tests.note(nodes, tests)
        done.first[nodes] = np.cumsum(tests.size) - tests.size
        done.known = parted.known
        self.nodes = parted.branches
        self.parent = np.repeat(done.label[nodes], tests.size)
        inherited = self.usable[some]
        used = np.flatnonzero(self.is_nominal[tests.feature])
        used = used[[judged[f].groups is None for f in tests.feature[used]]]
        inherited[used, tests.feature[used]] = False
        self.usable = np.repeat(inherited, tests.size, axis=0)[self.nodes]

    def _choose(self, judged: Sequence[Judged]) -> Positions:
        """The feature of each node; one whose split may be chance is passed over."""
        gains = np.stack([each.gains for each in judged], axis=1)
        splits = np.stack([each.splits for each in judged], axis=1)
        barred = np.zeros(gains.shape, np.bool_)
        feature = self.choice.best(gains, splits, barred)
        if self.limits.chi2 is None:
            return feature
        some = np.flatnonzero(feature >= 0)
        while len(some):
            tests, _ = self._tests(judged, feature, some)
            table = Table(self.source.table(tests, some), Stretches.of(tests.size))
            some = some[by_chance(table, self.limits.chi2)]
            barred[some, feature[some]] = True
            feature = self.choice.best(gains, splits, barred)
            some = some[feature[some] >= 0]
        return feature

    def _tests(
        self, judged: Sequence[Judged], feature: Positions, some: Positions
    ) -> tuple[SplitTests, Positions]:
        """The tests of the nodes that have one, and how many cuts were possible."""
        tests = SplitTests.none(len(some))
        tests.feature[:] = feature[some]
        tries = np.ones(len(some), np.intp)
        for position in sorted(set(tests.feature.tolist())):
            mine = np.flatnonzero(tests.feature == position)
            nodes, offer = some[mine], judged[position]
            tests.gain[mine] = offer.gains[nodes]
            tests.size[mine] = 2
            if not self.is_nominal[position]:
                tests.cut[mine], tries[mine] = offer.cuts[nodes], offer.tries[nodes]
            elif offer.groups is not None:
                groups = [offer.groups[node] for node in nodes.tolist()]
                tests.groups.update(zip(mine.tolist(), groups, strict=True))
                tests.size[mine] = [len(each) for each in groups]
            else:
                tests.size[mine] = len(self.source.features[position].categories)
        return tests, tries

    def _measure(
        self, tests: SplitTests, table: Floats, totals: Floats, tries: Positions
    ) -> None:
        """The gains of the chosen splits from the cases themselves.

        So the digits that are saved do not depend on how the splits were found.
        """
        starts = np.cumsum(tests.size) - tests.size
        for position in sorted(set(tests.feature.tolist())):
            mine = np.flatnonzero(tests.feature == position)
            if tests.groups.keys() & set(mine.tolist()):
                continue
            parts = table[starts[mine, None] + np.arange(tests.size[mine[0]])]
            if self.is_nominal[position]:
                gains = _gains_of_values(parts)
            else:
                low, high = parts[:, 0], parts[:, 1]
                gains = information(low + high) - information(low) - information(high)
            total = totals[mine]
            tests.gain[mine] = gains / total - np.log2(tries[mine]) / total


def _is_nominal(features: Sequence[Feature]) -> Mask:
    return np.array([feature.kind is Kind.CATEGORICAL for feature in features])


def _gains_of_values(parts: Floats) -> Floats:
    """The gain of a branch for each category, times the weight."""
    nodes, values, classes = parts.shape
    table = np.zeros((nodes, values + 1, classes))  # and one for missing values
    table[:, :-1] = parts
    flat = table.reshape(-1, classes)
    starts = np.arange(nodes) * (values + 1)
    before = information(np.add.reduceat(flat, starts, axis=0))
    after: Floats = np.add.reduceat(information(flat), starts)
    result: Floats = before - after
    return result


def assemble(levels: Sequence[Grown]) -> Draft:
    """All levels as one draft; every node but the root is a branch."""
    sizes = [len(each.label) for each in levels]
    starts = np.cumsum([0, *sizes]).tolist()
    count = starts[-1]
    tests = SplitTests.none(count)
    first = np.zeros(count, np.intp)
    for start, each in zip(starts, levels, strict=False):
        nodes = np.arange(start, start + len(each.label))
        tests.note(nodes, each.tests)
        first[nodes] = start + len(nodes) - 1 + each.first
    return Draft(
        tests,
        np.concatenate([each.counts for each in levels]),
        np.concatenate([each.label for each in levels]),
        first,
        np.arange(1, count),
        np.concatenate([each.known for each in levels]),
        np.zeros(count),
    )


def lower_cuts(draft: Draft, source: Source) -> None:
    """Put each cut at the greatest value of the whole training set not above it."""
    tests, is_nominal = draft.tests, _is_nominal(source.features)
    for feature in np.unique(tests.feature).tolist():
        if feature < 0 or is_nominal[feature]:
            continue
        some = np.flatnonzero(tests.feature == feature)
        middle = tests.cut[some]
        low = source.greatest(feature, middle)
        tests.cut[some] = np.where(np.isfinite(low), low, middle) + 0.0  # never -0.0


def collapse(draft: Draft, sizes: Sequence[int]) -> None:
    """Make a leaf of each split that leaves as many errors, from the last level up."""
    errors, tests = draft.errors, draft.tests
    weights = draft.counts.sum(axis=1)
    errors[:] = weights - draft.counts[np.arange(len(weights)), draft.label]
    end = len(weights)
    for size in reversed(sizes):
        nodes = np.arange(end - size, end)
        end -= size
        nodes = nodes[tests.feature[nodes] >= 0]
        branches = draft.child[draft.branches(nodes)]
        which = np.repeat(np.arange(len(nodes)), tests.size[nodes])
        below = np.bincount(which, errors[branches], len(nodes))
        is_leaf = below >= errors[nodes] - EPSILON
        errors[nodes[~is_leaf]] = below[~is_leaf]
        draft.become_leaves(nodes[is_leaf])


class _Settled:
    """Counts whole rows out of fractions of them, and whatever they weigh."""

    def __init__(self, progress: Progress, each: float) -> None:
        self.progress, self.rows, self.told = progress, 0.0, 0
        self.each = each  # rows by weight

    def add(self, weight: float) -> None:
        self.add_rows(weight * self.each)

    def add_rows(self, rows: float) -> None:
        self.rows += rows
        whole = int(self.rows + SLACK)
        self.progress(whole - self.told)
        self.told = whole
