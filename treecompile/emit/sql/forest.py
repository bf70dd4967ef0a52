"""Lowers a forest to SQL: sums of CASE expressions, one for each tree, in their order.

Where a sum is too long for one expression, or is needed more than once, stages compute
it first:

    WITH sums_0 AS (SELECT *, 0.5e0 + CASE ... END + CASE ... END AS tc_m0_0 FROM t)
    SELECT ..., CASE WHEN tc_m0_0 > 0.0e0 THEN 'yes' ELSE 'no' END AS prediction

A sum of 32 bits is rounded after each addition: by a cast, or where the database has no
such type, by arithmetic in two stages for each tree (see `forests.to_single`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from treecompile.emit.literals import identifiers
from treecompile.emit.lower import Rules
from treecompile.emit.lower import lower as lower_tree
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Casts, Dialect, DialectConditions
from treecompile.emit.sql.forest_answers import ForestAnswers, rounded_by_arithmetic
from treecompile.emit.sql.outputs import OUTPUTS, WITH_TABLE, Asked, asked_outputs
from treecompile.emit.sql.statement import LINE, Columns, case, deeper
from treecompile.emit.sql.text import ConditionWriter, Quoting, literal
from treecompile.model import ir
from treecompile.model.errors import TargetError
from treecompile.model.forests import ZERO

TYPED, SUMS = "typed", "sums"  # begin the names of the stages
HELPER = "tc_"  # begins the names of their columns
ITSELF = Phrase("{}", [""])


def forest_stages(
    forest: ir.Forest,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
) -> tuple[dict[str, Columns], Columns]:
    """Return the stages of a query, and its outputs; an expression has no stages."""
    if options.form not in WITH_TABLE or not _has_stages(dialect):
        return {}, forest_expressions(forest, dialect, columns, options)
    columns, reading = _with_zeros_missing(forest, dialect, columns), dialect
    stages: dict[str, Columns] = {}
    if dialect.steps.known:  # each column is read by many trees
        typed = _typed(forest, dialect, columns)
        quoting, prefix = Quoting(dialect, bare=True), _prefix(forest, options)
        plain = identifiers(forest, ())
        names = {index: quoting.name(prefix + plain[index]) for index in typed}
        if typed:
            stages[TYPED] = {names[index]: text for index, text in typed.items()}
        columns = {**columns, **names}
        # These columns have their exact types and no NaN.
        reading = replace(
            dialect,
            columns=Casts(*[ITSELF] * 4),
            conditions=DialectConditions(),
            number_for_number=Phrase("", ()),
        )
    sums = ForestSums(forest, dialect, columns, options, reading)
    for number, stage in enumerate(sums.stages):
        stages[f"{SUMS}_{number}"] = stage
    answers = ForestAnswers(forest, dialect, sums.margins)
    asked = asked_outputs(forest, options)
    return stages, {OUTPUTS[each.output]: answers.text(each) for each in asked}


def _has_stages(dialect: Dialect) -> bool:
    """Whether a query of the database can compute sums in stages."""
    return bool(dialect.steps.without) or dialect.steps.lateral


def _with_zeros_missing(
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


def _typed(
    forest: ir.Forest, dialect: Dialect, columns: Mapping[int, str]
) -> dict[int, str]:
    """Return the columns that a helper column must hold in another form."""
    typed = {}
    for index, column in columns.items():
        feature = forest.features[index]
        text = dialect.columns.of(feature.type).fill(column)
        if feature.kind is ir.Kind.NUMERIC:
            text = dialect.steps.known.fill(text)
        if text != column:
            typed[index] = text
    return typed


def _prefix(forest: ir.Forest, options: EmitOptions) -> str:
    """Return a prefix of helper columns with which no feature's column begins."""
    taken = [options.columns.get(each.name, each.name) for each in forest.features]
    prefix = HELPER
    while any(name.casefold().startswith(prefix) for name in taken):
        prefix += HELPER
    return prefix


# ---------------------------------------------------------------- one expression


def forest_expressions(
    forest: ir.Forest,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
) -> dict[str, str]:
    """Return each output, by the name of its column, with its sums inside."""
    columns = _with_zeros_missing(forest, dialect, columns)
    sums = ForestSums(forest, dialect, columns, options)
    asked = asked_outputs(forest, options)
    return {OUTPUTS[each.output]: _expression(sums, each) for each in asked}


def _expression(sums: ForestSums, asked: Asked) -> str:
    forest, dialect, stages = sums.forest, sums.dialect, sums.stages

    def answer(margins: Sequence[str]) -> str:
        return ForestAnswers(forest, dialect, margins).text(asked)

    # No label contains such a mark.
    marks = [f"{LINE}{place}{LINE}" for place in range(len(sums.margins))]
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
        other = "form=select, view or dbt, or " * _has_stages(dialect)
        raise TargetError(
            f"the forest adds up {len(forest.members):,} trees, and an expression"
            f" of {dialect.name} adds up at most {sums.most:,}: use {other}fewer trees"
        )
    made = [deeper(each) for each in stages[0].values()]
    inside = [f"({each})" if LINE in each else each for each in made]
    # Where no way to name a sum is known, it is written wherever it is needed.
    if is_short or not dialect.forests.naming:
        return answer(inside)
    named = dialect.forests.named
    places = [named.fill(place=n, number=n + 1) for n in range(len(inside))]
    return dialect.forests.naming.fill(
        answer=answer(places), sums=", ".join(inside), names=", ".join(places)
    )


def _subquery(stages: Sequence[Columns], text: str, dialect: Dialect) -> str:
    """Return a subquery for one row, whose stages see the columns of the table."""
    lines, source, name = ["("], "", ""
    for number, stage in enumerate(stages):
        name = f"{SUMS}_{number}"
        columns = (f"    {deeper(deeper(each))} AS {n}" for n, each in stage.items())
        lines += [
            f"  {'' if number else 'WITH '}{name} AS (SELECT",
            f",{LINE}".join(columns),
            f"  {' '.join(filter(None, (source, dialect.forests.fence)))})"
            + "," * (number < len(stages) - 1),
        ]
        source = f"FROM {name}"
    return LINE.join([*lines, f"  SELECT {text} {source}", ")"])


# ---------------------------------------------------------------- sums


class ForestSums:
    """The sums of a forest, in stages: the columns of each, and their texts.

    {"tc_m0_0": 0.5e0 + CASE ... END}, {"tc_m0_1": tc_m0_0 + CASE ... END}
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
        self.single = (self.is_single and dialect.forests.single) or ITSELF
        # Whether each addition is inside the cast that rounds it.
        self.nests = self.single is not ITSELF and not dialect.forests.single_sums
        self.most = max(1, dialect.forests.trees // (2 if self.nests else 1))
        if reading is not None and dialect.forests.stage:
            self.most = dialect.forests.stage
        self.prefix = _prefix(forest, options)
        self.stages: list[dict[str, str]] = []
        self.margins = self._add_up()  # the names of the last sums

    def _add_up(self) -> list[str]:
        forest, dialect = self.forest, self.dialect
        terms = [[*self._terms(place)] for place in range(len(forest.start))]
        names = [literal(start, dialect) for start in forest.start]
        longest = max(map(len, terms))
        if self.is_single and not dialect.forests.single:
            for step in range(longest):
                now = [own[step : step + 1] for own in terms]
                names = self._stage("x", map(self._sum, names, now))
                rounded = [rounded_by_arithmetic(name, dialect) for name in names]
                names = self._stage("m", rounded)
            return names
        names = [self.single.fill(name) for name in names]
        starts = range(0, max(1, longest), self.most)
        for first in starts:
            now = [own[first : first + self.most] for own in terms]
            sums = [*map(self._sum, names, now)]
            if self.is_single and first == starts[-1]:
                sums = [dialect.columns.number.fill(each) for each in sums]
            names = self._stage("m", sums)
        return names

    def _stage(self, letter: str, texts: Iterable[str]) -> list[str]:
        """Add a stage with a column for each output; return their names."""
        number = len(self.stages)
        named = {f"{self.prefix}{letter}{n}_{number}": t for n, t in enumerate(texts)}
        self.stages.append(named)
        return [*named]

    def _terms(self, place: int) -> Iterator[tuple[str, str]]:
        """Yield the operations that follow the start value of an output, in order."""
        forest, dialect = self.forest, self.dialect
        for number, member in enumerate(forest.members, start=1):
            if place in member.outputs:
                yield "+", self._tree(member, member.outputs.index(place), number)
        if forest.divisor != 1:
            yield "/", literal(forest.divisor, dialect)
        if forest.scale != 1:
            yield "*", literal(forest.scale, dialect)
        if forest.offset:
            yield "+", literal(forest.offset[place], dialect)

    def _tree(self, member: ir.Member, place: int, number: int) -> str:
        def added(rules: Rules) -> str:
            leaf = rules[0].value
            assert isinstance(leaf, int)
            return literal(member.values[leaf][place], self.dialect)

        arms = lower_tree(member.tree, self.dialect.limits.nesting, missing_last=True)
        comment = f" /* tree {number} */" if self.options.comments else ""
        return deeper(case(arms, self.writer, added, comment))

    def _sum(self, start: str, terms: Sequence[tuple[str, str]]) -> str:
        """Return a sum, rounded by casts if it is of 32 bits."""
        text = start
        for sign, term in terms:
            if sign == "+" and not self.nests:
                text += f"{LINE}+ {self.single.fill(term)}"
                continue
            if sign != "+" or LINE in text:
                text = f"({text})"
            text = self.single.fill(f"{text}{LINE}{sign} {term}")
        return text
