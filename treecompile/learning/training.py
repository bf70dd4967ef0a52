"""From data in memory to a measured tree: `learn` takes all the steps.

data -> Dataset -> learner -> Tree -> pruned -> Program with its quality
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treecompile.learning import cart, id3
from treecompile.learning.alpha import AlphaChoice, choose_alpha, folds_of, rule_of
from treecompile.learning.c45 import learner as c45
from treecompile.learning.c45.learner import C45Options
from treecompile.learning.checks import check_algorithm, check_options, check_task
from treecompile.learning.costs import check_costs
from treecompile.learning.one_hot import expand
from treecompile.learning.options import (
    C45,
    CART,
    COST_COMPLEXITY,
    ENOUGH,
    FRACTIONAL,
    ID3,
    ONE_SE,
    PESSIMISTIC,
    REDUCED_ERROR,
    USUAL_ALPHA,
    GrowthLimits,
    LearnOptions,
    Progress,
    chosen,
    given_options,
)
from treecompile.learning.pruning import cost_complexity, reduced_error
from treecompile.learning.weighting import check_class_weight, odd_mean, weighted
from treecompile.measure.cases import Cases, has_answer
from treecompile.measure.quality import measured, read_cases
from treecompile.model.batch import Columns
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import Program, Training, Tree
from treecompile.tables.dataset import (
    Dataset,
    encode_answers,
    encode_weights,
    make_dataset,
    take,
)
from treecompile.tables.options import DataOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import Source, read_table

FEW_ROWS = (
    f"alpha: {USUAL_ALPHA} (fewer than {ENOUGH} rows are too few for"
    " cross-validation); prune=none keeps all leaves"
)
NOT_PRUNED = (
    "pruning: none, as choosing alpha by cross-validation needs the rows in memory;"
    f" alpha={USUAL_ALPHA} prunes"
)
OPTIMISTIC = "the validation rows pruned the tree: its quality on them is optimistic"

# Columns, answers and weights of the rows by which a tree is pruned. The tree need not
# test all columns.
ToPruneBy = tuple[Columns, np.ndarray, np.ndarray | None]
HeldOut = Callable[[Tree], ToPruneBy]


@dataclass(frozen=True, slots=True)
class Learned:
    program: Program
    notes: tuple[str, ...]  # what was chosen, and what looks odd
    # If they are in memory, the rows that grew the tree, and those that were held out.
    data: Dataset | None = None
    training: Cases | None = None
    validation: Cases | None = None
    choice: AlphaChoice | None = None  # if alpha was chosen by cross-validation


def learn(
    data: Source,
    columns: DataOptions,
    options: LearnOptions = LearnOptions(),
    validation: Source | None = None,
    progress: Callable[[int], Progress] = lambda rows: lambda settled: None,
    for_labels: str = "",
) -> Learned:
    """Read the data, grow a tree, and measure it.

    `for_labels` names an option of the caller that a numeric target does not have.
    """
    check_options(options, validation is not None)
    whole = read_dataset(data, columns, options)
    if for_labels and not whole.labels:
        raise OptionError(
            f"{for_labels} is for labels, and the target {whole.target!r} is a number:"
            " leave it out, or use task=classify"
        )
    other = None if validation is None else read_table(validation, columns)
    training, held_out = split_off(whole, options)
    algorithm = options.algorithm or default_algorithm(whole)

    def program_of(tree: Tree) -> Program:
        return Program(whole.target, algorithm, tree, (), columns.na_values)

    def to_validate(tree: Tree) -> Cases | None:
        if other is not None:
            return _validation(program_of(tree), other)[0]
        return None if held_out is None else Cases(held_out.columns, held_out.y)

    def to_prune_by(tree: Tree) -> ToPruneBy:
        if other is not None:
            cases, weights = _validation(program_of(tree), other, columns.weights)
            return cases.columns, cases.y, weights
        assert held_out is not None
        return held_out.columns, held_out.y, held_out.weights

    tree, choice = grow_tree(training, algorithm, options, progress, to_prune_by)
    alpha = None if choice is None else choice.alpha
    done = replace(
        program_of(tree),
        options=given_options(options, columns.weights, alpha),
        training=Training(
            whole.source,
            len(training.y),
            training.summaries(),
            estimate=None if choice is None else choice.estimate,
        ),
    )
    cases = Cases(training.columns, training.y)
    validated = to_validate(tree)
    notes = [*whole.notes, *notes_on(options, algorithm, len(training.y), choice)]
    if algorithm == C45 or options.chi2 is not None:
        weights = training.weights
        notes += [] if weights is None else odd_mean(float(weights.mean()))
    known = measured(done, cases, validated)
    return Learned(known, tuple(notes), training, cases, validated, choice)


def read_dataset(data: Source, columns: DataOptions, options: LearnOptions) -> Dataset:
    """Read the data, and refuse options that do not suit it."""
    table = read_table(data, columns)
    check_costs(options.costs, table.names, columns.target)
    whole = make_dataset(table, columns)
    check_class_weight(options.class_weight, whole)
    return whole


def notes_on(
    options: LearnOptions,
    algorithm: str,
    rows: int = 0,  # in memory
    choice: AlphaChoice | None = None,
) -> list[str]:
    """Write notes on what was chosen, and on what to keep in mind."""
    notes = [] if options.algorithm else [f"algorithm: {algorithm}"]
    is_default = not options.prune and options.alpha is None
    if choice is not None:
        notes.append(_chosen_alpha(choice, is_default))
    elif is_default and chosen(options, "prune", algorithm) == COST_COMPLEXITY:
        notes.append(FEW_ROWS if rows else NOT_PRUNED)
    if options.prune == REDUCED_ERROR:
        notes.append(OPTIMISTIC)
    return notes


def _chosen_alpha(choice: AlphaChoice, is_default: bool) -> str:
    error = "the least error"
    if choice.rule == ONE_SE:
        error = "within one standard error of the least error"
    folds = choice.estimate.folds
    how = f"in {folds}-fold cross-validation" if folds > 1 else "on a held-out tenth"
    table = choice.table
    leaves = f"{table[choice.place].step.leaves} of {table[0].step.leaves}"
    return (
        f"alpha: {choice.alpha:.6g} ({error} {how}), leaves: {leaves}"
        f"{'; prune=none keeps all' if is_default else ''}"
    )


def _validation(
    program: Program, table: RawTable, weights: str = ""
) -> tuple[Cases, np.ndarray | None]:
    """Return the rows of a validation table with known answers, and their weights."""
    try:
        cases = read_cases(program, table)
        if not weights:
            return cases, None
        own = encode_weights(weights, table, program.na_values)
    except DataError as error:
        raise DataError(f"validation: {error}") from error
    return cases, own[has_answer(encode_answers(program, table), program.body)]


def split_off(data: Dataset, options: LearnOptions) -> tuple[Dataset, Dataset | None]:
    """Hold out a random fraction of the rows; return the others and these."""
    count = round(len(data.y) * options.validation_fraction)
    if not count and options.prune == REDUCED_ERROR and options.validation_fraction:
        raise OptionError(
            f"validation_fraction={options.validation_fraction:g} holds out none of"
            f" {len(data.y)} rows: use a larger fraction"
        )
    if not count:
        return data, None
    if count == len(data.y):
        raise OptionError(
            f"validation_fraction={options.validation_fraction:g} holds out all of"
            f" {len(data.y)} rows: use a smaller fraction"
        )
    order = np.random.default_rng(options.seed).permutation(len(data.y))
    return take(data, np.sort(order[count:])), take(data, np.sort(order[:count]))


def grow_tree(
    data: Dataset,
    algorithm: str,
    options: LearnOptions,
    progress: Callable[[int], Progress],
    held_out: HeldOut | None = None,
) -> tuple[Tree, AlphaChoice | None]:
    """Grow and prune a tree; also return the choice of alpha, if there was one."""
    check_algorithm(options, algorithm)
    check_task(options, algorithm, data.target, has_labels=bool(data.labels))
    prune = chosen(options, "prune", algorithm)
    rows = len(data.y)
    rule = rule_of(options, algorithm, rows)
    folds = folds_of(data, options) if rule else None
    # One tree is grown from all rows, and one for each fold from the other folds.
    left_out = 0 if folds is None else int(folds.max()) + 1
    tell = progress(rows * max(1, left_out))
    tree = _grow(data, algorithm, options, tell)
    if prune == REDUCED_ERROR:
        assert held_out is not None
        columns, y, weights = held_out(tree)
        others = replace(data, columns=(), y=y, weights=weights)
        weights = weighted(others, options.class_weight).weights
        return reduced_error(tree, columns, y, weights), None
    if folds is not None:
        choice = choose_alpha(
            weighted(data, options.class_weight),
            tree,
            lambda part: _grow(take(data, part), algorithm, options, tell),
            folds,
            rule,
        )
        return cost_complexity(tree, choice.alpha), choice
    if prune == COST_COMPLEXITY:
        return cost_complexity(tree, alpha_of(options)), None
    return tree, None


def _grow(
    data: Dataset, algorithm: str, options: LearnOptions, progress: Progress
) -> Tree:
    limits = limits_of(options, algorithm)
    data = weighted(data, options.class_weight)
    expanded = expand(data, options.one_hot)
    if algorithm == C45:
        tree = c45.learn(expanded.data, limits, progress, c45_options_of(options))
    else:
        learner = id3 if algorithm == ID3 else cart
        tree = learner.learn(expanded.data, limits, progress, options.criterion)
    return expanded.restore(tree)


# ---------------------------------------------------------------- options for learners


def default_algorithm(data: Dataset) -> str:
    """Return C4.5 for labels, CART for numbers."""
    return C45 if data.labels else CART


def limits_of(options: LearnOptions, algorithm: str) -> GrowthLimits:
    return GrowthLimits(
        options.max_depth,
        options.min_split,
        options.min_leaf or (2 if algorithm == C45 else 1),
        options.min_gain,
        options.max_leaves,
        options.chi2,
        options.min_sse,
        options.threads,
    )


def c45_options_of(options: LearnOptions) -> C45Options:
    return C45Options(
        is_ratio=options.criterion != "gain",
        is_pruning=chosen(options, "prune", C45) == PESSIMISTIC,
        cf=options.cf,
        is_fractional=chosen(options, "missing", C45) == FRACTIONAL,
        is_grouping=options.subset,
        costs=options.costs,
    )


def alpha_of(options: LearnOptions) -> float:
    return USUAL_ALPHA if options.alpha is None else float(options.alpha)
