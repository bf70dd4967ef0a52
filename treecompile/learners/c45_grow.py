"""The growth of a C4.5 tree, with what is not worth its while taken back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treecompile.learners.c45_draft import EPSILON, SLACK, Cases, Draft, Sample
from treecompile.learners.c45_splits import Finder
from treecompile.learners.limits import Limits, Progress


@dataclass(frozen=True, slots=True)
class Open:
    """A node that is still to be decided."""

    node: Draft
    cases: Cases
    depth: int
    usable: tuple[int, ...]  # categorical features that may still be tested


def grow(sample: Sample, finder: Finder, limits: Limits, progress: Progress) -> Draft:
    """Grow a tree, then collapse what does no better than a leaf."""
    cases = sample.everything()
    root = _draft(sample, cases)
    order = []
    stack = [Open(root, cases, 0, finder.nominal)]
    settled = _Settled(progress)
    while stack:
        here = stack.pop()
        node = here.node
        order.append(node)
        if not _is_final(here, limits):
            node.test = finder.best(here.cases, here.usable)
        if node.test is None:
            settled.add(node.weight)
            continue
        parts, node.known = sample.divide(node.test, here.cases)
        node.branches = [_draft(sample, part, node.label) for part in parts]
        usable = here.usable
        if node.test.feature not in finder.grouped:
            usable = tuple(i for i in usable if i != node.test.feature)
        for child, part in zip(reversed(node.branches), reversed(parts), strict=True):
            stack.append(Open(child, part, here.depth + 1, usable))
    collapse(order)
    return root


def _draft(sample: Sample, cases: Cases, parent: int = 0) -> Draft:
    """A leaf of the most common class, the first at a tie; of the parent's if empty."""
    counts = sample.counts(cases)
    return Draft(counts, int(counts.argmax()) if len(cases.rows) else parent)


def _is_final(here: Open, limits: Limits) -> bool:
    if limits.max_depth is not None and here.depth >= limits.max_depth:
        return True
    least = max(limits.min_split, 2 * limits.min_leaf)
    if here.node.weight < least - SLACK:
        return True
    return int(np.count_nonzero(here.node.counts)) < 2


def collapse(order: list[Draft]) -> None:
    """Make a leaf of each split that leaves as many errors; parents stand first."""
    for node in reversed(order):
        wrong = node.weight - float(node.counts[node.label])
        below = sum(child.errors for child in node.branches)
        if node.test is None or below >= wrong - EPSILON:
            node.become_leaf()
            node.errors = wrong
        else:
            node.errors = below


class _Settled:
    """Counts whole cases out of fractions of them."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.weight, self.told = progress, 0.0, 0

    def add(self, weight: float) -> None:
        self.weight += weight
        whole = int(self.weight + SLACK)
        self.progress(whole - self.told)
        self.told = whole
