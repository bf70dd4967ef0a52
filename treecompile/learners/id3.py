"""ID3: categorical features, information gain, one branch for each category.

A feature is not used again below its split, where it is constant. A category that no
case of a node has becomes a leaf with the majority of the node. A feature that is
constant at a node is passed over: it could only repeat the node. A missing value counts
as the most common one at the node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treecompile.data import Dataset
from treecompile.errors import DataError, OptionError
from treecompile.ir import Feature, Kind, Tree
from treecompile.learners.criteria import MEASURES
from treecompile.learners.levels import grow_levels
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.responses import Labels
from treecompile.learners.units import Units


def learn(
    data: Dataset, limits: Limits, progress: Progress, criterion: str = ""
) -> Tree:
    """Grow a tree by ID3."""
    check(data, criterion)
    categories = replace(data, features=unordered(data.features))
    labels = Labels(data.y, data.labels, Units.of_data(data))
    measure = MEASURES[criterion or "entropy"]
    return grow_levels(categories, labels, measure, limits, progress, is_multiway=True)


def check(data: Dataset, criterion: str) -> None:
    """Refuse a target that is no label, whatever the criterion."""
    if not data.labels:
        raise OptionError(
            f"id3 predicts labels, and the target {data.target!r} is a number:"
            " use --algorithm cart, or --task classify"
        )


def unordered(features: Sequence[Feature]) -> tuple[Feature, ...]:
    """ID3 knows no order: an ordinal feature is a categorical one to it."""
    for feature in features:
        if feature.kind is Kind.NUMERIC:
            raise DataError(
                f"id3 needs categories, and column {feature.name!r} is numeric: use"
                " --algorithm cart, --categorical for codes, or bin the column first"
            )
    return tuple(replace(feature, kind=Kind.CATEGORICAL) for feature in features)
