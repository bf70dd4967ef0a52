"""Value against rest: a categorical feature as one feature for each of its categories.

Any learner can be given the expanded dataset; in its tree every test of such a feature
becomes `is this category` or `is another`, of the feature as it was. A category that
was never seen is another one; a missing value stays missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import (
    Branch,
    Category,
    Condition,
    Feature,
    Kind,
    Node,
    Op,
    Split,
    Tree,
    ValueType,
)

MOST_EXPANDED = 200  # categories: each becomes a column
THIS, OTHER = 0, 1  # the two categories of such a column


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a column of the expanded dataset comes from."""

    feature: int
    category: Category | None = None  # None: it is the feature itself


@dataclass(frozen=True, slots=True, eq=False)
class Expanded:
    data: Dataset
    features: tuple[Feature, ...]  # as they were
    origins: tuple[Origin, ...]

    def restore(self, tree: Tree) -> Tree:
        """The same tree over the features as they were."""
        features = list(self.features)
        for origin, feature in zip(self.origins, tree.features, strict=True):
            if origin.category is None:
                features[origin.feature] = feature  # as the learner saw it
        nodes = tuple(map(self._node, tree.nodes))
        return replace(tree, features=tuple(features), nodes=nodes)

    def _node(self, node: Node) -> Node:
        if not isinstance(node, Split):
            return node
        return replace(node, branches=tuple(map(self._branch, node.branches)))

    def _branch(self, branch: Branch) -> Branch:
        when = branch.when
        origin = self.origins[when.feature]
        op, value = when.op, when.value
        if origin.category is not None:
            assert isinstance(value, tuple)
            is_this = (THIS in value) == (op is Op.IN)
            op, value = Op.IN if is_this else Op.NOT_IN, (origin.category,)
        moved = Condition(origin.feature, op, value, when.missing)
        return replace(branch, when=moved)


def expand(data: Dataset, names: Sequence[str], *, is_all: bool) -> Expanded:
    """Expand the categorical features with these names, or all of them."""
    _check(data, names)
    features, columns, origins = [], [], []
    for place, (feature, column) in enumerate(
        zip(data.features, data.columns, strict=True)
    ):
        is_meant = is_all or feature.name in names
        count = len(feature.categories)
        if not is_meant or feature.kind is not Kind.CATEGORICAL or count < 3:
            features.append(feature)
            columns.append(column)
            origins.append(Origin(place))
            continue
        if count > MOST_EXPANDED:
            raise OptionError(
                f"--one-hot: column {feature.name!r} has {count} categories, more than"
                f" {MOST_EXPANDED}: group them first, or leave it out with --ignore"
            )
        for code, category in enumerate(feature.categories):
            two = Feature(feature.name, feature.kind, ValueType.INT, (THIS, OTHER))
            codes = np.where(column == code, THIS, OTHER)
            features.append(two)
            columns.append(np.where(column < 0, -1, codes).astype(np.int32))
            origins.append(Origin(place, category))
    expanded = replace(data, features=tuple(features), columns=tuple(columns))
    return Expanded(expanded, data.features, tuple(origins))


def _check(data: Dataset, names: Sequence[str]) -> None:
    kinds = {feature.name: feature.kind for feature in data.features}
    for name in names:
        if name not in kinds:
            raise OptionError(f"--one-hot: there is no column {name!r} to learn from")
        if kinds[name] is not Kind.CATEGORICAL:
            raise OptionError(
                f"--one-hot: column {name!r} is {kinds[name]}: only a categorical one"
                " has values to set against the rest"
            )
