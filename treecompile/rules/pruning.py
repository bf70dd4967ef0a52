"""Turns a program into one of rules, simplified or post-pruned.

Each result is a new model with its own hash.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from treecompile.measure.cases import Cases
from treecompile.measure.quality import measured, read_cases
from treecompile.model import ir
from treecompile.rules.extract import extract
from treecompile.rules.passes import SIMPLIFYING_PASSES, apply_rule_passes
from treecompile.rules.passes.merge import merge
from treecompile.rules.postprune.c45rules import c45rules
from treecompile.rules.postprune.validation import prune_on_validation
from treecompile.tables.options import ReadOptions
from treecompile.tables.read import Source, read_table

OPTION = "rules"  # the program option that records how the rules were pruned
VALIDATION, C45RULES = "validation", "c45rules"
# Starts a progress bar of a given length; the result advances it.
Start = Callable[[int], Callable[[int], None]]


def silent(length: int) -> Callable[[int], None]:
    return lambda done: None


def simplify(program: ir.Program) -> ir.Program:
    """Return a program with fewer rules and the same answers; see `passes`."""
    rules = extract(program.body)
    body = apply_rule_passes(rules, SIMPLIFYING_PASSES)
    if program.body == body:
        return program
    training = program.training
    if training is not None:
        is_same = _decide_same(rules, body)
        training = _with_valid_tallies(training, len(body.rules) if is_same else None)
    return replace(program, body=body, training=training)


def _decide_same(before: ir.RuleSet, after: ir.RuleSet) -> bool:
    """Whether each rule surely decides the same rows as before."""
    merged = merge(before)
    return len(before.rules) == len(merged.rules) and (
        [rule.conditions for rule in merged.rules]
        == [rule.conditions for rule in after.rules]
    )


def _with_valid_tallies(training: ir.Training, rules: int | None) -> ir.Training:
    """Keep the tallies for `rules` rules and a default; None drops them."""

    def kept(tallies: tuple[ir.RuleTally, ...]) -> tuple[ir.RuleTally, ...]:
        if rules is None or not tallies:
            return ()
        # A tree has no tally for the default.
        return (*tallies, ir.RuleTally(0, 0.0, 0, 0.0))[: rules + 1]

    return replace(
        training,
        rules=kept(training.rules),
        validation_rules=kept(training.validation_rules),
    )


def prune_by(
    program: ir.Program,
    how: str,
    training: Cases | None,
    validation: Cases | None,
    start: Start = silent,
) -> ir.Program:
    """Prune the rules of a program, and measure them on all cases that are given.

    `how` is C45RULES to prune by the training cases (see `postprune.c45rules`), or
    VALIDATION to prune on the validation cases (see `postprune.validation`).
    """
    cases = training if how == C45RULES else validation
    assert cases is not None
    return measured(pruned_rules(program, how, cases, start), training, validation)


def pruned_rules(
    program: ir.Program,
    how: str,
    cases: Cases,
    start: Start = silent,
) -> ir.Program:
    """Prune the rules of a program by cases; nothing is measured yet."""
    rules = extract(program.body)
    progress = start(len(rules.rules) * cases.rows)
    if how == VALIDATION:
        body = prune_on_validation(rules, cases, progress)
    else:
        cf = dict(program.options).get("cf", 0.25)  # the tree was learned with it
        assert isinstance(cf, (int, float))
        body = c45rules(rules, cases, cf, progress)
    options = {**dict(program.options), OPTION: how}
    training = program.training
    if training is not None:  # the estimate was that of the tree
        training = replace(training, estimate=None)
    options_of = tuple(options.items())
    return replace(program, body=body, options=options_of, training=training)


def prune(
    program: ir.Program,
    how: str,
    data: Source,
    reading: ReadOptions = ReadOptions(),
    start: Start = silent,
) -> ir.NotedProgram:
    """Prune the rules of a program by the rows of a table; see `prune_by`."""
    table, by_training = read_table(data, reading), how == C45RULES
    cases = read_cases(program, table, reading.na_values, with_all=by_training)
    training, validation = (cases, None) if by_training else (None, cases)
    pruned = prune_by(program, how, training, validation, start)
    left_out = table.rows - cases.rows
    notes = _notes(program, how, cases.rows, left_out)
    return ir.NotedProgram(pruned, (*table.notes, *notes))


def _notes(program: ir.Program, how: str, rows: int, left_out: int) -> tuple[str, ...]:
    """Return notes for the user about the pruned rules and the rows used."""
    notes = []
    training = program.training
    if how == C45RULES and training is not None and training.rows != rows:
        notes.append(
            f"the model was learned from {training.rows} rows, and this table has"
            f" {rows}: is it the training set?"
        )
    if left_out:
        notes.append(
            f"left out: {left_out} rows whose {program.target} is missing or not known"
            " to the model"
        )
    return tuple(notes)
