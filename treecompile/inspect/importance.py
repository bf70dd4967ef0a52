"""The impurity of nodes, and the importance of features.

The importance of a feature is the decrease of impurity at its splits, weighted by their
cases, divided by the sum over all features. In a forest, it is the share of the gain of
all splits, or of their number (see `measure.forest_importance`).
"""

from __future__ import annotations

from math import fsum, log2

from treecompile.measure.forest_importance import split_shares
from treecompile.model import ir
from treecompile.model.errors import OptionError

GINI, ENTROPY, VARIANCE = "gini", "entropy", "variance"
MEASURES = {"id3": ENTROPY, "c45": ENTROPY, "cart": GINI}  # without --criterion


def tree_of(program: ir.Program) -> ir.Tree:
    """The tree of a program; a list of rules is an error."""
    if isinstance(program.body, ir.Tree):
        return program.body
    raise OptionError(
        "a list of rules has no splits to measure: use the tree it was made from"
    )


def measure_of(program: ir.Program) -> str | None:
    """The impurity measure that a tree was grown by; None if that is unknown.

    Options name it, or the algorithm has one by default. Trees that another library
    learned have only the gains of their splits.
    """
    if program.algorithm not in MEASURES:
        return None
    if not program.body.labels:
        return VARIANCE
    given = dict(program.options).get("criterion", MEASURES[program.algorithm])
    return GINI if given == GINI else ENTROPY


def impurity(stats: ir.Stats, measure: str) -> float | None:
    """The impurity of a node's cases; None if its statistics are not enough."""
    if isinstance(stats, ir.Moments):
        return None if stats.sse is None else stats.sse / stats.weight
    total = stats.weight
    # A share may be too small for a double: then it adds nothing.
    shares = [share for weight in stats.weights if (share := weight / total)]
    if measure == GINI:
        return 1.0 - fsum(share * share for share in shares)
    return fsum(-share * log2(share) for share in shares) + 0.0


def importances(program: ir.AnyProgram) -> dict[str, float]:
    """The importance of each feature, in column order; they sum to 1, or are all 0."""
    if isinstance(program, ir.ForestProgram):
        features = program.body.features
        shares = split_shares(program.body).shares
        return {f.name: share for f, share in zip(features, shares, strict=True)}
    tree = tree_of(program)
    measure = measure_of(program)
    parts: list[list[float]] = [[] for _ in tree.features]
    for node in tree.nodes:
        if isinstance(node, ir.Split):
            index = node.branches[0].when.feature
            parts[index].append(max(_decrease(tree, node, measure), 0.0))
    sums = [fsum(part) for part in parts]
    total = fsum(sums) or 1.0
    return {
        feature.name: part / total
        for feature, part in zip(tree.features, sums, strict=True)
    }


def _decrease(tree: ir.Tree, split: ir.Split, measure: str | None) -> float:
    """The impurity before a split minus that after it, weighted by cases."""
    if measure is None:
        return split.stats.weight * split.gain
    after = []
    for branch in split.branches:
        child = tree.nodes[branch.then]
        # A leaf that no case reached has the statistics of its parent.
        weight = child.weight if isinstance(child, ir.Leaf) else child.stats.weight
        after.append(weight * (impurity(child.stats, measure) or 0.0))
    before = split.stats.weight * (impurity(split.stats, measure) or 0.0)
    return before - fsum(after)
