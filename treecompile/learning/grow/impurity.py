"""Grows ID3 and CART trees: at each node, the split that decreases impurity most.

With a limit on the number of leaves the tree grows best first: the next node to be
split is the open node whose split decreases the impurity most, weighted by its cases,
until the next split would make too many leaves. The best split of a node does not
depend on this order. So the tree still grows level by level, and after each level the
best-first order is replayed over the splits found so far. A split that is not reached
then is dropped for good: deeper levels only add splits ahead of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from treecompile.learning.grow.build import TreeBuilder, stand_ins
from treecompile.learning.grow.draft import Draft, Splits
from treecompile.learning.grow.growth import Growth, NodeStats, Source
from treecompile.learning.grow.responses import OpenNodes, Response
from treecompile.learning.grow.search import CandidateSplits
from treecompile.learning.options import GrowthLimits
from treecompile.model.arrays import Floats, Mask, Positions
from treecompile.model.ir import Feature, Label, Tree

Found = tuple[OpenNodes, Sequence[CandidateSplits]]  # an entry for each feature


class ImpuritySource(Source, Protocol):
    @property
    def branches(self) -> Positions:
        """For each feature, the number of branches of a split by it."""

    def search(self, stats: Floats) -> Found:
        """Find the best split by each feature at every open node, given their stats."""


class ImpurityGrowth(Growth[Found]):
    """Chooses the feature of each split; `source.divide` then adds the test."""

    source: ImpuritySource

    def is_open(self, held: NodeStats) -> Mask:
        is_open: Mask = held.varies & (held.rows >= self.limits.min_split)
        if self.limits.min_sse is not None:
            is_open &= held.stats[:, 2] >= self.limits.min_sse
        return is_open

    def search(self) -> Found:
        return self.source.search(self.stats)

    def choose(self, candidates: Found) -> Splits:
        opened, found = candidates
        splits = Splits.none(len(self.nodes))
        splits.feature, splits.gain = best_features(found, opened, self.limits)
        if self.limits.max_leaves is not None:
            self._keep_best(splits, self.limits.max_leaves)
        splits.gain[splits.feature < 0] = 0.0
        some = splits.nodes
        splits.size[some] = self.source.branches[splits.feature[some]]
        return splits

    def _keep_best(self, splits: Splits, most_leaves: int) -> None:
        """Turn splits that best-first growth does not reach into leaves, in place."""
        draft = Draft.of(self.levels)
        start = len(draft.weight) - len(self.levels[-1].weight)
        nodes = start + self.nodes
        features, gains = draft.splits.feature, draft.splits.gain
        features[nodes], gains[nodes] = splits.feature, splits.gain
        sizes = np.where(features >= 0, self.source.branches[features], 0)
        decreases = (gains * draft.weight).tolist()
        first = np.where(np.arange(len(features)) < start, draft.first + 1, 0)
        kept = reached(most_leaves, decreases, sizes.tolist(), first.tolist())
        is_kept = np.zeros(len(features), np.bool_)
        is_kept[list(kept)] = True
        end = 0
        for level in self.levels:
            begin, end = end, end + len(level.weight)
            level.splits.become_leaves(~is_kept[begin:end])
        splits.feature[~is_kept[nodes]] = -1


def best_features(
    found: Sequence[CandidateSplits], opened: OpenNodes, limits: GrowthLimits
) -> tuple[Positions, Floats]:
    """Return the feature with the greatest gain at each node, and that gain.

    The first feature wins a tie; -1 where no feature gains enough.
    """
    tie, unit = opened.tie, opened.unit
    with np.errstate(over="ignore"):  # infinite is right: no gain is so large
        least = np.ldexp(limits.min_gain, -unit) - tie
    feature = np.full(len(tie), -1)
    gain = np.full(len(tie), -np.inf)
    for index, each in enumerate(found):
        better = (each.gain >= least) & (each.gain > gain + tie)
        feature[better] = index
        gain[better] = each.gain[better]
    return feature, np.ldexp(gain, unit)


def reached(
    most_leaves: int,
    decreases: Sequence[float],
    sizes: Sequence[int],
    first: Sequence[int],
) -> set[int]:
    """Return the nodes that best-first growth splits; the root is node 0.

    `sizes` is the number of branches of each node, 0 without a split; `first` is its
    first child, 0 where the children are not known yet. If decreases are equal, the
    node that was created first wins.
    """
    chosen: set[int] = set()
    queue: list[tuple[float, int, int]] = []
    made, leaves = 0, 1

    def add(node: int) -> None:
        nonlocal made
        if sizes[node]:
            heappush(queue, (-decreases[node], made, node))
        made += 1

    add(0)
    while queue:
        _, _, node = heappop(queue)
        leaves += sizes[node] - 1
        if leaves > most_leaves:
            break
        chosen.add(node)
        if first[node]:
            for child in range(first[node], first[node] + sizes[node]):
                add(child)
    return chosen


def finish_tree(
    draft: Draft,
    response: Response,
    features: tuple[Feature, ...],
    labels: tuple[Label, ...],
) -> Tree:
    """Make the tree from a draft; a node without cases predicts as its parent would."""
    order = draft.reading_order()
    _, stats = stand_ins(draft)
    measured = stats[order]
    return TreeBuilder(
        draft,
        order,
        features,
        response.stats(measured),
        response.answers(measured, labels),
        draft.weight[order].tolist(),
        draft.splits.gain[order].tolist(),
        draft.known,
    ).build(labels)
