"""C4.5 from a table in a database: the tree that `learners.c45` grows from its rows."""

from __future__ import annotations

from treecompile.data import Dataset
from treecompile.in_database.c45_answers import CaseAnswers
from treecompile.in_database.c45_passing import CasePassing
from treecompile.in_database.c45_source import CaseSource
from treecompile.in_database.c45_state import CaseState, dumps
from treecompile.in_database.c45_table import CaseTable
from treecompile.in_database.journal import Journal
from treecompile.in_database.levels import NO_TABLE, Level, Listener
from treecompile.in_database.schema import Schema
from treecompile.ir import MissingPolicy, Tree
from treecompile.learners.c45 import C45Options, choice_of, prune_by
from treecompile.learners.c45_build import build
from treecompile.learners.c45_grow import Growth, grow
from treecompile.learners.limits import Limits, Progress
from treecompile.stores.base import Store


def is_divided(schema: Schema, options: C45Options) -> bool:
    """Whether there are cases that go down several branches."""
    return options.is_fractional and any(each.missing for each in schema.summaries)


def are_leaves_counted(schema: Schema, options: C45Options) -> bool:
    """Whether the leaves have counted the very rows that the tree sends there."""
    is_fractional = options.policy is MissingPolicy.FRACTIONAL
    return not is_fractional and not is_divided(schema, options)


def learn_c45(
    store: Store,
    schema: Schema,
    data: Dataset,
    limits: Limits,
    progress: Progress,
    options: C45Options,
    listener: Listener,
    journal: Journal | None = None,
    former: CaseState | None = None,
    *,
    is_inline: bool = False,
) -> Tree:
    """Grow and prune a tree; `data` is the dataset without its rows.

    `former` is the state to go on from, if there is one.
    """
    answers = CaseAnswers(store, schema, is_divided=is_divided(schema, options))
    bins = former.bins if former else None
    work = CaseTable(store, schema, answers, bins, is_inline=is_inline)
    work.create()
    if work.is_inline:
        listener.say(NO_TABLE)

    choice = choice_of(schema.features, schema.rows, limits, options)
    source = CaseSource(work, choice, limits, options)
    if former:
        source.resume(former)

    def watch(growth: Growth) -> None:
        if journal and len(source.moves) > journal.levels:
            state = source.kept(growth.kept())
            journal.write(state, dumps(state))
        nodes, weight = len(source.weights), float(source.weights.sum())
        listener.level(Level(len(source.moves) + 1, nodes, round(weight)))

    kept = former.growth if former else None
    made = grow(source, choice, limits, progress, watch, kept)
    if options.is_pruning:
        prune_by(made, CasePassing(source, made), options.cf)
    return build(made, data, options.policy)
