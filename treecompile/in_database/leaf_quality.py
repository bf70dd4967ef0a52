"""How good a tree is on the rows that it was learned from, by what its leaves hold."""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

import numpy as np

from treecompile.extract import outcomes
from treecompile.ir import (
    ClassCounts,
    ClassQuality,
    Moments,
    Quality,
    RuleTally,
    Split,
    Tree,
    ValueQuality,
)

Measured = tuple[Quality, tuple[RuleTally, ...]]


def class_quality(tree: Tree) -> Measured:
    """Of a tree for labels, whose leaves have counted the rows."""
    size = len(tree.labels)
    confusion = np.zeros((size, size), np.int64)  # actual by predicted
    tallies = []
    for rule in outcomes(tree).values():
        assert isinstance(rule.stats, ClassCounts)
        # A leaf without cases has the counts of the node above.
        counts = np.array(rule.stats.weights) if rule.weight else np.zeros(size)
        answer = tree.labels.index(rule.value)
        confusion[:, answer] += counts.astype(np.int64)
        rows, wrong = int(counts.sum()), float(counts.sum() - counts[answer])
        tallies.append(RuleTally(rows, wrong, rows, wrong))
    return ClassQuality(tuple(tuple(map(int, row)) for row in confusion)), (*tallies,)


def value_quality(tree: Tree, grown: Tree, distances: Sequence[float]) -> Measured:
    """Of a tree for numbers, pruned from one whose nodes have these distances.

    A distance is that of all rows of a node from its mean, added up.
    """
    tallies = []
    for rule in outcomes(tree).values():
        assert isinstance(rule.stats, Moments)
        rows, errors = int(rule.stats.weight), rule.stats.sse or 0.0
        tallies.append(RuleTally(rows, errors, rows, errors))
    root = tree.nodes[0].stats
    assert isinstance(root, Moments)
    count = int(root.weight)
    squared = fsum(tally.errors for tally in tallies)
    quality = ValueQuality(
        rows=count,
        mean_absolute_error=fsum(map(distances.__getitem__, _leaves(tree, grown)))
        / count,
        root_mean_squared_error=(squared / count) ** 0.5,
        r_squared=1.0 - squared / root.sse if root.sse else None,
    )
    return quality, (*tallies,)


def _leaves(tree: Tree, grown: Tree) -> list[int]:
    """Where the leaves of a pruned tree are in the one it was pruned from."""
    found, stack = [], [(0, 0)]
    while stack:
        here, there = stack.pop()
        node, origin = tree.nodes[here], grown.nodes[there]
        if isinstance(node, Split):
            assert isinstance(origin, Split)
            pairs = zip(node.branches, origin.branches, strict=True)
            stack += [(one.then, other.then) for one, other in pairs]
        else:
            found.append(there)
    return found
