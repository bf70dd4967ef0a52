"""Learns a tree from a table in a database; `training` does so from rows in memory.

The rows stay in the database, which counts them. Options that need the rows in memory
are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treecompile.database.evaluate import counted_labels, evaluate, summed_numbers
from treecompile.database.grow.levels import Listener, grow_in_table
from treecompile.database.grow.numbers import NumberTarget, distances
from treecompile.database.grow.source import ImpurityTableSource
from treecompile.database.grow.targets import (
    LabelTarget,
    TableTarget,
    WeightedLabelTarget,
)
from treecompile.database.grow.work import WorkTable
from treecompile.database.journal import Journal, TableState, run_of
from treecompile.database.schema import Schema, read_schema
from treecompile.database.validation import Validation
from treecompile.engines.base import Store
from treecompile.learning import training
from treecompile.learning.checks import check_algorithm, check_options, check_task
from treecompile.learning.grow.draft import Draft
from treecompile.learning.grow.impurity import ImpurityGrowth, finish_tree
from treecompile.learning.id3 import unordered
from treecompile.learning.options import (
    C45,
    CART,
    COST_COMPLEXITY,
    CV,
    ID3,
    ONE_SE,
    REDUCED_ERROR,
    LearnOptions,
    Progress,
    chosen,
    given_options,
)
from treecompile.learning.pruning import cost_complexity, smallest
from treecompile.learning.weighting import check_class_weight, odd_mean
from treecompile.measure.quality import Evaluation, with_quality
from treecompile.model.errors import OptionError
from treecompile.model.ir import Program, Training, Tree
from treecompile.model.options import options_of
from treecompile.tables.dataset import Dataset
from treecompile.tables.options import DataOptions

LEARNING = ("duckdb", "postgres", "spark")  # the databases that can


@dataclass(frozen=True, slots=True)
class TableRun:
    """A table to learn from, the options, and who is told of progress."""

    store: Store
    schema: Schema
    data: Dataset  # the features and labels, without rows
    columns: DataOptions
    options: LearnOptions
    algorithm: str
    progress: Progress
    listener: Listener
    temporary_tables: bool
    journal: Journal | None

    def former(self, schema: Schema) -> TableState | None:
        """Return the state left by an interrupted run, if it was the same run."""
        if self.journal is None:
            return None
        how = replace(self.options, algorithm=self.algorithm)
        this = run_of(self.store, schema, self.columns, how)
        return self.journal.begin(this, self.listener.say)


@dataclass(frozen=True, slots=True)
class GrownTree:
    tree: Tree
    has_counted_rows: bool = True  # False: its leaves hold weights
    distances: Sequence[float] = ()  # regression: the sum of distances at each node
    notes: tuple[str, ...] = ()


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
) -> training.Learned:
    """Learn a program from a table; `relation` is the text that follows FROM.

    Without `temporary_tables`, every query reads the source table. `journal` keeps the
    state after each level; None: an interrupted run cannot be resumed.
    """
    if store.dialect.key not in LEARNING:
        raise OptionError(
            f"{store.dialect.name} does not learn, but scores and verifies: learn from"
            " a file, or in DuckDB, PostgreSQL or Spark"
        )
    check_options(options, validation is not None)
    algorithm = options.algorithm or CART
    check_in_database(algorithm, columns, options)
    schema = read_schema(store, relation, columns)
    none = np.zeros(0)  # no rows: the checks need the columns only
    data = Dataset(columns.target, schema.features, (), schema.labels, none, (), "")
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
    grown = _grown(run)
    given = given_options(options, columns.weights)
    program = Program(
        columns.target,
        algorithm,
        _pruned(run, grown.tree, validation),
        given,
        columns.na_values,
        Training(source, schema.rows, schema.summaries),
    )
    measured = _measured(run, grown, program)
    validated = None if validation is None else validation.evaluation(program)
    program = with_quality(program, measured, validated)
    notes = training.notes_on(options, algorithm)
    return training.Learned(program, (*schema.notes, *notes, *grown.notes))


def _check(run: TableRun, validation: Validation | None) -> None:
    """Refuse options that do not suit the table, before the first counting query."""
    options, target, weights = run.options, run.columns.target, run.columns.weights
    has_labels = bool(run.data.labels)
    check_task(options, run.algorithm, target, has_labels=has_labels)
    if weights and not has_labels:
        _refuse("--weights, for a target that is a number,")
    is_weighted = weights or options.class_weight
    if is_weighted and options.prune == REDUCED_ERROR:
        _refuse(f"--prune {REDUCED_ERROR}, where rows have weights,")
    if not has_labels:
        check_class_weight(options.class_weight, run.data)
    if validation is not None:
        validation.check(target, run.schema.labels)


def _grown(run: TableRun) -> GrownTree:
    """Grow a tree by ID3 or CART."""
    store, schema = run.store, run.schema
    is_multiway = run.algorithm == ID3
    if is_multiway:
        schema = replace(schema, features=unordered(schema.features))
    criterion, notes = chosen(run.options, "criterion", run.algorithm), []
    class_weight = run.options.class_weight
    is_weighted = bool(class_weight or schema.weights)
    if not schema.labels:
        target: TableTarget = NumberTarget(store, schema)
    elif is_weighted:
        target = WeightedLabelTarget(store, schema, criterion, run.data, class_weight)
        if target.mean is not None and run.options.chi2 is not None:
            notes = odd_mean(target.mean)
    else:
        target = LabelTarget(store, schema, criterion)
    former = run.former(schema)
    work = WorkTable(target, former, is_inline=not run.temporary_tables)
    limits = training.limits_of(run.options, run.algorithm)
    source = ImpurityTableSource(work, limits, is_multiway=is_multiway)
    growth = ImpurityGrowth(source, limits, run.progress)
    levels = grow_in_table(growth, source, run.listener, run.journal, former)
    draft = Draft.of(levels)
    tree = finish_tree(draft, target.response, schema.features, schema.labels)
    of_nodes = () if schema.labels else distances(draft)
    return GrownTree(tree, not is_weighted, of_nodes, (*notes,))


def _pruned(run: TableRun, tree: Tree, validation: Validation | None) -> Tree:
    if run.options.prune == REDUCED_ERROR:
        assert validation is not None
        columns = run.columns
        grown = Program(columns.target, run.algorithm, tree, (), columns.na_values)
        return smallest(tree, validation.losses(grown), price=0.0)
    # Choosing alpha takes the rows in memory, so CART prunes only if it is asked to.
    if run.options.prune == COST_COMPLEXITY or run.options.alpha is not None:
        return cost_complexity(tree, training.alpha_of(run.options))
    return tree


def _measured(run: TableRun, grown: GrownTree, program: Program) -> Evaluation:
    """Measure the quality on the rows; query only if the leaves lack counts."""
    tree = program.body
    assert isinstance(tree, Tree)
    if not grown.has_counted_rows:
        return evaluate(run.store, run.schema.relation, program)
    if tree.labels:
        return counted_labels(tree)
    return summed_numbers(tree, grown.tree, grown.distances)


# --- what needs the rows in memory ----------------------------------------------------


INSTEAD = "learn from a file, or a part of the table in one"


def check_in_database(
    algorithm: str, columns: DataOptions, options: LearnOptions
) -> None:
    """Refuse an algorithm and options that are not supported in a database."""
    if algorithm == C45:
        raise OptionError(
            "--algorithm c45 learns in memory; in a database use cart or id3"
        )
    check_algorithm(options, algorithm)
    for given in (columns, options):
        for name, each in options_of(type(given)).items():
            if not each.in_database and getattr(given, name) != each.default:
                _refuse(each.flag)
    if options.alpha in (CV, ONE_SE):
        _refuse(f"--alpha {options.alpha}")


def _refuse(option: str, instead: str = "leave it out in a database") -> None:
    raise OptionError(f"{option} needs the rows in memory: {instead}, or {INSTEAD}")
