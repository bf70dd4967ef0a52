"""C4.5 from a table in a database: the tree that `learners.c45` grows from its rows."""

from __future__ import annotations

from treecompile.data import Dataset
from treecompile.in_database.c45_answers import CaseAnswers
from treecompile.in_database.c45_passing import CasePassing
from treecompile.in_database.c45_source import CaseSource
from treecompile.in_database.schema import Schema
from treecompile.in_database.work import WorkTable
from treecompile.ir import Tree
from treecompile.learners.c45 import C45Options, grow_by, prune_by
from treecompile.learners.c45_build import build
from treecompile.learners.limits import Limits, Progress
from treecompile.stores.base import Store


def is_divided(schema: Schema, options: C45Options) -> bool:
    """Whether there are cases that go down several branches."""
    return options.is_fractional and any(each.missing for each in schema.summaries)


def learn_c45(
    store: Store,
    schema: Schema,
    data: Dataset,
    limits: Limits,
    progress: Progress,
    options: C45Options,
) -> Tree:
    """Grow and prune a tree; `data` is the dataset without its rows."""
    answers = CaseAnswers(store, schema, is_divided=is_divided(schema, options))
    work = WorkTable(store, schema, answers)
    work.create()
    source = CaseSource(work, answers, float(limits.min_leaf), options)
    made = grow_by(source, schema.rows, limits, progress, options)
    if options.is_pruning:
        prune_by(made, CasePassing(source, made), options.cf)
    return build(made, data, options.policy)
