"""Writes the forms of SQL: a bare expression, query, view or dbt model.

The input is the finished lines of each expression, the output the lines of a statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treecompile.emit.literals import identifiers
from treecompile.emit.options import EmitOptions, check_choice
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.text import Quoting
from treecompile.model.errors import OptionError
from treecompile.model.ir import AnyBody, ValueType
from treecompile.model.semantics import type_of_labels

Expressions = Mapping[str, Sequence[str]]  # {"prediction": ["CASE", ..., "END"]}

FORMS = ("expression", "select", "view", "dbt")
EXPRESSION, SELECT, VIEW, DBT = FORMS
WITH_TABLE = (SELECT, VIEW, DBT)


HELPER = "tc_"  # begins the names of the helper columns of a query


@dataclass(frozen=True, slots=True)
class Steps:
    """What a query computes: helper columns, stage by stage, and then the outputs.

    {"typed": {"tc_age": ["CAST(...)"]}, "sums_0": {"tc_m0_0": ["0.5e0", ...]}}
    """

    outputs: Expressions
    stages: Mapping[str, Expressions] = field(default_factory=dict)


def check_form(options: EmitOptions) -> None:
    check_choice("form", options.form, FORMS)
    if options.form in WITH_TABLE and not options.table:
        raise OptionError(f"form={options.form} needs a table to read: add table=NAME")


# ---------------------------------------------------------------- columns


def helper_names(
    body: AnyBody, dialect: Dialect, options: EmitOptions
) -> dict[int, str]:
    """Name helper columns for features, unlike any feature."""
    quoting, prefix = Quoting(dialect, bare=True), helper_prefix(body, options)
    plain = identifiers(body, (), lower=True)
    return {index: quoting.name(f"{prefix}{name}") for index, name in plain.items()}


def helper_prefix(body: AnyBody, options: EmitOptions) -> str:
    """Return a prefix of helper columns with which no feature's column begins."""
    taken = [options.columns.get(each.name, each.name) for each in body.features]
    prefix = HELPER
    while any(name.casefold().startswith(prefix) for name in taken):
        prefix += HELPER
    return prefix


# ---------------------------------------------------------------- statements


def statement(steps: Steps, dialect: Dialect, options: EmitOptions) -> list[str]:
    """Return the lines of the statement or of the bare expression."""
    if options.form == EXPRESSION:
        (lines,) = steps.outputs.values()
        return list(lines)
    query = _query(steps, dialect, options)
    if options.form == VIEW:
        view = Quoting(dialect, bare=True).path("name", options.name or "predictions")
        query = [f"CREATE VIEW {view} AS", *query]
    return query if options.form == DBT else [*query[:-1], f"{query[-1]};"]


def _query(steps: Steps, dialect: Dialect, options: EmitOptions) -> list[str]:
    quoting = Quoting(dialect, bare=True)
    table = quoting.path("table", options.table)
    outputs = [
        _named(lines, quoting.name(column)) for column, lines in steps.outputs.items()
    ]
    if options.form == DBT:
        table = dbt.reference(options.table)
        outputs = [[dbt.escaped(line) for line in lines] for lines in outputs]
    if not steps.stages:
        star = dialect.everything.fill(table=table)
        return [*_select(star, outputs), f"FROM {table}"]
    stages = {
        free_name(name, options.table): [
            _escaped(each, options) for each in named(made)
        ]
        for name, made in steps.stages.items()
    }
    if not dialect.steps.without:
        # The name of the table that dbt writes may be a long path.
        alias = LATERAL_ALIAS if options.form == DBT else ""
        return [
            *_select(f"{alias or table}.*", outputs),
            f"FROM {table} {alias}".rstrip(),
            *_joined(stages, dialect),
        ]
    lines: list[str] = []
    star, source = "*", f"FROM {table}"
    for name, columns in stages.items():
        opening = f"{name} AS (" if lines else f"WITH {name} AS ("
        lines[-1:] = [f"{line}," for line in lines[-1:]]
        lines += [opening, *_indented([*_select(star, columns), source]), ")"]
        source = f"FROM {name}"
    helpers = [column for made in steps.stages.values() for column in made]
    star = dialect.steps.without.fill(", ".join(helpers))
    return [*lines, *_select(star, outputs), source]


def _joined(
    stages: Mapping[str, Sequence[Sequence[str]]], dialect: Dialect
) -> Iterator[str]:
    """Write each stage as a subquery that sees the table and earlier stages."""
    for name, columns in stages.items():
        inner = ["SELECT", *_indented(listed(columns)), dialect.steps.fence]
        yield "CROSS JOIN LATERAL ("
        yield from _indented(filter(None, inner))
        yield f") AS {name}"


TYPED, LATERAL_ALIAS = "typed", "input_rows"


def free_name(name: str, table: str) -> str:
    """Return a name for a step that is not the name of the table."""
    parts = {part.strip('"').casefold() for part in table.split(".")}
    while name in parts:
        name += "_"
    return name


def _select(star: str, columns: Sequence[Sequence[str]]) -> list[str]:
    return ["SELECT", f"  {star},", *_indented(listed(columns))]


def listed(columns: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of the columns, with a comma after each but the last."""
    for place, column in enumerate(columns, start=1):
        yield from column[:-1]
        yield column[-1] + "," * (place < len(columns))


def named(made: Expressions) -> list[list[str]]:
    """Return the lines of each column, with its name."""
    return [_named(lines, column) for column, lines in made.items()]


def _named(lines: Sequence[str], name: str) -> list[str]:
    return [*lines[:-1], f"{lines[-1]} AS {name}"]


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _escaped(lines: Sequence[str], options: EmitOptions) -> list[str]:
    """Return the lines as dbt renders them back."""
    return [dbt.escaped(line) if options.form == DBT else line for line in lines]


def answer_type(body: AnyBody, output: str) -> ValueType:
    """Return the type of the values of an output."""
    if output == "rule":
        return ValueType.STR
    if output in ("probability", "margin") or not body.labels:
        return ValueType.FLOAT
    return type_of_labels(body.labels)
