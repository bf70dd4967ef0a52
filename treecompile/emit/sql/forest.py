"""Lowers a forest to SQL: sums of CASE expressions, one for each tree, in their order.

Where a sum is too long for one expression, or is needed more than once, stages compute
it first:

    WITH sums_0 AS (SELECT *, 0.5e0 + CASE ... END + CASE ... END AS tc_m0_0 FROM t)
    SELECT ..., CASE WHEN tc_m0_0 > 0.0e0 THEN 'yes' ELSE 'no' END AS prediction

A sum of 32 bits is rounded after each addition: by a cast, or where the database has no
such type, by arithmetic in two stages for each tree (see `forests.to_single`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from treecompile.emit.literals import identifiers
from treecompile.emit.lower import Rules
from treecompile.emit.lower import lower as lower_tree
from treecompile.emit.options import EmitOptions
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Casts, Dialect, DialectConditions
from treecompile.emit.sql.forest_answers import ForestAnswers, rounded_by_arithmetic
from treecompile.emit.sql.outputs import OUTPUTS, WITH_TABLE, Asked, asked_outputs
from treecompile.emit.sql.statement import (
    Column,
    Expression,
    Stage,
    Sum,
    Term,
    case,
    plain,
)
from treecompile.emit.sql.text import ConditionWriter, Quoting, literal
from treecompile.model import ir
from treecompile.model.errors import TargetError
from treecompile.model.forests import ZERO

TYPED, SUMS = "typed", "sums"  # begin the names of the stages
HELPER = "tc_"  # begins the names of their columns
ITSELF, BRACKETS = Phrase("{}", [""]), Phrase("({})", [""])
Named = Mapping[str, Expression]  # the columns of a stage, or the outputs


def forest_stages(
    forest: ir.Forest,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
) -> tuple[dict[str, Named], Named]:
    """Return the stages of a query, and its outputs; an expression has no stages."""
    if options.form not in WITH_TABLE or not _has_stages(dialect):
        return {}, forest_expressions(forest, dialect, columns, options)
    referred, reading = _with_zeros_missing(forest, dialect, columns), dialect
    stages: dict[str, Named] = {}
    if dialect.steps.known:  # each column is read by many trees
        typed = _typed(forest, dialect, referred)
        names = _helper_names(forest, dialect, options)
        if typed:
            stages[TYPED] = {names[n]: Expression([typed[n]]) for n in typed}
        referred = {n: (names if n in typed else columns)[n] for n in columns}
        # These columns have their exact types and no NaN.
        reading = replace(
            dialect,
            columns=Casts(*[ITSELF] * 4),
            conditions=DialectConditions(),
            number_for_number=Phrase("", ()),
        )
    sums = ForestSums(forest, dialect, referred, options, reading)
    for number, stage in enumerate(sums.stages):
        stages[f"{SUMS}_{number}"] = {n: Expression([s]) for n, s in stage.items()}
    answers = ForestAnswers(forest, dialect, sums.margins)
    asked = asked_outputs(forest, options)
    return stages, {OUTPUTS[a.output]: Expression([answers.text(a)]) for a in asked}


def _has_stages(dialect: Dialect) -> bool:
    """Whether a query of the database can compute sums in stages."""
    return bool(dialect.steps.without) or dialect.steps.lateral


def forest_expressions(
    forest: ir.Forest,
    dialect: Dialect,
    columns: Mapping[int, str],
    options: EmitOptions,
) -> dict[str, Expression]:
    """Return each output, by the name of its column, with its sums inside."""
    columns = _with_zeros_missing(forest, dialect, columns)
    sums = ForestSums(forest, dialect, columns, options)
    asked = asked_outputs(forest, options)
    return {OUTPUTS[each.output]: _expression(sums, each) for each in asked}


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


def _helper_names(
    forest: ir.Forest, dialect: Dialect, options: EmitOptions
) -> dict[int, str]:
    """Name helper columns for features, unlike any feature."""
    quoting, prefix = Quoting(dialect, bare=True), _prefix(forest, options)
    plain_names = identifiers(forest, (), lower=True)
    return {index: quoting.name(prefix + name) for index, name in plain_names.items()}


def _prefix(forest: ir.Forest, options: EmitOptions) -> str:
    """Return a prefix of helper columns with which no feature's column begins."""
    taken = [options.columns.get(each.name, each.name) for each in forest.features]
    prefix = HELPER
    while any(name.casefold().startswith(prefix) for name in taken):
        prefix += HELPER
    return prefix


# ---------------------------------------------------------------- one expression


def _expression(sums: ForestSums, asked: Asked) -> Expression:
    """Return one output, with its sums inside."""
    forest, dialect, stages = sums.forest, sums.dialect, sums.stages

    def answer(margins: Sequence[str]) -> str:
        return ForestAnswers(forest, dialect, margins).text(asked)

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
            f"the forest adds up {len(forest.members):,} trees, and an expression"
            f" of {dialect.name} adds up at most {sums.most:,}: use "
            f"{'form=select, view or dbt, or ' * _has_stages(dialect)}fewer trees"
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
    margins = [*stages[0].values()]
    inside = [within(BRACKETS, made) if made[1:] else made for made in margins]
    parts = enumerate(text.split("\0"))
    return Expression([inside[int(p)] if place % 2 else p for place, p in parts])


def _subquery(
    stages: Sequence[Mapping[str, Sum]], text: str, dialect: Dialect
) -> Expression:
    """Return a subquery for one row, whose stages see the columns of the table."""
    made: list[Stage] = []
    for number, stage in enumerate(stages):
        source = f"FROM {made[-1].name}" if made else ""
        source = " ".join(filter(None, (source, dialect.forests.fence)))
        columns = [Column(name, Expression([each])) for name, each in stage.items()]
        made.append(Stage(f"{SUMS}_{number}", columns, source))
    return Expression([text], made)


# ---------------------------------------------------------------- sums


class ForestSums:
    """The sums of a forest, in stages: the columns of each, and their terms.

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
        self.single = dialect.forests.single if self.is_single else Phrase("", ())
        # Whether each addition is inside the cast that rounds it.
        self.nests = bool(self.single) and not dialect.forests.single_sums
        self.most = max(1, dialect.forests.trees // (2 if self.nests else 1))
        if reading is not None and dialect.forests.stage:
            self.most = dialect.forests.stage
        self.stages: list[dict[str, Sum]] = []
        self.margins = self._add_up()  # the names of the last sums

    def _add_up(self) -> list[str]:
        forest, dialect = self.forest, self.dialect
        terms = [[*self._terms(place)] for place in range(len(forest.start))]
        names = [literal(start, dialect) for start in forest.start]
        longest = max(map(len, terms))
        if self.is_single and not self.single:
            for step in range(longest):
                names = self._stage("x", names, [own[step : step + 1] for own in terms])
                names = [rounded_by_arithmetic(name, dialect) for name in names]
                names = self._stage("m", names, [[]] * len(names))
            return names
        if self.single:
            names = [self.single.fill(name) for name in names]
        starts = range(0, max(1, longest), self.most)
        for first in starts:
            now = [own[first : first + self.most] for own in terms]
            # The last sum of 32 bits is cast to a double.
            is_last = self.is_single and first == starts[-1]
            outer = dialect.columns.number if is_last else ITSELF
            names = self._stage("m", names, now, outer)
        return names

    def _stage(
        self,
        letter: str,
        names: Sequence[str],
        terms: Sequence[Sequence[Term]],
        outer: Phrase = ITSELF,
    ) -> list[str]:
        """Add a stage, in which terms are added to names; return its columns."""
        number, prefix = len(self.stages), _prefix(self.forest, self.options)
        made: dict[str, Sum] = {
            f"{prefix}{letter}{place}_{number}": within(outer, self._sum(name, own))
            for place, (name, own) in enumerate(zip(names, terms, strict=True))
        }
        self.stages.append(made)
        return [*made]

    def _terms(self, place: int) -> Iterator[Term]:
        """Yield what follows the start value of an output, in order."""
        forest, dialect = self.forest, self.dialect
        for number, member in enumerate(forest.members, start=1):
            if place in member.outputs:
                tree = self._tree(member, member.outputs.index(place), number)
                yield replace(tree, sign="+")
        if forest.divisor != 1:
            yield replace(plain(literal(forest.divisor, dialect)), sign="/")
        if forest.scale != 1:
            yield replace(plain(literal(forest.scale, dialect)), sign="*")
        if forest.offset:
            yield replace(plain(literal(forest.offset[place], dialect)), sign="+")

    def _tree(self, member: ir.Member, place: int, number: int) -> Term:
        def added(rules: Rules) -> str:
            leaf = rules[0].value
            assert isinstance(leaf, int)
            return literal(member.values[leaf][place], self.dialect)

        arms = lower_tree(member.tree, self.dialect.limits.nesting, missing_last=True)
        comment = f" /* tree {number} */" if self.options.comments else ""
        return case(arms, self.writer, added, comment)

    def _sum(self, start: str, terms: Sequence[Term]) -> Sum:
        """Return a sum, rounded by casts if it is of 32 bits."""
        made = [plain(start)]
        for term in terms:
            if term.sign == "+" and not self.nests:
                made += within(self.single, [term])
                continue
            if made[1:] or term.sign != "+":
                made = within(BRACKETS, made)
            made = within(self.single, [*made, term])
        return made


def within(phrase: Phrase, made: Sum) -> list[Term]:
    """Return a sum inside a phrase of one place: CAST( ... AS FLOAT)."""
    before, after = (phrase or ITSELF).around("")
    first = replace(made[0], opening=before + made[0].opening)
    *others, last = [first, *made[1:]]
    return [*others, replace(last, closing=last.closing + after)]
