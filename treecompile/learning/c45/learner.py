"""C4.5, release 8: gain ratio, cuts of numbers, fractional cases, pessimistic pruning.

`learn` grows a tree from a dataset in memory and prunes it. A split by a categorical
feature has a branch for each category, and the feature is not tested again below; with
grouping it has a branch for each group. Numeric and ordinal splits are binary. Of the
features with at least average gain, the one with the best gain ratio is chosen. A case
with a missing value goes down every branch with a part of its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.learning.c45.case_columns import CaseSource
from treecompile.learning.c45.case_growth import CaseGrowth
from treecompile.learning.c45.fractional_cases import Sample
from treecompile.learning.c45.gain_ratio import FeatureChoice, counted_features
from treecompile.learning.c45.pessimistic_pruning import (
    CaseDraft,
    finish_case_tree,
    prune,
)
from treecompile.learning.costs import worth_of
from treecompile.learning.grow.bin_counts import worth_bins
from treecompile.learning.grow.rows import threads
from treecompile.learning.options import GrowthLimits, Progress
from treecompile.model.collector import paused
from treecompile.model.errors import OptionError
from treecompile.model.ir import Feature, Kind, Tree
from treecompile.tables.dataset import Dataset

MOST_GROUPED = 200  # categories; the time of grouping grows with their third power


@dataclass(frozen=True, slots=True)
class C45Options:
    """The options of C4.5, besides the limits of growth."""

    is_ratio: bool = True  # by gain ratio; False: by plain information gain
    is_pruning: bool = True
    cf: float = 0.25  # confidence level of pruning: a smaller one prunes more
    is_fractional: bool = True  # cases with a missing value are divided in training
    is_grouping: bool = False
    costs: tuple[tuple[str, float], ...] = ()  # of some columns


def learn(
    data: Dataset,
    limits: GrowthLimits,
    progress: Progress,
    options: C45Options = C45Options(),
) -> Tree:
    """Grow and prune a tree by C4.5."""
    with paused(lasting=True):
        made = draft(data, limits, progress, options)
        return finish_case_tree(made, data.features, data.labels)


def draft(
    data: Dataset, limits: GrowthLimits, progress: Progress, options: C45Options
) -> CaseDraft:
    """Grow and prune a draft, in which the training cases of each node are counted."""
    choice = choice_of(data.features, len(data.y), limits, options)
    with threads(limits) as pool:
        run = pool.map if worth_bins(len(data.y)) else map
        sample = Sample(data, is_fractional=options.is_fractional, run=run)
        source = CaseSource(
            sample, pool, choice, limits, is_grouping=options.is_grouping
        )
        growth = CaseGrowth(source, choice, limits, progress)
        growth.run()
        made = growth.finish()
        if options.is_pruning:
            prune(made, sample, options.cf)
    return made


def choice_of(
    features: Sequence[Feature], rows: int, limits: GrowthLimits, options: C45Options
) -> FeatureChoice:
    """Return the rule by which features are compared."""
    if options.is_grouping:
        _check_groups(features)
    return FeatureChoice(
        counted_features(features, rows, is_grouping=options.is_grouping),
        limits.min_gain,
        worth_of(options.costs, features) if options.costs else None,
        options.is_ratio,
    )


def _check_groups(features: Sequence[Feature]) -> None:
    for feature in features:
        count = len(feature.categories)
        if feature.kind is Kind.CATEGORICAL and count > MOST_GROUPED:
            raise OptionError(
                f"subset: column {feature.name!r} has {count} categories, more than"
                f" {MOST_GROUPED}: group them first, or add ignore={feature.name!r}"
            )
