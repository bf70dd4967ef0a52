"""The growth of binary trees level by level, over whole columns.

All open nodes of a level are searched at once, feature by feature; the features are
shared out among threads, since numpy lets go of the interpreter in its loops. Rows of
finished nodes are left behind, so a level costs what its open nodes hold, and a chain
of thousands of levels is no trouble. Nodes are numbered level by level here and put in
reading order at the end.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray

from treecompile.data import Dataset
from treecompile.ir import Branch, Condition, Leaf, Node, Op, Split, Stats, Tree
from treecompile.learners.best_first import reached
from treecompile.learners.columns import make_column
from treecompile.learners.criteria import LevelGain
from treecompile.learners.grow import Candidate, Limits, Progress, make_branches
from treecompile.learners.level import (
    LEFT,
    NOWHERE,
    RIGHT,
    Column,
    Found,
    Level,
    Test,
)
from treecompile.learners.responses import Opened, Response, Rows
from treecompile.learners.sorted_column import single_sides
from treecompile.learners.stretches import Floats, Mask, Positions, Stretches
from treecompile.semantics import answer

THREADS = 2  # more gain little: the loops are bound by memory
WORTH_THREADS = 50_000  # values in a level: below, handing out work costs more


@dataclass(slots=True)
class Draft:
    """A node in the making; one with a feature is a split."""

    stats: Stats
    weight: float
    gain: float = 0.0
    feature: int = -1
    test: Test = 0.0
    known: Sequence[float] = ()  # cases on the left and on the right
    children: tuple[int, int] | None = None


def grow_levels(
    data: Dataset,
    response: Response,
    gain: LevelGain,
    limits: Limits,
    progress: Progress,
) -> Tree:
    """Grow a tree of binary splits."""
    growth = Growth(data, response, gain, limits)
    with ThreadPoolExecutor(THREADS) as pool, uncollected():
        columns = list(pool.map(make_column, data.features, data.columns))
        while True:
            progress(growth.settle())
            if not len(growth.numbers):
                break
            level = growth.level()
            many = len(level.rows) * len(columns) >= WORTH_THREADS
            run = pool.map if many else map
            found = list(run(methodcaller("search", level), columns))
            progress(growth.split(level, columns, found))
        return finish(data, growth.drafts)


@contextmanager
def uncollected() -> Iterator[None]:
    """Keep the garbage collector out, which finds nothing here.

    It would walk through all nodes again and again: half the time of a large tree.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Growth:
    """The newest nodes, their rows, and all nodes so far."""

    def __init__(
        self, data: Dataset, response: Response, gain: LevelGain, limits: Limits
    ) -> None:
        size = len(data.y)
        self.response, self.gain, self.limits = response, gain, limits
        self.drafts: list[Draft] = []
        self.depth = 0
        self.rows: Rows = np.arange(size, dtype=np.int32)
        self.nodes = Stretches.of(np.array([size]))  # parts of the rows
        self.numbers = np.zeros(0, np.intp)  # places of the nodes in the drafts
        # Of all rows of the dataset: the node, and where the last split sent them.
        self.of_row = np.zeros(size, np.int32)
        self.side: NDArray[np.int8] = np.full(size, LEFT, np.int8)

    def settle(self) -> int:
        """Draft the newest nodes and keep those to be split; how many rows are done."""
        sizes = self.nodes.lengths
        first = len(self.drafts)
        stats, varies = self.response.measure(self.rows, self.nodes)
        self.drafts += map(Draft, stats, sizes.astype(np.float64).tolist())
        is_open = varies & (sizes >= self.limits.min_split)
        if self.depth == self.limits.max_depth:
            is_open[:] = False
        self.numbers = first + np.flatnonzero(is_open)
        if not is_open.all():
            stays = self.nodes.spread(is_open)
            self.side[self.rows[~stays]] = NOWHERE
            self.rows = self.rows[stays]
            self.nodes = Stretches.of(sizes[is_open])
        return int(sizes[~is_open].sum())

    def level(self) -> Level:
        """What the columns need to know of the open nodes."""
        stats = [self.drafts[number].stats for number in self.numbers]
        opened = self.response.open(self.rows, self.nodes, stats)
        self.of_row[self.rows] = self.nodes.spread(np.arange(len(stats)))
        return Level(
            self.rows,
            self.nodes,
            self.response,
            opened,
            self.gain,
            single_sides(self.nodes, opened.totals, self.limits.min_leaf),
            self.limits.min_leaf,
            self.of_row,
            self.side,
        )

    def split(
        self, level: Level, columns: Sequence[Column], found: Sequence[Found]
    ) -> int:
        """Split the nodes for which there is a split; how many rows have none.

        The children are the newest nodes then.
        """
        feature, gain = choose(found, level.opened, self.limits)
        self._keep_best(feature, gain)
        self.side[self.rows] = NOWHERE
        heavier = np.zeros(len(feature), np.int8)
        for position in np.unique(feature[feature >= 0]).tolist():
            some = np.flatnonzero(feature == position)
            tests, left, right = columns[position].divide(level, found[position], some)
            heavier[some] = np.where(left >= right, LEFT, RIGHT)
            for number, test, decrease, *known in zip(
                self.numbers[some].tolist(),
                tests,
                gain[some].tolist(),
                left.tolist(),
                right.tolist(),
                strict=True,
            ):
                draft = self.drafts[number]
                draft.feature, draft.test = position, test
                draft.gain, draft.known = decrease, known
        self._descend(heavier, feature >= 0)
        return int(level.nodes.lengths[feature < 0].sum())

    def _keep_best(self, feature: Positions, gain: Floats) -> None:
        """With a limit of leaves, give up the splits that it leaves no room for."""
        if self.limits.max_leaves is None:
            return
        new = dict(zip(self.numbers.tolist(), (feature >= 0).tolist(), strict=True))
        for number, gained in zip(self.numbers.tolist(), gain.tolist(), strict=True):
            self.drafts[number].gain = gained

        def decrease(number: int) -> float | None:
            draft = self.drafts[number]
            if draft.children is None and not new.get(number):
                return None
            return draft.gain * draft.weight

        chosen = reached(
            self.limits.max_leaves, decrease, lambda n: self.drafts[n].children
        )
        for number, draft in enumerate(self.drafts):
            if number not in chosen:
                draft.children = None
        feature[[number not in chosen for number in self.numbers.tolist()]] = -1

    def _descend(self, heavier: NDArray[np.int8], is_split: Mask) -> None:
        """Put the rows in the order of the children: those on the left come first."""
        side = self.side.take(self.rows)
        lost = np.flatnonzero(side == NOWHERE)  # their value is missing, or no split
        side[lost] = self.nodes.spread(heavier)[lost]
        self.side[self.rows] = side
        sizes = [self.nodes.sums(side == each)[is_split] for each in (LEFT, RIGHT)]
        rows = [self.rows.take(np.flatnonzero(side == each)) for each in (LEFT, RIGHT)]
        self.nodes = Stretches.of(np.concatenate(sizes))
        self.rows = np.concatenate(rows)
        self.depth += 1
        parents = self.numbers[is_split].tolist()
        for place, parent in enumerate(parents, len(self.drafts)):
            self.drafts[parent].children = (place, place + len(parents))


def choose(
    found: Sequence[Found], opened: Opened, limits: Limits
) -> tuple[Positions, Floats]:
    """The feature with the greatest gain for each node, the first at a tie; or -1."""
    tie, unit = opened.tie, opened.unit
    with np.errstate(over="ignore"):  # infinite is right: no gain is so large
        least = np.ldexp(limits.min_gain, -unit) - tie
    feature = np.full(len(tie), -1)
    gain = np.full(len(tie), -np.inf)
    for position, each in enumerate(found):
        better = (each.gain >= least) & (each.gain > gain + tie)
        feature[better] = position
        gain[better] = each.gain[better]
    return feature, np.ldexp(gain, unit)


def finish(data: Dataset, drafts: Sequence[Draft]) -> Tree:
    """The tree in reading order: depth first, the left side before the right."""
    order, stack = [], [0]
    while stack:
        number = stack.pop()
        order.append(number)
        children = drafts[number].children
        if children is not None:
            stack += reversed(children)
    places = np.empty(len(drafts), np.intp)
    places[order] = np.arange(len(order))
    where = places.tolist()
    nodes = tuple(_node(data, drafts[number], where) for number in order)
    return Tree(data.features, data.labels, nodes)


def _node(data: Dataset, draft: Draft, where: list[int]) -> Node:
    if draft.children is None:
        return Leaf(answer(draft.stats, data.labels), draft.stats, draft.weight)
    left, right = (where[child] for child in draft.children)
    test = draft.test
    if isinstance(test, tuple):
        sides = tuple((Op.IN, categories) for categories in test)
        split = Candidate(draft.feature, draft.gain, sides, tuple(draft.known))
        tests = [branch.when for branch in make_branches(data, split)]
    else:
        is_left = draft.known[0] >= draft.known[1]
        tests = [
            Condition(draft.feature, Op.LE, test, is_left),
            Condition(draft.feature, Op.GT, test, not is_left),
        ]
    branches = (
        Branch(tests[0], left, draft.known[0]),
        Branch(tests[1], right, draft.known[1]),
    )
    return Split(branches, draft.stats, draft.gain)
