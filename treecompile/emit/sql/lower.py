"""Lowers a tree or rules to the lines of a SQL expression or statement.

Comments contain only what this module writes itself: ids, counts, hashes. Text from the
data appears only as quoted names and literals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from treecompile.emit.lower import Arm, Rules
from treecompile.emit.lower import lower as arms_of
from treecompile.emit.lowering import CompilerInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import forms
from treecompile.emit.sql.checks import (
    check_values,
    console_warnings,
    size_warnings,
)
from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.emit.sql.forms import Steps, answer_type
from treecompile.emit.sql.outputs import (
    OUTPUTS,
    Asked,
    asked_outputs,
    header,
    properties,
    taken_names,
)
from treecompile.emit.sql.text import (
    ConditionWriter,
    Quoting,
    column_names,
    literal,
)
from treecompile.model import ir, paths, words
from treecompile.model.errors import TargetError
from treecompile.model.semantics import probabilities

UNSAID: Mapping[str, str] = MappingProxyType({})  # without comments


@dataclass(frozen=True, slots=True)
class SqlText:
    """The strings of a SQL file."""

    # "treecompile 0.9, dialect duckdb, output label, model 5f..."; "" without comments
    header: str
    lines: list[str]  # "CASE", "  WHEN "age" <= 30.5 THEN 'no' /* R1: ... */", "END"


def lower(source: CompilerInput, options: EmitOptions) -> Lowered:
    body = source.program.body
    dialect = read_dialect(options.dialect)
    forms.check_form(options)
    check_values(body, dialect)
    asked = asked_outputs(body, options)
    columns = column_names(body, Quoting(dialect, bare=True), options.columns)
    said = words.evidence_by_id(source.program) if options.comments else {}
    made = Steps(expressions(body, dialect, columns, options, said))
    lines = forms.statement(made, dialect, options)
    labels = [literal(value, dialect) for value in body.labels]
    return Lowered(
        SqlText(header(source, options), lines),
        warnings=(
            *size_warnings(lines, len(paths.outcomes(body)), dialect),
            *console_warnings(columns.values(), dialect),
            *taken_names(source.program, dialect, asked, options),
        ),
        beside=properties(source.program, dialect, labels, options),
    )


# ---------------------------------------------------------------- expressions


def expressions(
    body: ir.Body,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
    said: Mapping[str, str] = UNSAID,
) -> dict[str, list[str]]:
    """Return the lines of each output, by its column: {"prediction": [...]}.

    `columns` has the text that stands for each required feature, `said` what comments
    say about each rule.
    """
    made = {}
    for asked in asked_outputs(body, options):
        answer = answer_type(body, asked.output)
        writer = ConditionWriter(dialect, body, columns, answer)
        lines = expression(body, writer, asked, said)
        made[OUTPUTS[asked.output]] = lines
    return made


def expression(
    body: ir.Body,
    writer: ConditionWriter,
    asked: Asked,
    said: Mapping[str, str],
) -> list[str]:
    """Return the lines of the CASE that computes one output."""
    dialect = writer.dialect

    def answer(rule: ir.Rule) -> str:
        return result(rule, body, asked, dialect)

    arms = arms_of(body, dialect.limits.nesting, missing_last=True, answer=answer)
    return list(
        case_lines(arms, writer, lambda rules: answer(rules[0]) + _comment(rules, said))
    )


MOST_NAMED = 3  # rules in a comment


def _comment(rules: Sequence[ir.Rule], said: Mapping[str, str]) -> str:
    """Return the comment after an answer: " /* R3: 2 of 2 cases, R4: ... */"."""
    if rules[0].id not in said:
        return ""
    named = [f"{rule.id}: {said[rule.id]}" for rule in rules[:MOST_NAMED]]
    if others := len(rules) - len(named):
        named.append(f"and {words.quantity(others, 'other rule')}")
    return f" /* {', '.join(named)} */"


def result(rule: ir.Rule, body: ir.Body, asked: Asked, dialect: Dialect) -> str:
    """Return the answer of a rule, without its comment."""
    if asked.output == "rule":
        return literal(rule.id, dialect)
    if asked.output == "label":
        return literal(rule.value, dialect)
    label = body.labels.index(rule.value) if asked.label is None else asked.label
    return literal(probabilities(rule.stats)[label], dialect)


# ---------------------------------------------------------------- layout


def case_lines(
    arms: Iterable[Arm], writer: ConditionWriter, answer: Callable[[Rules], str]
) -> Iterator[str]:
    """Yield the arms as nested CASE expressions, each on a line."""
    dialect, limits = writer.dialect, writer.dialect.limits
    written = [0]  # arms of each open CASE
    for arm in arms:
        indent = "    " * arm.depth
        answered = answer(arm.rules) if arm.rules else ""
        if not arm.tests:
            if written == [0]:  # nothing to decide
                yield answered
                return
            yield f"{indent}  ELSE {answered}"
            yield f"{indent}END"
            written.pop()
            continue
        if written == [0]:
            yield "CASE"
        written[-1] += 1
        if 0 < limits.arms < written[-1]:
            raise TargetError(
                f"a CASE has more WHENs than the {limits.arms:,} that {dialect.name}"
                " allows: learn a smaller tree, or prune it more"
            )
        if len(arm.tests) > limits.tests:
            raise TargetError(
                f"a rule joins {len(arm.tests)} conditions by AND, but {dialect.name}"
                f" allows {limits.tests}: use the tree instead of its rules"
            )
        when = " AND ".join(map(writer.text, arm.tests))
        yield f"{indent}  WHEN {when} THEN {answered}".rstrip()
        if not arm.rules:
            yield f"{indent}    CASE"
            written.append(0)
