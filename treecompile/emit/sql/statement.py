"""What the SQL templates place: arms, sums and columns, in a statement of some form.

All texts are finished. The templates add the key words, the layout and the line ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit.lower import Arm, Rules
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.outputs import DBT, EXPRESSION, VIEW
from treecompile.emit.sql.text import ConditionWriter, Quoting
from treecompile.model.errors import TargetError


@dataclass(frozen=True, slots=True)
class CaseArm:
    """An arm of a CASE, at some depth of nesting."""

    depth: int
    test: str  # "age <= 40.5"; "" for ELSE
    answer: str  # "'no' /* R1: 3 of 3 cases */"; "" if a nested CASE follows


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a sum: a CASE, or a text as the answer of its only arm."""

    arms: Sequence[CaseArm]
    sign: str = ""  # "+"; "" for the first term
    opening: str = ""  # before it: "CAST("
    closing: str = ""  # after it: " AS FLOAT)"
    comment: str = ""  # " /* tree 3 */"


Sum = Sequence[Term]


@dataclass(frozen=True, slots=True)
class Expression:
    """Texts and sums, one after the other: "CASE WHEN (", a sum, ") > 0e0 THEN ..."."""

    parts: Sequence[str | Sum]
    stages: Sequence[Stage] = ()  # of the subquery that selects it, if it is one


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Stage:
    """Columns that a query computes before the next ones refer to them."""

    name: str  # sums_0
    columns: Sequence[Column]
    source: str  # FROM typed


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlText:
    """The variables of query.sql.jinja."""

    has_header: bool = False
    types: Sequence[str] = ()  # lines of the header: "age DOUBLE, outlook VARCHAR"
    columns: Sequence[Column]  # of the answers; one without a name: an expression
    source: str = ""  # "FROM people"; "" for an expression
    star: str = ""  # the columns of the table
    view: str = ""  # the name of the view
    stages: Sequence[Stage] = ()
    is_lateral: bool = False  # whether the stages are joined to the table
    end: str = ""  # ";"
    escaped: Callable[[str], str] = str  # for the reader of the query, such as dbt


def plain(text: str) -> Term:
    return Term((CaseArm(0, "", text),))


def case(
    arms: Iterable[Arm],
    writer: ConditionWriter,
    answer: Callable[[Rules], str],
    comment: str = "",
) -> Term:
    """Write the tests and the answers of all arms; raise if there are too many."""
    return Term(tuple(_arms(arms, writer, answer)), comment=comment)


def _arms(
    arms: Iterable[Arm], writer: ConditionWriter, answer: Callable[[Rules], str]
) -> Iterator[CaseArm]:
    dialect, limits = writer.dialect, writer.dialect.limits
    written = [0]  # arms of each open CASE
    for arm in arms:
        answered = answer(arm.rules) if arm.rules else ""
        if not arm.tests:
            written.pop()
            yield CaseArm(arm.depth, "", answered)
            continue
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
        yield CaseArm(arm.depth, " AND ".join(map(writer.text, arm.tests)), answered)
        if not arm.rules:
            written.append(0)


# ---------------------------------------------------------------- statements

LATERAL_ALIAS = "input_rows"


def statement(
    outputs: Mapping[str, Expression],
    stages: Mapping[str, Mapping[str, Expression]],
    dialect: Dialect,
    options: EmitOptions,
) -> SqlText:
    """Return a statement that computes the stages and then the outputs, by name."""
    quoting = Quoting(dialect, bare=True)
    answers = [Column(quoting.name(name), made) for name, made in outputs.items()]
    if options.form == EXPRESSION:
        return SqlText(columns=answers)
    table = quoting.path("table", options.table)
    alias, view = "", ""
    if options.form == DBT:
        table = dbt.reference(options.table)
    if options.form == VIEW:
        view = quoting.path("name", options.name or "predictions")
    is_lateral = bool(stages) and not dialect.steps.without
    star = dialect.everything.fill(table=table)
    source = f"FROM {table}"
    made = []
    for name, columns in stages.items():
        found = [Column(helper, each) for helper, each in columns.items()]
        name = _free_name(name, options.table)
        made.append(Stage(name, found, dialect.steps.fence if is_lateral else source))
        source = source if is_lateral else f"FROM {name}"
    if is_lateral:
        # The name of the table that dbt writes may be a long path.
        alias = LATERAL_ALIAS if options.form == DBT else ""
        star, source = f"{alias or table}.*", f"{source} {alias}".rstrip()
    elif stages:
        helpers = ", ".join(column for each in stages.values() for column in each)
        star = dialect.steps.without.fill(helpers)
    return SqlText(
        columns=answers,
        source=source,
        star=star,
        view=view,
        stages=made,
        is_lateral=is_lateral,
        end="" if options.form == DBT else ";",
        escaped=dbt.escaped if options.form == DBT else str,
    )


def _free_name(name: str, table: str) -> str:
    """Return a name for a stage that is not the name of the table."""
    parts = {part.strip('"').casefold() for part in table.split(".")}
    while name in parts:
        name += "_"
    return name
