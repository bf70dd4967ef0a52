"""Learns a tree from a table in a database; `training` does so from rows in memory.

The rows stay in the database, which counts them. Options that need the rows in memory
are refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from treecompile.database.evaluate import counted_labels, summed_numbers
from treecompile.database.grow.numbers import NumberTarget, distances
from treecompile.database.grow.source import ImpurityTableSource, LevelProgress
from treecompile.database.grow.targets import LabelTarget, TableTarget
from treecompile.database.grow.work import WorkTable
from treecompile.database.schema import Schema, read_schema
from treecompile.database.validation import Validation
from treecompile.engines.base import Store
from treecompile.learning import training
from treecompile.learning.checks import check_algorithm, check_options, check_task
from treecompile.learning.grow.draft import Draft
from treecompile.learning.grow.growth import Growth
from treecompile.learning.grow.impurity import Found, ImpurityGrowth, finish_tree
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
from treecompile.measure.quality import Evaluation, with_quality
from treecompile.model.errors import OptionError
from treecompile.model.ir import Program, Training, Tree
from treecompile.model.options import options_of
from treecompile.tables.options import DataOptions

OnLevel = Callable[[LevelProgress], None]

LEARNING = ("duckdb", "postgres", "spark")  # the databases that can


@dataclass(frozen=True, slots=True)
class TableRun:
    """A table to learn from, the options, and who is told of progress."""

    store: Store
    schema: Schema
    columns: DataOptions
    options: LearnOptions
    algorithm: str
    progress: Progress
    on_level: OnLevel


@dataclass(frozen=True, slots=True)
class GrownTree:
    tree: Tree
    distances: Sequence[float] = ()  # regression: the sum of distances at each node


def learn(
    store: Store,
    relation: str,
    columns: DataOptions,
    options: LearnOptions,
    source: str = "",
    progress: Callable[[int], Progress] = lambda rows: lambda settled: None,
    validation: Validation | None = None,
    on_level: OnLevel = lambda level: None,
) -> training.Learned:
    """Learn a program from a table; `relation` is the text that follows FROM."""
    if store.dialect.key not in LEARNING:
        raise OptionError(
            f"{store.dialect.name} does not learn: learn from a file, or in DuckDB,"
            " PostgreSQL or Spark"
        )
    check_options(options, validation is not None)
    algorithm = options.algorithm or CART
    _check_in_database(algorithm, columns, options)
    schema = read_schema(store, relation, columns)
    check_task(options, algorithm, columns.target, has_labels=bool(schema.labels))
    if validation is not None:
        validation.check(columns.target, schema.labels)
    reported = progress(schema.rows)
    run = TableRun(store, schema, columns, options, algorithm, reported, on_level)
    grown = _grown(run)
    program = Program(
        columns.target,
        algorithm,
        _pruned(run, grown.tree, validation),
        given_options(options, columns.weights),
        columns.na_values,
        Training(source, schema.rows, schema.summaries),
    )
    measured = _measured(grown, program)
    validated = None if validation is None else validation.evaluation(program)
    program = with_quality(program, measured, validated)
    notes = training.notes_on(options, algorithm)
    return training.Learned(program, (*schema.notes, *notes))


def _grown(run: TableRun) -> GrownTree:
    """Grow a tree by ID3 or CART."""
    store, schema = run.store, run.schema
    is_multiway = run.algorithm == ID3
    if is_multiway:
        schema = replace(schema, features=unordered(schema.features))
    target: TableTarget
    if schema.labels:
        criterion = chosen(run.options, "criterion", run.algorithm)
        target = LabelTarget(store, schema, criterion)
    else:
        target = NumberTarget(store, schema)
    limits = training.limits_of(run.options, run.algorithm)
    work = WorkTable(target)
    source = ImpurityTableSource(work, limits, is_multiway=is_multiway)
    growth = ImpurityGrowth(source, limits, run.progress)

    def watch(growth: Growth[Found]) -> None:
        rows = round(float(growth.rows.sum()))
        run.on_level(LevelProgress(growth.depth + 1, len(growth.nodes), rows))

    draft = Draft.of(growth.run(watch))
    tree = finish_tree(draft, target.response, schema.features, schema.labels)
    return GrownTree(tree, () if schema.labels else distances(draft))


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


def _measured(grown: GrownTree, program: Program) -> Evaluation:
    """Measure the quality on the rows, which the leaves have counted."""
    tree = program.body
    assert isinstance(tree, Tree)
    if tree.labels:
        return counted_labels(tree)
    return summed_numbers(tree, grown.tree, grown.distances)


# --- what needs the rows in memory ----------------------------------------------------


def _check_in_database(
    algorithm: str, columns: DataOptions, options: LearnOptions
) -> None:
    """Refuse an algorithm and options that are not supported in a database."""
    if algorithm == C45:
        raise OptionError(
            "algorithm=c45 learns in memory; in a database use cart or id3"
        )
    check_algorithm(options, algorithm)
    for given in (columns, options):
        for name, each in options_of(type(given)).items():
            if not each.in_database and getattr(given, name) != each.default:
                _refuse(each.keyword)
    if options.alpha in (CV, ONE_SE):
        _refuse(f"alpha={options.alpha}")


def _refuse(option: str) -> None:
    raise OptionError(
        f"{option} needs the rows in memory: leave it out in a database, or learn from"
        " a file, or a part of the table in one"
    )
