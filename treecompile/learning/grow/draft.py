"""The tree while it is learned, as arrays: entry n of each describes node n.

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
Pruning changes a `Draft` in place: nodes that nothing leads to any more stay in the
arrays, and `reading_order` leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from treecompile.model.arrays import Floats, Mask, Positions
from treecompile.model.ir import Feature, Kind

Groups = tuple[tuple[int, ...], ...]  # the codes of the categories of each branch


def is_categorical(features: Sequence[Feature]) -> Mask:
    return np.array([feature.kind is Kind.CATEGORICAL for feature in features])


@dataclass(slots=True, eq=False)
class Splits:
    """The tests of some nodes.

    A numeric or ordinal feature has a threshold: values up to it take the first branch,
    others the second. A categorical feature has a branch for each of the given groups
    of categories, or else for each category.
    """

    feature: Positions  # -1: the node is not split
    gain: Floats
    threshold: Floats  # of an ordinal feature: the code of a category
    size: Positions  # the number of branches
    groups: dict[int, Groups] = field(default_factory=dict)

    @classmethod
    def none(cls, count: int) -> Splits:
        zeros = np.zeros(count, np.intp)
        return cls(np.full(count, -1), np.zeros(count), np.zeros(count), zeros)

    @property
    def starts(self) -> Positions:
        """The first branch of each node, if all branches are numbered in order."""
        return np.cumsum(self.size) - self.size

    @property
    def nodes(self) -> Positions:
        """The nodes that are split."""
        return np.flatnonzero(self.feature >= 0)

    def features(self) -> list[int]:
        """The features that are tested."""
        return sorted(set(self.feature.tolist()) - {-1})

    def some(self, chosen: Positions) -> Splits:
        """The splits of some of the nodes, in that order."""
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
        """Take over the splits of some of the nodes."""
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
    stats: Floats  # a line for each node: class weights, or weight, mean and error
    weight: Floats  # 0 where no case came
    first: Positions  # of each split: its first branch, within the level
    known: Floats  # of each branch: the weight of the cases whose value is known

    @classmethod
    def of(
        cls, count: int, nodes: Positions, stats: Floats, weight: Floats
    ) -> DraftLevel:
        """A level without splits; the given nodes have cases, the others have none."""
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
    """All nodes and their branches."""

    splits: Splits
    stats: Floats
    weight: Floats
    first: Positions
    child: Positions  # of each branch
    known: Floats

    @classmethod
    def of(cls, levels: Sequence[DraftLevel]) -> Self:
        """All levels as one draft; every node but the root is a branch."""
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
        """The branches of some splits, node after node."""
        sizes = self.splits.size[nodes]
        shift = self.first[nodes] - (np.cumsum(sizes) - sizes)
        return np.repeat(shift, sizes) + np.arange(sizes.sum())

    def levels(self) -> list[Positions]:
        """The nodes that the root leads to, depth by depth."""
        found, nodes = [], np.zeros(1, np.intp)
        while len(nodes):
            found.append(nodes)
            splits = nodes[self.splits.feature[nodes] >= 0]
            nodes = self.child[self.branches(splits)]
        return found

    def parents(self) -> Positions:
        """The parent of each node that the root leads to; -1 for all others."""
        parents = np.full(len(self.weight), -1)
        for nodes, children, _ in self._families(self.levels()):
            parents[children] = np.repeat(nodes, self.splits.size[nodes])
        return parents

    def reading_order(self) -> Positions:
        """The nodes as a tree lists them: depth first, in the order of branches."""
        levels = self.levels()
        families = list(self._families(levels))
        below = np.ones(len(self.weight), np.intp)  # nodes of the subtree, with itself
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
        """Of each level: its splits, their children, and where those of each begin."""
        for level in levels:
            nodes = level[self.splits.feature[level] >= 0]
            if len(nodes):
                sizes = self.splits.size[nodes]
                children = self.child[self.branches(nodes)]
                yield nodes, children, np.cumsum(sizes) - sizes
