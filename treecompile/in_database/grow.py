"""Grow a tree in a database, by any algorithm, and know how good it is there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from treecompile.data import DataOptions, Dataset
from treecompile.in_database import c45_state, state
from treecompile.in_database.answers import Answers, LabelAnswers
from treecompile.in_database.bounds import BOUNDS
from treecompile.in_database.c45 import are_leaves_counted, learn_c45
from treecompile.in_database.evaluate import evaluate
from treecompile.in_database.journal import Journal, Kind, run_of
from treecompile.in_database.leaf_quality import Measured, class_quality, value_quality
from treecompile.in_database.levels import Listener, grow_levels
from treecompile.in_database.numbers import NumberAnswers, distances
from treecompile.in_database.schema import Schema
from treecompile.in_database.weights import RowWeights, WeightedLabels, weigh
from treecompile.in_database.work import WorkTable
from treecompile.ir import Program, Tree
from treecompile.learn_options import (
    LearnOptions,
    c45_options_of,
    limits_of,
    weighting_of,
)
from treecompile.learners import C45, ID3, offer_of
from treecompile.learners.criteria import MEASURES
from treecompile.learners.drafts import finish
from treecompile.learners.id3 import unordered
from treecompile.learners.limits import Progress
from treecompile.learners.weighting import odd_mean
from treecompile.stores.base import Store


@dataclass(frozen=True, slots=True)
class Run:
    """A table to learn from, how, and whom to tell."""

    store: Store
    schema: Schema
    data: Dataset  # without its rows: what the columns are
    columns: DataOptions
    options: LearnOptions
    algorithm: str
    progress: Progress
    listener: Listener
    temporary_tables: bool
    journal: Journal | None


@dataclass(frozen=True, slots=True)
class Grown:
    """A tree, and how good one that was pruned from it is on the rows."""

    tree: Tree
    quality: Callable[[Program, Tree], Measured]
    notes: tuple[str, ...] = ()


def grow(run: Run) -> Grown:
    return _by_cases(run) if run.algorithm == C45 else _by_levels(run)


def _by_cases(run: Run) -> Grown:
    offer, options = offer_of(C45), run.options
    own = c45_options_of(options, offer, options.prune or offer.prunings[0])
    tree = learn_c45(
        run.store,
        run.schema,
        run.data,
        limits_of(options, offer),
        run.progress,
        own,
        run.listener,
        run.journal,
        _former(run, run.schema, c45_state.loads),
        is_inline=not run.temporary_tables,
    )

    def quality(program: Program, pruned: Tree) -> Measured:
        if are_leaves_counted(run.schema, own):
            return class_quality(pruned)
        found = evaluate(run.store, run.schema.relation, program)
        return found.quality, found.tallies

    return Grown(tree, quality)


def _by_levels(run: Run) -> Grown:
    schema, offer = run.schema, offer_of(run.algorithm)
    is_multiway = run.algorithm == ID3
    if is_multiway:
        schema = replace(schema, features=unordered(schema.features))
    weights = None
    if schema.labels:
        weights = weigh(run.store, schema, run.data, weighting_of(run.options))
    criterion = run.options.criterion or offer.criteria[0]
    answers = _answers(run, schema, criterion, weights)
    former = _former(run, schema, state.loads)
    bins = former.bins if former else None
    is_inline = not run.temporary_tables
    drafts = grow_levels(
        WorkTable(run.store, schema, answers, bins, is_inline=is_inline),
        limits_of(run.options, offer),
        run.progress,
        run.listener,
        run.journal,
        former,
        is_multiway=is_multiway,
    )
    tree = finish(schema.features, schema.labels, drafts, answers.response)

    def quality(program: Program, pruned: Tree) -> Measured:
        if weights:  # of which the leaves know, and not of the rows
            found = evaluate(run.store, schema.relation, program)
            return found.quality, found.tallies
        if schema.labels:
            return class_quality(pruned)
        return value_quality(pruned, tree, distances(drafts))

    return Grown(tree, quality, _notes(run, weights))


def _answers(
    run: Run, schema: Schema, criterion: str, weights: RowWeights | None
) -> Answers:
    if not schema.labels:
        return NumberAnswers(run.store, schema)
    measure, bound = MEASURES[criterion], BOUNDS.get(criterion)
    if weights:
        return WeightedLabels(run.store, schema, measure, bound, weights)
    return LabelAnswers(run.store, schema, measure, bound)


def _notes(run: Run, weights: RowWeights | None) -> tuple[str, ...]:
    if weights is None or weights.mean is None or run.options.chi2 is None:
        return ()
    return tuple(odd_mean(weights.mean))


def _former(run: Run, schema: Schema, loads: Callable[[str], Kind]) -> Kind | None:
    """What an interrupted run has left, if it was this one."""
    if run.journal is None:
        return None
    how = replace(run.options, algorithm=run.algorithm)
    this = run_of(run.store, schema, run.columns, how)
    former, said = run.journal.begin(this, loads)
    for line in said:
        run.listener.say(line)
    return former
