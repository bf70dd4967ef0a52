"""Grows a C4.5 tree: chooses the feature that is tested at each node.

The loop is `learning.grow.growth.Growth`. The feature is chosen by `FeatureChoice`,
usually by gain ratio. `CaseGrowth.finish` then lowers each threshold to a value of the
training set, and undoes splits that make as many errors as a leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from treecompile.learning.c45.gain_ratio import (
    EPSILON,
    SLACK,
    FeatureChoice,
    GainCandidates,
    information,
    information_gain,
)
from treecompile.learning.c45.pessimistic_pruning import CaseDraft
from treecompile.learning.grow.criteria import ContingencyTable, by_chance
from treecompile.learning.grow.draft import Splits, is_categorical
from treecompile.learning.grow.growth import (
    Division,
    Growth,
    NodeStats,
    Source,
)
from treecompile.learning.grow.search import Run
from treecompile.learning.grow.segments import Segments
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.arrays import Floats, Mask, Positions
from treecompile.model.ir import Feature


class GainSource(Source, Protocol):
    """Holds the cases, and counts them for C4.5."""

    @property
    def features(self) -> tuple[Feature, ...]: ...

    def search(self, counts: Floats, usable: Mask) -> Sequence[GainCandidates]:
        """Find the best split by each feature at each open node.

        `counts` is nodes x classes; `usable`, nodes x features, says where a feature
        may be used.
        """

    def table(self, splits: Splits) -> Floats:
        """Count the known cases of the splits: branches x classes, by weight."""

    def greatest(self, index: int, bounds: Floats) -> Floats:
        """Return the greatest number of the whole training set up to each bound."""

    @property
    def run(self) -> Run:
        """`map` for work by feature, possibly in threads."""


def node_stats(counts: Floats, rows_by_weight: float = 1.0) -> NodeStats:
    """Make the statistics of nodes from their class weights."""
    weights = counts.sum(axis=1)
    varies = np.count_nonzero(counts, axis=1) >= 2
    return NodeStats(counts, weights, weights * rows_by_weight, varies)


class CaseGrowth(Growth[Sequence[GainCandidates]]):
    source: GainSource

    def __init__(
        self,
        source: GainSource,
        choice: FeatureChoice,
        limits: GrowthLimits,
        progress: Progress,
    ) -> None:
        super().__init__(source, limits, progress)
        self.choice = choice
        self.is_categorical = is_categorical(source.features)
        # Nodes x features: a categorical feature is not tested twice on a path.
        self.usable: Mask = np.full((1, len(source.features)), True)

    def is_open(self, held: NodeStats) -> Mask:
        least = max(self.limits.min_split, 2 * self.limits.min_leaf)
        is_open: Mask = held.varies & (held.weights >= least - SLACK)
        return is_open

    def keep(self, is_open: Mask) -> None:
        super().keep(is_open)
        self.usable = self.usable[is_open]

    def search(self) -> Sequence[GainCandidates]:
        return self.source.search(self.stats, self.usable)

    def choose(self, candidates: Sequence[GainCandidates]) -> Splits:
        """Choose the features; skip those whose split the chi-square test rejects."""
        gains = np.stack([each.gains for each in candidates], axis=1)
        split_info = np.stack([each.split_info for each in candidates], axis=1)
        barred = np.zeros(gains.shape, np.bool_)
        feature = self.choice.best(gains, split_info, barred)
        some = np.flatnonzero(feature >= 0)
        while self.limits.chi2 is not None and len(some):
            doubtful = np.full(len(feature), -1)
            doubtful[some] = feature[some]
            splits = self._splits(candidates, doubtful)
            segments = Segments.of(splits.size[some])
            table = ContingencyTable(self.source.table(splits), segments)
            some = some[by_chance(table, self.limits.chi2)]
            barred[some, feature[some]] = True
            feature = self.choice.best(gains, split_info, barred)
            some = some[feature[some] >= 0]
        return self._splits(candidates, feature)

    def _splits(
        self, candidates: Sequence[GainCandidates], feature: Positions
    ) -> Splits:
        """Return the candidate splits by the given feature of each node."""
        splits = Splits.none(len(feature))
        splits.feature[:] = feature
        for index in splits.features():
            mine = np.flatnonzero(feature == index)
            candidate = candidates[index]
            splits.gain[mine] = candidate.gains[mine]
            splits.size[mine] = 2
            if not self.is_categorical[index]:
                splits.threshold[mine] = candidate.thresholds[mine]
            elif candidate.groups is not None:
                groups = {node: candidate.groups[node] for node in mine.tolist()}
                splits.groups.update(groups)
                splits.size[mine] = [len(each) for each in groups.values()]
            else:
                splits.size[mine] = len(self.source.features[index].categories)
        return splits

    def descend(
        self,
        candidates: Sequence[GainCandidates],
        splits: Splits,
        division: Division,
    ) -> None:
        self._measure_gains(candidates, splits, division)
        inherited, some = self.usable.copy(), splits.nodes
        used = some[self.is_categorical[splits.feature[some]]]
        used = used[[node not in splits.groups for node in used.tolist()]]
        inherited[used, splits.feature[used]] = False
        super().descend(candidates, splits, division)
        self.usable = np.repeat(inherited, splits.size, axis=0)[division.branches]

    def _measure_gains(
        self,
        candidates: Sequence[GainCandidates],
        splits: Splits,
        division: Division,
    ) -> None:
        """Recompute the gains of the chosen splits from the cases themselves.

        So the digits in the model file do not depend on how the splits were found.
        """
        assert division.table is not None
        starts, totals = splits.starts, self.stats.sum(axis=1)
        for index in splits.features():
            mine = np.flatnonzero(splits.feature == index)
            if splits.groups.keys() & set(mine.tolist()):
                continue
            tables = division.table[
                starts[mine, None] + np.arange(splits.size[mine[0]])
            ]
            cuts = np.ones(len(mine), np.intp)
            if self.is_categorical[index]:
                gains = _gains_of_values(tables)
            else:
                low, high = tables[:, 0], tables[:, 1]
                gains = information(low + high) - information(low) - information(high)
                cuts = candidates[index].cut_counts[mine]
            total = totals[mine]
            splits.gain[mine] = gains / total - np.log2(cuts) / total

    def finish(self) -> CaseDraft:
        """Return the draft of the grown tree, without splits that save no errors."""
        draft = CaseDraft.of(self.levels)
        self._lower_thresholds(draft.splits)
        collapse(draft)
        return draft

    def _lower_thresholds(self, splits: Splits) -> None:
        """Lower each to the greatest value of the whole training set up to it."""

        def lower(index: int) -> None:
            some = np.flatnonzero(splits.feature == index)
            middle = splits.threshold[some]
            low = self.source.greatest(index, middle)
            lowered = np.where(np.isfinite(low), low, middle)
            splits.threshold[some] = lowered + 0.0  # never -0.0

        tested = [each for each in splits.features() if not self.is_categorical[each]]
        list(self.source.run(lower, tested))


def collapse(draft: CaseDraft) -> None:
    """Replace splits with no fewer errors than a leaf by leaves, deepest first."""
    errors, splits = draft.errors, draft.splits
    for level in reversed(draft.levels()):
        nodes = level[splits.feature[level] >= 0]
        children = draft.child[draft.branches(nodes)]
        which = np.repeat(np.arange(len(nodes)), splits.size[nodes])
        below = np.bincount(which, errors[children], len(nodes))
        is_leaf = below >= errors[nodes] - EPSILON
        errors[nodes[~is_leaf]] = below[~is_leaf]
        splits.become_leaves(nodes[is_leaf])


def _gains_of_values(tables: Floats) -> Floats:
    """Return the gain of a branch for each category, times the weight of the node.

    `tables` is nodes x categories x classes.
    """
    padded = np.pad(tables, ((0, 0), (0, 1), (0, 0)))  # a row for missing values
    nodes, lines, classes = padded.shape
    segments = Segments.of(np.full(nodes, lines))
    return information_gain(padded.reshape(-1, classes), segments)
