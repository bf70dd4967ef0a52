"""Edited rules: measured on data, compared with the model before.

document -> RuleSource -> measured Program and its History -> the next document
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from treecompile.api.imported import as_measured
from treecompile.emit.history import AnswerChange, Changes, History
from treecompile.inspect.diff import diff
from treecompile.inspect.differences import Diff
from treecompile.measure.cases import Cases
from treecompile.measure.quality import measured, read_cases
from treecompile.model.errors import (
    DataError,
    OptionError,
    TargetError,
)
from treecompile.model.file.write import sha256
from treecompile.model.ir import Program, Rule, RuleSet
from treecompile.model.referral import refer_label
from treecompile.rules.extract import extract, flatten
from treecompile.rules.language.document import RuleSource
from treecompile.rules.postprune.drop import recounted
from treecompile.rules.referral import certain_to_refer
from treecompile.rules.seals import matches, seals
from treecompile.tables.options import ReadOptions
from treecompile.tables.raw import RawTable
from treecompile.tables.read import Source, read_table

# ---------------------------------------------------------------- measuring


def measured_on(
    source: RuleSource,
    table: RawTable,
    validation: Source | None,
    reading: ReadOptions,
) -> Program:
    """The program with all that a learner would know about it, from a table.

    Edited rules are counted: each gets the rows that meet its conditions, the default
    those that no rule takes. A rule that no row meets keeps the counts that it had.
    """
    program = source.program
    cases = read_cases(program, table, reading.na_values, with_all=True)
    body = program.body
    if isinstance(body, RuleSet) and program is not source.origin:
        body = certain_to_refer(recounted(body, cases), refer_label(program))
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


# ---------------------------------------------------------------- changes


def history_of(
    source: RuleSource,
    program: Program,
    table: RawTable | None = None,
    na_values: tuple[str, ...] = (),
) -> History:
    """What the document of a program says about its past."""
    changes = None
    if source.former is not None:
        changes = changes_since(source.former, program, table, na_values)
    elif source.origin is not None:
        changes = Changes(sha256(source.origin))
    return History(source.notes, source.former, changes)


def changes_since(
    former: Program,
    program: Program,
    table: RawTable | None = None,
    na_values: tuple[str, ...] = (),
) -> Changes:
    """How the rules of a program differ from those of the former one."""
    old, new = flatten(former.body), flatten(program.body)
    olds, news = _by_id(old), _by_id(new)
    then, now = seals(former, old), seals(program, new)
    found = matches(now, then)
    edited = [rule for rule in news if rule in found and now[rule] != then[found[rule]]]
    kept = [rule for rule in news if rule in found and now[rule] == then[found[rule]]]
    place = {name: n for n, name in enumerate(olds)}
    order = [place[found[rule]] for rule in kept]
    made = Changes(
        sha256(former),
        is_edited=True,
        features=old.features,
        added=tuple(rule for name, rule in news.items() if name not in found),
        struck=_struck(olds, found),
        changed=tuple((olds[found[name]], news[name]) for name in edited),
        is_reordered=order != sorted(order),
        kept=tuple(kept),
    )
    return _compared(made, former, program, table, na_values)


def _struck(olds: Mapping[str, Rule], found: Mapping[str, str]) -> tuple[Rule, ...]:
    left = set(found.values())
    return tuple(rule for name, rule in olds.items() if name not in left)


def _by_id(rules: RuleSet) -> dict[str, Rule]:
    return {rule.id: rule for rule in (*rules.rules, rules.default)}


def _compared(
    changes: Changes,
    former: Program,
    program: Program,
    table: RawTable | None,
    na_values: tuple[str, ...],
) -> Changes:
    """The changes with the regions in which the answers differ."""
    old = replace(former, body=extract(former.body))
    new = replace(program, body=extract(program.body))
    try:
        found = _diff(old, new, table, na_values)
    except (OptionError, TargetError) as error:
        return replace(changes, obstacle=str(error))
    return replace(
        changes,
        regions=tuple(
            AnswerChange(each.tests, each.old, each.new, each.rows)
            for each in found.regions
        ),
        common=found.features,
        is_complete=found.complete,
        differing=found.differing,
        rows=found.rows or 0,
    )


def _diff(
    old: Program, new: Program, table: RawTable | None, na_values: tuple[str, ...]
) -> Diff:
    try:
        return diff(old, new, table, na_values=na_values)
    except DataError:  # the data need not have columns that only the old rules read
        return diff(old, new)
