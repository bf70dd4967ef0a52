"""One against the rest: a categorical feature becomes one feature for each category.

Any learner can use the expanded dataset. In its tree, every test of such a feature
becomes `is this category` or `is another one`, of the original feature. An unseen
category is another one; a missing value stays missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecompile.model import ir
from treecompile.model.errors import OptionError
from treecompile.tables.dataset import Dataset

MOST_EXPANDED = 200  # categories, since each becomes a column
THIS, OTHER = 0, 1  # the two categories of an expanded column


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a column of the expanded dataset comes from."""

    feature: int
    category: ir.Category | None = None  # None: the feature is not expanded


@dataclass(frozen=True, slots=True, eq=False)
class Expanded:
    data: Dataset
    features: tuple[ir.Feature, ...]  # the original ones
    origins: tuple[Origin, ...]

    def restore(self, tree: ir.Tree) -> ir.Tree:
        """The same tree over the original features."""
        features = list(self.features)
        for origin, feature in zip(self.origins, tree.features, strict=True):
            if origin.category is None:
                features[origin.feature] = feature  # a learner may have changed it
        nodes = tuple(map(self._node, tree.nodes))
        return replace(tree, features=tuple(features), nodes=nodes)

    def _node(self, node: ir.Node) -> ir.Node:
        if not isinstance(node, ir.Split):
            return node
        return replace(node, branches=tuple(map(self._branch, node.branches)))

    def _branch(self, branch: ir.Branch) -> ir.Branch:
        when = branch.when
        origin = self.origins[when.feature]
        op, value = when.op, when.value
        if origin.category is not None:
            assert isinstance(value, tuple)
            is_this = (THIS in value) == (op is ir.Op.IN)
            op, value = ir.Op.IN if is_this else ir.Op.NOT_IN, (origin.category,)
        moved = ir.Condition(origin.feature, op, value, when.missing)
        return replace(branch, when=moved)


def expand(data: Dataset, names: Sequence[str], *, is_all: bool) -> Expanded:
    """Expand the categorical features with these names, or all."""
    _check(data, names)
    features, columns, origins = [], [], []
    pairs = zip(data.features, data.columns, strict=True)
    for index, (feature, column) in enumerate(pairs):
        is_meant = is_all or feature.name in names
        count = len(feature.categories)
        if not is_meant or feature.kind is not ir.Kind.CATEGORICAL or count < 3:
            features.append(feature)
            columns.append(column)
            origins.append(Origin(index))
            continue
        if count > MOST_EXPANDED:
            raise OptionError(
                f"--one-hot: column {feature.name!r} has {count} categories, more than"
                f" {MOST_EXPANDED}: group them first, or leave it out with --ignore"
            )
        for code, category in enumerate(feature.categories):
            two = ir.Feature(
                feature.name, feature.kind, ir.ValueType.INT, (THIS, OTHER)
            )
            codes = np.where(column == code, THIS, OTHER)
            features.append(two)
            columns.append(np.where(column < 0, -1, codes).astype(np.int32))
            origins.append(Origin(index, category))
    expanded = replace(data, features=tuple(features), columns=tuple(columns))
    return Expanded(expanded, data.features, tuple(origins))


def _check(data: Dataset, names: Sequence[str]) -> None:
    kinds = {feature.name: feature.kind for feature in data.features}
    for name in names:
        if name not in kinds:
            raise OptionError(f"--one-hot: there is no column {name!r} to learn from")
        if kinds[name] is not ir.Kind.CATEGORICAL:
            raise OptionError(
                f"--one-hot: column {name!r} is {kinds[name]}: only a categorical one"
                " has values to set against the rest"
            )
