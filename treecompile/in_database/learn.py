"""Learn a tree from a table in a database, as `training` does from one in memory.

What needs the rows themselves is refused by name: they stay where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from treecompile.data import DataOptions, Dataset
from treecompile.in_database.grow import Run, grow
from treecompile.in_database.journal import Journal
from treecompile.in_database.levels import Listener
from treecompile.in_database.refusals import check_here, check_weights
from treecompile.in_database.schema import Schema, read_schema
from treecompile.in_database.validation import Validation, with_validation
from treecompile.ir import MissingPolicy, Program, Training, Tree
from treecompile.learn_options import (
    LearnOptions,
    alpha_of,
    check_offer,
    check_options,
    check_weighting,
    given_options,
)
from treecompile.learners import (
    COST_COMPLEXITY,
    REDUCED_ERROR,
    default_algorithm,
    offer_of,
)
from treecompile.learners.costs import check_costs
from treecompile.learners.limits import Progress
from treecompile.learners.prune import cost_complexity, least_loss
from treecompile.stores.base import Store
from treecompile.training import OPTIMISTIC


@dataclass(frozen=True, slots=True)
class LearnedThere:
    program: Program
    notes: tuple[str, ...]  # what was chosen, and what looks odd


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
) -> LearnedThere:
    """Grow a tree in the database; `relation` is what stands behind FROM."""
    check_options(options, validation is not None)
    if options.algorithm:
        check_here(options.algorithm, columns, options)  # before anything is asked
    schema = read_schema(store, relation, columns)
    data = _as_data(schema, columns)
    algorithm = options.algorithm or default_algorithm(data)
    check_here(algorithm, columns, options)
    run = Run(
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
    given = given_options(options, columns.weights, None)
    program = Program(
        columns.target, algorithm, tree, given, columns.na_values, training
    )
    quality, tallies = grown.quality(program, tree)
    training = replace(training, quality=quality, rules=tallies)
    program = replace(program, training=training)
    if validation is not None:
        program = with_validation(program, validation)
    return LearnedThere(program, (*schema.notes, *_notes(run), *grown.notes))


def _as_data(schema: Schema, columns: DataOptions) -> Dataset:
    """The dataset without its rows, for what only asks what the columns are."""
    none = np.zeros(0)
    return Dataset(
        columns.target, schema.features, (), schema.labels, none, schema.notes, ""
    )


def _check(run: Run, validation: Validation | None) -> None:
    """Refuse what does not suit the table, before anything is counted."""
    options, target = run.options, run.columns.target
    offer = offer_of(run.algorithm)
    check_offer(run.data, run.algorithm, offer, options)
    offer.check(run.data, options.criterion)
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


def _pruned(run: Run, tree: Tree, validation: Validation | None) -> Tree:
    if run.options.prune == COST_COMPLEXITY:
        return cost_complexity(tree, alpha_of(run.options))
    if run.options.prune == REDUCED_ERROR:
        assert validation is not None
        columns = run.columns
        grown = Program(columns.target, run.algorithm, tree, (), columns.na_values)
        return least_loss(tree, validation.losses(grown))
    return tree


def _notes(run: Run) -> list[str]:
    notes = []
    if not run.options.algorithm:
        notes.append(f"algorithm: {run.algorithm}")
    if run.options.prune == REDUCED_ERROR:
        notes.append(OPTIMISTIC)
    return notes
