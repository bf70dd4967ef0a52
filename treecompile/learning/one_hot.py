"""One against the rest: replaces a categorical feature by a feature for each category.

Any learner can use the expanded dataset. In its tree, every test of such a feature is
then translated (`Expanded.restore`) to `is this category` or `is another one`, of the
original feature. An unseen category is another one; a missing value stays missing.
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


@dataclass(frozen=True, slots=True, eq=False)
class Expanded:
    data: Dataset
    features: tuple[ir.Feature, ...]  # the original ones
    # For each column: its original feature, and its category if that is expanded.
    origins: tuple[tuple[int, ir.Category | None], ...]

    def restore(self, tree: ir.Tree) -> ir.Tree:
        """Translate a tree to the original features."""
        if len(self.origins) == len(self.features):  # none is expanded
            return tree
        features, nodes = list(self.features), list(tree.nodes)
        for (index, category), feature in zip(self.origins, tree.features, strict=True):
            if category is None:
                features[index] = feature  # which a learner may have changed
        for place, node in enumerate(nodes):
            if isinstance(node, ir.Split):
                tests = (
                    replace(each, when=self._test(each.when)) for each in node.branches
                )
                nodes[place] = replace(node, branches=tuple(tests))
        return replace(tree, features=tuple(features), nodes=tuple(nodes))

    def _test(self, when: ir.Condition) -> ir.Condition:
        index, category = self.origins[when.feature]
        op, value = when.op, when.value
        if category is not None:
            assert isinstance(value, tuple)
            is_this = (THIS in value) == (op is ir.Op.IN)
            op, value = ir.Op.IN if is_this else ir.Op.NOT_IN, (category,)
        return ir.Condition(index, op, value, when.missing)


def expand(data: Dataset, names: Sequence[str]) -> Expanded:
    """Expand the categorical features with these names.

    Features with fewer than three categories stay as they are.
    """
    _check(data, names)
    features, columns = [], []
    origins: list[tuple[int, ir.Category | None]] = []
    pairs = zip(data.features, data.columns, strict=True)
    for index, (feature, column) in enumerate(pairs):
        count = len(feature.categories)
        if feature.name not in names or count < 3:
            features.append(feature)
            columns.append(column)
            origins.append((index, None))
            continue
        if count > MOST_EXPANDED:
            raise OptionError(
                f"one_hot: column {feature.name!r} has {count} categories, more than"
                f" {MOST_EXPANDED}: group them first, or add ignore={feature.name!r}"
            )
        for code, category in enumerate(feature.categories):
            two = ir.Feature(
                feature.name, feature.kind, ir.ValueType.INT, (THIS, OTHER)
            )
            codes = np.where(column == code, THIS, OTHER)
            features.append(two)
            columns.append(np.where(column < 0, -1, codes).astype(np.int32))
            origins.append((index, category))
    expanded = replace(data, features=tuple(features), columns=tuple(columns))
    return Expanded(expanded, data.features, tuple(origins))


def _check(data: Dataset, names: Sequence[str]) -> None:
    kinds = {feature.name: feature.kind for feature in data.features}
    for name in names:
        if name not in kinds:
            raise OptionError(f"one_hot: there is no column {name!r} to learn from")
        if kinds[name] is not ir.Kind.CATEGORICAL:
            raise OptionError(
                f"one_hot: column {name!r} is {kinds[name]}: only a categorical one"
                " has values to set against the rest"
            )
