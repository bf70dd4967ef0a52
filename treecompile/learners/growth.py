"""The growth of trees level by level, wherever the cases are.

All open nodes of a level are searched at once, feature by feature. What there is to
know of their cases is asked of a source: rows in memory, or a table in a database. A
level costs what its open nodes hold, and a chain of thousands of levels is no trouble.
Nodes are numbered level by level here and put in reading order at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from treecompile.ir import Moments, Stats
from treecompile.learners.best_first import reached
from treecompile.learners.drafts import Draft
from treecompile.learners.level import NOWHERE, Divided, Found
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.responses import Opened
from treecompile.learners.stretches import Array, Floats, Mask, Positions


@dataclass(frozen=True, slots=True, eq=False)
class Newest:
    """What the newest nodes hold."""

    stats: Sequence[Stats]
    weights: Floats  # of their cases
    rows: Array
    varies: Mask  # which have cases that differ


class Source(Protocol):
    """The cases of the newest nodes, then of those of them that are open."""

    def measure(self) -> Newest:
        """What the newest nodes hold."""

    def keep(self, is_open: Mask) -> None:
        """Go on with the open ones of the newest nodes."""

    def search(self, stats: Sequence[Stats]) -> tuple[Opened, Sequence[Found]]:
        """The best split of every open node by each feature."""

    def branches(self, feature: int) -> int:
        """How many branches a split by a feature has."""

    def divide(self, feature: int, some: Positions) -> Divided:
        """Split some of the open nodes by the feature, as was found best."""

    def descend(self, heaviest: Array) -> tuple[Positions, Array]:
        """Go on with the branches of all splits, which are the newest nodes then.

        `heaviest` is the side of each open node to which missing values go. Returns of
        which open node each of the newest is a branch, and which.
        """


def grow(source: Source, limits: Limits, progress: Progress) -> list[Draft]:
    """Grow a tree; the nodes come in the order of their making."""
    growth = Growth(source, limits)
    while True:
        progress(growth.settle())
        if not len(growth.numbers):
            return growth.drafts
        progress(growth.split())


class Growth:
    """All nodes so far, and which of them are open."""

    def __init__(self, source: Source, limits: Limits) -> None:
        self.source, self.limits = source, limits
        self.drafts: list[Draft] = []
        self.depth = 0
        self.numbers = np.zeros(0, np.intp)  # places of the open nodes in the drafts
        self.rows = np.zeros(0, np.intp)  # of each of them

    def settle(self) -> int:
        """Draft the newest nodes and keep those to be split; how many rows are done."""
        first = len(self.drafts)
        measured = self.source.measure()
        self.drafts += map(Draft, measured.stats, measured.weights.tolist())
        is_open = measured.varies & (measured.rows >= self.limits.min_split)
        if self.depth == self.limits.max_depth:
            is_open[:] = False
        if self.limits.min_sse is not None:
            errors = [s.sse for s in measured.stats if isinstance(s, Moments)]
            is_open &= np.array(errors) >= self.limits.min_sse
        self.numbers = first + np.flatnonzero(is_open)
        self.rows = measured.rows[is_open]
        self.source.keep(is_open)
        return int(measured.rows[~is_open].sum())

    def split(self) -> int:
        """Split the nodes for which there is a split; how many rows have none.

        The children are the newest nodes then.
        """
        stats = [self.drafts[number].stats for number in self.numbers]
        opened, found = self.source.search(stats)
        feature, gain = choose(found, opened, self.limits)
        self._keep_best(feature, gain)
        heaviest = np.zeros(len(feature), np.int16)
        for position in np.unique(feature[feature >= 0]).tolist():
            some = np.flatnonzero(feature == position)
            divided = self.source.divide(position, some)
            heaviest[some] = divided.heaviest
            for number, test, gained, known in zip(
                self.numbers[some].tolist(),
                divided.tests,
                gain[some].tolist(),
                divided.known,
                strict=True,
            ):
                draft = self.drafts[number]
                draft.feature, draft.test = position, test
                draft.gain, draft.known = gained, known
                draft.children = [NOWHERE] * len(known)
        of, branch = self.source.descend(heaviest)
        self.depth += 1
        self._adopt(self.numbers[of], branch)
        return int(self.rows[feature < 0].sum())

    def _keep_best(self, feature: Positions, gain: Floats) -> None:
        """With a limit of leaves, give up the splits that it leaves no room for."""
        if self.limits.max_leaves is None:
            return
        new = dict(zip(self.numbers.tolist(), feature.tolist(), strict=True))
        for number, gained in zip(self.numbers.tolist(), gain.tolist(), strict=True):
            self.drafts[number].gain = gained

        def decrease(number: int) -> float | None:
            draft = self.drafts[number]
            if draft.children is None and new.get(number, -1) < 0:
                return None
            return draft.gain * draft.weight

        def branches(number: int) -> int:
            children = self.drafts[number].children
            if children is not None:
                return len(children)
            return self.source.branches(new[number])

        chosen = reached(
            self.limits.max_leaves,
            decrease,
            branches,
            lambda number: self.drafts[number].children,
        )
        for number, draft in enumerate(self.drafts):
            if number not in chosen:
                draft.children = None
        feature[[number not in chosen for number in self.numbers.tolist()]] = -1

    def _adopt(self, parents: Positions, places: Array) -> None:
        """Number the children; for branches without cases the parent stands in."""
        drafts = self.drafts
        splits = dict.fromkeys(parents.tolist())
        whole = sum(len(drafts[parent].known) for parent in splits)
        first = len(drafts) + whole - len(parents)  # behind the stand-ins
        for number, (parent, place) in enumerate(
            zip(parents.tolist(), places.tolist(), strict=True), first
        ):
            children = drafts[parent].children
            assert children is not None
            children[place] = number
        if whole == len(parents):
            return
        for parent in splits:
            stats, children = drafts[parent].stats, drafts[parent].children
            assert children is not None
            for place, child in enumerate(children):
                if child == NOWHERE:
                    children[place] = len(drafts)
                    drafts.append(Draft(stats, 0.0))


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
