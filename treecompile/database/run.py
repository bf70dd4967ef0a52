"""Grow a tree in a database by any algorithm, and measure its quality on the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np

from treecompile.database.c45.passing import CasePassing
from treecompile.database.c45.source import CaseTableSource
from treecompile.database.c45.table import CaseTable, CaseTarget
from treecompile.database.evaluate import evaluate
from treecompile.database.grow.levels import Listener, grow_in_table
from treecompile.database.grow.numbers import NumberTarget, distances
from treecompile.database.grow.source import ImpurityTableSource
from treecompile.database.grow.targets import (
    LabelTarget,
    RowWeights,
    TableTarget,
    WeightedLabelTarget,
    weigh,
)
from treecompile.database.grow.work import WorkTable
from treecompile.database.journal import Journal, TableState, run_of
from treecompile.database.schema import Schema
from treecompile.engines.base import Store
from treecompile.learning.c45.draft import finish_tree as finish_case_tree
from treecompile.learning.c45.growth import CaseGrowth
from treecompile.learning.c45.learner import C45Options, choice_of, prune_by
from treecompile.learning.grow.draft import Draft
from treecompile.learning.grow.impurity import ImpurityGrowth, finish_tree
from treecompile.learning.id3 import unordered
from treecompile.learning.limits import Progress
from treecompile.learning.options import (
    C45,
    ID3,
    LearnOptions,
    chosen,
)
from treecompile.learning.training import (
    c45_options_of,
    limits_of,
    weighting_of,
)
from treecompile.learning.weighting import odd_mean
from treecompile.measure.quality import quality_of_counts, quality_of_sums
from treecompile.model.ir import (
    ClassCounts,
    MissingPolicy,
    Moments,
    Program,
    Quality,
    RuleTally,
    Split,
    Tree,
)
from treecompile.model.paths import outcomes
from treecompile.tables.dataset import Dataset
from treecompile.tables.options import DataOptions


@dataclass(frozen=True, slots=True)
class TableRun:
    """A table to learn from, how to learn, and who hears of it."""

    store: Store
    schema: Schema
    data: Dataset  # the columns, without rows
    columns: DataOptions
    options: LearnOptions
    algorithm: str
    progress: Progress
    listener: Listener
    temporary_tables: bool
    journal: Journal | None


@dataclass(frozen=True, slots=True)
class GrownTree:
    """A tree, and a function that measures a tree pruned from it on the rows."""

    tree: Tree
    quality: Callable[[Program, Tree], Measured]
    notes: tuple[str, ...] = ()


def grow(run: TableRun) -> GrownTree:
    return _by_cases(run) if run.algorithm == C45 else _by_impurity(run)


# --- C4.5 -----------------------------------------------------------------------------


def _by_cases(run: TableRun) -> GrownTree:
    schema, own = run.schema, c45_options_of(run.options)
    limits = limits_of(run.options, C45)
    former = _former(run, schema)
    target = CaseTarget(run.store, schema, is_divided=_is_divided(schema, own))
    edges = former.edges if former else None
    is_inline = not run.temporary_tables
    work = CaseTable(run.store, schema, target, edges, is_inline=is_inline)
    choice = choice_of(schema.features, schema.rows, limits, own)
    source = CaseTableSource(work, choice, limits, own)
    growth = CaseGrowth(source, choice, limits, run.progress)
    levels = grow_in_table(growth, source, run.listener, run.journal, former)
    draft = growth.finish()
    if own.is_pruning:
        prune_by(draft, CasePassing(source, levels, draft), own.cf)
    tree = finish_case_tree(draft, run.data.features, run.data.labels, own.policy)

    def quality(program: Program, pruned: Tree) -> Measured:
        if _are_leaves_counted(schema, own):
            return class_quality(pruned)
        found = evaluate(run.store, schema.relation, program)
        return found.quality, found.tallies

    return GrownTree(tree, quality)


def _is_divided(schema: Schema, options: C45Options) -> bool:
    """Whether some cases go down several branches."""
    return options.is_fractional and any(each.missing for each in schema.summaries)


def _are_leaves_counted(schema: Schema, options: C45Options) -> bool:
    """Whether the leaves have counted the rows that the tree sends to them."""
    is_fractional = options.policy is MissingPolicy.FRACTIONAL
    return not is_fractional and not _is_divided(schema, options)


# --- ID3 and CART ---------------------------------------------------------------------


def _by_impurity(run: TableRun) -> GrownTree:
    schema = run.schema
    is_multiway = run.algorithm == ID3
    if is_multiway:
        schema = replace(schema, features=unordered(schema.features))
    weights = None
    if schema.labels:
        weights = weigh(run.store, schema, run.data, weighting_of(run.options))
    criterion = chosen(run.options, "criterion", run.algorithm)
    target = _target(run, schema, criterion, weights)
    former = _former(run, schema)
    edges = former.edges if former else None
    is_inline = not run.temporary_tables
    work = WorkTable(run.store, schema, target, edges, is_inline=is_inline)
    limits = limits_of(run.options, run.algorithm)
    source = ImpurityTableSource(work, limits, is_multiway=is_multiway)
    growth = ImpurityGrowth(source, limits, run.progress)
    levels = grow_in_table(growth, source, run.listener, run.journal, former)
    draft = Draft.of(levels)
    tree = finish_tree(draft, target.response, schema.features, schema.labels)

    def quality(program: Program, pruned: Tree) -> Measured:
        if weights:  # the leaves have counted weights, not rows
            found = evaluate(run.store, schema.relation, program)
            return found.quality, found.tallies
        if schema.labels:
            return class_quality(pruned)
        return value_quality(pruned, tree, distances(draft))

    return GrownTree(tree, quality, _notes(run, weights))


def _target(
    run: TableRun, schema: Schema, criterion: str, weights: RowWeights | None
) -> TableTarget:
    if not schema.labels:
        return NumberTarget(run.store, schema)
    if weights:
        return WeightedLabelTarget(run.store, schema, criterion, weights)
    return LabelTarget(run.store, schema, criterion)


def _notes(run: TableRun, weights: RowWeights | None) -> tuple[str, ...]:
    if weights is None or weights.mean is None or run.options.chi2 is None:
        return ()
    return tuple(odd_mean(weights.mean))


def _former(run: TableRun, schema: Schema) -> TableState | None:
    """The state that an interrupted run has left, if it was the same run."""
    if run.journal is None:
        return None
    how = replace(run.options, algorithm=run.algorithm)
    this = run_of(run.store, schema, run.columns, how)
    former, messages = run.journal.begin(this)
    for message in messages:
        run.listener.say(message)
    return former


# --- quality on the rows, by what the leaves hold -------------------------------------


Measured = tuple[Quality, tuple[RuleTally, ...]]


def class_quality(tree: Tree) -> Measured:
    """Of a tree for labels, whose leaves have counted the rows."""
    size = len(tree.labels)
    confusion = np.zeros((size, size), np.int64)  # actual by predicted
    tallies = []
    for rule in outcomes(tree).values():
        assert isinstance(rule.stats, ClassCounts)
        # A leaf without cases has the counts of the node above.
        counts = np.array(rule.stats.weights) if rule.weight else np.zeros(size)
        answer = tree.labels.index(rule.value)
        confusion[:, answer] += counts.astype(np.int64)
        rows, wrong = int(counts.sum()), float(counts.sum() - counts[answer])
        tallies.append(RuleTally(rows, wrong, rows, wrong))
    return quality_of_counts(confusion), (*tallies,)


def value_quality(tree: Tree, grown: Tree, distances: Sequence[float]) -> Measured:
    """Of a tree for numbers, pruned from one whose nodes have these distances.

    A distance is that of all rows of a node from its mean, added up.
    """
    tallies = []
    for rule in outcomes(tree).values():
        assert isinstance(rule.stats, Moments)
        rows, errors = int(rule.stats.weight), rule.stats.sse or 0.0
        tallies.append(RuleTally(rows, errors, rows, errors))
    root = tree.nodes[0].stats
    assert isinstance(root, Moments)
    count = int(root.weight)
    squared = fsum(tally.errors for tally in tallies)
    absolute = fsum(map(distances.__getitem__, _leaves(tree, grown)))
    quality = quality_of_sums(count, absolute, squared, root.sse or 0.0)
    return quality, (*tallies,)


def _leaves(tree: Tree, grown: Tree) -> list[int]:
    """Where the leaves of a pruned tree are in the one it was pruned from."""
    found, stack = [], [(0, 0)]
    while stack:
        position, place = stack.pop()
        node, origin = tree.nodes[position], grown.nodes[place]
        if isinstance(node, Split):
            assert isinstance(origin, Split)
            pairs = zip(node.branches, origin.branches, strict=True)
            stack += [(one.then, other.then) for one, other in pairs]
        else:
            found.append(place)
    return found
