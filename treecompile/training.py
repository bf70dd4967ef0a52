"""From data to a measured tree, in one line.

data -> Dataset -> learner -> Tree -> pruned -> Program with what is known about it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
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
from treecompile.ir import Program, Training, Tree
from treecompile.learn_options import (
    LearnOptions,
    alpha_of,
    c45_options_of,
    check_offer,
    check_options,
    check_weighting,
    given_options,
    limits_of,
    weighting_of,
)
from treecompile.learners import (
    C45,
    COST_COMPLEXITY,
    REDUCED_ERROR,
    Offer,
    default_algorithm,
    offer_of,
)
from treecompile.learners.choose_alpha import ONE_SE, RULES, Choice, choose_alpha
from treecompile.learners.costs import check_costs
from treecompile.learners.limits import Progress
from treecompile.learners.one_hot import expand
from treecompile.learners.prune import cost_complexity, reduced_error
from treecompile.learners.weighting import odd_scale
from treecompile.quality import measured, read_cases
from treecompile.read import Table, read_table

if TYPE_CHECKING:
    import pandas as pd


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
