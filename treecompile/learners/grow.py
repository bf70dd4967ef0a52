"""The growth of a tree, whatever the algorithm: open nodes, best candidate, children.

A learner brings the finder of candidates; this module decides when to stop, where the
cases with a missing value go, and builds the IR. It keeps its own stack of open nodes,
so the depth of a tree is not bounded by Python's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treecompile import batch
from treecompile.data import Dataset
from treecompile.ir import (
    Branch,
    Category,
    ClassCounts,
    Condition,
    Kind,
    Leaf,
    Moments,
    Node,
    Op,
    Split,
    Stats,
    Tree,
)
from treecompile.semantics import answer

Rows = NDArray[np.intp]
Progress = Callable[[int], None]  # called with a number of rows that are settled

# Gains that differ by less, relative to the impurity at the node, are equal: which one
# is larger is an accident of rounding.
TIE = 1e-12


@dataclass(frozen=True, slots=True)
class Limits:
    """When to stop growing."""

    max_depth: int | None = None  # tests from the root to a leaf
    min_split: int = 2  # cases that a node needs to be split
    min_leaf: int = 1  # cases that each branch of a split needs
    min_gain: float = 0.0  # decrease of impurity at the node that a split needs
    max_leaves: int | None = None  # for growth by levels: then the best splits first


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible split of one feature: a test and the known cases for each branch."""

    feature: int
    gain: float
    tests: tuple[tuple[Op, Category | float | tuple[Category, ...]], ...]
    weights: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """A node that is still to be decided."""

    rows: Rows
    depth: int
    parent: int  # position of the parent, and which of its branches this is
    place: int
    stand_in: Stats | None = None  # the parent's statistics, if no case came here


# From the cases of a node and what counts as a tie there.
Finder = Callable[[Rows, float], Iterable[Candidate]]


def grow(
    data: Dataset,
    find: Finder,
    limits: Limits,
    *,
    progress: Progress = lambda rows: None,
) -> Tree:
    """Grow a tree from the candidates that `find` brings for each node."""
    nodes: list[Leaf | tuple[Stats, float, list[Branch]]] = []
    stack = [Open(np.arange(len(data.y)), 0, -1, 0)]
    while stack:
        node = stack.pop()
        position = len(nodes)
        if node.parent >= 0:
            parent = nodes[node.parent]
            assert isinstance(parent, tuple)
            branch = parent[2][node.place]
            parent[2][node.place] = Branch(branch.when, position, branch.weight)
        stats = node.stand_in or statistics(data, node.rows)
        chosen = None
        if node.stand_in is None and not _is_final(data, node, stats, limits):
            tie = (
                TIE
                if isinstance(stats, ClassCounts)
                else TIE * (stats.deviation or 0.0) ** 2
            )
            chosen = best(find(node.rows, tie), limits, tie)
        if chosen is None:
            weight = float(len(node.rows))
            nodes.append(Leaf(answer(stats, data.labels), stats, weight))
            progress(len(node.rows))
            continue
        branches = make_branches(data, chosen)
        nodes.append((stats, chosen.gain, branches))
        column = data.columns[chosen.feature][node.rows]
        feature = data.features[chosen.feature]
        for place in reversed(range(len(branches))):
            rows = node.rows[batch.holds(branches[place].when, feature, column)]
            stand_in = None if len(rows) else stats
            stack.append(Open(rows, node.depth + 1, position, place, stand_in))
    return Tree(data.features, data.labels, tuple(_frozen(node) for node in nodes))


def _frozen(node: Leaf | tuple[Stats, float, list[Branch]]) -> Node:
    if isinstance(node, Leaf):
        return node
    stats, gain, branches = node
    return Split(tuple(branches), stats, gain)


def _is_final(data: Dataset, node: Open, stats: Stats, limits: Limits) -> bool:
    if limits.max_depth is not None and node.depth >= limits.max_depth:
        return True
    if len(node.rows) < limits.min_split:
        return True
    y = data.y[node.rows]
    return bool((y == y[0]).all())


def best(
    candidates: Iterable[Candidate], limits: Limits, tie: float
) -> Candidate | None:
    """The candidate with the greatest gain, the first at a tie."""
    chosen: Candidate | None = None
    for candidate in candidates:
        if candidate.gain < limits.min_gain - tie:
            continue
        if chosen is None or candidate.gain > chosen.gain + tie:
            chosen = candidate
    return chosen


def make_branches(data: Dataset, candidate: Candidate) -> list[Branch]:
    """The branches of a split; the heaviest takes missing and unseen values as well."""
    heaviest = candidate.weights.index(max(candidate.weights))
    categorical = data.features[candidate.feature].kind is Kind.CATEGORICAL
    branches = []
    for place, (op, value) in enumerate(candidate.tests):
        if categorical and place == heaviest:
            named = [t[1] for i, t in enumerate(candidate.tests) if i != heaviest]
            chosen = {c for part in named for c in part}  # type: ignore[union-attr]
            categories = data.features[candidate.feature].categories
            op, value = Op.NOT_IN, tuple(c for c in categories if c in chosen)
        when = Condition(candidate.feature, op, value, missing=place == heaviest)
        branches.append(Branch(when, 0, candidate.weights[place]))
    return branches


def statistics(data: Dataset, rows: Rows) -> Stats:
    """What a leaf here would rest on; the same whatever the order of the rows."""
    y = data.y[rows]
    if data.labels:
        counts = np.bincount(y, minlength=len(data.labels))
        return ClassCounts(tuple(float(count) for count in counts))
    rough = math.fsum(y) / len(y)
    rest = math.fsum([*y, *[-rough] * len(y)])  # what rounding left out
    mean = rough + rest / len(y) + 0.0
    return Moments(float(len(y)), mean, math.fsum((y - mean) ** 2))
