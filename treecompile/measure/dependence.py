"""Computes partial dependence: how a forest's margin depends on one feature.

No data is needed: a value of the feature is followed down each tree. A split on the
feature sends it to one branch. At any other split it goes both ways, weighted by the
training rows that took each. So the other features are averaged over training, as far
as the trees remember it. (This is the method `recursion` of scikit-learn.)

The trees are added up in double, and the link is not applied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from treecompile.model import ir
from treecompile.model.arrays import Array, Floats
from treecompile.model.batch import holds
from treecompile.model.semantics import threshold

MOST_STEPS = 60  # steps in the curve of a numeric feature
BEYOND = 0.05  # how much wider the curve is than its thresholds, if no range is known
HUGE = 1e100  # a threshold beyond it, such as 1e300, only tells missing values apart
NO_FEATURE = -1
UNKNOWN_WEIGHTS = (0.0, 1.0)  # importers write these if a file has no weights


@dataclass(frozen=True, slots=True)
class Dependence:
    """The average margins that go with the values of one feature."""

    feature: int
    edges: tuple[float, ...]  # of a numeric feature: where each step begins and ends
    margins: Floats  # a row for each step, or for each category; a column per output
    missing: Floats  # of a missing value, for each output
    mean: Floats  # over all values, for each output


def dependences(
    forest: ir.Forest, features: Sequence[int], training: ir.Training | None = None
) -> list[Dependence]:
    """Return the dependence on each given feature; `training` may know their ranges."""
    limits = _thresholds(forest)
    (mean,) = partial_margins(forest, NO_FEATURE, np.zeros(1))
    found = []
    for index in features:
        feature = forest.features[index]
        edges: tuple[float, ...] = ()
        if feature.kind is ir.Kind.NUMERIC:
            known = training.columns[index] if training else None
            edges = _edges(limits[index], known)
            column = np.array([*map(_between, edges, edges[1:]), np.nan])
        else:
            column = np.array([*range(len(feature.categories)), -1])
        margins = partial_margins(forest, index, column)
        found.append(Dependence(index, edges, margins[:-1], margins[-1], mean))
    return found


def partial_margins(forest: ir.Forest, index: int, column: Array) -> Floats:
    """Return the mean margin at each value of a feature, with a column per output.

    The values are coded as in `batch`: numbers with NaN for missing, or category codes.
    """
    is_weighted = knows_weights(forest)
    sums = np.tile(np.array(forest.start), (len(column), 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for member in forest.members:
            sums[:, member.outputs] += _added(member, index, column, is_weighted)
        sums = sums / forest.divisor * forest.scale
        if forest.offset:
            sums += np.array(forest.offset)
    return sums


def knows_weights(forest: ir.Forest) -> bool:
    """Whether the trees remember how many training rows went down each branch."""
    return any(
        branch.weight not in UNKNOWN_WEIGHTS
        for member in forest.members
        for node in member.tree.nodes
        if isinstance(node, ir.Split)
        for branch in node.branches
    )


def _added(
    member: ir.Member, index: int, column: Array, is_weighted: bool
) -> float | Array:
    """Compute what a tree adds on average, from the leaves upwards.

    Below most nodes, nothing depends on the feature: there the result is one number (or
    one for each output), and only elsewhere one for each value.
    """
    tree = member.tree
    is_one = len(member.outputs) == 1
    found: list[float | Array] = [0.0] * len(tree.nodes)
    leaves = [1] * len(tree.nodes)  # below each node
    for position in reversed(range(len(tree.nodes))):
        node = tree.nodes[position]
        if isinstance(node, ir.Leaf):
            assert isinstance(node.value, int)
            values = member.values[node.value]
            found[position] = values[0] if is_one else np.array(values)
            continue
        leaves[position] = sum(leaves[branch.then] for branch in node.branches)
        if node.branches[0].when.feature == index:
            found[position] = _followed(node, tree.features[index], column, found)
            continue
        weights = [branch.weight for branch in node.branches]
        total = sum(weights)
        if not is_weighted or not total:
            weights = [float(leaves[branch.then]) for branch in node.branches]
            total = sum(weights)
        mixed: float | Array = 0.0
        for weight, branch in zip(weights, node.branches, strict=True):
            mixed = mixed + weight / total * found[branch.then]
        found[position] = mixed
    return found[0]


def _followed(
    split: ir.Split, feature: ir.Feature, column: Array, found: Sequence[float | Array]
) -> Array:
    """Return, for each value, the result below the branch that it takes."""
    *first, last = split.branches
    taken: float | Array = found[last.then]
    for branch in first:
        mask = holds(branch.when, feature, column)[:, None]
        taken = np.where(mask, found[branch.then], taken)
    return np.asarray(taken)


# ---------------------------------------------------------------- the steps


def _thresholds(forest: ir.Forest) -> list[set[float]]:
    """Return the finite thresholds of each feature."""
    found: list[set[float]] = [set() for _ in forest.features]
    for member in forest.members:
        for node in member.tree.nodes:
            if isinstance(node, ir.Split):
                test = node.branches[0].when
                if isinstance(test.value, float) and isfinite(threshold(test)):
                    found[test.feature].add(test.value)
    return found


def _edges(limits: set[float], known: ir.ColumnSummary | None) -> tuple[float, ...]:
    """Return the edges of the steps: the thresholds (or some) and the two ends."""
    inner = sorted(limits)
    low = known.low if known else None
    high = known.high if known else None
    if low is None or high is None or not (isfinite(low) and isfinite(high)):
        low, high = _ends([limit for limit in inner if abs(limit) < HUGE])
    inner = [limit for limit in inner if low <= limit < high]
    if len(inner) >= MOST_STEPS:
        places = np.linspace(0, len(inner) - 1, MOST_STEPS - 1).round().astype(int)
        inner = [inner[place] for place in places]
    return (low, *(limit for limit in inner if limit > low), high)


def _ends(limits: Sequence[float]) -> tuple[float, float]:
    if not limits:
        return 0.0, 1.0
    low, high = limits[0], limits[-1]
    # Both are halved first: their difference may be too large for a double.
    beyond = 2 * BEYOND * (high / 2 - low / 2)
    if low - beyond == low or high + beyond == high:
        beyond = BEYOND * max(abs(low), abs(high)) or BEYOND
    ends = low - beyond, high + beyond
    return ends if all(map(isfinite, ends)) else (low, high)


def _between(low: float, high: float) -> float:
    """Return a number in the step, which includes its upper edge only."""
    middle = low / 2 + high / 2
    return middle if low < middle < high else high
