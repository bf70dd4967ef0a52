"""The growth of trees level by level, wherever the cases are.

All open nodes of a level are searched at once, feature by feature. What there is to
know of their cases is asked of a source: rows in memory, or a table in a database. A
level costs what its open nodes hold, and a chain of thousands of levels is no trouble.
Nodes are numbered level by level here and put in reading order at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treecompile.learners.best_first import reached
from treecompile.learners.drafts import Drafts
from treecompile.learners.level import Divided, Found
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.responses import Opened
from treecompile.learners.stretches import Array, Floats, Mask, Positions


@dataclass(frozen=True, slots=True, eq=False)
class Newest:
    """What the newest nodes hold."""

    stats: Floats  # a line for each node, as the response measures it
    weights: Floats  # of their cases
    rows: Array
    varies: Mask  # which have cases that differ


class Source(Protocol):
    """The cases of the newest nodes, then of those of them that are open."""

    branches: Positions  # of a split by each feature

    def measure(self) -> Newest:
        """What the newest nodes hold."""

    def keep(self, is_open: Mask) -> None:
        """Go on with the open ones of the newest nodes."""

    def search(self, stats: Floats) -> tuple[Opened, Sequence[Found]]:
        """The best split by each feature of every open node, whose stats are given."""

    def divide(self, feature: int, some: Positions) -> Divided:
        """Split some of the open nodes by the feature, as was found best."""

    def descend(self, heaviest: Array) -> tuple[Positions, Array]:
        """Go on with the branches of all splits, which are the newest nodes then.

        `heaviest` is the side of each open node to which missing values go. Returns of
        which open node each of the newest is a branch, and which.
        """


def grow(source: Source, limits: Limits, progress: Progress) -> Drafts:
    """Grow a tree; the nodes come in the order of their making."""
    growth = Growth(source, limits)
    progress(growth.settle())
    return go_on(growth, progress)


def go_on(
    growth: Growth,
    progress: Progress,
    watch: Callable[[Growth], None] = lambda growth: None,
) -> Drafts:
    """Grow until no node is open; who watches sees the growth before each level."""
    while len(growth.numbers):
        watch(growth)
        progress(growth.split())
        progress(growth.settle())
    return growth.drafts


class Growth:
    """All nodes so far, and which of them are open."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source, self.limits = source, limits
        self.branches = source.branches
        self.drafts = Drafts()
        self.depth = 0
        self.numbers = np.zeros(0, np.intp)  # of the open ones, in the drafts
        self.rows: Array = np.zeros(0, np.intp)  # of each of them
        self.measured = np.zeros((0, 0))
        # Of the newest nodes: their parents, and which of the branches they are.
        self.parents: Positions = np.full(1, -1)
        self.places: Array = np.zeros(1, np.intp)

    def resume(
        self, drafts: Drafts, depth: int, numbers: Positions, rows: Array
    ) -> None:
        """Go on where another growth was: with these nodes open, and their rows."""
        self.drafts, self.depth, self.numbers, self.rows = drafts, depth, numbers, rows
        newest = drafts.layers[-1]
        self.measured = newest.stats[numbers - newest.start]

    def settle(self) -> int:
        """Draft the newest nodes and keep those to be split; how many rows are done."""
        newest = self.source.measure()
        first = self._draft(newest.stats, newest.weights)
        is_open = newest.varies & (newest.rows >= self.limits.min_split)
        if self.depth == self.limits.max_depth:
            is_open[:] = False
        if self.limits.min_sse is not None:
            is_open &= newest.stats[:, 2] >= self.limits.min_sse
        self.numbers = first + np.flatnonzero(is_open)
        self.measured = newest.stats[is_open]
        self.rows = newest.rows[is_open]
        self.source.keep(is_open)
        return int(newest.rows[~is_open].sum())

    def split(self) -> int:
        """Split the nodes for which there is a split; how many rows have none.

        The children are the newest nodes then.
        """
        opened, found = self.source.search(self.measured)
        feature, gain = choose(found, opened, self.limits)
        self._keep_best(feature, gain)
        heaviest = np.zeros(len(feature), np.intp)
        for position in np.unique(feature[feature >= 0]).tolist():
            some = np.flatnonzero(feature == position)
            divided = self.source.divide(position, some)
            heaviest[some] = divided.heaviest
            self.drafts.split(
                self.numbers[some], position, gain[some], divided.tests, divided.known
            )
        of, self.places = self.source.descend(heaviest)
        self.parents = self.numbers[of]
        self.depth += 1
        return int(self.rows[feature < 0].sum())

    def _keep_best(self, feature: Positions, gain: Floats) -> None:
        """With a limit of leaves, give up the splits that it leaves no room for."""
        if self.limits.max_leaves is None:
            return
        drafts = self.drafts
        features, gains = drafts.joined("feature"), drafts.joined("gain")
        features[self.numbers], gains[self.numbers] = feature, gain
        decreases = (gains * drafts.joined("weight")).tolist()
        children = drafts.children()
        chosen = reached(
            self.limits.max_leaves,
            lambda number: decreases[number] if features[number] >= 0 else None,
            lambda number: self.branches[features[number]],
            children.get,
        )
        is_kept = np.zeros(drafts.count, np.bool_)
        is_kept[list(chosen)] = True
        drafts.give_up(is_kept)
        feature[~is_kept[self.numbers]] = -1

    def _draft(self, stats: Floats, weights: Floats) -> int:
        """Draft the newest nodes, behind what stands in for branches without cases.

        The number of the first that has cases.
        """
        drafts, parents, places = self.drafts, self.parents, self.places
        empty, which = self._empty_branches()
        if len(empty):
            above = drafts.layers[-1]
            stand_ins = above.stats[empty - above.start]
            parents, places = np.append(empty, parents), np.append(which, places)
            stats = np.concatenate([stand_ins, stats])
            weights = np.append(np.zeros(len(empty)), weights)
        first = drafts.count + len(empty)
        drafts.add(parents, places, stats, weights)
        return first

    def _empty_branches(self) -> tuple[Positions, Positions]:
        """The parents and places of branches to which no case went."""
        none = np.zeros(0, np.intp)
        if not self.drafts.count:
            return none, none
        above = self.drafts.layers[-1]
        splits = np.flatnonzero(above.feature >= 0)
        sizes = self.branches[above.feature[splits]]
        if sizes.sum() == len(self.parents):
            return none, none
        ends = np.cumsum(sizes)
        is_empty = np.full(ends[-1], True)
        split = np.searchsorted(splits, self.parents - above.start)
        is_empty[(ends - sizes)[split] + self.places] = False
        parents = np.repeat(splits, sizes)
        places = np.arange(len(parents)) - np.repeat(ends - sizes, sizes)
        return above.start + parents[is_empty], places[is_empty]


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
