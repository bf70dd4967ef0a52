"""Searches the splits of C4.5 by counts of the open nodes' cases in a database.

`learning.c45.case_growth` grows the tree, with the choice, ties and cuts that it has in
memory; here queries count what columns in memory would count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from treecompile.database.c45.bins import BinnedFeature, cuts_between, find_cuts
from treecompile.database.c45.table import CaseTable, Move, Part, at_rest
from treecompile.database.grow import counting
from treecompile.database.grow.bins import BinHistogram
from treecompile.database.grow.levels import CHANGED, TableSource
from treecompile.database.grow.work import CLOSED, Route
from treecompile.learning.c45.bounded_gains import decide
from treecompile.learning.c45.case_growth import node_stats
from treecompile.learning.c45.category_groups import search_groups
from treecompile.learning.c45.gain_ratio import (
    FeatureChoice,
    GainCandidates,
    GainSearch,
    gains_of_values,
)
from treecompile.learning.c45.learner import C45Options
from treecompile.learning.grow.draft import Splits
from treecompile.learning.grow.growth import Division, GrowthState, NodeStats
from treecompile.learning.grow.search import Run
from treecompile.learning.options import GrowthLimits
from treecompile.model.arrays import Array, Floats, Mask, Positions
from treecompile.model.errors import DataError
from treecompile.model.ir import Kind


@dataclass(frozen=True, slots=True, eq=False)
class CaseSplits:
    """How the open nodes of a level are split."""

    splits: Splits
    numbers: Positions  # the number of each open node in the draft
    shares: Floats  # the share of a case without a branch that each branch gets
    filled: Positions  # the branches that have cases


class CaseTableSource(TableSource):
    """Supplies the nodes of a level and their counts to the growth of C4.5."""

    work: CaseTable
    run: Run = map

    def __init__(
        self,
        work: CaseTable,
        choice: FeatureChoice,
        limits: GrowthLimits,
        options: C45Options,
    ) -> None:
        self.work, self.target = work, work.target
        self.choice, self.limits, self.options = choice, limits, options
        self.features = work.schema.features
        # Class weights of the new nodes that have cases; after `keep`, of open ones.
        self.weights: Floats = np.zeros((0, 0))
        self.numbers = np.zeros(1, np.intp)  # in the draft
        self.drafted = 1  # how many nodes the draft has
        # For each feature: its values or bins; and, for each node, the weight of each
        # class where the value is missing, in units.
        self.known: list[BinHistogram] = []
        self.missing: list[Array] = []
        self.root: list[BinHistogram] = []  # `known` at the root
        self.split: CaseSplits | None = None
        self.moves: list[Move] = []

    def begin(self) -> None:
        self.work.create()
        self.weights = self.target.root(self.work.rows()) * self.target.unit

    def resume(self, growth: GrowthState, state: Mapping[str, Any]) -> None:
        """Make the working table and repeat all moves of the former run."""
        self.begin()
        self._count()
        for routes, parts, depth in state["moves"]:
            self.moves.append(Move([Route(*each) for each in routes], parts, depth))
            self.work.move(self.moves[-1])
        last = growth.levels[-1]
        self.weights = last.stats[growth.nodes]
        self.drafted = sum(len(level.weight) for level in growth.levels)
        self.numbers = self.drafted - len(last.weight) + growth.nodes
        found = self.target.at_nodes(self.work.rows(), len(self.weights))
        if not np.allclose(found * self.target.unit, self.weights):
            raise DataError(CHANGED)

    def state(self) -> dict[str, Any]:
        return {"moves": self.moves}

    def measure(self) -> NodeStats:
        return node_stats(self.weights)

    def keep(self, is_open: Mask) -> None:
        if self.split is not None and (is_open.any() or self.options.is_pruning):
            self._move(self.split, is_open)
        self.split = None
        self.weights, self.numbers = self.weights[is_open], self.numbers[is_open]

    # ------------------------------------------------------------ searching

    def search(self, counts: Floats, usable: Mask) -> Sequence[GainCandidates]:
        search = GainSearch(
            self.target.scale,
            counts.shape[1],
            float(self.limits.min_leaf),
            counts,
            counts.sum(axis=1),
        )
        self._count()
        found = [self._search(n, search, each) for n, each in enumerate(usable.T)]
        binned = {
            index: BinnedFeature(self.work, index, bins, search)
            for index, bins in enumerate(self.known)
            if self.work.is_binned(index)
        }
        for index, each in binned.items():
            found[index] = each.candidates
        is_tested = self.limits.chi2 is not None
        find = partial(find_cuts, binned)
        decide(binned, found, self.choice, find, is_tested=is_tested)
        for index, each in binned.items():
            self.known[index] = each.opened_bins
        return found

    def _count(self) -> None:
        counts = counting.counts(self.work)
        self.known, self.missing = [], []
        for bins, size in zip(counts, self.work.sizes, strict=True):
            is_missing = bins.code == size
            missing = np.zeros(self.weights.shape, np.int64)
            missing[bins.node[is_missing]] = bins.sums[is_missing]
            self.known.append(bins.some(~is_missing))
            self.missing.append(missing)
        self.root = self.root or list(self.known)

    def _search(self, index: int, search: GainSearch, usable: Mask) -> GainCandidates:
        """Return the candidate splits of a feature; none if it is counted by bins."""
        feature, bins = self.features[index], self.known[index]
        if feature.kind is Kind.CATEGORICAL:
            if self.options.is_grouping and len(feature.categories) > 2:
                return self._search_groups(index, search)
            return _search_values(bins.some(usable[bins.node]), search)
        if self.work.is_binned(index) or not len(bins.node):
            return GainCandidates.none(len(search.totals))
        values = self.work.numbers(index)[bins.code]
        exact = replace(bins, low=values, high=values)
        return cuts_between(self.work, exact, search).candidates()

    def _search_groups(self, index: int, search: GainSearch) -> GainCandidates:
        unit, bins, size = search.scale.unit, self.known[index], self.work.sizes[index]

        def tables() -> Iterator[tuple[int, Floats, Floats]]:
            for node, missing in enumerate(self.missing[index]):
                mine = bins.of_node(node)
                table = np.zeros((size, search.classes))
                table[bins.code[mine]] = bins.sums[mine] * unit
                yield node, table, missing * unit

        return search_groups(search, tables(), is_ratio=self.options.is_ratio)

    # ------------------------------------------------------------ dividing

    def table(self, splits: Splits) -> Floats:
        return self.work.branch_sums(splits, self.known) * self.target.unit

    def divide(self, splits: Splits) -> Division:
        """Compute the counts of the branches from the bins; `keep` moves the rows."""
        sums = self.work.branch_sums(splits, self.known)
        missing = np.zeros(self.weights.shape, np.int64)
        for node in splits.nodes.tolist():
            missing[node] = self.missing[int(splits.feature[node])][node]
        known, shares, weights = self.target.shared(
            sums, missing, splits, is_fractional=self.options.is_fractional
        )
        filled = np.flatnonzero(known)
        self.split = CaseSplits(splits, self.numbers, shares, filled)
        self.numbers = self.drafted + filled
        self.drafted += len(known)
        self.weights = weights[filled]
        return Division(filled, known, sums * self.target.unit)

    def _move(self, split: CaseSplits, is_open: Mask) -> None:
        """Send the rows of the last level to the new nodes."""
        splits, is_pruning = split.splits, self.options.is_pruning
        children = np.full(len(split.shares), CLOSED)
        if is_pruning:
            children[split.filled] = [at_rest(n) for n in self.numbers.tolist()]
        children[split.filled[is_open]] = np.arange(np.count_nonzero(is_open))
        former = [at_rest(number) for number in split.numbers.tolist()]
        missing = former if is_pruning else [CLOSED] * len(former)
        parts: list[Part] = []
        for node in splits.nodes.tolist():
            start, size = int(splits.starts[node]), int(splits.size[node])
            mine = children[start : start + size].tolist()
            shares = split.shares[start : start + size]
            if not self.options.is_fractional:
                missing[node] = mine[int(shares.argmax())]
            elif self.missing[int(splits.feature[node])][node].any():
                missing[node] = former[node]
                parts += [
                    (former[node], child, float(share))
                    for child, share in zip(mine, shares, strict=True)
                    if share and child != CLOSED
                ]
        routes = self.work.routes(splits, children.tolist(), missing)
        self.moves.append(Move(routes, parts, len(self.moves) + 1))
        self.work.move(self.moves[-1])

    # ------------------------------------------------------------ at the end

    def greatest(self, index: int, bounds: Floats) -> Floats:
        bins = self.root[index]
        if not self.work.is_binned(index):
            values = self.work.numbers(index)[np.unique(bins.code)]
            return values[np.searchsorted(values, bounds, side="right") - 1]
        # The last bin that begins below the bound may end above it.
        place = np.searchsorted(bins.low, bounds, side="right") - 1
        found = bins.high[place]
        inside = np.flatnonzero(found > bounds)
        if len(inside):
            asked, which = np.unique(bounds[inside], return_inverse=True)
            codes = np.zeros(len(asked), np.intp)
            codes[which] = bins.code[place[inside]]
            found[inside] = self.work.greatest(index, codes.tolist(), asked)[which]
        return found


def _search_values(bins: BinHistogram, search: GainSearch) -> GainCandidates:
    """Return the candidate splits of a feature with a branch for each category."""
    candidates = GainCandidates.none(len(search.totals))
    if len(bins.node):
        segments = bins.segments()
        nodes = bins.node[segments.starts]
        table = bins.sums * search.scale.unit
        found = gains_of_values(search, segments, nodes, table)
        candidates.gains[nodes], candidates.split_info[nodes] = found
    return candidates
