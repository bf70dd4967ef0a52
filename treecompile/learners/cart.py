"""CART: binary splits by Gini impurity or another measure, or by least squares.

Numeric features are cut at the midpoints of adjacent values, ordinal ones between
adjacent categories. Of a categorical feature the categories are put in the order of the
mean response and cut like numbers, which finds the best subset for two labels and for
regression (Breiman et al. 1984). Where it need not (more labels, a cut that leaves too
few cases, a measure that is no decrease of impurity) and no more than `MOST_SEARCHED`
categories occur at the node, all subsets are tried; with more, and more than two
labels, the order by the share of each label in turn. A split is judged on the cases
whose value is known, its gain scaled by their share.
"""

from __future__ import annotations

from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import Tree
from treecompile.learners.criteria import LEAST_SQUARES, MEASURES
from treecompile.learners.levels import grow_levels
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.responses import Labels, Numbers
from treecompile.learners.thresholds import midpoints
from treecompile.learners.units import Units

__all__ = ["check", "learn", "midpoints"]


def learn(
    data: Dataset, limits: Limits, progress: Progress, criterion: str = ""
) -> Tree:
    """Grow a tree by CART."""
    check(data, criterion)
    units = Units.of_data(data)
    if data.labels:
        labels = Labels(data.y, data.labels, units)
        measure = MEASURES[criterion or "gini"]
        return grow_levels(data, labels, measure, limits, progress)
    numbers = Numbers(data.y, units)
    return grow_levels(data, numbers, LEAST_SQUARES, limits, progress)


def check(data: Dataset, criterion: str) -> None:
    """Refuse a target that the criterion is not for."""
    if criterion and not data.labels:
        raise OptionError(
            f"--criterion {criterion!r} is for labels, and the target {data.target!r}"
            " is a number: leave the option out, or use --task classify"
        )
