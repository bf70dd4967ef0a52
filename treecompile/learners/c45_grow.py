"""The growth of a C4.5 tree level by level, what is not worth its while taken back.

All open nodes of a level are judged at once, feature by feature; the features are
shared out among threads. The nodes of a level are numbered one after the other, with
the branches of a node side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np

from treecompile.learners.c45_choice import Choice
from treecompile.learners.c45_columns import Column, Grouped, make_column_of
from treecompile.learners.c45_cuts import Judged
from treecompile.learners.c45_draft import EPSILON, SLACK, Draft, SplitTests
from treecompile.learners.c45_level import Level, bits, information
from treecompile.learners.c45_sample import Cases, Divided, Sample
from treecompile.learners.criteria import Table, by_chance
from treecompile.learners.levels import THREADS, WORTH_THREADS
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.passage import Passage
from treecompile.learners.stretches import (
    Array,
    Floats,
    Mask,
    Positions,
    Stretches,
)


def grow(
    sample: Sample,
    choice: Choice,
    limits: Limits,
    progress: Progress,
    *,
    is_grouping: bool = False,
) -> Draft:
    """Grow a tree, then collapse what does no better than a leaf."""
    make = partial(
        make_column_of, sample, is_grouping=is_grouping, is_ratio=choice.is_ratio
    )
    features = len(sample.columns)
    with ThreadPoolExecutor(THREADS) as pool:
        is_large = len(sample.y) * features >= WORTH_THREADS
        columns = list((pool.map if is_large else map)(make, range(features)))
        growth = Growth(sample, choice, limits, progress)
        while growth.settle():
            level, passage, usable = growth.level(), growth.passage, growth.usable
            is_large = len(level.cases.rows) * features >= WORTH_THREADS
            judge = partial(_judge, level, passage)
            run = pool.map if is_large else map
            judged = list(run(judge, columns, map(np.flatnonzero, usable.T)))
            growth.split(level, columns, judged)
    draft = assemble(growth.done)
    lower_cuts(draft, sample)
    collapse(draft, [len(each.label) for each in growth.done])
    return draft


def _judge(
    level: Level, passage: Passage | None, column: Column, usable: Positions
) -> Judged:
    if passage is not None:
        column.follow(passage)
    return column.judge(level, usable)


@dataclass(slots=True, eq=False)
class Grown:
    """The nodes of a level; their branches are the nodes of the next one."""

    tests: SplitTests
    counts: Floats
    label: Positions
    first: Positions  # of each split: its first branch
    known: Floats  # of each branch


class Growth:
    """The newest nodes, their cases, and all levels so far."""

    def __init__(
        self, sample: Sample, choice: Choice, limits: Limits, progress: Progress
    ) -> None:
        self.sample, self.choice, self.limits = sample, choice, limits
        self.settled = _Settled(progress, sample)
        self.done: list[Grown] = []
        size = len(sample.y)
        self.table = bits(np.arange(size + 1.0))  # n log2 n of whole cases
        # The newest nodes: those with cases, which they are of all, and the class of
        # the parents of all.
        self.cases = sample.everything()
        self.nodes = np.zeros(1, np.intp)
        self.parent = np.zeros(1, np.intp)
        self.usable: Mask = np.full((1, len(sample.columns)), True)
        # How they came about.
        self.divided: Divided | None = None
        self.before, self.size = np.zeros(0, np.intp), 0
        self.passage: Passage | None = None

    def settle(self) -> bool:
        """Count the newest nodes and keep the open ones; False if there are none."""
        counts = np.zeros((len(self.parent), self.sample.classes))
        here = self.sample.counts(self.cases)
        counts[self.nodes] = here
        label = self.parent.copy()
        label[self.nodes] = here.argmax(axis=1)
        weights = here.sum(axis=1)
        is_open = self._is_open(here, weights)
        self.settled.add(float(weights[~is_open].sum()))
        tests, first = SplitTests.none(len(label)), np.zeros(len(label), np.intp)
        self.done.append(Grown(tests, counts, label, first, np.zeros(0)))
        if not is_open.any():
            return False
        if self.divided is not None:
            self.passage = self.divided.passage(is_open, self.before, self.size)
            self.divided = None
        some = np.flatnonzero(is_open)
        self.cases, self.nodes = self.cases.some(some), self.nodes[some]
        self.usable = self.usable[some]
        return True

    def _is_open(self, counts: Floats, weights: Floats) -> Mask:
        limits = self.limits
        if limits.max_depth is not None and len(self.done) >= limits.max_depth:
            return np.zeros(len(counts), np.bool_)
        least = max(limits.min_split, 2 * limits.min_leaf)
        several: Mask = np.count_nonzero(counts, axis=1) >= 2
        several &= weights >= least - SLACK
        return several

    def level(self) -> Level:
        """The open nodes."""
        counts = self.done[-1].counts[self.nodes]
        least = float(self.limits.min_leaf)
        return Level.of(self.sample, self.cases, counts, least, self.table)

    def split(
        self, level: Level, columns: Sequence[Column], judged: Sequence[Judged]
    ) -> None:
        """Split the nodes for which there is a split; their branches are the newest."""
        feature = self._choose(columns, judged)
        some = np.flatnonzero(feature >= 0)
        self.settled.add(float(level.totals[feature < 0].sum()))
        tests, tries = self._tests(columns, judged, feature, some)
        cases = self.cases.some(some)
        self.size = len(self.cases.rows)
        self.before = self.cases.nodes.within(some)
        divided = self.sample.divide(tests, cases)
        self._measure(tests, cases, divided, level.totals[some], tries)
        done, nodes = self.done[-1], self.nodes[some]
        done.tests.note(nodes, tests)
        done.first[nodes] = np.cumsum(tests.size) - tests.size
        done.known = divided.known
        self.divided, self.cases, self.nodes = divided, divided.cases, divided.branches
        self.parent = np.repeat(done.label[nodes], tests.size)
        inherited = self.usable[some]
        used = np.flatnonzero(self.sample.is_nominal[tests.feature])
        used = used[[not isinstance(columns[f], Grouped) for f in tests.feature[used]]]
        inherited[used, tests.feature[used]] = False
        self.usable = np.repeat(inherited, tests.size, axis=0)[self.nodes]

    def _choose(self, columns: Sequence[Column], judged: Sequence[Judged]) -> Positions:
        """The feature of each node; one whose split may be chance is passed over."""
        gains = np.stack([each.gains for each in judged], axis=1)
        splits = np.stack([each.splits for each in judged], axis=1)
        barred = np.zeros(gains.shape, np.bool_)
        feature = self.choice.best(gains, splits, barred)
        if self.limits.chi2 is None:
            return feature
        some = np.flatnonzero(feature >= 0)
        while len(some):
            tests, _ = self._tests(columns, judged, feature, some)
            cases, branches = self.cases.some(some), Stretches.of(tests.size)
            places = self.sample.places(tests, cases)
            table = self._table(tests, cases, places, branches.starts)
            some = some[by_chance(Table(table, branches), self.limits.chi2)]
            barred[some, feature[some]] = True
            feature = self.choice.best(gains, splits, barred)
            some = some[feature[some] >= 0]
        return feature

    def _tests(
        self,
        columns: Sequence[Column],
        judged: Sequence[Judged],
        feature: Positions,
        some: Positions,
    ) -> tuple[SplitTests, Positions]:
        """The tests of the nodes that have one, and how many cuts were possible."""
        tests = SplitTests.none(len(some))
        tests.feature[:] = feature[some]
        tries = np.ones(len(some), np.intp)
        for position in sorted(set(tests.feature.tolist())):
            mine = np.flatnonzero(tests.feature == position)
            nodes, offer, column = some[mine], judged[position], columns[position]
            tests.gain[mine] = offer.gains[nodes]
            tests.size[mine] = 2
            if not self.sample.is_nominal[position]:
                tests.cut[mine], tries[mine] = offer.cuts[nodes], offer.tries[nodes]
            elif isinstance(column, Grouped):
                groups = [column.groups[node] for node in nodes.tolist()]
                tests.groups.update(zip(mine.tolist(), groups, strict=True))
                tests.size[mine] = [len(each) for each in groups]
            else:
                tests.size[mine] = len(self.sample.data.features[position].categories)
        return tests, tries

    def _measure(
        self,
        tests: SplitTests,
        cases: Cases,
        divided: Divided,
        totals: Floats,
        tries: Positions,
    ) -> None:
        """The gains of the chosen splits from the cases themselves.

        So the digits that are saved do not depend on how the splits were found.
        """
        starts = np.cumsum(tests.size) - tests.size
        table = self._table(tests, cases, divided.places, starts)
        for position in sorted(set(tests.feature.tolist())):
            mine = np.flatnonzero(tests.feature == position)
            if tests.groups.keys() & set(mine.tolist()):
                continue
            parts = table[starts[mine, None] + np.arange(tests.size[mine[0]])]
            if self.sample.is_nominal[position]:
                gains = _gains_of_values(parts)
            else:
                low, high = parts[:, 0], parts[:, 1]
                gains = information(low + high) - information(low) - information(high)
            total = totals[mine]
            tests.gain[mine] = gains / total - np.log2(tries[mine]) / total

    def _table(
        self, tests: SplitTests, cases: Cases, places: Array, starts: Positions
    ) -> Floats:
        """The weight of each class in each branch, of known values."""
        classes = self.sample.classes
        cells = cases.nodes.spread(starts)
        cells += places
        cells *= classes
        cells += self.sample.y.take(cases.rows)
        weights, size = cases.weights, int(tests.size.sum()) * classes
        if (places < 0).any():
            known = np.flatnonzero(places >= 0)
            cells = cells.take(known)
            weights = None if weights is None else weights.take(known)
        return np.bincount(cells, weights, size).reshape(-1, classes).astype(np.float64)


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


def lower_cuts(draft: Draft, sample: Sample) -> None:
    """Put each cut at the greatest value of the whole training set not above it."""
    tests = draft.tests
    for feature in np.unique(tests.feature).tolist():
        if feature < 0 or sample.is_nominal[feature]:
            continue
        some = np.flatnonzero(tests.feature == feature)
        ordered = np.sort(sample.columns[feature])  # missing ones come last
        middle = tests.cut[some]
        low = ordered[np.searchsorted(ordered, middle, side="right") - 1]
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

    def __init__(self, progress: Progress, sample: Sample) -> None:
        self.progress, self.weight, self.told = progress, 0.0, 0
        weights = sample.data.weights
        self.each = 1.0 if weights is None else len(weights) / float(weights.sum())

    def add(self, weight: float) -> None:
        self.weight += weight * self.each
        whole = int(self.weight + SLACK)
        self.progress(whole - self.told)
        self.told = whole
