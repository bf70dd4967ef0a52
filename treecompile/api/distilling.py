"""Distil: learn one tree, or rules, that answer as a forest does, and measure it.

The forest answers the rows, and a tree is learned from a part of these answers. The
others are held out to measure how often both agree. The tree that is measured is the
one that is returned: it is not learned again from all rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Unpack

import numpy as np

from treecompile.api.answered import Answered, answers_of
from treecompile.api.build_sources import FLAT, FORMS
from treecompile.api.distilled import (
    BothQualities,
    Distilled,
    Witness,
    pair_counts,
    telling,
)
from treecompile.api.model import Model
from treecompile.api.options import DistilKeywords, distil_options, with_keywords
from treecompile.api.rows import Data, Feedback, Silent, in_memory
from treecompile.database.locations import in_database
from treecompile.inspect.advice import advice
from treecompile.learning import training
from treecompile.learning.checks import check_options
from treecompile.learning.costs import check_costs
from treecompile.learning.options import (
    C45,
    CART,
    CV,
    ENOUGH,
    NONE,
    REDUCED_ERROR,
    LearnOptions,
    given_options,
)
from treecompile.measure.cases import Cases, has_answer
from treecompile.measure.quality import measure, measured
from treecompile.model import ir
from treecompile.model.arrays import Array, Positions
from treecompile.model.batch import answers
from treecompile.model.errors import DataError, OptionError
from treecompile.model.file.write import sha256
from treecompile.model.paths import size
from treecompile.model.semantics import required_features
from treecompile.model.stand_in import DISTILLED, FOREST
from treecompile.rules import pruning
from treecompile.rules.pruning import C45RULES, VALIDATION, Start
from treecompile.tables.dataset import Dataset, encode_answers
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import Source, read_table
from treecompile.tables.suspicions import unmatched

LEAVES = 30  # that a person reads, unless the user says how large the tree may be
HELD_OUT = 1 / 3


@with_keywords(DistilKeywords, ReadOptions, LearnOptions)
def distil(
    forest: Model | ir.AnyProgram,
    data: Data,
    *,
    held_out: float = HELD_OUT,
    rules: str | None = None,
    feedback: Feedback = Silent(),
    **options: Unpack[DistilKeywords],
) -> Distilled:
    """Learn one tree that imitates a forest.

    The forest answers the rows of `data`, which need the columns that it tests. A
    target column is not necessary, and never a feature. The tree is learned from the
    answers to part of the rows. The rest, the share `held_out`, measures how often
    tree and forest agree (`fidelity` of the result). `seed` selects the rows.

    The options are those of `learn` for growing, pruning and reading files. The default
    is CART with at most 30 leaves; `max_leaves=None` sets no limit. `rules` turns the
    tree into rules, as in `build`: "flat", "validation" or "c45rules".
    """
    program = forest_of(forest)
    reading, how = distil_options("distil", options)
    if not 0 < held_out < 1:
        raise OptionError(f"--held-out {held_out:g}: expected a number between 0 and 1")
    if "max_leaves" not in options and how.algorithm != C45:
        how = replace(how, max_leaves=LEAVES)
    how = _checked(how, rules, program)
    table = read_table(_rows_in_memory(data), reading)
    check_costs(how.costs, table.names, program.target)
    answered = answers_of(program, table, reading)
    learning, measuring = _divided(table.rows, held_out, how.seed)
    notes = [*table.notes, *unmatched(table, reading.na_values), *answered.notes()]
    feedback.notes(notes)
    with feedback.progress("learning") as start:
        learned, more = _learned(answered, learning, how, rules, start)
    targets, unread = _targets(learned, table)
    made = measured(learned, answered.cases(learning), answered.cases(measuring))
    more += advice(made)
    feedback.notes([*more, *unread])
    return _compared(
        Model(made, (*notes, *more, *unread)), answered, measuring, targets
    )


def forest_of(
    model: Model | ir.AnyProgram, called: str = "the model"
) -> ir.ForestProgram:
    """The forest in a model; a tree or rules are refused."""
    program: ir.AnyProgram = model.any_program if isinstance(model, Model) else model
    if isinstance(program, ir.ForestProgram):
        return program
    kind = "tree" if isinstance(program.body, ir.Tree) else "list of rules"
    raise OptionError(
        f"distil needs a forest, and {called} is a {kind} ({size(program.body)}), which"
        " people can read as it is: use `show`, or `rules` to simplify it"
    )


def _rows_in_memory(data: Data) -> Source:
    if in_database(data):
        raise OptionError(
            "distil needs the rows in memory: use one file, such as a sample of the"
            " rows, instead of a database or many Parquet files"
        )
    return in_memory(data, "distil")


def _checked(
    how: LearnOptions, form: str | None, forest: ir.ForestProgram
) -> LearnOptions:
    """The options, if they go together; with what goes without saying."""
    if form is not None and form not in FORMS:
        raise OptionError(f"--rules {form!r}: expected one of {', '.join(FORMS)}")
    if form == C45RULES and not forest.body.labels:
        raise OptionError(
            f"--rules {form} is for labels, and the forest predicts numbers: leave it"
            " out"
        )
    if form == VALIDATION and not how.validation_fraction:
        raise OptionError(
            "--rules validation needs rows to prune against: add --validation-fraction"
            " F"
        )
    if form in (VALIDATION, C45RULES):
        # Rules are pruned from a tree that fits the data, not from a pruned tree.
        how = replace(how, prune=how.prune or NONE)
    if how.prune == REDUCED_ERROR and not how.validation_fraction:
        raise OptionError(
            "--prune reduced-error needs rows to prune by: add --validation-fraction F"
        )
    check_options(how)
    return replace(how, algorithm=how.algorithm or CART)


# ---------------------------------------------------------------- the stand-in


def _divided(rows: int, held_out: float, seed: int) -> tuple[Positions, Positions]:
    """The rows to learn from, and those that are held out."""
    count = round(rows * held_out)
    if not 0 < count < rows:
        which = "all" if count else "none"
        raise OptionError(
            f"--held-out {held_out:.3g} holds out {which} of {rows} rows: use more"
            " rows, or another share"
        )
    order = np.random.default_rng(seed).permutation(rows)
    return np.sort(order[count:]), np.sort(order[:count])


def _learned(
    answered: Answered,
    rows: Positions,
    how: LearnOptions,
    form: str | None,
    start: Start,
) -> tuple[ir.Program, list[str]]:
    """The tree or the rules, not yet measured; and notes."""
    data = answered.dataset(rows)
    training.weighting_of(how).check(data)
    grown, validation = training.split_off(data, how)
    is_open = how.algorithm == CART and not how.prune and how.alpha is None
    if is_open and len(grown.y) >= ENOUGH:
        # The forest's answers have no noise, so the least error is the best.
        how = replace(how, alpha=CV)

    def to_prune_by(tree: ir.Tree) -> training.ToPruneBy:
        assert validation is not None
        return validation.columns, validation.y, validation.weights

    tree, choice = training.grow_tree(grown, how.algorithm, how, start, to_prune_by)
    forest = answered.forest
    alpha = None if choice is None else choice.alpha
    options = (*given_options(how, "", alpha), (FOREST, sha256(forest)))
    known = ir.Training(data.source, len(rows), answered.summaries(rows))
    program = ir.Program(
        forest.target,
        f"{how.algorithm}{DISTILLED}{forest.algorithm}",
        tree,
        options,
        answered.na_values,
        known,
        forest.dates,
    )
    notes = training.notes_on(replace(how, prune=""), how.algorithm, len(rows), choice)
    return _in_form(program, form, grown, validation), notes


def _in_form(
    program: ir.Program, form: str | None, grown: Dataset, validation: Dataset | None
) -> ir.Program:
    if form is None:
        return program
    if form == FLAT:
        return pruning.simplify(program)
    cases = Cases(grown.columns, grown.y)
    other = None if validation is None else Cases(validation.columns, validation.y)
    return pruning.prune_by(program, form, cases, other)


# ---------------------------------------------------------------- both, compared


def _targets(program: ir.Program, table: RawTable) -> tuple[Array | None, list[str]]:
    """The known targets of the table, if there are any; and why not, if it is odd."""
    if program.target not in table.places:
        return None, []
    try:
        return encode_answers(program, table), []
    except DataError as error:
        return None, [f"the accuracy against {program.target!r} is not known: {error}"]


def _compared(
    model: Model, answered: Answered, rows: Positions, targets: Array | None
) -> Distilled:
    """The result, from the answers to held-out rows."""
    body, cases = model.program.body, answered.cases(rows)
    own = answers(body, cases.columns, cases.rows)
    known = model.program.training
    assert known is not None
    assert known.validation is not None
    both = None
    if targets is not None:
        both = _against(body, targets[rows], cases.y, own)
    witnesses = tuple(_witnesses(answered, body, rows, own))
    return Distilled(model, answered.forest, known.validation, both, witnesses)


def _against(
    body: ir.Body, targets: Array, by_forest: Array, by_model: Array
) -> BothQualities | None:
    """How good both are where the target is known."""
    known = has_answer(targets, body)
    if not known.any():
        return None
    both = (by_forest[known], by_model[known])
    return BothQualities(*(measure(body.labels, x, targets[known]) for x in both))


def _witnesses(
    answered: Answered, body: ir.Body, rows: Positions, by_model: Array
) -> Iterator[Witness]:
    by_forest, labels = answered.answers[rows], body.labels
    counts = pair_counts(by_forest, by_model) if labels else None
    tested = required_features(answered.forest.body)
    for place in telling(labels, by_forest, by_model):
        forest, own, row = by_forest[place].item(), by_model[place].item(), rows[place]
        yield Witness(
            int(row) + 1,
            {body.features[i].name: answered.value(i, int(row)) for i in tested},
            labels[forest] if labels else forest,
            labels[own] if labels else own,
            None if counts is None else counts[forest, own],
        )
