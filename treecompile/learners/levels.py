"""The growth of trees level by level, over whole columns.

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
from functools import partial
from operator import methodcaller

import numpy as np

from treecompile.data import Dataset
from treecompile.ir import Tree
from treecompile.learners.best_first import reached
from treecompile.learners.columns import make_column
from treecompile.learners.criteria import Measure
from treecompile.learners.drafts import Drafts, finish
from treecompile.learners.level import (
    LEFT,
    NOWHERE,
    RIGHT,
    Column,
    Found,
    Level,
    by_side,
)
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.responses import Opened, Response, Rows
from treecompile.learners.sorted_column import single_sides
from treecompile.learners.stretches import Array, Floats, Positions, Stretches

THREADS = 2  # more gain little: the loops are bound by memory
WORTH_THREADS = 50_000  # values in a level: below, handing out work costs more


def grow_levels(
    data: Dataset,
    response: Response,
    measure: Measure,
    limits: Limits,
    progress: Progress,
    *,
    is_multiway: bool = False,
) -> Tree:
    """Grow a tree; categories split in two, or multiway into all of them."""
    with ThreadPoolExecutor(THREADS) as pool, uncollected():
        make = partial(make_column, is_multiway=is_multiway)
        columns = list(pool.map(make, data.features, data.columns))
        growth = Growth(columns, len(data.y), response, measure, limits)
        while True:
            progress(growth.settle())
            if not len(growth.numbers):
                break
            level = growth.level()
            many = len(level.rows) * len(columns) >= WORTH_THREADS
            run = pool.map if many else map
            found = list(run(methodcaller("search", level), columns))
            progress(growth.split(level, found))
        return finish(data, growth.drafts, response)


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
            if not gc.get_freeze_count():
                # What is new will live on: let it be old at once, without a walk.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


class Growth:
    """The newest nodes, their rows, and all nodes so far."""

    def __init__(
        self,
        columns: Sequence[Column],
        size: int,
        response: Response,
        measure: Measure,
        limits: Limits,
    ) -> None:
        self.columns, self.response = columns, response
        self.measure, self.limits = measure, limits
        self.drafts = Drafts()
        self.depth = 0
        self.rows: Rows = np.arange(size, dtype=np.int32)
        self.nodes = Stretches.of(np.array([size]))  # parts of the rows
        self.numbers = np.zeros(0, np.intp)  # of the open ones, in the drafts
        # Of the newest nodes: their parents, and which of the branches they are.
        self.parents: Positions = np.full(1, -1)
        self.places: Array = np.zeros(1, np.intp)
        self.measured = np.zeros((0, 0))  # of the open ones
        # Of all rows of the dataset: the node, and where the last split sent them.
        self.of_row = np.zeros(size, np.int32)
        self.branches = np.array([column.branches for column in columns])
        is_binary = self.branches.max() <= RIGHT
        self.side: Array = np.full(size, LEFT, np.int8 if is_binary else np.int16)

    def settle(self) -> int:
        """Draft the newest nodes and keep those to be split; how many rows are done."""
        sizes = self.nodes.lengths
        measured = self.response.measure(self.rows, self.nodes)
        weights = measured.sizes
        if self.response.units:
            weights = self.response.units.real(weights)
        first = self._draft(measured.stats, weights)
        is_open = measured.varies & (sizes >= self.limits.min_split)
        if self.depth == self.limits.max_depth:
            is_open[:] = False
        if self.limits.min_sse is not None:
            is_open &= measured.stats[:, 2] >= self.limits.min_sse
        self.numbers = first + np.flatnonzero(is_open)
        self.measured = measured.stats[is_open]
        if not is_open.all():
            stays = self.nodes.spread(is_open)
            self.side[self.rows[~stays]] = NOWHERE
            self.rows = self.rows[stays]
            self.nodes = Stretches.of(sizes[is_open])
        return int(sizes[~is_open].sum())

    def level(self) -> Level:
        """What the columns need to know of the open nodes."""
        opened = self.response.open(self.rows, self.nodes, self.measured)
        opened.tie[:] *= self.measure.slack
        self.of_row[self.rows] = self.nodes.spread(np.arange(len(self.numbers)))
        sides = None
        if self.response.units is None:
            sides = single_sides(self.nodes, opened.totals, self.limits.min_leaf)
        return Level(
            self.rows,
            self.nodes,
            self.response,
            opened,
            self.measure,
            sides,
            self.limits.min_leaf,
            self.limits.chi2,
            self.of_row,
            self.side,
        )

    def split(self, level: Level, found: Sequence[Found]) -> int:
        """Split the nodes for which there is a split; how many rows have none.

        The children are the newest nodes then.
        """
        feature, gain = choose(found, level.opened, self.limits)
        self._keep_best(feature, gain)
        self.side[self.rows] = NOWHERE
        heaviest = np.zeros(len(feature), self.side.dtype)
        for position in np.unique(feature[feature >= 0]).tolist():
            some = np.flatnonzero(feature == position)
            divided = self.columns[position].divide(level, found[position], some)
            heaviest[some] = divided.heaviest
            self.drafts.split(
                self.numbers[some], position, gain[some], divided.tests, divided.known
            )
        self._descend(heaviest)
        return int(level.nodes.lengths[feature < 0].sum())

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
            lambda number: self.columns[features[number]].branches,
            children.get,
        )
        is_kept = np.zeros(drafts.count, np.bool_)
        is_kept[list(chosen)] = True
        drafts.give_up(is_kept)
        feature[~is_kept[self.numbers]] = -1

    def _descend(self, heaviest: Array) -> None:
        """Put the rows in the order of the children: by branch, then by parent."""
        side = self.side.take(self.rows)
        lost = np.flatnonzero(side == NOWHERE)  # their value is missing, or no split
        side[lost] = self.nodes.spread(heaviest)[lost]
        self.side[self.rows] = side
        nodes = self.nodes.spread(np.arange(len(self.numbers), dtype=np.int32))
        node, self.rows = by_side(side, nodes), by_side(side, self.rows)
        side = self.side.take(self.rows)
        starts = np.flatnonzero(
            (np.diff(side, prepend=NOWHERE) != 0) | (np.diff(node, prepend=-1) != 0)
        )
        self.nodes = Stretches(starts, np.diff(starts, append=len(node)))
        self.depth += 1
        self.parents, self.places = self.numbers[node[starts]], side[starts] - LEFT

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
