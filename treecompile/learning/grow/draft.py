"""A draft is the tree while it is learned: arrays in which entry n describes node n.

    0: outlook                 node       0   1   2   3   4
    ├─ 1: leaf                 feature    0  -1   1  -1  -1    -1 is a leaf
    └─ 2: humidity <= 75       size       2   0   2   0   0    how many branches
       ├─ 3: leaf              first      0   .   2   .   .    which branch is the first
       └─ 4: leaf
                               branch     0   1   2   3
                               child      1   2   3   4        the node it leads to
                               known      5   9   4   5        cases with a known value

Nodes are numbered level by level, and the branches of a node are adjacent. While
the tree grows, each level has arrays of its own (`DraftLevel`); `Draft.of` joins them.
Pruning changes a `Draft` in place: nodes that can no longer be reached from the root
stay in the arrays, and `reading_order` leaves them out. `build` makes the final tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from treecompile.model.arrays import Floats, Mask, Positions
from treecompile.model.ir import Feature, Kind

Groups = tuple[tuple[int, ...], ...]  # for each branch: the codes of its categories


def is_categorical(features: Sequence[Feature]) -> Mask:
    return np.array([feature.kind is Kind.CATEGORICAL for feature in features])


@dataclass(slots=True, eq=False)
class Splits:
    """The splits of some nodes.

    For a numeric or ordinal feature there is a threshold: values up to it take the
    first branch, others the second. For a categorical feature there is a branch for
    each group of categories, or for each category if the node has no groups.
    """

    feature: Positions  # -1: the node is not split
    gain: Floats
    threshold: Floats  # if the feature is ordinal, the code of a category
    size: Positions  # the number of branches
    groups: dict[int, Groups] = field(default_factory=dict)  # by node

    @classmethod
    def none(cls, count: int) -> Splits:
        zeros = np.zeros(count, np.intp)
        return cls(np.full(count, -1), np.zeros(count), np.zeros(count), zeros)

    @property
    def starts(self) -> Positions:
        """The first branch of each node, if branches are numbered node after node."""
        return np.cumsum(self.size) - self.size

    @property
    def nodes(self) -> Positions:
        """The nodes that are split."""
        return np.flatnonzero(self.feature >= 0)

    def features(self) -> list[int]:
        """Return the features that at least one split tests, in ascending order."""
        return sorted(set(self.feature.tolist()) - {-1})

    def some(self, chosen: Positions) -> Splits:
        """Return the splits of the chosen nodes, in that order."""
        groups = {}
        if self.groups:
            found = enumerate(map(self.groups.get, chosen.tolist()))
            groups = {place: each for place, each in found if each is not None}
        return Splits(
            self.feature[chosen],
            self.gain[chosen],
            self.threshold[chosen],
            self.size[chosen],
            groups,
        )

    def note(self, nodes: Positions, splits: Splits) -> None:
        """Store the given splits as those of the given nodes."""
        self.feature[nodes], self.gain[nodes] = splits.feature, splits.gain
        self.threshold[nodes], self.size[nodes] = splits.threshold, splits.size
        if splits.groups:
            names = nodes.tolist()
            self.groups.update({names[i]: each for i, each in splits.groups.items()})

    def become_leaves(self, nodes: Positions | Mask) -> None:
        self.feature[nodes] = -1
        self.size[nodes] = 0


@dataclass(slots=True, eq=False)
class DraftLevel:
    """The nodes of one depth; their branches are the nodes of the next level."""

    splits: Splits
    stats: Floats  # a row for each node: class weights, or weight, mean and error
    weight: Floats  # 0 for a node that no case reaches
    first: Positions  # for each split: its first branch, numbered within the level
    known: Floats  # for each branch: the weight of the cases with a known value

    @classmethod
    def of(
        cls, count: int, nodes: Positions, stats: Floats, weight: Floats
    ) -> DraftLevel:
        """Make a level of `count` nodes without splits; only `nodes` have cases."""
        all_stats = np.zeros((count, stats.shape[1]))
        all_stats[nodes] = stats
        all_weights = np.zeros(count)
        all_weights[nodes] = weight
        zeros = np.zeros(count, np.intp)
        return cls(Splits.none(count), all_stats, all_weights, zeros, np.zeros(0))

    def split(self, nodes: Positions, splits: Splits, known: Floats) -> None:
        self.splits.note(nodes, splits)
        self.first[nodes] = splits.starts
        self.known = known


@dataclass(slots=True, eq=False)
class Draft:
    """All nodes and branches of a tree under construction."""

    splits: Splits
    stats: Floats
    weight: Floats
    first: Positions
    child: Positions  # for each branch: the node it leads to
    known: Floats

    @classmethod
    def of(cls, levels: Sequence[DraftLevel]) -> Self:
        """Join the levels; branch n leads to node n + 1, as the root has no parent."""
        sizes = [len(level.weight) for level in levels]
        starts = np.cumsum([0, *sizes]).tolist()
        count = starts[-1]
        splits = Splits.none(count)
        first = np.zeros(count, np.intp)
        for start, level in zip(starts, levels, strict=False):
            nodes = np.arange(start, start + len(level.weight))
            splits.note(nodes, level.splits)
            first[nodes] = start + len(nodes) - 1 + level.first
        return cls(
            splits,
            np.concatenate([level.stats for level in levels]),
            np.concatenate([level.weight for level in levels]),
            first,
            np.arange(1, count),
            np.concatenate([level.known for level in levels]),
        )

    @property
    def is_split(self) -> Mask:
        return self.splits.feature >= 0

    def branches(self, nodes: Positions) -> Positions:
        """Return the branches of the given split nodes, node after node."""
        sizes = self.splits.size[nodes]
        shift = self.first[nodes] - (np.cumsum(sizes) - sizes)
        return np.repeat(shift, sizes) + np.arange(sizes.sum())

    def levels(self) -> list[Positions]:
        """Return the nodes that can be reached from the root, depth by depth."""
        found, nodes = [], np.zeros(1, np.intp)
        while len(nodes):
            found.append(nodes)
            splits = nodes[self.splits.feature[nodes] >= 0]
            nodes = self.child[self.branches(splits)]
        return found

    def parents(self) -> Positions:
        """Return the parent of each node; -1 for the root and unreachable nodes."""
        parents = np.full(len(self.weight), -1)
        for nodes, children, _ in self._families(self.levels()):
            parents[children] = np.repeat(nodes, self.splits.size[nodes])
        return parents

    def reading_order(self) -> Positions:
        """Return the nodes in the tree's order: depth first, branch after branch."""
        levels = self.levels()
        families = list(self._families(levels))
        below = np.ones(len(self.weight), np.intp)  # nodes of the subtree, root too
        for nodes, children, starts in reversed(families):
            below[nodes] += np.add.reduceat(below[children], starts)
        place = np.zeros(len(self.weight), np.intp)
        for nodes, children, starts in families:
            sizes = below[children]
            before = np.cumsum(sizes) - sizes
            before -= np.repeat(before[starts], self.splits.size[nodes])
            place[children] = (
                before + 1 + np.repeat(place[nodes], self.splits.size[nodes])
            )
        order = np.empty(below[0], np.intp)
        for nodes in levels:
            order[place[nodes]] = nodes
        return order

    def _families(
        self, levels: Sequence[Positions]
    ) -> Iterator[tuple[Positions, Positions, Positions]]:
        """Yield for each level its splits, their children, and where each's start."""
        for level in levels:
            nodes = level[self.splits.feature[level] >= 0]
            if len(nodes):
                sizes = self.splits.size[nodes]
                children = self.child[self.branches(nodes)]
                yield nodes, children, np.cumsum(sizes) - sizes
