"""Lowers a tree or rules to the lines of a SQL expression or statement.

Comments contain only what this module writes itself: ids, counts, hashes. Text from the
data appears only as quoted names and literals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

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
from treecompile.emit.steps import Step, agreeing, decision_steps
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
        SqlText(header(source, dialect, asked, options), lines),
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
    decider, decided = body, paths.outcomes(body)
    answers = {
        place: result(rule, body, asked, dialect) for place, rule in decided.items()
    }
    behind = {place: [rule] for place, rule in decided.items()}
    if isinstance(body, ir.Tree):
        decider, leaves = agreeing(body, answers)
        answers = {place: answers[found[0]] for place, found in leaves.items()}
        behind = {
            place: [decided[each] for each in found] for place, found in leaves.items()
        }

    def answer(position: int) -> str:
        return f"{answers[position]}{_comment(behind[position], said)}"

    steps = decision_steps(decider, dialect.limits.nesting, missing_last=True)
    return list(case_lines(steps, writer.text, answer, dialect))


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
    steps: Iterable[Step],
    text: Callable[[ir.Condition, bool], str],
    answer_at: Callable[[int], str],
    dialect: Dialect,
) -> Iterator[str]:
    """Yield the steps as nested CASE expressions, one arm on each line."""
    limits = dialect.limits
    arms = [0]  # of each open CASE
    for step in steps:
        indent = "    " * step.depth
        answer = "" if step.outcome is None else answer_at(step.outcome)
        if not step.tests:
            if arms == [0]:  # nothing to decide
                yield answer
                return
            yield f"{indent}  ELSE {answer}"
            yield f"{indent}END"
            arms.pop()
            continue
        if arms == [0]:
            yield "CASE"
        arms[-1] += 1
        if 0 < limits.arms < arms[-1]:
            raise TargetError(
                f"a CASE has more WHENs than the {limits.arms:,} that {dialect.name}"
                " allows: learn a smaller tree, or prune it more"
            )
        if len(step.tests) > limits.tests:
            raise TargetError(
                f"a rule joins {len(step.tests)} conditions by AND, but {dialect.name}"
                f" allows {limits.tests}: use the tree instead of its rules"
            )
        when = " AND ".join(text(test, known) for test, known in step.asked)
        yield f"{indent}  WHEN {when} THEN {answer}".rstrip()
        if step.outcome is None:
            yield f"{indent}    CASE"
            arms.append(0)
