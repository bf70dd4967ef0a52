"""Learn a tree from a table in a database, as `training` does from one in memory.

What needs the rows themselves is refused by name: they stay where they are. The quality
on the rows comes from the counts of the leaves, which are those of the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np

from treecompile.data import DataOptions, Dataset
from treecompile.errors import OptionError
from treecompile.in_database.answers import Answers, LabelAnswers
from treecompile.in_database.bounds import BOUNDS
from treecompile.in_database.leaf_quality import class_quality, value_quality
from treecompile.in_database.numbers import DISTANCES, NumberAnswers
from treecompile.in_database.schema import Schema, read_schema
from treecompile.in_database.source import EngineSource
from treecompile.in_database.work import WorkTable
from treecompile.ir import Program, Training, Tree
from treecompile.learners import (
    C45,
    CART,
    COST_COMPLEXITY,
    ID3,
    REDUCED_ERROR,
    cart,
    id3,
    offer_of,
)
from treecompile.learners.choose_alpha import RULES
from treecompile.learners.criteria import MEASURES
from treecompile.learners.drafts import finish
from treecompile.learners.growth import grow
from treecompile.learners.id3 import unordered
from treecompile.learners.limits import Limits, Progress
from treecompile.learners.prune import cost_complexity
from treecompile.stores.base import Store
from treecompile.training import (
    LearnOptions,
    alpha_of,
    as_option,
    check_offer,
    check_options,
    given_options,
    limits_of,
)

INSTEAD = "learn from a file, or a part of the table in one"
# Options that need the rows: none of them may differ from its default.
BARRED = (
    *("missing", "predict_missing", "subset", "costs", "one_hot", "one_hot_all"),
    *("class_weight", "balanced", "prior", "validation_fraction"),
)
SPELT = {"balanced": "--class-weight"}


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
) -> LearnedThere:
    """Grow a tree in the database; `relation` is what stands behind FROM."""
    check_options(options)
    algorithm = options.algorithm or CART
    check_here(algorithm, columns, options)
    schema = read_schema(store, relation, columns)
    offer = offer_of(algorithm)
    data = _as_data(schema, columns)
    check_offer(data, algorithm, offer, options)
    CHECKS[algorithm](data, options.criterion)
    grown = _grow(
        store, schema, algorithm, options.criterion, limits_of(options, offer), progress
    )
    tree = grown.tree
    if options.prune == COST_COMPLEXITY:
        tree = cost_complexity(tree, alpha_of(options))
    if schema.labels:
        quality, tallies = class_quality(tree)
    else:
        quality, tallies = value_quality(tree, grown.tree, grown.distances)
    program = Program(
        columns.target,
        algorithm,
        tree,
        given_options(options, columns.weights, None),
        columns.na_values,
        Training(source, schema.rows, schema.summaries, quality=quality, rules=tallies),
    )
    notes = list(schema.notes)
    if not options.algorithm:
        why = f" ({C45} needs the rows in memory)" if schema.labels else ""
        notes.append(f"algorithm: {algorithm}{why}")
    return LearnedThere(program, tuple(notes))


CHECKS = {CART: cart.check, ID3: id3.check}


def check_here(algorithm: str, columns: DataOptions, options: LearnOptions) -> None:
    """Refuse what cannot be done in a database."""
    offer_of(algorithm)
    if algorithm == C45:
        raise OptionError(
            f"c45 needs the rows in memory: use --algorithm {CART} or {ID3} in a"
            f" database, or {INSTEAD}"
        )
    if columns.weights:
        _refuse("--weights")
    defaults = {field.name: field.default for field in fields(LearnOptions)}
    for name in BARRED:
        given = getattr(options, name)
        if given != defaults[name] and (name, given) != ("missing", "majority"):
            _refuse(SPELT.get(name, as_option(name)))
    if options.alpha in RULES:
        _refuse(f"--alpha {options.alpha}")
    if options.prune == REDUCED_ERROR:
        _refuse(f"--prune {REDUCED_ERROR}")
    known = offer_of(algorithm).criteria
    is_unbounded = options.criterion in known and options.criterion not in BOUNDS
    if algorithm == CART and is_unbounded:
        shown = ", ".join(BOUNDS)
        raise OptionError(
            f"--criterion {options.criterion}: in a database {CART} has {shown}; use"
            f" one of these, or {INSTEAD}"
        )


def _refuse(option: str) -> None:
    raise OptionError(
        f"{option} needs the rows in memory: leave it out in a database, or {INSTEAD}"
    )


def _as_data(schema: Schema, columns: DataOptions) -> Dataset:
    """The dataset without its rows, for what only asks what the columns are."""
    none = np.zeros(0)
    return Dataset(
        columns.target, schema.features, (), schema.labels, none, schema.notes, ""
    )


@dataclass(frozen=True, slots=True)
class Grown:
    tree: Tree
    distances: tuple[float, ...]  # of numbers, by node: see `value_quality`


def _grow(
    store: Store,
    schema: Schema,
    algorithm: str,
    criterion: str,
    limits: Limits,
    progress: Callable[[int], Progress],
) -> Grown:
    if algorithm == ID3:
        schema = replace(schema, features=unordered(schema.features))
    answers = _answers(store, schema, criterion or offer_of(algorithm).criteria[0])
    work = WorkTable(store, schema, answers)
    work.create()
    source = EngineSource(work, limits, is_multiway=algorithm == ID3)
    drafts = grow(source, limits, progress(schema.rows))
    tree = finish(schema.features, schema.labels, drafts, answers.response)
    if schema.labels:
        return Grown(tree, ())
    measured = drafts.joined("stats")[drafts.reading().numbers]
    return Grown(tree, tuple(measured[:, DISTANCES].tolist()))


def _answers(store: Store, schema: Schema, criterion: str) -> Answers:
    if schema.labels:
        most = BOUNDS.get(criterion)
        return LabelAnswers(store, schema, MEASURES[criterion], most)
    return NumberAnswers(store, schema)
