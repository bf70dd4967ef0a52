"""What `build` compiles: a model learned from rows, or one from a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any

from treecompile.api import importing
from treecompile.api.estimating import estimated
from treecompile.api.imported import as_measured, measured_forest
from treecompile.api.model import Model
from treecompile.api.options import (
    keywords_of,
    learn_options,
    read_options,
)
from treecompile.api.rows import (
    Data,
    Feedback,
    in_memory,
    learn_from,
)
from treecompile.database.locations import Table, check_found, in_database
from treecompile.learning.training import Learned
from treecompile.measure.cases import Cases
from treecompile.measure.quality import measured, read_cases
from treecompile.measure.summary import quality_line
from treecompile.model.errors import DataError, OptionError
from treecompile.model.ir import ForestProgram, Program, RuleSet
from treecompile.model.paths import size
from treecompile.rules import pruning
from treecompile.rules.language import document
from treecompile.rules.language.document import is_rules
from treecompile.rules.postprune.drop import recounted
from treecompile.rules.pruning import C45RULES, VALIDATION
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import Source, read_table

FLAT = "flat"
FORMS = (FLAT, VALIDATION, C45RULES)
FEWER_ROWS = (
    "the validation rows prune the rules, so the tree does not learn from them, and the"
    " quality on them is optimistic: rules=c45rules learns from all rows"
)


def read_forest(
    data: Any, given: Mapping[str, Any], rows: Data | None, feedback: Feedback
) -> Model:
    """The forest in a file, measured if there are rows."""
    options = _reading(data, given, rows, allowed=("target", "labels"))
    names = {name: given.get(name) or None for name in ("target", "labels")}
    model = importing.import_model(data, **names)
    feedback.notes(model.notes)
    if rows is not None:
        how = read_options("build", options)
        table = read_table(in_memory(rows, "build"), how)
        feedback.notes(table.notes)
        assert isinstance(model.any_program, ForestProgram)
        made = measured_forest(model.any_program, table, how.na_values)
        feedback.tell(quality_line(made))
        model = Model(made, model.notes)
    feedback.tell(size(model.any_program.body))
    return model


def _reading(
    data: str | Path,
    given: Mapping[str, Any],
    rows: Data | None,
    allowed: Iterable[str] = (),
) -> dict[str, Any]:
    """The options for reading rows; those for learning are refused for a model."""
    reading = keywords_of(ReadOptions)
    more = {"validation", *reading} if rows is not None else set()
    for name in given.keys() - more - {*allowed}:
        kind = "a file of rules" if is_rules(data) else "a model"
        also = "leave it out, or add data" if name in reading else "leave it out"
        raise OptionError(
            f"{name} is for learning, and {str(data)!r} is {kind}, which is compiled as"
            f" it is: {also}"
        )
    return {name: value for name, value in given.items() if name in reading}


def read_model(
    data: str | Path,
    given: Mapping[str, Any],
    rows: Data | None,
    feedback: Feedback,
) -> Model:
    """The model in a file, measured if there are rows."""
    options = _reading(data, given, rows)
    program = document.read_model(data)
    how = read_options("build", options)
    if rows is not None:
        table = read_table(in_memory(rows, "build"), how)
        held_out = given.get("validation")
        other = None if held_out is None else in_memory(held_out, "build")
        feedback.notes(table.notes)
        program = _measured_on(program, table, other, how)
        feedback.tell(quality_line(program))
    feedback.tell(size(program.body))
    return Model(program)


def _measured_on(
    program: Program, table: RawTable, validation: Source | None, reading: ReadOptions
) -> Program:
    """The program with all that a learner would know about it, from a table.

    Rules of a list are counted: each gets the rows that meet its conditions, the
    default those that no rule takes. A rule that no row meets keeps its counts.
    """
    cases = read_cases(program, table, reading.na_values, with_all=True)
    body = program.body
    if isinstance(body, RuleSet):
        body = recounted(body, cases)
    known = as_measured(replace(program, body=body), table, cases)
    return measured(known, cases, _held_out(known, validation, reading))


def _held_out(
    program: Program, validation: Source | None, reading: ReadOptions
) -> Cases | None:
    if validation is None:
        return None
    try:
        return read_cases(program, read_table(validation, reading), reading.na_values)
    except DataError as error:
        raise DataError(f"validation: {error}") from error


def refuse_rows(rows: Data | None) -> None:
    if rows is not None:
        raise OptionError(
            "data is for a model or rules, and the first argument is a table to learn"
            " from: leave it out"
        )


def learned_model(
    data: Data,
    given: Mapping[str, Any],
    options: dict[str, Any],
    feedback: Feedback,
    *,
    estimate: bool,
) -> Model:
    """The tree that is learned, or the rules made of it."""
    form, validation = given.get("rules"), given.get("validation")
    if "target" not in given:
        raise OptionError("missing option target: the column to predict")
    if form is not None and form not in FORMS:
        raise OptionError(f"rules={form!r}: expected one of {', '.join(FORMS)}")
    if form in (VALIDATION, C45RULES):
        # Rules are pruned from a tree that fits the data, not from a pruned tree.
        options["prune"] = options.get("prune") or "none"
    is_held_out = validation is not None or options.get("validation_fraction")
    if form == VALIDATION and not is_held_out:
        raise OptionError(
            "rules=validation needs rows to prune against: add validation=FILE or"
            " validation_fraction=F"
        )
    check_found(data)
    if place := in_database(data):
        where = "in a database" if isinstance(place, Table) else "in Parquet files"
        raise OptionError(
            f"build needs the rows in memory, from one file: for rows {where}, use"
            " `learn`, and then `build` with the model"
        )
    began = monotonic()
    columns, how = learn_options("build", given["target"], options)
    needs = "rules=c45rules" if form == C45RULES else ""
    learned = learn_from(data, columns, how, validation, feedback, for_labels=needs)
    made, notes = _in_form(learned, form, feedback)
    if estimate:
        made = estimated(made, learned, how, form or "")
    feedback.made(made, monotonic() - began)
    return Model(made, (*learned.notes, *notes))


def _in_form(
    learned: Learned, form: str | None, feedback: Feedback
) -> tuple[Program, list[str]]:
    """The learned tree, or its rules; with notes about these."""
    if form is None:
        return learned.program, []
    feedback.tell(f"tree: {size(learned.program.body)}")
    notes = [FEWER_ROWS] if form == VALIDATION else []
    feedback.notes(notes)
    with feedback.progress("pruning") as start:
        if form == FLAT:
            return pruning.simplify(learned.program), notes
        cases = (learned.training, learned.validation)
        return pruning.prune_by(learned.program, form, *cases, start), notes
