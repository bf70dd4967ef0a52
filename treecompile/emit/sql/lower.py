"""Lowers a model to a SQL expression or statement.

Comments contain only what this room writes itself: ids, counts, hashes. Text from the
data appears only as quoted names and literals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from treecompile.emit.lower import Rules
from treecompile.emit.lower import lower as lower_tree
from treecompile.emit.lowering import CompilerInput, ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import outputs
from treecompile.emit.sql.checks import check_values, console_warnings, size_warnings
from treecompile.emit.sql.dialect import Dialect, read_dialect
from treecompile.emit.sql.forest import forest_expressions, forest_stages
from treecompile.emit.sql.outputs import OUTPUTS, Asked, answer_type, asked_outputs
from treecompile.emit.sql.statement import Columns, case, laid_out, statement
from treecompile.emit.sql.text import ConditionWriter, Quoting, column_names, literal
from treecompile.model import ir, words
from treecompile.model.paths import leaf_count
from treecompile.model.semantics import probabilities

UNSAID: Mapping[str, str] = MappingProxyType({})  # without comments
MOST_NAMED = 3  # rules in a comment


def lower(source: CompilerInput | ForestInput, options: EmitOptions) -> Lowered:
    program, dialect = source.program, read_dialect(options.dialect)
    outputs.check_form(options)
    check_values(program.body, dialect)
    asked = asked_outputs(program.body, options)
    columns = column_names(program.body, Quoting(dialect, bare=True), options.columns)
    stages: Mapping[str, Columns] = {}
    if isinstance(program, ir.ForestProgram):
        stages, answers = forest_stages(program.body, dialect, columns, options)
    else:
        said = words.evidence_by_id(program) if options.comments else UNSAID
        answers = _expressions(program.body, dialect, columns, asked, said)
    made = replace(
        statement(answers, stages, dialect, options),
        has_header=options.comments,
        types=outputs.column_types(program.body, dialect, options),
    )

    def checked(text: str) -> Iterator[str]:
        yield from size_warnings(text, leaf_count(program.body), dialect)
        yield from console_warnings(columns.values(), dialect)

    return Lowered(
        made,
        warnings=tuple(outputs.taken_names(program, dialect, asked, options)),
        checked=checked,
        filters={"laid_out": laid_out},
        beside=outputs.properties(program, dialect, options),
    )


def expression_texts(
    body: ir.AnyBody,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
) -> dict[str, str]:
    """Return the text of each output, by its column: {"prediction": "CASE ... END"}.

    `columns` has the text that stands for each required feature.
    """
    if isinstance(body, ir.Forest):
        made = forest_expressions(body, dialect, columns, options)
    else:
        made = _expressions(body, dialect, columns, asked_outputs(body, options))
    return {name: laid_out(text) for name, text in made.items()}


def _expressions(
    body: ir.Body,
    dialect: Dialect,
    columns: Mapping[int, str],
    asked: Sequence[Asked],
    said: Mapping[str, str] = UNSAID,
) -> dict[str, str]:
    """Return a CASE for each output; `said` is what comments say about each rule."""
    return {
        OUTPUTS[each.output]: _expression(body, dialect, columns, each, said)
        for each in asked
    }


def _expression(
    body: ir.Body,
    dialect: Dialect,
    columns: Mapping[int, str],
    asked: Asked,
    said: Mapping[str, str],
) -> str:
    def answer(rule: ir.Rule) -> str:
        return _result(rule, body, asked, dialect)

    def commented(rules: Rules) -> str:
        return answer(rules[0]) + _comment(rules, said)

    result = answer_type(body, asked.output)
    writer = ConditionWriter(dialect, body, columns, result)
    arms = lower_tree(body, dialect.limits.nesting, missing_last=True, answer=answer)
    return case(arms, writer, commented)


def _result(rule: ir.Rule, body: ir.Body, asked: Asked, dialect: Dialect) -> str:
    if asked.output == "rule":
        return literal(rule.id, dialect)
    if asked.output == "label":
        return literal(rule.value, dialect)
    label = body.labels.index(rule.value) if asked.label is None else asked.label
    return literal(probabilities(rule.stats)[label], dialect)


def _comment(rules: Sequence[ir.Rule], said: Mapping[str, str]) -> str:
    """Return the comment after an answer: " /* R3: 2 of 2 cases, R4: ... */"."""
    if rules[0].id not in said:
        return ""
    named = [f"{rule.id}: {said[rule.id]}" for rule in rules[:MOST_NAMED]]
    if others := len(rules) - len(named):
        named.append(f"and {words.quantity(others, 'other rule')}")
    return f" /* {', '.join(named)} */"
