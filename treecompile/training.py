"""From data to a measured tree: the options of learning, checked, and one line.

data -> Dataset -> learner -> Tree -> pruned -> Program with what is known about it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from treecompile.cases import Cases
from treecompile.data import DataOptions, Dataset, make_dataset, take
from treecompile.errors import OptionError
from treecompile.ir import MissingPolicy, Program, Training, Tree
from treecompile.learners import (
    C45,
    CART,
    COST_COMPLEXITY,
    PESSIMISTIC,
    Offer,
    default_algorithm,
    offer_of,
)
from treecompile.learners.c45 import C45Options
from treecompile.learners.costs import MEASURES, Costs, check_costs
from treecompile.learners.grow import Limits, Progress
from treecompile.learners.prune import cost_complexity
from treecompile.quality import measured, read_cases
from treecompile.read import read_table

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class LearnOptions:
    """How to learn; what the columns mean is in `data.DataOptions`."""

    algorithm: str = ""  # "" chooses by the data
    max_depth: int | None = None
    min_split: int = 2
    min_leaf: int | None = None  # None: 2 for c45, else 1
    min_gain: float = 0.0
    max_leaves: int | None = None  # cart: then the best splits are made first
    criterion: str = ""  # "" is the algorithm's own, as for prune and missing
    prune: str = ""
    alpha: float | None = None  # of cost-complexity; None: 0.01, as rpart's cp
    cf: float = 0.25  # confidence level of pessimistic pruning
    missing: str = ""  # in training: majority or fractional
    predict_missing: str = "branch"  # or fractional
    subset: bool = False  # c45: branches for groups of categories
    costs: tuple[tuple[str, float], ...] = ()  # c45: columns and what they cost
    cost_measure: str = "eg2"  # or cs-id3 or idx
    cost_weight: float = 1.0  # of the cost, for eg2
    validation_fraction: float = 0.0  # rows held out at random to measure the quality
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Learned:
    program: Program
    notes: tuple[str, ...]  # what was chosen, and what looks odd
    training: Cases  # what the tree was grown from, for pruning its rules
    validation: Cases | None = None  # and what was held out


def learn(
    data: str | Path | pd.DataFrame,
    columns: DataOptions,
    options: LearnOptions = LearnOptions(),
    validation: str | Path | pd.DataFrame | None = None,
    progress: Callable[[int], Progress] = lambda rows: lambda settled: None,
) -> Learned:
    """Read the data, grow a tree, and measure it."""
    _check(options, validation is not None)
    table = read_table(data)
    check_costs(options.costs, table.names, columns.target)
    whole = make_dataset(table, columns)
    training, held_out = _split_off(whole, options)
    algorithm = options.algorithm or default_algorithm(whole)
    tree = _grow(training, algorithm, options, progress(len(training.y)))
    program = Program(
        target=whole.target,
        algorithm=algorithm,
        body=tree,
        options=_given(options),
        na_values=columns.na_values,
    )
    cases = Cases(training.columns, training.y)
    validated = None
    if validation is not None:
        validated = read_cases(program, read_table(validation))
    elif held_out is not None:
        validated = Cases(held_out.columns, held_out.y)
    summary = Training(
        source=whole.source, rows=len(training.y), columns=training.summaries()
    )
    chosen = () if options.algorithm else (f"algorithm: {algorithm}",)
    known = measured(replace(program, training=summary), cases, validated)
    return Learned(known, (*whole.notes, *chosen), cases, validated)


def _grow(
    data: Dataset, algorithm: str, options: LearnOptions, progress: Progress
) -> Tree:
    offer = offer_of(algorithm)
    _check_offer(algorithm, offer, options)
    limits = Limits(
        options.max_depth,
        options.min_split,
        options.min_leaf or offer.min_leaf,
        options.min_gain,
        options.max_leaves,
    )
    prune = options.prune or offer.prunings[0]
    policy = MissingPolicy(options.predict_missing)
    costs = Costs(options.costs, options.cost_measure, options.cost_weight)
    own = C45Options(
        is_ratio=options.criterion != "gain",
        is_pruning=prune == PESSIMISTIC,
        cf=options.cf,
        is_fractional=(options.missing or offer.missing[0]) == "fractional",
        policy=policy,
        is_grouping=options.subset,
        costs=costs if options.costs else None,
    )
    tree = offer.learn(data, limits, progress, options.criterion, own)
    if prune == COST_COMPLEXITY:
        tree = cost_complexity(tree, 0.01 if options.alpha is None else options.alpha)
    return replace(tree, missing=policy)


CHOICES = {"predict_missing": ("branch", "fractional"), "cost_measure": MEASURES}


def _check_offer(algorithm: str, offer: Offer, options: LearnOptions) -> None:
    """Refuse what the algorithm does not have."""
    for name, known in (
        ("criterion", offer.criteria),
        ("prune", offer.prunings),
        ("missing", offer.missing),
    ):
        given = getattr(options, name)
        if given and given not in known:
            shown = ", ".join(known)
            raise OptionError(f"{_as_option(name)} {given!r}: {algorithm} has {shown}")
    for name in ("cf", "subset", "costs"):
        if algorithm != C45 and getattr(options, name) != _default(name):
            raise OptionError(
                f"{_as_option(name)} is for --algorithm c45, not {algorithm}"
            )
    if algorithm != CART and options.max_leaves is not None:
        raise OptionError(f"--max-leaves is for --algorithm cart, not {algorithm}")


def _as_option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _default(name: str) -> object:
    return next(f.default for f in fields(LearnOptions) if f.name == name)


def _check(options: LearnOptions, has_validation: bool) -> None:
    for name, choices in CHOICES.items():
        if getattr(options, name) not in choices:
            known = " or ".join(choices)
            given = getattr(options, name)
            raise OptionError(f"{_as_option(name)} {given!r}: expected {known}")
    if not 0 < options.cf <= 1:
        raise OptionError(f"--cf {options.cf}: expected a number above 0, up to 1")
    if not 0 <= options.cost_weight < inf:
        raise OptionError(f"--cost-weight {options.cost_weight}: expected 0 or more")
    least = {
        **{"max_depth": 0, "min_split": 1, "min_leaf": 1, "min_gain": 0},
        **{"max_leaves": 1, "alpha": 0},
    }
    for name, bound in least.items():
        value = getattr(options, name)
        if value is not None and not value >= bound:
            raise OptionError(f"{_as_option(name)} {value}: expected {bound} or more")
    if options.prune != COST_COMPLEXITY and options.alpha is not None:
        raise OptionError("--alpha is for --prune cost-complexity: add it")
    if not 0 <= options.validation_fraction < 1:
        raise OptionError("--validation-fraction: expected a number from 0 to below 1")
    if has_validation and options.validation_fraction:
        raise OptionError("give --validation or --validation-fraction, not both")


def _split_off(data: Dataset, options: LearnOptions) -> tuple[Dataset, Dataset | None]:
    """Hold out a seeded fraction of the rows."""
    count = round(len(data.y) * options.validation_fraction)
    if not count:
        return data, None
    if count == len(data.y):
        raise OptionError("--validation-fraction leaves no row to learn from")
    order = np.random.default_rng(options.seed).permutation(len(data.y))
    return take(data, np.sort(order[count:])), take(data, np.sort(order[:count]))


def _given(options: LearnOptions) -> tuple[tuple[str, str | int | float | bool], ...]:
    """The options that differ from their defaults; the algorithm is told elsewhere."""
    given = {
        entry.name: getattr(options, entry.name)
        for entry in fields(options)
        if entry.name != "algorithm" and getattr(options, entry.name) != entry.default
    }
    if "costs" in given:
        given["costs"] = ", ".join(f"{name}: {cost!r}" for name, cost in options.costs)
    return tuple(given.items())
