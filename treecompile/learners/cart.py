"""CART: binary splits by Gini impurity, entropy or least squares.

Numeric features are cut at the midpoints of adjacent values, ordinal ones between
adjacent categories. Of a categorical feature the categories are put in the order of the
mean response and cut like numbers, which finds the best subset for two labels and for
regression (Breiman et al. 1984); with more labels, the order by the share of each label
in turn is tried and the best cut taken. A split is judged on the cases whose value is
known, its gain scaled by their share.
"""

from __future__ import annotations

from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import Tree
from treecompile.learners.criteria import CRITERIA, squares
from treecompile.learners.grow import Limits, Progress
from treecompile.learners.levels import grow_levels
from treecompile.learners.responses import Labels, Numbers
from treecompile.learners.thresholds import midpoints

__all__ = ["learn", "midpoints"]


def learn(
    data: Dataset, limits: Limits, progress: Progress, criterion: str = ""
) -> Tree:
    """Grow a tree by CART."""
    if data.labels:
        labels = Labels(data.y, data.labels)
        gain = CRITERIA[criterion or "gini"]
        return grow_levels(data, labels, gain, limits, progress)
    if criterion:
        raise OptionError(
            f"--criterion {criterion!r} is for labels, and the target {data.target!r}"
            " is a number: leave the option out, or use --task classify"
        )
    return grow_levels(data, Numbers(data.y), squares, limits, progress)
