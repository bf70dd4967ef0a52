"""CART: binary splits by Gini impurity or another measure, or by least squares.

Numeric features are split at the midpoints of adjacent values, ordinal ones between
adjacent categories. The categories of a categorical feature are put in the order of the
mean response and split like numbers. For two labels and for regression this finds the
best subset (Breiman et al. 1984). It may miss it with more labels, with a cut that
leaves too few cases, or with a measure that is not a decrease of impurity. Then all
subsets are tried if at most `MOST_SEARCHED` categories occur at the node; otherwise,
with more than two labels, categories are ordered by the share of each label in turn.

A split is scored on the cases with a known value, and its gain is scaled by their
share. A training case with a missing value goes down the heaviest branch
(`grow.rows.RowSource`); there are no surrogate splits.
"""

from __future__ import annotations

from treecompile.learning.grow.criteria import LEAST_SQUARES, MEASURES
from treecompile.learning.grow.responses import LabelResponse, NumberResponse
from treecompile.learning.grow.rows import grow_tree
from treecompile.learning.grow.segments import Units
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.ir import Tree
from treecompile.tables.dataset import Dataset


def learn(
    data: Dataset, limits: GrowthLimits, progress: Progress, criterion: str = ""
) -> Tree:
    """Grow a tree by CART."""
    units = Units.of_data(data)
    if data.labels:
        labels = LabelResponse(data.y, data.labels, units)
        measure = MEASURES[criterion or "gini"]
        return grow_tree(data, labels, measure, limits, progress)
    numbers = NumberResponse(data.y, units)
    return grow_tree(data, numbers, LEAST_SQUARES, limits, progress)
