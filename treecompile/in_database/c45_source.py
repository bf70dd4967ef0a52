"""The cases of open nodes in a database, for C4.5: counted there, judged here.

The growth is that of `learners.c45_grow`, and so are the choice, ties and cuts: what
comes back from a query is what a column in memory would have counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treecompile.errors import DataError
from treecompile.in_database.c45_judge import Counted, Judge
from treecompile.in_database.c45_state import CaseState
from treecompile.in_database.c45_table import GONE, CaseTable, Move, Part, at_rest
from treecompile.in_database.cells import Cells, Tally
from treecompile.in_database.levels import CHANGED
from treecompile.ir import Kind
from treecompile.learners.c45 import C45Options
from treecompile.learners.c45_choice import Choice
from treecompile.learners.c45_cuts import Judged
from treecompile.learners.c45_draft import SplitTests
from treecompile.learners.c45_grow import Kept, Parted
from treecompile.learners.c45_level import Terms
from treecompile.learners.c45_sample import shares_of
from treecompile.learners.limits import Limits
from treecompile.learners.stretches import Array, Floats, Mask, Positions


class CaseSource:
    """The nodes of a level, each with its counts; the rows are in the working table."""

    def __init__(
        self,
        work: CaseTable,
        choice: Choice,
        limits: Limits,
        options: C45Options,
    ) -> None:
        self.work, self.answers = work, work.weights
        self.limits, self.options = limits, options
        self.judging = Judge(work, choice, limits, options)
        self.features = work.schema.features
        self.rows_by_weight = 1.0
        # Of the newest nodes that have cases, then of the open ones.
        self.weights: Floats = (
            self.answers.root(f"{work.rows()} AS w") * self.answers.unit
        )
        self.numbers = np.zeros(1, np.intp)  # in the draft
        self.counted: list[Counted] = []
        self.root: list[Cells] = []  # of each feature, before any bin is opened
        self.split: Division | None = None
        # Of every node of the draft: the one above it, and its depth.
        self.parents, self.depths = [-1], [0]
        self.moves: list[Move] = []

    def kept(self, growth: Kept) -> CaseState:
        """What to go on from with the open nodes."""
        return CaseState(
            self.work.bins,
            self.moves,
            growth,
            self.weights,
            self.numbers,
            self.parents,
            self.depths,
        )

    def resume(self, former: CaseState) -> None:
        """Bring the rows to the open nodes, as they came there before."""
        tallies = self.work.counts(range(len(self.features)))
        self.root = [
            self._counted(tally, size).known
            for tally, size in zip(tallies, self.work.sizes, strict=True)
        ]
        for move in former.moves:
            self.work.move(move)
        self.moves, self.weights = former.moves, former.weights
        self.numbers = former.numbers
        self.parents, self.depths = former.parents, former.depths
        found = self.answers.at_nodes(self.work.rows(), len(self.weights))
        if not np.allclose(found * self.answers.unit, self.weights):
            raise DataError(CHANGED)

    def counts(self) -> Floats:
        return self.weights

    def keep(self, is_open: Mask) -> None:
        if self.split is not None and (is_open.any() or self.options.is_pruning):
            self._move(self.split, is_open)
        self.split = None
        self.weights, self.numbers = self.weights[is_open], self.numbers[is_open]

    # ------------------------------------------------------------ judging

    def judge(self, counts: Floats, usable: Mask) -> Sequence[Judged]:
        terms = Terms(
            self.answers.scale,
            counts.shape[1],
            float(self.limits.min_leaf),
            counts,
            counts.sum(axis=1),
        )
        tallies = self.work.counts(range(len(self.features)))
        self.counted = list(map(self._counted, tallies, self.work.sizes))
        if not self.root:
            self.root = [each.known for each in self.counted]
        judged, self.counted = self.judging.judge(self.counted, terms, usable)
        return judged

    def _counted(self, tally: Tally, size: int) -> Counted:
        missing = np.zeros(self.weights.shape, np.int64)
        lost = np.flatnonzero(tally.code == size)
        missing[tally.node[lost]] = tally.sums[lost]
        return Counted(Cells.of(tally, size), missing)

    # ------------------------------------------------------------ dividing

    def table(self, tests: SplitTests, some: Positions) -> Floats:
        return self._table(tests, some) * self.answers.unit

    def _table(self, tests: SplitTests, some: Positions) -> Array:
        """The weight of each class in each branch, in units."""
        starts = np.cumsum(tests.size) - tests.size
        table = np.zeros((int(tests.size.sum()), self.weights.shape[1]), np.int64)
        for feature in np.unique(tests.feature).tolist():
            mine = np.flatnonzero(tests.feature == feature)
            which = np.full(len(self.weights), -1)
            which[some[mine]] = mine
            cells = self.counted[feature].known
            cells = cells.some(which[cells.node] >= 0)
            test = which[cells.node]
            place = self._places(tests, feature, mine, cells, test)
            np.add.at(table, starts[test] + place, cells.sums)
        return table

    def _places(
        self,
        tests: SplitTests,
        feature: int,
        mine: Positions,
        cells: Cells,
        test: Positions,
    ) -> Array:
        """The branch of each cell."""
        if self.work.is_binned(feature):
            return (cells.high > tests.cut[test]).astype(np.intp)
        if self.features[feature].kind is not Kind.CATEGORICAL:
            values = self.work.numbers(feature)[cells.code]
            return (values > tests.cut[test]).astype(np.intp)
        if not tests.groups.keys() & set(mine.tolist()):
            return cells.code
        lookup = np.zeros((len(tests.size), self.work.sizes[feature]), np.intp)
        for each in mine.tolist():
            for place, group in enumerate(tests.groups[each]):
                lookup[each, list(group)] = place
        return lookup[test, cells.code]

    def divide(self, tests: SplitTests, some: Positions) -> Parted:
        table = self._table(tests, some)
        lost = np.zeros((len(some), table.shape[1]), np.int64)
        for place, (feature, node) in enumerate(
            zip(tests.feature.tolist(), some.tolist(), strict=True)
        ):
            lost[place] = self.counted[feature].missing[node]
        unit = self.answers.unit
        known = table.sum(axis=1) * unit
        starts = np.cumsum(tests.size) - tests.size
        shares = shares_of(
            known, tests.size, starts, is_fractional=self.options.is_fractional
        )
        branches = np.flatnonzero(known)
        above = np.repeat(np.arange(len(some)), tests.size)
        weights = (table + lost[above] * shares[:, None]) * unit
        self.split = Division(tests, some, self.numbers, shares, branches, above)
        first = len(self.parents)
        self.parents += self.numbers[some][above].tolist()
        depth = self.depths[-1] + 1
        self.depths += [depth] * len(known)
        self.numbers = first + branches
        self.weights = weights[branches]
        return Parted(branches, known, table * unit)

    def _move(self, split: Division, is_open: Mask) -> None:
        """Send the rows of the former level to the newest nodes."""
        new = np.full(len(split.above), GONE)
        rests = [at_rest(number) for number in self.numbers.tolist()]
        if self.options.is_pruning:
            new[split.branches] = rests
        new[split.branches[is_open]] = np.arange(np.count_nonzero(is_open))
        former = [at_rest(number) for number in split.numbers.tolist()]
        missing = former if self.options.is_pruning else [GONE] * len(former)
        branches: list[list[int]] = [[] for _ in former]
        tests = SplitTests.none(len(former))
        tests.note(split.some, split.tests)
        parts: list[Part] = []
        starts = (np.cumsum(split.tests.size) - split.tests.size).tolist()
        for place, (node, size) in enumerate(
            zip(split.some.tolist(), split.tests.size.tolist(), strict=True)
        ):
            start = starts[place]
            branches[node] = new[start : start + size].tolist()
            shares = split.shares[start : start + size]
            if not self.options.is_fractional:
                missing[node] = branches[node][int(shares.argmax())]
                continue
            lost = self.counted[int(split.tests.feature[place])].missing[node]
            if lost.any():
                missing[node] = former[node]
                parts += [
                    (former[node], child, float(share))
                    for child, share in zip(branches[node], shares, strict=True)
                    if share and child != GONE
                ]
        self.moves.append(Move(tests, branches, missing, parts, self.depths[-1]))
        self.work.move(self.moves[-1])

    # ------------------------------------------------------------ at the end

    def greatest(self, feature: int, bounds: Floats) -> Floats:
        cells = self.root[feature]
        if not self.work.is_binned(feature):
            values = self.work.numbers(feature)[np.unique(cells.code)]
            return values[np.searchsorted(values, bounds, side="right") - 1]
        # The last bin that begins up to the bound: all of it may be, or a part.
        place = np.searchsorted(cells.low, bounds, side="right") - 1
        found = cells.high[place]
        cuts = np.flatnonzero(found > bounds)
        if len(cuts):
            asked, which = np.unique(bounds[cuts], return_inverse=True)
            codes = np.zeros(len(asked), np.intp)
            codes[which] = cells.code[place[cuts]]
            found[cuts] = self.work.greatest(feature, codes.tolist(), asked)[which]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Division:
    """How the open nodes of a level are split."""

    tests: SplitTests
    some: Positions  # the open nodes that are
    numbers: Positions  # of all open nodes, in the draft
    shares: Floats  # of each branch: the part of a case without a branch
    branches: Positions  # which of all have cases
    above: Positions  # of each branch: the split
