"""Learn a tree from a table in a database, as `training` does from one in memory.

The rows stay in the database. Options that need them in memory are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from treecompile.database.grow.levels import Listener
from treecompile.database.journal import Journal
from treecompile.database.run import TableRun, grow
from treecompile.database.schema import Schema, read_schema
from treecompile.database.validation import Validation, with_validation
from treecompile.engines.base import Store
from treecompile.learning.costs import check_costs
from treecompile.learning.options import (
    COST_COMPLEXITY,
    CV,
    ONE_SE,
    REDUCED_ERROR,
    LearnOptions,
    Progress,
    check_algorithm,
    check_options,
    check_task,
    given_options,
)
from treecompile.learning.pruning import cost_complexity, least_loss
from treecompile.learning.training import (
    CHECKS,
    OPTIMISTIC,
    Learned,
    alpha_of,
    check_weighting,
    default_algorithm,
    weighting_of,
)
from treecompile.model.errors import OptionError
from treecompile.model.ir import MissingPolicy, Program, Training, Tree
from treecompile.model.options import options_of
from treecompile.tables.dataset import Dataset
from treecompile.tables.options import DataOptions


def learn(
    store: Store,
    relation: str,
    columns: DataOptions,
    options: LearnOptions,
    source: str = "",
    progress: Callable[[int], Progress] = lambda rows: lambda settled: None,
    validation: Validation | None = None,
    listener: Listener = Listener(),
    *,
    temporary_tables: bool = True,
    journal: Journal | None = None,
) -> Learned:
    """Grow a tree in the database; `relation` is a FROM clause."""
    check_options(options, validation is not None)
    if options.algorithm:  # refuse before the first query
        check_in_database(options.algorithm, columns, options)
    schema = read_schema(store, relation, columns)
    data = _as_data(schema, columns)
    algorithm = options.algorithm or default_algorithm(data)
    check_in_database(algorithm, columns, options)
    run = TableRun(
        store,
        schema,
        data,
        columns,
        options,
        algorithm,
        progress(schema.rows),
        listener,
        temporary_tables,
        journal,
    )
    _check(run, validation)
    grown = grow(run)
    tree = _pruned(run, grown.tree, validation)
    training = Training(source, schema.rows, schema.summaries)
    given = given_options(options, columns.weights)
    program = Program(
        columns.target, algorithm, tree, given, columns.na_values, training
    )
    quality, tallies = grown.quality(program, tree)
    training = replace(training, quality=quality, rules=tallies)
    program = replace(program, training=training)
    if validation is not None:
        program = with_validation(program, validation)
    return Learned(program, (*schema.notes, *_notes(run), *grown.notes))


def _as_data(schema: Schema, columns: DataOptions) -> Dataset:
    """The dataset without rows, for checks that need its columns only."""
    none = np.zeros(0)
    return Dataset(
        columns.target, schema.features, (), schema.labels, none, schema.notes, ""
    )


def _check(run: TableRun, validation: Validation | None) -> None:
    """Refuse what does not suit the table, before the first count."""
    options, target = run.options, run.columns.target
    check_task(options, target, has_labels=bool(run.data.labels))
    CHECKS[run.algorithm](run.data, options.criterion)
    check_weights(run.columns, options, has_labels=bool(run.data.labels))
    if not run.data.labels:
        check_weighting(options, run.data)
    if options.costs:
        names = [column.name for column in run.store.columns(run.schema.relation)]
        check_costs(options.costs, names, target)
    if validation is not None:
        is_fractional = options.predict_missing == MissingPolicy.FRACTIONAL
        divides = is_fractional and options.prune == REDUCED_ERROR
        validation.check(target, run.schema.labels, divides)


def _pruned(run: TableRun, tree: Tree, validation: Validation | None) -> Tree:
    if run.options.prune == COST_COMPLEXITY:
        return cost_complexity(tree, alpha_of(run.options))
    if run.options.prune == REDUCED_ERROR:
        assert validation is not None
        columns = run.columns
        grown = Program(columns.target, run.algorithm, tree, (), columns.na_values)
        return least_loss(tree, validation.losses(grown))
    return tree


def _notes(run: TableRun) -> list[str]:
    notes = []
    if not run.options.algorithm:
        notes.append(f"algorithm: {run.algorithm}")
    if run.options.prune == REDUCED_ERROR:
        notes.append(OPTIMISTIC)
    return notes


# --- what needs the rows in memory ----------------------------------------------------


INSTEAD = "learn from a file, or a part of the table in one"


def check_in_database(
    algorithm: str, columns: DataOptions, options: LearnOptions
) -> None:
    """Refuse what the algorithm does not have in a database."""
    check_algorithm(options, algorithm)
    for given in (columns, options):
        for name, each in options_of(type(given)).items():
            others = each.in_database
            if others is None or algorithm in others:
                continue
            if getattr(given, name) != each.default:
                use = [f"use --algorithm {others[-1]} in a database"] if others else []
                _refuse(each.flag, *use)
    if options.alpha in (CV, ONE_SE):
        _refuse(f"--alpha {options.alpha}")


def check_weights(
    columns: DataOptions, options: LearnOptions, *, has_labels: bool
) -> None:
    """Refuse weights where the database cannot use them."""
    if columns.weights and not has_labels:
        _refuse("--weights, for a target that is a number,")
    is_weighted = columns.weights or weighting_of(options)
    if is_weighted and options.prune == REDUCED_ERROR:
        _refuse(f"--prune {REDUCED_ERROR}, where rows have weights,")


def _refuse(option: str, instead: str = "leave it out in a database") -> None:
    raise OptionError(f"{option} needs the rows in memory: {instead}, or {INSTEAD}")
