"""Lays out the texts of a decision, and declares what the template places.

All texts are finished. The template adds the key words of a query and the margins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit.lower import Arm, Rules
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.outputs import DBT, EXPRESSION, VIEW
from treecompile.emit.sql.text import ConditionWriter, Quoting
from treecompile.model.errors import TargetError

# A line end of the layout, behind which a margin is added; none is added behind the
# line ends in a text literal. No literal contains this character.
LINE = "\0"


def laid_out(text: str, margin: str = "") -> str:
    return text.replace(LINE, f"\n{margin}")


def deeper(text: str) -> str:
    """Indent all lines but the first by two blanks."""
    return text.replace(LINE, f"{LINE}  ")


def case(
    arms: Iterable[Arm],
    writer: ConditionWriter,
    answer: Callable[[Rules], str],
    comment: str = "",
) -> str:
    """Write a CASE with all arms, or the only answer; raise if it is too large."""
    lines = [f"CASE{comment}"]
    written = [0]  # arms of each open CASE
    for arm in arms:
        margin = "    " * arm.depth
        answered = answer(arm.rules) if arm.rules else ""
        if not arm.tests:
            if len(lines) == 1:
                return answered
            written.pop()
            lines += [f"{margin}  ELSE {answered}", f"{margin}END"]
            continue
        written[-1] += 1
        _check(arm, written[-1], writer.dialect)
        test = " AND ".join(map(writer.text, arm.tests))
        if answered:
            lines.append(f"{margin}  WHEN {test} THEN {answered}")
        else:
            lines += [f"{margin}  WHEN {test} THEN", f"{margin}    CASE"]
            written.append(0)
    return LINE.join(lines)


def _check(arm: Arm, written: int, dialect: Dialect) -> None:
    limits = dialect.limits
    if 0 < limits.arms < written:
        raise TargetError(
            f"a CASE has more WHENs than the {limits.arms:,} that {dialect.name}"
            " allows: learn a smaller tree, or prune it more"
        )
    if len(arm.tests) > limits.tests:
        raise TargetError(
            f"a rule joins {len(arm.tests)} conditions by AND, but {dialect.name}"
            f" allows {limits.tests}: use the tree instead of its rules"
        )


# ---------------------------------------------------------------- statements

LATERAL_ALIAS = "input_rows"
Columns = Mapping[str, str]  # texts by the names of their columns


@dataclass(frozen=True, slots=True)
class Stage:
    """Columns that a query computes before the next ones refer to them."""

    name: str  # sums_0
    columns: Columns
    source: str  # FROM typed


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlText:
    """The variables of query.sql.jinja."""

    has_header: bool = False
    types: Sequence[str] = ()  # lines of the header: "age DOUBLE, outlook VARCHAR"
    columns: Columns  # of the answers
    source: str = ""  # "FROM people"; "" for an expression
    star: str = ""  # the columns of the table
    view: str = ""  # the name of the view
    stages: Sequence[Stage] = ()
    is_lateral: bool = False  # whether the stages are joined to the table
    end: str = ""  # ";"


def statement(
    outputs: Columns,
    stages: Mapping[str, Columns],
    dialect: Dialect,
    options: EmitOptions,
) -> SqlText:
    """Return a statement that computes the stages and then the outputs, by name."""
    quoting = Quoting(dialect, bare=True)
    answers = {quoting.name(name): text for name, text in outputs.items()}
    if options.form == EXPRESSION:
        return SqlText(columns=answers)
    table = quoting.path("table", options.table)
    alias, view, is_dbt = "", "", options.form == DBT
    if is_dbt:
        table = dbt.reference(options.table)
    if options.form == VIEW:
        view = quoting.path("name", options.name or "predictions")
    is_lateral = bool(stages) and not dialect.steps.without
    star = dialect.everything.fill(table=table)
    source = f"FROM {table}"
    made = []
    for name, columns in stages.items():
        name = _free_name(name, options.table)
        found = _escaped(columns) if is_dbt else columns
        made.append(Stage(name, found, dialect.steps.fence if is_lateral else source))
        source = source if is_lateral else f"FROM {name}"
    if is_lateral:
        # The name of the table that dbt writes may be a long path.
        alias = LATERAL_ALIAS if is_dbt else ""
        star, source = f"{alias or table}.*", f"{source} {alias}".rstrip()
    elif stages:
        helpers = ", ".join(name for columns in stages.values() for name in columns)
        star = dialect.steps.without.fill(helpers)
    return SqlText(
        columns=_escaped(answers) if is_dbt else answers,
        source=source,
        star=star,
        view=view,
        stages=made,
        is_lateral=is_lateral,
        end="" if is_dbt else ";",
    )


def _escaped(columns: Columns) -> dict[str, str]:
    return {dbt.escaped(name): dbt.escaped(text) for name, text in columns.items()}


def _free_name(name: str, table: str) -> str:
    """Return a name for a stage that is not the name of the table."""
    parts = {part.strip('"').casefold() for part in table.split(".")}
    while name in parts:
        name += "_"
    return name
