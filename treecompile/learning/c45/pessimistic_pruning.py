"""Pessimistic pruning of a C4.5 tree, from the leaves up, by expected errors.

A split is replaced by a leaf, or by its largest branch, which is raised into its place,
if that is expected to make no more errors on new cases. The decision at a node depends
only on its cases and on the nodes below, so all nodes of one depth are decided at once,
deepest first. `finish_case_tree` then makes the final tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from math import fsum

import numpy as np

from treecompile.learning.c45.fractional_cases import NodeCases, Sample
from treecompile.learning.grow.build import TreeBuilder, make, stand_ins
from treecompile.learning.grow.draft import Draft
from treecompile.learning.grow.segments import PART, Segments
from treecompile.measure.statistics import best_labels, leaf_errors
from treecompile.model.arrays import Floats, Positions
from treecompile.model.ir import ClassCounts, Feature, Label, Tree

MARGIN = 0.1  # by so many expected errors a simpler tree may be worse

# For each leaf that cases reach: the position of the node they started at, the leaf,
# and the weight of each class at the leaf.
ReachedLeaves = tuple[Positions, Positions, Floats]


@dataclass(slots=True, eq=False)
class CaseDraft(Draft):
    """A draft of C4.5; `stats` are the training weight of each class."""

    label: Positions = field(init=False)  # what each node predicts as a leaf
    errors: Floats = field(init=False)  # of each subtree, as last counted or estimated

    def __post_init__(self) -> None:
        """Set labels and errors; a node without cases has the label of its parent."""
        _, stats = stand_ins(self)
        self.label = stats.argmax(axis=1)
        right = self.stats[np.arange(len(self.label)), self.label]
        self.errors = self.weight - right

    def raise_branches(self, nodes: Positions, branches: Positions) -> None:
        """Give each of the nodes the test, branches and label of a node below it.

        `branches` are the nodes that are thus raised.
        """
        splits, groups = self.splits, self.splits.groups
        for values in (splits.feature, splits.gain, splits.threshold, splits.size):
            values[nodes] = values[branches]
        self.label[nodes] = self.label[branches]
        self.first[nodes] = self.first[branches]
        if groups:
            for node, branch in zip(nodes.tolist(), branches.tolist(), strict=True):
                groups.pop(node, None)
                if branch in groups:
                    groups[node] = groups[branch]


def prune(draft: CaseDraft, sample: Sample, cf: float) -> None:
    """Prune a draft in place."""
    Pruning(draft, sample, cf).run()
    drop_impossible(draft)


class Pruning:
    """The process of pruning one draft."""

    def __init__(self, draft: CaseDraft, sample: Sample, cf: float) -> None:
        self.draft, self.sample, self.cf = draft, sample, cf
        # Errors are summed from the last leaf in reading order to the first.
        order = draft.reading_order()
        self.rank = np.zeros(len(draft.label), np.intp)
        self.rank[order] = -np.arange(len(order))

    def run(self) -> None:
        """Count the cases of the tree, then decide its nodes, deepest first.

        A raised branch is counted with all cases of its former parent, and its nodes
        are decided again before the nodes above it.
        """
        waiting = [self.enter(np.zeros(1, np.intp), self.sample.everything())]
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                continue
            nodes, cases = waiting[-1].pop()
            raised = self.simplify(nodes, cases)
            if len(raised):
                waiting.append(self.enter(nodes[raised], cases.some(raised)))

    def enter(
        self, nodes: Positions, cases: NodeCases
    ) -> list[tuple[Positions, NodeCases]]:
        """Count the cases anew at and below some nodes; return split nodes by depth."""
        draft = self.draft
        found: list[tuple[Positions, NodeCases]] = []
        while True:
            self._count(nodes, self.sample.counts(cases))
            inner = np.flatnonzero(draft.is_split[nodes])
            if not len(inner):
                return found
            nodes, cases = nodes[inner], cases.some(inner)
            found.append((nodes, cases))
            branches = draft.branches(nodes)
            divided = self.sample.divide(draft.splits.some(nodes), cases)
            draft.known[branches] = divided.known
            children = draft.child[branches]
            is_empty = np.full(len(children), True)
            is_empty[divided.branches] = False
            if is_empty.any():
                self._forget(children[is_empty])
            nodes, cases = children[divided.branches], divided.cases

    def _count(self, nodes: Positions, counts: Floats) -> None:
        draft = self.draft
        draft.stats[nodes] = counts
        draft.weight[nodes] = counts.sum(axis=1)
        draft.label[nodes] = best_labels(counts, draft.label[nodes])
        draft.errors[nodes] = leaf_errors(counts, draft.label[nodes], self.cf)

    def _forget(self, nodes: Positions) -> None:
        """Turn nodes that no case reaches into leaves without expected errors."""
        draft = self.draft
        while len(nodes):
            draft.stats[nodes] = 0.0
            draft.weight[nodes] = 0.0
            draft.errors[nodes] = 0.0
            inner = nodes[draft.is_split[nodes]]
            nodes = draft.child[draft.branches(inner)]
            draft.splits.become_leaves(inner)

    def simplify(self, nodes: Positions, cases: NodeCases) -> Positions:
        """Decide nodes whose branches are already pruned.

        Returns the positions of nodes whose largest branch took their place; these must
        be counted anew. Before, `errors` are those of the nodes as leaves; afterwards
        those of what the other nodes have become.
        """
        draft = self.draft
        branches = draft.branches(nodes)
        segments = Segments.of(draft.splits.size[nodes])
        which = segments.spread(np.arange(len(nodes)))
        as_leaf = draft.errors[nodes]
        below = draft.errors[draft.child[branches]]
        as_tree = np.bincount(which, below, len(nodes))
        largest = branches[last_largest(draft.known[branches], segments)]
        raised = draft.child[largest]
        as_branch = self.estimate(raised, cases)
        is_leaf = as_leaf <= as_branch + MARGIN
        is_leaf &= as_leaf <= as_tree + MARGIN
        is_raised = ~is_leaf & (as_branch <= as_tree + MARGIN)
        draft.splits.become_leaves(nodes[is_leaf])
        draft.raise_branches(nodes[is_raised], raised[is_raised])
        kept = ~is_leaf & ~is_raised
        draft.errors[nodes[kept]] = as_tree[kept]
        return np.flatnonzero(is_raised)

    def estimate(self, nodes: Positions, cases: NodeCases) -> Floats:
        """Return the errors to expect if these cases came to these nodes."""
        root, leaf, counts = fall(self.sample, self.draft, nodes, cases)
        label = best_labels(counts, self.draft.label[leaf])
        errors = leaf_errors(counts, label, self.cf)
        order = np.lexsort((self.rank[leaf], root))
        return np.bincount(root[order], errors[order], len(nodes)).astype(np.float64)


def fall(
    sample: Sample, draft: CaseDraft, nodes: Positions, cases: NodeCases
) -> ReachedLeaves:
    """Return the leaves that the cases reach if they start at these nodes.

    Runs in threads, on parts whose arrays fit the cache.
    """
    parts = cases.nodes.parts(PART)
    if sample.run is map or len(parts) < 2:
        return _fall(sample, draft, nodes, cases)
    alone = copy(sample)
    alone.run = map  # a thread must not wait for others of the same pool

    def fall_of(some: slice) -> ReachedLeaves:
        own = cases.some(np.arange(some.start, some.stop))
        root, leaf, weights = _fall(alone, draft, nodes[some], own)
        return some.start + root, leaf, weights

    return _joined(list(sample.run(fall_of, parts)))


def _fall(
    sample: Sample, draft: CaseDraft, nodes: Positions, cases: NodeCases
) -> ReachedLeaves:
    roots = np.arange(len(nodes))
    found: list[ReachedLeaves] = []
    while True:
        is_split = draft.is_split[nodes]
        leaves, inner = np.flatnonzero(~is_split), np.flatnonzero(is_split)
        if len(leaves):
            counts = sample.counts(cases.some(leaves))
            found.append((roots[leaves], nodes[leaves], counts))
        if not len(inner):
            return _joined(found)
        nodes, roots = nodes[inner], roots[inner]
        splits = draft.splits.some(nodes)
        divided = sample.divide(splits, cases.some(inner))
        nodes = draft.child[draft.branches(nodes)][divided.branches]
        roots = np.repeat(roots, splits.size)[divided.branches]
        cases = divided.cases


def _joined(parts: Sequence[ReachedLeaves]) -> ReachedLeaves:
    root, leaf, weights = map(np.concatenate, zip(*parts, strict=True))
    return root, leaf, weights


def last_largest(known: Floats, segments: Segments) -> Positions:
    """Return the branch with the most known cases of each node, the last at a tie."""
    most = np.maximum.reduceat(known, segments.starts)
    places = np.flatnonzero(known == segments.spread(most))
    return places[np.searchsorted(places, segments.ends, side="right") - 1]


def drop_impossible(draft: CaseDraft) -> None:
    """Remove categories that the path to a split rules out from its last group.

    A group without any category left is removed.
    """
    groups = draft.splits.groups
    if not groups:
        return
    stack: list[tuple[int, dict[int, frozenset[int]]]] = [(0, {})]
    while stack:
        node, possible = stack.pop()
        size = int(draft.splits.size[node])
        if not size:
            continue
        feature = int(draft.splits.feature[node])
        if node in groups and feature in possible:
            *others, last = groups[node]
            kept = tuple(code for code in last if code in possible[feature])
            groups[node] = (*others, kept) if kept else tuple(others)
            size = len(groups[node])
            draft.splits.size[node] = size
        start = int(draft.first[node])
        for place, child in enumerate(draft.child[start : start + size].tolist()):
            inner = possible
            if node in groups:
                inner = {**possible, feature: frozenset(groups[node][place])}
            stack.append((child, inner))


def finish_case_tree(
    draft: CaseDraft,
    features: tuple[Feature, ...],
    labels: tuple[Label, ...],
) -> Tree:
    """Make the tree from a draft; a leaf without cases has the counts of its parent."""
    is_empty, stats = stand_ins(draft)
    weights = np.array(list(map(fsum, draft.stats.tolist())))
    value = draft.label.copy()
    value[is_empty] = stats[is_empty].argmax(axis=1)
    order = draft.reading_order()
    return TreeBuilder(
        draft,
        order,
        features,
        make(ClassCounts, len(order), map(tuple, stats[order].tolist())),
        list(map(labels.__getitem__, value[order].tolist())),
        weights[order].tolist(),
        # Logarithms differ in their last bits between processors: the file must not.
        [round(gain, 12) for gain in draft.splits.gain[order].tolist()],
        weights[draft.child],
    ).build(labels)
