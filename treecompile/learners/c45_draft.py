"""A tree of C4.5 that can still change, in arrays: entry n of each is node n.

The root is node 0, and a node without a feature is a leaf. Branches stand in an array
of their own, those of a node side by side. To put a branch in the place of its parent
is to let the parent have the branch's test and branches; the branch is left behind.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from treecompile.learners.stretches import Floats, Mask, Positions

# Sums of fractional weights are compared with whole numbers of cases: what differs by
# less than this differs by rounding only.
SLACK = 1e-9
EPSILON = 1e-3  # a gain, or a number of errors, this little beside a bound is at it

Groups = tuple[tuple[int, ...], ...]  # the codes of each branch


@dataclass(slots=True, eq=False)
class SplitTests:
    """The splits of some nodes, before they become conditions.

    Numbers and the codes of an ordinal feature have a cut: up to it the first branch,
    above it the second. A categorical feature has a branch for each code, or for each
    of the groups that are given.
    """

    feature: Positions  # -1 for a leaf
    gain: Floats
    cut: Floats
    size: Positions  # the number of branches
    groups: dict[int, Groups] = field(default_factory=dict)

    @classmethod
    def none(cls, count: int) -> SplitTests:
        zeros = np.zeros(count, np.intp)
        return cls(np.full(count, -1), np.zeros(count), np.zeros(count), zeros)

    def some(self, chosen: Positions) -> SplitTests:
        """The splits of some of the nodes, in that order."""
        groups = {}
        if self.groups:
            found = enumerate(map(self.groups.get, chosen.tolist()))
            groups = {place: each for place, each in found if each is not None}
        return SplitTests(
            self.feature[chosen],
            self.gain[chosen],
            self.cut[chosen],
            self.size[chosen],
            groups,
        )

    def note(self, nodes: Positions, tests: SplitTests) -> None:
        """Take over the splits of some of the nodes."""
        self.feature[nodes], self.gain[nodes] = tests.feature, tests.gain
        self.cut[nodes], self.size[nodes] = tests.cut, tests.size
        if tests.groups:
            names = nodes.tolist()
            self.groups.update({names[i]: each for i, each in tests.groups.items()})


@dataclass(slots=True, eq=False)
class Draft:
    """The nodes and their branches."""

    tests: SplitTests
    counts: Floats  # training weight of each class
    label: Positions  # the class it would answer as a leaf
    first: Positions  # the place of its first branch
    child: Positions  # of each branch
    known: Floats  # of each branch: the weight of the cases whose value is known
    errors: Floats  # as last counted or estimated, of all that is below

    @property
    def is_split(self) -> Mask:
        return self.tests.feature >= 0

    def branches(self, nodes: Positions) -> Positions:
        """The places of the branches of some splits, node after node."""
        sizes = self.tests.size[nodes]
        ends = np.cumsum(sizes)
        shift = self.first[nodes] - (ends - sizes)
        return np.repeat(shift, sizes) + np.arange(sizes.sum())

    def become_leaves(self, nodes: Positions) -> None:
        self.tests.feature[nodes] = -1
        self.tests.size[nodes] = 0

    def replace(self, nodes: Positions, branches: Positions) -> None:
        """Put a node below each of these nodes in its place."""
        tests, groups = self.tests, self.tests.groups
        for values in (tests.feature, tests.gain, tests.cut, tests.size):
            values[nodes] = values[branches]
        self.label[nodes] = self.label[branches]
        self.first[nodes] = self.first[branches]
        if groups:
            for node, branch in zip(nodes.tolist(), branches.tolist(), strict=True):
                groups.pop(node, None)
                if branch in groups:
                    groups[node] = groups[branch]

    def reading_order(self) -> list[int]:
        """The nodes that are still there: depth first, in the order of branches."""
        first, child = self.first.tolist(), self.child.tolist()
        size = self.tests.size.tolist()
        order, stack = [], [0]
        while stack:
            node = stack.pop()
            order.append(node)
            if size[node]:
                start = first[node]
                stack += reversed(child[start : start + size[node]])
        return order
