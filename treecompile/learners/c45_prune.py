"""Pessimistic pruning: from the leaves up, by the errors to expect on new cases.

A split gives way to a leaf, or to its largest branch raised into its place, where that
is expected to err no more. What becomes of a node depends on its own cases and on what
is below it, so all nodes of one depth are decided at once, the deepest first.
"""

from __future__ import annotations

from typing import Generic

import numpy as np

from treecompile.learners.c45_draft import Draft
from treecompile.learners.c45_errors import best_labels, leaf_errors
from treecompile.learners.c45_passing import Held, Passing
from treecompile.learners.stretches import Floats, Positions, Stretches

MARGIN = 0.1  # errors by which a simpler tree may be worse


def prune(draft: Draft, sample: Passing[Held], cf: float) -> None:
    """Prune a tree in place."""
    Pruning(draft, sample, cf).run()


class Pruning(Generic[Held]):
    """A draft that is being pruned."""

    def __init__(self, draft: Draft, sample: Passing[Held], cf: float) -> None:
        self.draft, self.sample, self.cf = draft, sample, cf
        # Errors are added up from the last leaf to the first.
        order = draft.reading_order()
        self.rank = np.zeros(len(draft.label), np.intp)
        self.rank[order] = -np.arange(len(order))

    def run(self) -> None:
        """Enter the tree, then decide its nodes from the deepest ones up.

        A branch that takes the place of its parent is entered with all of the parent's
        cases, and decided anew, before what is above it.
        """
        waiting = [self.enter(np.zeros(1, np.intp), self.sample.everything())]
        while waiting:
            if not waiting[-1]:
                waiting.pop()
                continue
            nodes, cases = waiting[-1].pop()
            raised = self.simplify(nodes, cases)
            if len(raised):
                some = self.sample.some(cases, raised)
                waiting.append(self.enter(nodes[raised], some))

    def enter(self, nodes: Positions, cases: Held) -> list[tuple[Positions, Held]]:
        """Count the cases anew in all that is below some nodes; its splits by depth."""
        draft = self.draft
        found: list[tuple[Positions, Held]] = []
        while True:
            self._count(nodes, self.sample.counts(cases))
            inner = np.flatnonzero(draft.is_split[nodes])
            if not len(inner):
                return found
            nodes, cases = nodes[inner], self.sample.some(cases, inner)
            found.append((nodes, cases))
            branches = draft.branches(nodes)
            divided = self.sample.divide(draft.tests.some(nodes), cases)
            draft.known[branches] = divided.known
            children = draft.child[branches]
            is_empty = np.full(len(children), True)
            is_empty[divided.branches] = False
            if is_empty.any():
                self._forget(children[is_empty])
            nodes, cases = children[divided.branches], divided.cases

    def _count(self, nodes: Positions, counts: Floats) -> None:
        draft = self.draft
        draft.counts[nodes] = counts
        draft.label[nodes] = best_labels(counts, draft.label[nodes])
        draft.errors[nodes] = leaf_errors(counts, draft.label[nodes], self.cf)

    def _forget(self, nodes: Positions) -> None:
        """Nothing reaches these nodes: so they are leaves, which expect no errors."""
        draft = self.draft
        while len(nodes):
            draft.counts[nodes] = 0.0
            draft.errors[nodes] = 0.0
            inner = nodes[draft.is_split[nodes]]
            nodes = draft.child[draft.branches(inner)]
            draft.become_leaves(inner)

    def simplify(self, nodes: Positions, cases: Held) -> Positions:
        """Decide nodes whose branches are pruned; which get their largest branch.

        Expects the errors of the nodes as leaves; leaves those of what they become.
        """
        draft = self.draft
        branches = draft.branches(nodes)
        parts = Stretches.of(draft.tests.size[nodes])
        which = parts.spread(np.arange(len(nodes)))
        as_leaf = draft.errors[nodes]
        below = draft.errors[draft.child[branches]]
        as_tree = np.bincount(which, below, len(nodes))
        largest = branches[last_largest(draft.known[branches], parts)]
        raised = draft.child[largest]
        as_branch = self.estimate(raised, cases)
        is_leaf = as_leaf <= as_branch + MARGIN
        is_leaf &= as_leaf <= as_tree + MARGIN
        is_raised = ~is_leaf & (as_branch <= as_tree + MARGIN)
        draft.become_leaves(nodes[is_leaf])
        draft.replace(nodes[is_raised], raised[is_raised])
        kept = ~is_leaf & ~is_raised
        draft.errors[nodes[kept]] = as_tree[kept]
        return np.flatnonzero(is_raised)

    def estimate(self, nodes: Positions, cases: Held) -> Floats:
        """The errors to expect if these cases came to nodes that stay as they are."""
        root, leaf, counts = self.sample.fall(self.draft, nodes, cases)
        label = best_labels(counts, self.draft.label[leaf])
        errors = leaf_errors(counts, label, self.cf)
        order = np.lexsort((self.rank[leaf], root))
        return np.bincount(root[order], errors[order], len(nodes)).astype(np.float64)


def last_largest(known: Floats, parts: Stretches) -> Positions:
    """The branch with the most known cases at each node, the last at a tie."""
    most = np.maximum.reduceat(known, parts.starts)
    places = np.flatnonzero(known == parts.spread(most))
    return places[np.searchsorted(places, parts.ends, side="right") - 1]


def drop_impossible(draft: Draft) -> None:
    """Take values that cannot occur on the path out of the last group of a split.

    A group that is left without values goes.
    """
    groups = draft.tests.groups
    if not groups:
        return
    stack: list[tuple[int, dict[int, frozenset[int]]]] = [(0, {})]
    while stack:
        node, possible = stack.pop()
        size = int(draft.tests.size[node])
        if not size:
            continue
        feature = int(draft.tests.feature[node])
        if node in groups and feature in possible:
            *others, last = groups[node]
            kept = tuple(code for code in last if code in possible[feature])
            groups[node] = (*others, kept) if kept else tuple(others)
            size = len(groups[node])
            draft.tests.size[node] = size
        start = int(draft.first[node])
        for place, child in enumerate(draft.child[start : start + size].tolist()):
            inner = possible
            if node in groups:
                inner = {**possible, feature: frozenset(groups[node][place])}
            stack.append((child, inner))
