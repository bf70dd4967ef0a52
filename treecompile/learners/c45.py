"""C4.5, release 8: gain ratio, cuts of numbers, fractional cases, pessimistic pruning.

A categorical feature has a branch for each category, or with grouping for each group of
them, and is not tested again below; numbers and ordinal features are cut in two. The
feature with the best gain ratio is taken among those whose gain is at least average. A
case with a missing value goes down every branch with a part of its weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from treecompile.collector import paused
from treecompile.data import Dataset
from treecompile.errors import OptionError
from treecompile.ir import Feature, Kind, MissingPolicy, Tree
from treecompile.learners.c45_build import build
from treecompile.learners.c45_choice import Choice, counted_features
from treecompile.learners.c45_draft import Draft
from treecompile.learners.c45_grow import grow
from treecompile.learners.c45_passing import Held, Passing
from treecompile.learners.c45_prune import drop_impossible, prune
from treecompile.learners.c45_rows import RowSource
from treecompile.learners.c45_sample import Sample
from treecompile.learners.costs import Costs
from treecompile.learners.levels import THREADS
from treecompile.learners.limits import Limits, Progress

MOST_GROUPED = 200  # categories: the search for groups takes the third power of them


@dataclass(frozen=True, slots=True)
class C45Options:
    """What C4.5 can be asked beside the limits of growth."""

    is_ratio: bool = True  # gain ratio, not plain information gain
    is_pruning: bool = True
    cf: float = 0.25  # confidence level of pruning: the smaller, the more is pruned
    is_fractional: bool = True  # cases with a missing value are divided in training
    policy: MissingPolicy = MissingPolicy.BRANCH  # and what the tree does with them
    is_grouping: bool = False
    costs: Costs | None = None


def learn(
    data: Dataset,
    limits: Limits,
    progress: Progress,
    options: C45Options = C45Options(),
) -> Tree:
    """Grow and prune a tree by C4.5."""
    check(data, "")
    with paused(lasting=True):
        return build(draft(data, limits, progress, options), data, options.policy)


def check(data: Dataset, criterion: str) -> None:
    """Refuse a target that is no label, whatever the criterion."""
    if not data.labels:
        raise OptionError(
            f"c45 predicts labels, and the target {data.target!r} is a number:"
            " use --algorithm cart, or --task classify"
        )


def draft(
    data: Dataset, limits: Limits, progress: Progress, options: C45Options
) -> Draft:
    """The tree with its training cases counted, before it becomes conditions."""
    choice = choice_of(data.features, len(data.y), limits, options)
    sample = Sample(data, is_fractional=options.is_fractional)
    with ThreadPoolExecutor(THREADS) as pool:
        source = RowSource(
            sample,
            pool,
            float(limits.min_leaf),
            is_grouping=options.is_grouping,
            is_ratio=options.is_ratio,
        )
        made = grow(source, choice, limits, progress)
    if options.is_pruning:
        prune_by(made, sample, options.cf)
    return made


def choice_of(
    features: Sequence[Feature], rows: int, limits: Limits, options: C45Options
) -> Choice:
    """How features of a table of so many rows are compared."""
    if options.is_grouping:
        _check_groups(features)
    return Choice(
        counted_features(features, rows, is_grouping=options.is_grouping),
        limits.min_gain,
        options.costs.measure_for(features) if options.costs else None,
        options.is_ratio,
    )


def prune_by(made: Draft, cases: Passing[Held], cf: float) -> None:
    prune(made, cases, cf)
    drop_impossible(made)


def _check_groups(features: Sequence[Feature]) -> None:
    for feature in features:
        count = len(feature.categories)
        if feature.kind is Kind.CATEGORICAL and count > MOST_GROUPED:
            raise OptionError(
                f"--subset: column {feature.name!r} has {count} categories, more than"
                f" {MOST_GROUPED}: group them first, or leave it out with --ignore"
            )
