"""ID3: categorical features, information gain, one branch for each category.

A feature is not used again below its split, where it is constant. A category that does
not occur at a node becomes a leaf with the majority of the node. A missing value counts
as the most common value at the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treecompile.learning.grow.criteria import MEASURES
from treecompile.learning.grow.responses import LabelResponse
from treecompile.learning.grow.rows import grow_tree
from treecompile.learning.grow.segments import Units
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.errors import DataError
from treecompile.model.ir import Feature, Kind, Tree
from treecompile.tables.dataset import Dataset


def learn(
    data: Dataset, limits: GrowthLimits, progress: Progress, criterion: str = ""
) -> Tree:
    """Grow a tree by ID3."""
    categories = replace(data, features=unordered(data.features))
    labels = LabelResponse(data.y, data.labels, Units.of_data(data))
    measure = MEASURES[criterion or "entropy"]
    return grow_tree(categories, labels, measure, limits, progress, is_multiway=True)


def unordered(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """Make ordinal features categorical, as ID3 ignores order; refuse numeric ones."""
    for feature in features:
        if feature.kind is Kind.NUMERIC:
            raise DataError(
                f"id3 needs categories, and column {feature.name!r} is numeric: use"
                " algorithm=cart, categorical for codes, or bin the column first"
            )
    return tuple(replace(feature, kind=Kind.CATEGORICAL) for feature in features)
