"""Draft -> Tree: conditions, statistics, and which branch takes missing values."""

from __future__ import annotations

from treecompile.data import Dataset
from treecompile.ir import (
    Branch,
    Category,
    ClassCounts,
    Condition,
    Kind,
    Leaf,
    MissingPolicy,
    Node,
    Op,
    Split,
    Tree,
)
from treecompile.learners.branches import Candidate, make_branches
from treecompile.learners.c45_draft import Draft
from treecompile.semantics import answer


def build(draft: Draft, data: Dataset, policy: MissingPolicy) -> Tree:
    """The tree of a finished draft."""
    return Builder(draft, data, policy).tree()


class Builder:
    """A finished draft, as Python's own numbers."""

    def __init__(self, draft: Draft, data: Dataset, policy: MissingPolicy) -> None:
        self.data, self.policy = data, policy
        tests = draft.tests
        self.groups = tests.groups
        self.feature, self.size = tests.feature.tolist(), tests.size.tolist()
        self.gain, self.cut = tests.gain.tolist(), tests.cut.tolist()
        self.counts = list(map(ClassCounts, map(tuple, draft.counts.tolist())))
        self.weight = [counts.weight for counts in self.counts]
        self.label = [data.labels[code] for code in draft.label.tolist()]
        self.first, self.child = draft.first.tolist(), draft.child.tolist()
        self.known = draft.known.tolist()
        self.order = draft.reading_order()
        self.place = [0] * len(self.label)
        for place, node in enumerate(self.order):
            self.place[node] = place

    def tree(self) -> Tree:
        nodes: list[Node | None] = [None] * len(self.order)
        if not self.size[0]:
            nodes[0] = self.leaf(0, 0)
        for place, node in enumerate(self.order):
            if not self.size[node]:
                continue  # its parent makes it a leaf
            first = self.first[node]
            children = self.child[first : first + self.size[node]]
            nodes[place] = self.split(node, children)
            for child in children:
                if not self.size[child]:
                    nodes[self.place[child]] = self.leaf(child, node)
        done = tuple(node for node in nodes if node is not None)
        return Tree(self.data.features, self.data.labels, done, self.policy)

    def leaf(self, node: int, parent: int) -> Leaf:
        """A leaf; one that no case reached rests on its class, or its parent's cases.

        Where shares are added up, a leaf answers by its shares even at a tie.
        """
        counts, label, labels = self.counts[node], self.label[node], self.data.labels
        if self.weight[node]:
            tied = self.policy is MissingPolicy.FRACTIONAL
            value = answer(counts, labels) if tied else label
            return Leaf(value, counts, self.weight[node])
        if self.policy is MissingPolicy.BRANCH:
            stand_in = self.counts[parent]
            return Leaf(answer(stand_in, labels), stand_in, 0.0)
        one = (float(each == label) for each in labels)
        return Leaf(label, ClassCounts(tuple(one)), 0.0)

    def split(self, node: int, children: list[int]) -> Split:
        first, feature = self.first[node], self.feature[node]
        known = self.known[first : first + len(children)]
        if self.data.features[feature].kind is Kind.CATEGORICAL:
            tests = self.categories(node, known)
        else:
            value: Category | float = self.cut[node]
            if self.data.features[feature].kind is Kind.ORDINAL:
                value = self.data.features[feature].categories[int(self.cut[node])]
            is_left = known[0] >= known[1]
            tests = [
                Condition(feature, Op.LE, value, is_left),
                Condition(feature, Op.GT, value, not is_left),
            ]
        branches = tuple(
            Branch(when, self.place[child], self.weight[child])
            for when, child in zip(tests, children, strict=True)
        )
        # Logarithms differ in their last bits between processors: the file must not.
        return Split(branches, self.counts[node], round(self.gain[node], 12))

    def categories(self, node: int, known: list[float]) -> list[Condition]:
        feature = self.feature[node]
        mine = self.data.features[feature]
        names = mine.categories
        groups = self.groups.get(node) or tuple((code,) for code in range(len(names)))
        tests = tuple((Op.IN, tuple(names[code] for code in group)) for group in groups)
        made = Candidate(feature, self.gain[node], tests, tuple(known))
        return [branch.when for branch in make_branches(mine, made)]
