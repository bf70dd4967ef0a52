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

from treecompile.batch import Columns
from treecompile.cases import Cases
from treecompile.data import (
    DataOptions,
    Dataset,
    encode_answers,
    encode_weights,
    make_dataset,
    take,
)
from treecompile.errors import DataError, OptionError
from treecompile.folds import fold_of
from treecompile.ir import MissingPolicy, Program, Training, Tree
from treecompile.learners import (
    C45,
    COST_COMPLEXITY,
    PESSIMISTIC,
    REDUCED_ERROR,
    Offer,
    default_algorithm,
    offer_of,
)
from treecompile.learners.c45 import C45Options
from treecompile.learners.choose_alpha import ONE_SE, RULES, Choice, choose_alpha
from treecompile.learners.costs import MEASURES, Costs, check_costs
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.one_hot import expand
from treecompile.learners.prune import cost_complexity, reduced_error
from treecompile.learners.weighting import Given, Weighting, odd_scale
from treecompile.quality import measured, read_cases
from treecompile.read import Table, read_table

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
    max_leaves: int | None = None  # not c45: then the best splits are made first
    chi2: float | None = None  # a split that chance explains so often is not made
    min_sse: float | None = None  # numbers: squared error that a node needs
    criterion: str = ""  # "" is the algorithm's own, as for prune and missing
    prune: str = ""
    alpha: float | str | None = None  # or cv or 1se; None: 0.01, as rpart's cp
    alpha_folds: int = 10  # of the cross-validation that chooses alpha
    cf: float = 0.25  # confidence level of pessimistic pruning
    missing: str = ""  # in training: majority or fractional
    predict_missing: str = "branch"  # or fractional
    subset: bool = False  # c45: branches for groups of categories
    costs: tuple[tuple[str, float], ...] = ()  # c45: columns and what they cost
    cost_measure: str = "eg2"  # or cs-id3 or idx
    cost_weight: float = 1.0  # of the cost, for eg2
    one_hot: tuple[str, ...] = ()  # columns of which values stand against the rest
    one_hot_all: bool = False  # the same for all columns of categories
    class_weight: Given = ()  # labels and how much they count
    balanced: bool = False  # all labels count the same
    prior: Given = ()  # labels and the share of each
    validation_fraction: float = 0.0  # rows held out at random to measure or prune by
    seed: int = 0  # of what is held out, and of folds


@dataclass(frozen=True, slots=True)
class Learned:
    program: Program
    notes: tuple[str, ...]  # what was chosen, and what looks odd
    training: Cases  # what the tree was grown from, for pruning its rules
    validation: Cases | None = None  # and what was held out
    choice: Choice | None = None  # of alpha, by cross-validation


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree, pruned as the options say, and the choice of alpha if there was one."""

    tree: Tree
    choice: Choice | None = None


OPTIMISTIC = "the validation rows pruned the tree: its quality on them is optimistic"

# Columns, answers and weights of rows to prune by, for a tree that may not test all.
ToPruneBy = tuple[Columns, np.ndarray, np.ndarray | None]
HeldOut = Callable[[Tree], ToPruneBy]


def learn(
    data: str | Path | pd.DataFrame,
    columns: DataOptions,
    options: LearnOptions = LearnOptions(),
    validation: str | Path | pd.DataFrame | None = None,
    progress: Callable[[int], Progress] = lambda rows: lambda settled: None,
) -> Learned:
    """Read the data, grow a tree, and measure it."""
    check_options(options, validation is not None)
    table = read_table(data)
    other = None if validation is None else read_table(validation)
    check_costs(options.costs, table.names, columns.target)
    whole = make_dataset(table, columns)
    check_weighting(options, whole)
    training, held_out = split_off(whole, options)
    algorithm = options.algorithm or default_algorithm(whole)

    def program_of(tree: Tree) -> Program:
        return Program(whole.target, algorithm, tree, (), columns.na_values)

    def to_validate(tree: Tree) -> Cases | None:
        if other is not None:
            return _validation(program_of(tree), other)
        return None if held_out is None else Cases(held_out.columns, held_out.y)

    def to_prune_by(tree: Tree) -> ToPruneBy:
        cases = to_validate(tree)
        assert cases is not None
        own = None if held_out is None else held_out.weights
        if other is not None and columns.weights:
            own = _validation_weights(program_of(tree), other, columns.weights)
        return weighed(whole, options, cases.columns, cases.y, own)

    grown = grow_tree(training, algorithm, options, progress, to_prune_by)
    summary = Training(
        source=whole.source, rows=len(training.y), columns=training.summaries()
    )
    done = replace(
        program_of(grown.tree),
        options=given_options(options, columns.weights, grown.choice),
        training=summary,
    )
    cases = Cases(training.columns, training.y)
    validated = to_validate(grown.tree)
    notes = [*whole.notes, *_notes(options, algorithm, grown.choice)]
    if algorithm == C45 or options.chi2 is not None:
        notes += odd_scale(training)
    known = measured(done, cases, validated)
    return Learned(known, tuple(notes), cases, validated, grown.choice)


def _notes(options: LearnOptions, algorithm: str, choice: Choice | None) -> list[str]:
    notes = [] if options.algorithm else [f"algorithm: {algorithm}"]
    if choice is not None:
        leaves = choice.table[choice.place].step.leaves
        error = "within one standard error of the least" * (options.alpha == ONE_SE)
        notes.append(
            f"alpha: {choice.alpha:.6g} ({error or 'the least error'} in"
            f" {options.alpha_folds}-fold cross-validation), leaves: {leaves}"
            f" of {choice.table[0].step.leaves}"
        )
    if options.prune == REDUCED_ERROR:
        notes.append(OPTIMISTIC)
    return notes


def weighed(
    data: Dataset,
    options: LearnOptions,
    columns: Columns,
    y: np.ndarray,
    weights: np.ndarray | None,
) -> ToPruneBy:
    """Rows to prune by, which count as much as rows of the data do by the options."""
    rows = replace(data, columns=(), y=y, weights=weights)
    return columns, y, weighting_of(options).apply(rows).weights


def _validation_weights(program: Program, table: Table, name: str) -> np.ndarray:
    """How much the rows of a validation table count, those of known answers."""
    try:
        weights = encode_weights(name, table, program.na_values)
    except DataError as error:
        raise DataError(f"validation: {error}") from error
    y, labels = encode_answers(program, table), program.body.labels
    known = (y >= 0) & (y < len(labels)) if labels else ~np.isnan(y)
    return weights[known]


def _validation(program: Program, table: Table) -> Cases:
    """The rows of a validation table whose answer is known."""
    try:
        return read_cases(program, table)
    except DataError as error:
        raise DataError(f"validation: {error}") from error


def grow_tree(
    data: Dataset,
    algorithm: str,
    options: LearnOptions,
    progress: Callable[[int], Progress],
    held_out: HeldOut,
) -> Grown:
    """Grow a tree and prune it."""
    offer = offer_of(algorithm)
    check_offer(data, algorithm, offer, options)
    prune = options.prune or offer.prunings[0]
    chooses = prune == COST_COMPLEXITY and options.alpha in RULES
    rows = len(data.y)
    folds = None
    if chooses:
        folds = fold_of(data, options.alpha_folds, options.seed, "--alpha-folds")
    # Each of the k folds grows from all rows but its own: k times the rows, in sum.
    tell = progress(rows * options.alpha_folds if chooses else rows)
    tree = _grow(data, offer, options, prune, tell)
    if prune == REDUCED_ERROR:
        return Grown(reduced_error(tree, *held_out(tree)))
    if folds is not None:
        choice = choose_alpha(
            weighting_of(options).apply(data),
            tree,
            lambda part: _grow(take(data, part), offer, options, prune, tell),
            folds,
            str(options.alpha),
        )
        return Grown(cost_complexity(tree, choice.alpha), choice)
    if prune == COST_COMPLEXITY:
        return Grown(cost_complexity(tree, alpha_of(options)))
    return Grown(tree)


def alpha_of(options: LearnOptions) -> float:
    return 0.01 if options.alpha is None else float(options.alpha)


def _grow(
    data: Dataset, offer: Offer, options: LearnOptions, prune: str, progress: Progress
) -> Tree:
    limits = limits_of(options, offer)
    own = c45_options_of(options, offer, prune)
    data = weighting_of(options).apply(data)
    expanded = expand(data, options.one_hot, is_all=options.one_hot_all)
    tree = offer.learn(expanded.data, limits, progress, options.criterion, own)
    tree = expanded.restore(tree)
    return replace(tree, missing=own.policy)


def c45_options_of(options: LearnOptions, offer: Offer, prune: str) -> C45Options:
    costs = Costs(options.costs, options.cost_measure, options.cost_weight)
    return C45Options(
        is_ratio=options.criterion != "gain",
        is_pruning=prune == PESSIMISTIC,
        cf=options.cf,
        is_fractional=(options.missing or offer.missing[0]) == "fractional",
        policy=MissingPolicy(options.predict_missing),
        is_grouping=options.subset,
        costs=costs if options.costs else None,
    )


def limits_of(options: LearnOptions, offer: Offer) -> Limits:
    return Limits(
        options.max_depth,
        options.min_split,
        options.min_leaf or offer.min_leaf,
        options.min_gain,
        options.max_leaves,
        options.chi2,
        options.min_sse,
    )


def weighting_of(options: LearnOptions) -> Weighting:
    return Weighting(options.class_weight, options.balanced, options.prior)


def check_weighting(options: LearnOptions, data: Dataset) -> None:
    """Refuse class weights and priors that do not suit the labels."""
    weighting = weighting_of(options)
    if weighting:
        weighting.check(data)


CHOICES = {"predict_missing": ("branch", "fractional"), "cost_measure": MEASURES}


def check_offer(
    data: Dataset, algorithm: str, offer: Offer, options: LearnOptions
) -> None:
    """Refuse what the algorithm does not have."""
    for name, known in (
        ("criterion", offer.criteria),
        ("prune", offer.prunings),
        ("missing", offer.missing),
    ):
        given = getattr(options, name)
        if given and given not in known:
            shown = ", ".join(known)
            raise OptionError(f"{as_option(name)} {given!r}: {algorithm} has {shown}")
    for name in ("cf", "subset", "costs"):
        if algorithm != C45 and getattr(options, name) != _default(name):
            raise OptionError(
                f"{as_option(name)} is for --algorithm c45, not {algorithm}"
            )
    for name, is_fitting, task in (
        ("chi2", bool(data.labels), "classify"),
        ("min_sse", not data.labels, "regress"),
    ):
        if getattr(options, name) is not None and not is_fitting:
            other = "a number" if task == "classify" else "a label"
            raise OptionError(
                f"{as_option(name)} is for --task {task}, and the target"
                f" {data.target!r} is {other}: leave it out"
            )
    if algorithm == C45 and options.max_leaves is not None:
        raise OptionError("--max-leaves is for --algorithm cart or id3, not c45")


def as_option(name: str) -> str:
    return "--" + name.replace("_", "-")


def _default(name: str) -> object:
    return next(f.default for f in fields(LearnOptions) if f.name == name)


def check_options(options: LearnOptions, has_validation: bool = False) -> None:
    """Refuse what no algorithm can make sense of."""
    for name, choices in CHOICES.items():
        if getattr(options, name) not in choices:
            known = " or ".join(choices)
            given = getattr(options, name)
            raise OptionError(f"{as_option(name)} {given!r}: expected {known}")
    if not 0 < options.cf <= 1:
        raise OptionError(f"--cf {options.cf}: expected a number above 0, up to 1")
    if options.chi2 is not None and not 0 < options.chi2 < 1:
        raise OptionError(f"--chi2 {options.chi2}: expected a number between 0 and 1")
    if not 0 <= options.cost_weight < inf:
        raise OptionError(f"--cost-weight {options.cost_weight}: expected 0 or more")
    least = {
        **{"max_depth": 0, "min_split": 1, "min_leaf": 1, "min_gain": 0},
        **{"max_leaves": 1, "alpha": 0, "min_sse": 0},
    }
    for name, bound in least.items():
        value = getattr(options, name)
        if value is None or value in RULES:
            continue
        if isinstance(value, str):
            raise OptionError(f"--alpha {value!r}: expected a number, cv or 1se")
        if not bound <= value < inf:
            what = "a finite number" if value == inf else f"{bound} or more"
            raise OptionError(f"{as_option(name)} {value}: expected {what}")
    _check_pruning(options, has_validation)
    if not 0 <= options.validation_fraction < 1:
        raise OptionError("--validation-fraction: expected a number from 0 to below 1")
    if has_validation and options.validation_fraction:
        raise OptionError("give --validation or --validation-fraction, not both")


def _check_pruning(options: LearnOptions, has_validation: bool) -> None:
    if options.prune != COST_COMPLEXITY and options.alpha is not None:
        raise OptionError("--alpha is for --prune cost-complexity: add it")
    if options.alpha not in RULES and options.alpha_folds != _default("alpha_folds"):
        raise OptionError("--alpha-folds is for --alpha cv or 1se: add it")
    held_out = has_validation or options.validation_fraction
    if options.prune == REDUCED_ERROR and not held_out:
        raise OptionError(
            "--prune reduced-error needs rows to prune by: add --validation FILE or"
            " --validation-fraction F (in a database, --validation-table NAME)"
        )


def split_off(data: Dataset, options: LearnOptions) -> tuple[Dataset, Dataset | None]:
    """Hold out a seeded fraction of the rows."""
    count = round(len(data.y) * options.validation_fraction)
    if not count and options.prune == REDUCED_ERROR and options.validation_fraction:
        raise OptionError("--validation-fraction holds out no row to prune by")
    if not count:
        return data, None
    if count == len(data.y):
        raise OptionError("--validation-fraction leaves no row to learn from")
    order = np.random.default_rng(options.seed).permutation(len(data.y))
    return take(data, np.sort(order[count:])), take(data, np.sort(order[:count]))


def given_options(
    options: LearnOptions, weights: str, choice: Choice | None
) -> tuple[tuple[str, str | int | float | bool], ...]:
    """The options that differ from their defaults; the algorithm is told elsewhere."""
    given = {
        entry.name: getattr(options, entry.name)
        for entry in fields(options)
        if entry.name != "algorithm" and getattr(options, entry.name) != entry.default
    }
    for name in ("costs", "class_weight", "prior"):
        if name in given:
            given[name] = ", ".join(f"{key}: {each!r}" for key, each in given[name])
    if "one_hot" in given:
        given["one_hot"] = ", ".join(options.one_hot)
    if weights:
        given["weights"] = weights
    if choice is not None:
        given["chosen_alpha"] = choice.alpha
    return tuple(given.items())
