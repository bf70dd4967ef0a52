"""Lowers a forest to the lines of a SQL expression, query, view or dbt model.

A margin is a sum of CASE expressions, one for each tree, in their order. Where a sum is
too long for one expression, or is needed more than once, stages compute it first:

    WITH sums_0 AS (SELECT *, 0.5e0 + CASE ... END + CASE ... END AS tc_m0 FROM t)
    SELECT ..., CASE WHEN tc_m0 > 0.0e0 THEN 'yes' ELSE 'no' END AS prediction FROM ...

A sum of 32 bits is rounded after each addition: by a cast, or where the database has no
such type, by arithmetic in two stages for each tree (see `forests.to_single`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from treecompile.emit import targets
from treecompile.emit.lower import Rules
from treecompile.emit.lower import lower as arms_of
from treecompile.emit.lowering import ForestInput, Lowered
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql import forms
from treecompile.emit.sql.checks import check_values, console_warnings, size_warnings
from treecompile.emit.sql.dialect import Dialect, DialectConditions, read_dialect
from treecompile.emit.sql.forest_answers import ForestAnswers, rounded_by_arithmetic
from treecompile.emit.sql.forms import Expressions, Steps
from treecompile.emit.sql.lower import (
    SqlText,
    case_lines,
)
from treecompile.emit.sql.outputs import (
    OUTPUTS,
    Asked,
    asked_outputs,
    header,
    properties,
    taken_names,
)
from treecompile.emit.sql.text import (
    TYPED_FORMS,
    ConditionWriter,
    Quoting,
    column_names,
    literal,
)
from treecompile.model import ir
from treecompile.model.errors import TargetError
from treecompile.model.forests import ZERO
from treecompile.model.paths import leaf_count

SUMS = "sums"  # begins the names of the stages
Operation = tuple[str, list[str]]  # an operator, and the lines of its second operand


def lower(source: ForestInput, options: EmitOptions) -> Lowered:
    forest = source.program.body
    dialect = read_dialect(options.dialect)
    forms.check_form(options)
    check_values(forest, dialect)
    asked = asked_outputs(forest, options)
    columns = column_names(forest, Quoting(dialect, bare=True), options.columns)
    steps = forest_steps(forest, dialect, columns, options)
    lines = forms.statement(steps, dialect, options)
    labels = [literal(value, dialect) for value in forest.labels]
    return Lowered(
        SqlText(header(source, options), lines),
        warnings=(
            *size_warnings(lines, leaf_count(forest), dialect),
            *console_warnings(columns.values(), dialect),
            *taken_names(source.program, dialect, asked, options),
        ),
        beside=properties(source.program, dialect, labels, options),
    )


def forest_steps(
    forest: ir.Forest,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
) -> Steps:
    """Return what a query computes, stage by stage; an expression has no stages."""
    asked = asked_outputs(forest, options)
    is_query = options.form in forms.WITH_TABLE
    if not is_query or not (dialect.steps.without or dialect.steps.lateral):
        return Steps(expressions(forest, dialect, columns, options))
    later, columns = columns, with_zeros_missing(forest, dialect, columns)
    stages: dict[str, Expressions] = {}
    reading = dialect
    if dialect.steps.known:  # each column is read by many trees
        names = forms.helper_names(forest, dialect, options)
        typed, columns = typed_columns(forest, dialect, columns, later, names)
        if typed:
            stages[forms.TYPED] = {name: [text] for name, text in typed.items()}
        reading = typed_dialect(dialect)
    sums = ForestSums(forest, dialect, columns, options, reading)
    for number, stage in enumerate(sums.stages):
        stages[f"{SUMS}_{number}"] = stage
    answers = ForestAnswers(forest, dialect, sums.margins)
    made = {OUTPUTS[each.output]: [answers.text(each)] for each in asked}
    return Steps(made, stages)


def typed_columns(
    forest: ir.Forest,
    dialect: Dialect,
    columns: Mapping[int, str],
    later: Mapping[int, str],
    names: Mapping[int, str],
) -> tuple[dict[str, str], dict[int, str]]:
    """Return the texts of helper columns, and the columns that conditions refer to.

    A column that needs no helper is referred to as in `later`.
    """
    typed, referred = {}, {}
    for index, column in columns.items():
        feature = forest.features[index]
        text = dialect.columns.of(feature.type).fill(column)
        if feature.kind is ir.Kind.NUMERIC:
            text = dialect.steps.known.fill(text)
        referred[index] = later[index]
        if text != column:
            typed[names[index]] = text
            referred[index] = names[index]
    return typed, referred


def typed_dialect(dialect: Dialect) -> Dialect:
    """Return the dialect for columns that have their exact types and no NaN."""
    return replace(
        dialect,
        columns=targets.ByType(*[Phrase("{}", [""])] * 4),
        conditions=DialectConditions(**TYPED_FORMS),
        number_for_number=Phrase("", ()),
    )


def expressions(
    forest: ir.Forest,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
) -> dict[str, list[str]]:
    """Return the lines of each output, by the name of its column."""
    columns = with_zeros_missing(forest, dialect, columns)
    sums = ForestSums(forest, dialect, columns, options)
    return {
        OUTPUTS[each.output]: _expression(sums, each)
        for each in asked_outputs(forest, options)
    }


def with_zeros_missing(
    forest: ir.Forest, dialect: Dialect, columns: Mapping[int, str]
) -> dict[int, str]:
    """Make columns NULL where they are 0 and the forest takes 0 for missing."""
    found = dict(columns)
    low, high = (literal(number, dialect) for number in (-ZERO, ZERO))
    for index in forest.zero_is_missing:
        if index in found:
            number = dialect.columns.number.fill(found[index])
            test = f"{number} >= {low} AND {number} <= {high}"
            found[index] = f"CASE WHEN {test} THEN NULL ELSE {found[index]} END"
    return found


# ---------------------------------------------------------------- one expression


def _expression(sums: ForestSums, asked: Asked) -> list[str]:
    """Return the lines of one output, with its sums inside."""
    dialect, stages = sums.dialect, sums.stages

    def answer(margins: Sequence[str]) -> str:
        return ForestAnswers(sums.forest, dialect, margins).text(asked)

    # No label contains such a mark.
    marks = [f"\0{place}\0" for place in range(len(sums.margins))]
    text = answer(marks)
    is_short = len(stages) == 1 and all(text.count(mark) <= 1 for mark in marks)
    if dialect.forests.subquery and not is_short:
        return _subquery(stages, answer(sums.margins), dialect)
    if len(stages) > 1 and sums.is_single and not dialect.forests.single:
        raise TargetError(
            f"the forest adds up 32-bit numbers, which {dialect.name} does not have:"
            " use form=select, view or dbt, whose stages round each sum"
        )
    if len(stages) > 1:
        raise TargetError(
            f"the forest adds up {len(sums.forest.members):,} trees, and an expression"
            f" of {dialect.name} adds up at most {sums.most:,}: {sums.instead}"
        )
    if dialect.forests.naming and not is_short:
        places = [
            dialect.forests.named.fill(place=place, number=place + 1)
            for place in range(len(marks))
        ]
        text = dialect.forests.naming.fill(
            answer=answer(places), sums=", ".join(marks), names=", ".join(places)
        )
    # Where no way to name a sum is known, it is written wherever it is needed.
    return _filled(text, dict(zip(marks, stages[0].values(), strict=True)))


def _filled(text: str, margins: Expressions) -> list[str]:
    """Return the lines of a text, with the lines of a margin instead of its mark."""
    found = [text]
    for mark, inner in margins.items():
        made: list[str] = []
        for line in found:
            before, *rest = line.split(mark)
            made.append(before)
            for after in rest:
                made[-1] += f"({inner[0]}" if inner[1:] else inner[0]
                made += [f"  {each}" for each in inner[1:]]
                made[-1] += f"){after}" if inner[1:] else after
        found = made
    return found


def _subquery(stages: Sequence[Expressions], text: str, dialect: Dialect) -> list[str]:
    """Return a subquery for one row, whose stages see the columns of the table."""
    lines, source, fence = ["("], "", dialect.forests.fence
    for number, stage in enumerate(stages):
        name = f"{SUMS}_{number}"
        lines.append(f"  {'WITH ' if number == 0 else ''}{name} AS (SELECT")
        lines += (f"    {line}" for line in forms.listed(forms.named(stage)))
        end = " ".join(filter(None, (source, fence)))
        lines.append(f"  {end})" + "," * (stage is not stages[-1]))
        source = f"FROM {name}"
    return [*lines, f"  SELECT {text} {source}", ")"]


# ---------------------------------------------------------------- sums


class ForestSums:
    """The sums of a forest, in stages: the columns of each, and their lines.

    {"tc_m0_0": ["0.5e0", "+ CASE", ...]}, {"tc_m0_1": ["tc_m0_0", "+ CASE", ...]}
    """

    def __init__(
        self,
        forest: ir.Forest,
        dialect: Dialect,
        columns: Mapping[int, str],
        options: EmitOptions,
        reading: Dialect | None = None,
    ) -> None:
        """`reading` is the dialect for columns that an earlier stage has read."""
        self.forest, self.dialect, self.options = forest, dialect, options
        answer = ir.ValueType.FLOAT
        self.writer = ConditionWriter(reading or dialect, forest, columns, answer)
        self.is_single = forest.arithmetic is ir.Arithmetic.SINGLE
        self.prefix = forms.helper_prefix(forest, options)
        self.most = max(1, dialect.forests.trees // (2 if self.nests else 1))
        if reading is not None and dialect.forests.stage:
            self.most = dialect.forests.stage
        self.stages: list[dict[str, list[str]]] = []
        self.margins = self._add_up()  # the names of the last sums

    @property
    def nests(self) -> bool:
        """Whether each addition is inside the cast that rounds it."""
        forests = self.dialect.forests
        return self.is_single and bool(forests.single) and not forests.single_sums

    @property
    def instead(self) -> str:
        steps = self.dialect.steps
        if self.options.form in forms.WITH_TABLE or not (
            steps.without or steps.lateral
        ):
            return "use fewer trees"
        return "use form=select, view or dbt, or fewer trees"

    def _add_up(self) -> list[str]:
        forest, forests = self.forest, self.dialect.forests
        operations = [
            list(self._operations(place)) for place in range(len(forest.start))
        ]
        sums = [[literal(start, self.dialect)] for start in forest.start]
        longest = max(map(len, operations))
        if self.is_single and not forests.single:
            for step in range(longest):
                now = [own[step : step + 1] for own in operations]
                sums = self._stage("x", list(map(self._combined, sums, now)))
                made = [[rounded_by_arithmetic(name, self.dialect)] for (name,) in sums]
                sums = self._stage("m", made)
            return [name for (name,) in sums]
        if self.is_single:
            sums = [[forests.single.fill(start)] for (start,) in sums]
        starts = range(0, max(1, longest), self.most)
        for first in starts:
            now = [own[first : first + self.most] for own in operations]
            made = list(map(self._combined, sums, now))
            if self.is_single and first == starts[-1]:
                made = [around(self.dialect.columns.number, lines) for lines in made]
            sums = self._stage("m", made)
        return [name for (name,) in sums]

    def _stage(self, letter: str, made: Sequence[list[str]]) -> list[list[str]]:
        """Add a stage; the result is the name of each of its columns."""
        number = len(self.stages)
        names = [f"{self.prefix}{letter}{place}_{number}" for place in range(len(made))]
        self.stages.append(dict(zip(names, made, strict=True)))
        return [[name] for name in names]

    def _operations(self, place: int) -> Iterator[Operation]:
        """Yield the operations on the start value of an output, in order."""
        forest = self.forest
        for number, member in enumerate(forest.members, start=1):
            if place in member.outputs:
                yield "+", self._tree(member, member.outputs.index(place), number)
        if forest.divisor != 1:
            yield "/", [literal(forest.divisor, self.dialect)]
        if forest.scale != 1:
            yield "*", [literal(forest.scale, self.dialect)]
        if forest.offset:
            yield "+", [literal(forest.offset[place], self.dialect)]

    def _tree(self, member: ir.Member, place: int, number: int) -> list[str]:
        """Return the CASE of a tree."""

        def added(rules: Rules) -> str:
            leaf = rules[0].value
            assert isinstance(leaf, int)
            return literal(member.values[leaf][place], self.dialect)

        arms = arms_of(member.tree, self.dialect.limits.nesting, missing_last=True)
        lines = list(case_lines(arms, self.writer, added))
        if self.options.comments and lines[1:]:
            lines[0] += f" /* tree {number} */"
        return lines

    def _combined(self, start: list[str], operations: Sequence[Operation]) -> list[str]:
        """Return the lines of a sum, rounded by casts if it is of 32 bits."""
        single = self.dialect.forests.single
        lines = list(start)
        for operator, term in operations:
            if operator == "+" and not self.nests:
                term = around(single, term) if self.is_single and single else term
                lines += [f"+ {term[0]}", *(f"  {line}" for line in term[1:])]
                continue
            if lines[1:] or operator != "+":
                lines = [f"({lines[0]}", *lines[1:]]
                lines[-1] += ")"
            lines += [f"{operator} {term[0]}", *(f"  {line}" for line in term[1:])]
            if self.is_single and single:
                lines = around(single, lines)
        return lines


def around(phrase: Phrase, lines: Sequence[str]) -> list[str]:
    """Lines within a phrase of one place: CAST( ... AS FLOAT)."""
    before, after = phrase.fill("\0").split("\0")
    made = [f"{before}{lines[0]}", *lines[1:]]
    made[-1] += after
    return made
