"""From a program to a program of rules: as they are, or post-pruned.

Each result is a model of its own, with its own identity. Where a tree divides missing
values among its branches, its rules send them down one: a note says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from treecompile.cases import Cases
from treecompile.errors import OptionError
from treecompile.extract import extract
from treecompile.ir import Program, RuleSet, RuleTally, Training, Tree
from treecompile.passes import SIMPLIFYING_PASSES, apply_rule_passes
from treecompile.postprune.c45rules import c45rules
from treecompile.postprune.validation import prune_on_validation
from treecompile.quality import measured, read_cases
from treecompile.read import read_table
from treecompile.semantics import is_fractional

if TYPE_CHECKING:
    import pandas as pd

    Data = str | Path | pd.DataFrame

OPTION = "rules"  # of a program: how its rules were pruned
FLAT, VALIDATION, C45RULES = "flat", "validation", "c45rules"
Start = Callable[[int], Callable[[int], None]]  # given the whole, takes each part


def silent(length: int) -> Callable[[int], None]:
    return lambda done: None


@dataclass(frozen=True, slots=True)
class Pruned:
    program: Program
    notes: tuple[str, ...]


def simplify(program: Program) -> Program:
    """The same answers from a shorter list of rules; see `passes`."""
    body = apply_rule_passes(raw_rules(program), SIMPLIFYING_PASSES)
    if program.body == body:
        return program
    training = program.training
    if training is not None:
        training = _recounted(training, len(raw_rules(program).rules), len(body.rules))
    return replace(program, body=body, training=training)


def _recounted(training: Training, before: int, behind: int) -> Training:
    """What was counted, where the rules are still the same ones."""

    def kept(tallies: tuple[RuleTally, ...]) -> tuple[RuleTally, ...]:
        if before != behind or not tallies:
            return ()
        return (*tallies, RuleTally(0, 0.0, 0, 0.0))[: behind + 1]

    return replace(
        training,
        rules=kept(training.rules),
        validation_rules=kept(training.validation_rules),
    )


def raw_rules(program: Program) -> RuleSet:
    """Every path of a tree as it is, or the rules that are there."""
    body = program.body
    return extract(body) if isinstance(body, Tree) else body


def flattening_notes(program: Program) -> tuple[str, ...]:
    """What a user should know about the rules of a program."""
    if not is_fractional(program.body):
        return ()
    return (
        "the tree divides missing and unseen values among the branches, and the rules"
        " send them down the branch marked for them: another model",
    )


def prune_by_validation(
    program: Program,
    validation: Cases,
    training: Cases | None = None,
    start: Start = silent,
) -> Program:
    """Prune the rules of a program against a validation set (see `postprune`)."""
    rules = raw_rules(program)
    whole = len(rules.rules) * validation.rows
    body = prune_on_validation(rules, validation, start(whole))
    return measured(with_rules(program, body, VALIDATION), training, validation)


def prune_by_training(
    program: Program,
    training: Cases,
    validation: Cases | None = None,
    start: Start = silent,
) -> Program:
    """Prune the rules of a program by its training cases, as c4.5rules does."""
    rules = raw_rules(program)
    whole = len(rules.rules) * training.rows
    body = c45rules(rules, training, confidence(program), progress=start(whole))
    return measured(with_rules(program, body, C45RULES), training, validation)


def confidence(program: Program) -> float:
    """The level of pessimistic pruning with which a program was learned."""
    cf = dict(program.options).get("cf", 0.25)
    assert isinstance(cf, (int, float))
    return cf


def with_rules(program: Program, body: RuleSet, how: str) -> Program:
    """The program that has these rules instead, and says how they were made."""
    options = {**dict(program.options), OPTION: how}
    return replace(program, body=body, options=tuple(options.items()))


def prune(
    program: Program,
    validation: Data | None = None,
    training: Data | None = None,
    na_values: tuple[str, ...] = (),
    start: Start = silent,
) -> Pruned:
    """Prune by what is in a table: a validation set, or the training set."""
    if (validation is None) == (training is None):
        raise OptionError(
            "prune against a validation set or by the training set: give one of them"
        )
    notes = list(flattening_notes(program))
    if validation is not None:
        table = read_table(validation)
        cases = read_cases(program, table, na_values)
        pruned = prune_by_validation(program, cases, start=start)
    else:
        assert training is not None
        table = read_table(training)
        cases = read_cases(program, table, na_values, with_all=True)
        notes += stranger(program, cases.rows)
        pruned = prune_by_training(program, cases, start=start)
    notes += left_out(program, table.rows - cases.rows)
    return Pruned(pruned, tuple(notes))


def stranger(program: Program, rows: int) -> list[str]:
    """What to say of training rows that are fewer or more than there were."""
    if program.training is None or program.training.rows == rows:
        return []
    return [
        f"the model was learned from {program.training.rows} rows, and there are"
        f" {rows}: is this the training set?"
    ]


def left_out(program: Program, rows: int) -> list[str]:
    """What to say of rows whose answer is of no use."""
    if not rows:
        return []
    return [
        f"left out: {rows} rows whose {program.target} is missing or not known to the"
        " model"
    ]
