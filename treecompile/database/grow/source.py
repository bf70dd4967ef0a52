"""Searches the splits of ID3 and CART by counts of the open nodes' rows in a database.

`learning.grow.growth` grows the tree, with the measures, ties and thresholds that it
has in memory; this source only replaces the counts from columns by counts from queries.
Features with many numbers are counted by bins. A bin that may have the best cut inside
is opened until the cut is found or ruled out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treecompile.database.grow import counting
from treecompile.database.grow.bins import BINS, BinHistogram
from treecompile.database.grow.refine import histogram_of, refine
from treecompile.database.grow.work import CLOSED, Route, WorkTable
from treecompile.learning.grow.draft import Splits
from treecompile.learning.grow.growth import Division, NodeStats
from treecompile.learning.grow.histogram_splits import (
    divide_branches,
    divide_categories,
    search_branches,
    search_histogram,
)
from treecompile.learning.grow.impurity import Found, best_features
from treecompile.learning.grow.search import (
    LEFT,
    CandidateSplits,
    FeatureSplits,
    SplitSearch,
    divide_features,
    ends_of,
    in_two,
)
from treecompile.learning.options import GrowthLimits
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.ir import Kind

MOST_BINS = 2_000_000  # in memory at once, of all features together


@dataclass(frozen=True, slots=True)
class LevelProgress:
    """The level that is about to be counted."""

    number: int  # 1 is the root
    nodes: int  # open nodes
    rows: int  # rows at the open nodes


class ImpurityTableSource:
    """Supplies the nodes of a level and their sums to the growth of ID3 and CART."""

    level: SplitSearch  # the search for splits of the open nodes

    def __init__(
        self, work: WorkTable, limits: GrowthLimits, *, is_multiway: bool = False
    ) -> None:
        self.work, self.target = work, work.target
        self.limits, self.is_multiway = limits, is_multiway
        self.features = work.schema.features
        self.sums = self.target.root(work.rows())  # of the new or the open nodes
        self.branches = np.array(
            [
                size if is_multiway and feature.kind is Kind.CATEGORICAL else 2
                for feature, size in zip(self.features, work.sizes, strict=True)
            ]
        )
        self.found: list[CandidateSplits] = []
        self.bins: list[BinHistogram] = []
        # The last splits: the parent of each new node, which of all branches the node
        # is, and the side to which missing values went.
        self.splits = Splits.none(0)
        self.parent = np.zeros(0, np.intp)
        self.filled = np.zeros(0, np.intp)
        self.heaviest: Array = np.zeros(0, np.intp)

    def measure(self) -> NodeStats:
        return self.target.measure(self.sums, self.parent, self._new_rows)

    def _new_rows(self) -> str:
        """Return a FROM clause for the rows of all new nodes."""
        return self.work.moved(self._routes(np.arange(len(self.parent))))

    def keep(self, is_open: Mask) -> None:
        numbers = np.full(len(is_open), CLOSED)
        numbers[is_open] = np.arange(np.count_nonzero(is_open))
        self.sums = self.sums[is_open]
        self.target.keep(is_open)
        if len(self.parent) and is_open.any():
            self.work.waiting = self._routes(numbers)

    def _routes(self, numbers: Array) -> list[Route]:
        """Return where the rows of the last level go, for these new node numbers."""
        children = np.full(int(self.splits.size.sum()), CLOSED)
        children[self.filled] = numbers
        missing = np.full(len(self.splits.size), CLOSED)
        some = self.splits.nodes
        missing[some] = children[self.splits.starts[some] + self.heaviest[some] - LEFT]
        return self.work.routes(self.splits, children.tolist(), missing.tolist())

    # ------------------------------------------------------------ searching

    def search(self, stats: Floats) -> Found:
        # In regression the sums are in another unit until the nodes are counted, which
        # changes this array; `opened` shows the same array.
        opened = self.target.open(self.sums)
        limits, criterion = self.limits, self.target.criterion
        self.level = SplitSearch(opened, criterion, limits.min_leaf, limits.chi2, None)
        kept = [self._winners(nodes) for nodes in self._some_at_once()]
        self.bins = [BinHistogram.joined(each) for each in zip(*kept, strict=True)]
        self.found = [self._search(index, bins) for index, bins in enumerate(self.bins)]
        return opened, self.found

    def _some_at_once(self) -> Iterator[range]:
        """Yield the open nodes, in ranges whose bins fit in memory."""
        room = max(BINS + 1, MOST_BINS // len(self.features))
        bins = np.cumsum(np.minimum(self.target.rows(self.sums), BINS + 1)).tolist()
        first = before = 0
        for node, upto in enumerate(bins):
            if upto - before > room:
                yield range(first, node)
                first, before = node, bins[node - 1]
        yield range(first, len(bins))

    def _winners(self, nodes: range) -> list[BinHistogram]:
        """Return, for each feature, the bins of the nodes that it splits best."""
        some = nodes if len(nodes) < len(self.sums) else None
        counts = counting.counts(self.work, some)
        sums = np.add.reduceat(counts[0].sums, counts[0].segments().starts)
        self.sums[nodes.start : nodes.stop] = sums
        bins = [
            each.some(each.code != missing)
            for each, missing in zip(counts, self.work.sizes, strict=True)
        ]
        found = [self._search(index, each) for index, each in enumerate(bins)]
        while self._refine(bins, found):
            pass  # the best split may turn out to be chance: then others may win
        best, _ = best_features(found, self.level.opened, self.limits)
        winners = []
        for index, (each, candidates) in enumerate(zip(bins, found, strict=True)):
            won = best == index
            if self.features[index].kind is Kind.CATEGORICAL:
                winners.append(each.some(won[each.node]))
            else:
                cuts = candidates.position[won]
                winners.append(each.halves(np.flatnonzero(won), cuts))
        return winners

    def _refine(self, bins: list[BinHistogram], found: list[CandidateSplits]) -> bool:
        """Open the bins that may have a better cut inside; False if there are none."""
        is_better = False
        tie, unit = self.level.opened.tie, self.level.opened.unit
        with np.errstate(over="ignore"):  # infinite is right: no gain is so large
            wanted = np.ldexp(self.limits.min_gain, -unit)
        binned = [i for i in range(len(self.features)) if self.work.is_binned(i)]
        # One by one, a cut found for one feature saves opening bins of the next.
        for some in counting.together(self.work, binned):
            best = np.max([each.gain for each in found], axis=0)
            least = np.maximum(best, wanted) - tie
            known = {index: bins[index] for index in some}
            for index, opened in refine(self.work, known, self.level, least).items():
                bins[index] = opened
                found[index] = self._search(index, opened)
                is_better = True
        return is_better

    def _search(self, index: int, bins: BinHistogram) -> CandidateSplits:
        is_ordered = self.features[index].kind is not Kind.CATEGORICAL
        histogram = histogram_of(self.target, bins)
        if self.is_multiway and not is_ordered:
            return search_branches(self.level, histogram)
        return search_histogram(self.level, histogram, is_ordered)

    # ------------------------------------------------------------ dividing

    def divide(self, splits: Splits) -> Division:
        """Compute the sums of the branches from the bins; `keep` moves the rows."""
        known, self.heaviest = divide_features(splits, self._divide)
        sums = self.work.branch_sums(splits, self.bins)
        parent = np.repeat(np.arange(len(splits.size)), splits.size)
        some = splits.nodes
        missing = self.sums.copy()
        np.subtract.at(missing, parent, sums)
        sums[splits.starts[some] + self.heaviest[some] - LEFT] += missing[some]
        self.splits, self.filled = splits, np.flatnonzero(self.target.rows(sums))
        self.parent, self.sums = parent[self.filled], sums[self.filled]
        return Division(self.filled, known)

    def _divide(self, index: int, some: Positions) -> FeatureSplits:
        search, found, feature = self.level, self.found[index], self.features[index]
        assert found.histogram is not None
        if feature.kind is Kind.CATEGORICAL:
            if self.is_multiway:
                return divide_branches(search, self.work.sizes[index], found, some)
            return divide_categories(search, found, some)[1]
        position, bins = found.position[some], self.bins[index]
        low: Array = bins.high[position]
        high: Array = bins.low[position + 1]
        if feature.kind is Kind.ORDINAL:
            code = found.histogram.code
            low, high = code[position], code[position + 1]
        ends = ends_of(feature, low, high)
        return in_two(search, found.left[some], found.right[some], ends)
