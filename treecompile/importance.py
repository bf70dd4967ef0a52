"""What the statistics of the nodes say: their impurity, and what each feature is worth.

The importance of a feature is the decrease of impurity that its splits bring about,
weighted by the cases, as a share of that of all features.
"""

from __future__ import annotations

from math import fsum, log2

from treecompile.errors import OptionError
from treecompile.ir import Leaf, Moments, Program, Split, Stats, Tree

GINI, ENTROPY, VARIANCE = "gini", "entropy", "variance"
MEASURES = {"id3": ENTROPY, "c45": ENTROPY, "cart": GINI}  # if no criterion is given


def tree_of(program: Program) -> Tree:
    """The tree of a program; a list of rules is an error."""
    if isinstance(program.body, Tree):
        return program.body
    raise OptionError(
        "a list of rules has no splits to measure: take the tree that it comes from"
    )


def measure_of(program: Program) -> str | None:
    """What the impurity of a program's nodes is measured by; None if that is unknown.

    What a tree was grown by is told by its options, or is its algorithm's own; trees of
    other programs tell the gain of their splits alone.
    """
    if program.algorithm not in MEASURES:
        return None
    if not program.body.labels:
        return VARIANCE
    given = dict(program.options).get("criterion", MEASURES[program.algorithm])
    return GINI if given == GINI else ENTROPY


def impurity(stats: Stats, measure: str) -> float | None:
    """How mixed the cases of a node are; None if its statistics do not tell."""
    if isinstance(stats, Moments):
        return None if stats.sse is None else stats.sse / stats.weight
    shares = [weight / stats.weight for weight in stats.weights if weight]
    if measure == GINI:
        return 1.0 - fsum(share * share for share in shares)
    return fsum(-share * log2(share) for share in shares) + 0.0


def importances(program: Program) -> dict[str, float]:
    """The importance of every feature, in column order; in sum 1, or all 0."""
    tree = tree_of(program)
    measure = measure_of(program)
    parts: list[list[float]] = [[] for _ in tree.features]
    for node in tree.nodes:
        if isinstance(node, Split):
            feature = node.branches[0].when.feature
            parts[feature].append(max(_decrease(tree, node, measure), 0.0))
    sums = [fsum(part) for part in parts]
    total = fsum(sums) or 1.0
    return {
        feature.name: part / total
        for feature, part in zip(tree.features, sums, strict=True)
    }


def _decrease(tree: Tree, split: Split, measure: str | None) -> float:
    """The impurity of a split's cases, less that of its branches, by their weight."""
    if measure is None:
        return split.stats.weight * split.gain
    after = []
    for branch in split.branches:
        child = tree.nodes[branch.then]
        # A leaf that no case reached has the statistics of others.
        weight = child.weight if isinstance(child, Leaf) else child.stats.weight
        after.append(weight * (impurity(child.stats, measure) or 0.0))
    before = split.stats.weight * (impurity(split.stats, measure) or 0.0)
    return before - fsum(after)
