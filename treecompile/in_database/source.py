"""The cases of open nodes in a database: counted there, judged here.

The growth is that of `learners.growth`, and so are the measures, ties and thresholds:
what comes back from a query is what a column in memory would have counted. Of numbers
with many values bins are counted; a bin that may hold the best cut is looked into until
it is known not to, or value by value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.in_database.bins import BINS
from treecompile.in_database.cells import Cells
from treecompile.in_database.judge import blocks_of
from treecompile.in_database.refine import refine
from treecompile.in_database.work import CLOSED, Route, WorkTable
from treecompile.ir import Kind
from treecompile.learners.blocks import Blocks
from treecompile.learners.counted_column import divide_categories, search_blocks
from treecompile.learners.growth import Newest, choose
from treecompile.learners.level import (
    LEFT,
    RIGHT,
    Divided,
    Found,
    Terms,
    in_two,
    thresholds,
)
from treecompile.learners.limits import Limits
from treecompile.learners.multiway_column import divide_branches, search_branches
from treecompile.learners.responses import Opened
from treecompile.learners.stretches import Array, Floats, Mask, Positions

MOST_CELLS = 2_000_000  # of all features, in memory at once


@dataclass(slots=True)
class Division:
    """How an open node is split: a side for each code, or a cut of its numbers."""

    feature: int
    cut: float = 0.0
    by_code: Array | None = None


class EngineSource:
    """The nodes of a level, each with its sums; the rows are in the working table."""

    def __init__(
        self,
        work: WorkTable,
        limits: Limits,
        sums: Array | None = None,  # of the open nodes; None: the root is to be opened
        *,
        is_multiway: bool = False,
    ) -> None:
        self.work, self.answers = work, work.answers
        self.limits, self.is_multiway = limits, is_multiway
        self.features = work.schema.features
        # Of the newest or of the open nodes.
        if sums is None:
            sums = self.answers.root(f"{work.rows()} AS w")
        self.sums = sums
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
        return self.answers.newest(self.sums, self.parent, self._newest_rows)

    def _newest_rows(self) -> str:
        """What stands behind FROM for the rows of all newest nodes."""
        return self.work.moved(self._routes(np.arange(len(self.parent))))

    def keep(self, is_open: Mask) -> None:
        numbers = np.full(len(is_open), CLOSED)
        numbers[is_open] = np.arange(np.count_nonzero(is_open))
        self.sums = self.sums[is_open]
        self.answers.keep(is_open)
        if len(self.parent) and is_open.any():
            self.work.route(self._routes(numbers))

    def _routes(self, numbers: Array) -> list[Route]:
        """Where the rows of the former level go, the newest nodes being so numbered."""
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
        return routes

    # ------------------------------------------------------------ searching

    def search(self, stats: Floats) -> tuple[Opened, Sequence[Found]]:
        # Of numbers the sums are in another unit until the nodes are counted; what is
        # opened looks at the same array.
        opened = self.answers.open(self.sums)
        limits, measure = self.limits, self.answers.measure
        units = self.answers.units
        self.terms = Terms(opened, measure, limits.min_leaf, limits.chi2, units)
        self.divisions = {}
        kept = [self._winners(nodes) for nodes in self._some_at_once()]
        self.cells = [
            Cells.joined(of_feature) for of_feature in zip(*kept, strict=True)
        ]
        self.found = [self._search(p, cells) for p, cells in enumerate(self.cells)]
        return opened, self.found

    def _some_at_once(self) -> Iterator[range]:
        """The open nodes, so many at once as may have cells in memory."""
        room = max(BINS + 1, MOST_CELLS // len(self.features))
        cells = np.cumsum(np.minimum(self.answers.rows(self.sums), BINS + 1)).tolist()
        first = before = 0
        for node, upto in enumerate(cells):
            if upto - before > room:
                yield range(first, node)
                first, before = node, cells[node - 1]
        yield range(first, len(cells))

    def _winners(self, nodes: range) -> list[Cells]:
        """Of each feature the cells of those nodes that it splits best."""
        assert self.terms is not None
        some = nodes if len(nodes) < len(self.sums) else None
        tallies = self.work.counts(range(len(self.features)), some)
        sums = np.add.reduceat(tallies[0].sums, tallies[0].parts().starts)
        self.sums[nodes.start : nodes.stop] = sums
        cells = list(map(Cells.of, tallies, self.work.sizes))
        found = [self._search(p, each) for p, each in enumerate(cells)]
        while self._refine(cells, found):
            pass  # what was best may be found to be chance, and others be of interest
        best, _ = choose(found, self.terms.opened, self.limits)
        winners = []
        for position, (each, its) in enumerate(zip(cells, found, strict=True)):
            won = best == position
            if self.features[position].kind is Kind.CATEGORICAL:
                winners.append(each.some(won[each.node]))
            else:
                winners.append(each.halves(np.flatnonzero(won), its.position[won]))
        return winners

    def _refine(self, cells: list[Cells], found: list[Found]) -> bool:
        """Open the cells that may hold a better cut; False if there are none."""
        assert self.terms is not None
        is_better = False
        tie, unit = self.terms.opened.tie, self.terms.opened.unit
        with np.errstate(over="ignore"):  # infinite is right: no gain is so large
            wanted = np.ldexp(self.limits.min_gain, -unit)
        binned = [p for p in range(len(self.features)) if self.work.is_binned(p)]
        # One by one, a cut that is found for a feature spares cells of the next.
        at_once = binned if self.work.store.phrases.stacked else []
        for some in [at_once] if at_once else [[position] for position in binned]:
            best = np.max([each.gain for each in found], axis=0)
            least = np.maximum(best, wanted) - tie
            known = {position: cells[position] for position in some}
            for position, opened in refine(self.work, known, self.terms, least).items():
                cells[position] = opened
                found[position] = self._search(position, opened)
                is_better = True
        return is_better

    def _search(self, position: int, cells: Cells) -> Found:
        assert self.terms is not None
        is_ordered = self.features[position].kind is not Kind.CATEGORICAL
        blocks = blocks_of(self.answers, cells)
        if self.is_multiway and not is_ordered:
            return search_branches(self.terms, blocks)
        return search_blocks(self.terms, blocks, is_ordered)

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
        width = self.sums.shape[1]
        held: dict[tuple[int, int], Array] = {}
        for node, division in self.divisions.items():
            cells = self.cells[division.feature]
            mine = cells.of_node(node)
            sums = cells.sums[mine]
            if division.by_code is None:
                side = np.where(cells.high[mine] <= division.cut, LEFT, RIGHT)
            else:
                side = division.by_code[cells.code[mine]]
            for each in np.unique(side).tolist():
                held[each, node] = sums[side == each].sum(axis=0)
            rest = self.sums[node] - sums.sum(axis=0)
            if self.answers.rows(rest[None]).any():
                to = (int(heaviest[node]), node)
                held[to] = held.get(to, np.zeros(width, np.int64)) + rest
        keys = sorted(held)
        self.parent = np.array([node for _, node in keys], np.intp)
        self.branch = np.array([side - LEFT for side, _ in keys], np.intp)
        self.sums = np.array([held[key] for key in keys], np.int64)
        self.sums = self.sums.reshape(len(keys), width)
        return self.parent, self.branch
