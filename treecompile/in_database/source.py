"""The cases of open nodes in a database: counted there, judged here.

The growth is that of `learners.growth`, and so are the measures, ties and thresholds:
what comes back from a query is what a column in memory would have counted. Of numbers
with many values bins are counted; a bin that may hold the best cut is looked into until
it is known not to, or value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.in_database.bounds import Bound
from treecompile.in_database.refine import Cells, refine
from treecompile.in_database.work import CLOSED, Route, WorkTable
from treecompile.ir import Kind
from treecompile.learners.blocks import Blocks
from treecompile.learners.counted_column import divide_categories, search_blocks
from treecompile.learners.criteria import Measure
from treecompile.learners.growth import Newest
from treecompile.learners.level import (
    LEFT,
    RIGHT,
    Divided,
    Found,
    Terms,
    in_two,
    thresholds,
)
from treecompile.learners.limits import TIE, Limits
from treecompile.learners.multiway_column import divide_branches, search_branches
from treecompile.learners.responses import Opened
from treecompile.learners.stretches import Array, Floats, Mask, Positions


@dataclass(slots=True)
class Division:
    """How an open node is split: a side for each code, or a cut of its numbers."""

    feature: int
    cut: float = 0.0
    by_code: Array | None = None


class EngineSource:
    """The nodes of a level, each with its counts; the rows are in the working table."""

    def __init__(
        self,
        work: WorkTable,
        measure: Measure,
        bound: Bound | None,  # None: no feature has bins
        limits: Limits,
        *,
        is_multiway: bool = False,
    ) -> None:
        self.work, self.criterion, self.bound = work, measure, bound
        self.limits, self.is_multiway = limits, is_multiway
        self.features = work.schema.features
        self.counts = work.totals()  # nodes by classes
        self.branches = np.array(
            [
                size if is_multiway and feature.kind is Kind.CATEGORICAL else 2
                for feature, size in zip(self.features, work.sizes, strict=True)
            ]
        )
        self.terms: Terms | None = None
        self.found: list[Found] = []
        self.cells: list[Cells] = []
        self.divisions: dict[int, Division] = {}
        # Of the newest nodes: the open node that it is a branch of, and which.
        self.parent = np.zeros(0, np.intp)
        self.branch = np.zeros(0, np.intp)
        self.heaviest: Array = np.zeros(0, np.intp)

    def measure(self) -> Newest:
        rows = self.counts.sum(axis=1)
        varies = self.counts.max(axis=1) < rows
        stats, weights = self.counts.astype(np.float64), rows.astype(np.float64)
        return Newest(stats, weights, rows, varies)

    def keep(self, is_open: Mask) -> None:
        numbers = np.full(len(is_open), CLOSED)
        numbers[is_open] = np.arange(np.count_nonzero(is_open))
        self.counts = self.counts[is_open]
        if len(self.parent) and is_open.any():
            self._route(numbers)

    def _route(self, numbers: Array) -> None:
        """Send the rows of the former level to the open nodes of this one."""
        to = {}
        for parent, branch, number in zip(
            self.parent.tolist(), self.branch.tolist(), numbers.tolist(), strict=True
        ):
            to[parent, branch + LEFT] = number
        routes = []
        for node in range(len(self.heaviest)):
            division = self.divisions.get(node)
            if division is None:
                routes.append(Route(node, -1))
                continue
            missing = to.get((node, int(self.heaviest[node])), CLOSED)
            if division.by_code is None:
                below, above = (to.get((node, side), CLOSED) for side in (LEFT, RIGHT))
                routes.append(
                    Route(node, division.feature, division.cut, below, above, missing)
                )
            else:
                sides = division.by_code.tolist()
                children = [to.get((node, side), CLOSED) for side in sides]
                by_code = (*children, missing)
                routes.append(Route(node, division.feature, by_code=by_code))
        self.work.route(routes)

    # ------------------------------------------------------------ searching

    def search(self, stats: Floats) -> tuple[Opened, Sequence[Found]]:
        size = len(self.counts)
        totals = [self.counts[:, label] for label in range(1, self.counts.shape[1])]
        tie = np.full(size, TIE * self.criterion.slack)
        sizes = self.counts.sum(axis=1).astype(np.float64)
        opened = Opened(totals, sizes, tie, np.zeros(size, np.int32))
        limits = self.limits
        terms = Terms(opened, self.criterion, limits.min_leaf, limits.chi2, None)
        self.terms, self.divisions = terms, {}
        tallies = self.work.counts(range(len(self.features)))
        self.cells = [
            Cells.of(tally, size)
            for tally, size in zip(tallies, self.work.sizes, strict=True)
        ]
        self.found = [self._search(p, cells) for p, cells in enumerate(self.cells)]
        while self._refine(terms):
            pass  # what was best may be found to be chance, and others be of interest
        return opened, self.found

    def _refine(self, terms: Terms) -> bool:
        """Open the cells that may hold a better cut; False if there are none."""
        is_better = False
        tie = terms.opened.tie
        for position in range(len(self.features)):
            if not self.work.is_binned(position):
                continue
            best = np.max([found.gain for found in self.found], axis=0)
            least = np.maximum(best, self.limits.min_gain) - tie
            assert self.bound is not None
            cells = refine(
                self.work, position, self.cells[position], terms, self.bound, least
            )
            if cells is not self.cells[position]:
                self.cells[position] = cells
                self.found[position] = self._search(position, cells)
                is_better = True
        return is_better

    def _search(self, position: int, cells: Cells) -> Found:
        assert self.terms is not None
        is_ordered = self.features[position].kind is not Kind.CATEGORICAL
        if self.is_multiway and not is_ordered:
            return search_branches(self.terms, cells.blocks())
        return search_blocks(self.terms, cells.blocks(), is_ordered)

    # ------------------------------------------------------------ dividing

    def divide(self, feature: int, some: Positions) -> Divided:
        assert self.terms is not None
        found, cells = self.found[feature], self.cells[feature]
        blocks = found.blocks
        assert blocks is not None
        if self.features[feature].kind is Kind.CATEGORICAL:
            return self._divide_categories(feature, found, blocks, some)
        position = found.position[some]
        low: Array = cells.high[position]
        high: Array = cells.low[position + 1]
        if self.features[feature].kind is Kind.ORDINAL:
            low, high = blocks.code[position], blocks.code[position + 1]
        tests = thresholds(self.features[feature], low, high)
        for node, at, test in zip(some.tolist(), position.tolist(), tests, strict=True):
            division = Division(feature)
            if self.work.is_binned(feature):
                assert isinstance(test, float)
                division.cut = test
            else:
                codes = np.arange(self.work.sizes[feature])
                division.by_code = np.where(codes <= blocks.code[at], LEFT, RIGHT)
            self.divisions[node] = division
        return in_two(self.terms, tests, found.left[some], found.right[some])

    def _divide_categories(
        self, feature: int, found: Found, blocks: Blocks, some: Positions
    ) -> Divided:
        assert self.terms is not None
        size = self.work.sizes[feature]
        if self.is_multiway:
            test = tuple((each,) for each in self.features[feature].categories)
            for node in some.tolist():
                self.divisions[node] = Division(feature, by_code=np.arange(size) + LEFT)
            return divide_branches(self.terms, test, found, some)
        is_left, divided = divide_categories(
            self.terms, self.features[feature], found, some
        )
        for node, part in zip(
            some.tolist(), np.searchsorted(blocks.known, some).tolist(), strict=True
        ):
            places = blocks.parts.within(np.array([part]))
            by_code = np.zeros(size, np.intp)  # 0 for those that no case has
            by_code[blocks.code[places]] = np.where(is_left[places], LEFT, RIGHT)
            self.divisions[node] = Division(feature, by_code=by_code)
        return divided

    def descend(self, heaviest: Array) -> tuple[Positions, Array]:
        """The branches by side, then by parent, with what each of them holds."""
        self.heaviest = heaviest
        classes = self.counts.shape[1]
        held: dict[tuple[int, int], Array] = {}
        for node, division in self.divisions.items():
            cells = self.cells[division.feature]
            mine = cells.of_node(node)
            counts = cells.counts[mine]
            if division.by_code is None:
                side = np.where(cells.high[mine] <= division.cut, LEFT, RIGHT)
            else:
                side = division.by_code[cells.code[mine]]
            for each in np.unique(side).tolist():
                held[each, node] = counts[side == each].sum(axis=0)
            rest = self.counts[node] - counts.sum(axis=0)
            if rest.any():
                to = (int(heaviest[node]), node)
                held[to] = held.get(to, np.zeros(classes, np.int64)) + rest
        keys = sorted(held)
        self.parent = np.array([node for _, node in keys], np.intp)
        self.branch = np.array([side - LEFT for side, _ in keys], np.intp)
        self.counts = np.array([held[key] for key in keys], np.int64)
        self.counts = self.counts.reshape(len(keys), classes)
        return self.parent, self.branch
