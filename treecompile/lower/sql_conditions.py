"""Values and conditions in the SQL of one dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from treecompile.errors import TargetError
from treecompile.ir import (
    Body,
    Category,
    Condition,
    Feature,
    Kind,
    Label,
    Op,
    ValueType,
)
from treecompile.literals import DOUBLES, STRINGS, sql_integer
from treecompile.lower.sql_fractional_parts import Spelling
from treecompile.membership import membership
from treecompile.semantics import (
    asks_presence,
    conditions,
    threshold,
)
from treecompile.targets import Dialect


def literal(value: Label | None, dialect: Dialect) -> str:
    """A label or a category of any type."""
    if isinstance(value, bool):
        return dialect.literals.true if value else dialect.literals.false
    if isinstance(value, int):
        return sql_integer(value)
    if isinstance(value, float):
        return DOUBLES[dialect.literals.double](value + 0.0)  # never -0.0
    assert isinstance(value, str)
    if "\0" in value and not dialect.values.nul:
        raise TargetError(f"{dialect.name} has no NUL character in a text: {value!r}")
    longest = dialect.values.longest_text
    if 0 < longest < (size := len(value.encode(errors="replace"))):
        raise TargetError(
            f"{dialect.name} has texts of {longest:,} bytes at most, and"
            f" {value[:20]!r}... has {size:,}: shorten it in the data"
        )
    return STRINGS[dialect.literals.string](value)


def compared(value: Category, dialect: Dialect) -> str:
    """A category as the column is compared with it."""
    text = literal(value, dialect)
    if isinstance(value, str) and dialect.literals.stop:
        return STRINGS[dialect.literals.string](value + dialect.literals.stop)
    return text


class Conditions:
    """Spells conditions as the dialect says."""

    def __init__(
        self,
        dialect: Dialect,
        body: Body,
        columns: Mapping[int, str],
        answer: ValueType = ValueType.STR,
    ) -> None:
        self.dialect = dialect
        self.features = body.features
        self.columns = columns
        typed = dialect.columns
        if dialect.number_for_number and answer is not ValueType.STR:
            typed = replace(typed, number=dialect.number_for_number)
        self.typed = {
            position: typed.of(body.features[position].type).format(column)
            for position, column in columns.items()
        }
        self.double = DOUBLES[dialect.literals.double]
        self.known: dict[Condition, str] = {}
        limits = dialect.limits
        values = [condition.value for condition in conditions(body)]
        thresholds = {value for value in values if isinstance(value, float)}
        if 0 < limits.many_doubles < len(thresholds):
            plain = self.double
            self.double = lambda value: limits.double_of_many.format(plain(value))
        sets = sum(isinstance(value, tuple) and len(value) > 1 for value in values)
        self.singly = 0 < limits.many_sets < sets

    def spelling(self) -> Spelling:
        """The same for the subquery that divides unknown values."""
        return Spelling(
            dialect=self.dialect,
            columns=self.columns,
            typed=self.typed,
            test=self.text,
            double=self.double,
            label=partial(literal, dialect=self.dialect),
            category=partial(compared, dialect=self.dialect),
        )

    def text(self, test: Condition) -> str:
        if test not in self.known:
            form, value = self.form(test)
            self.known[test] = form.format(
                x=self.typed[test.feature],
                column=self.columns[test.feature],
                value=value,
            )
        return self.known[test]

    def form(self, test: Condition) -> tuple[str, str]:
        """The template of a condition and the text of its value."""
        forms = self.dialect.conditions
        feature = self.features[test.feature]
        if feature.kind is not Kind.NUMERIC:
            return self.membership_form(test, feature)
        if asks_presence(test):
            return (forms.number_missing if test.missing else forms.number_known), ""
        if test.value == float("inf"):  # holds for every value or for none
            return (forms.always if test.op is Op.LE else forms.never), ""
        value = self.double(threshold(test) + 0.0)  # -0.0 compares like 0.0
        if test.op is Op.LE:
            return (forms.at_most_or_missing if test.missing else forms.at_most), value
        return (forms.above_or_missing if test.missing else forms.above), value

    def membership_form(self, test: Condition, feature: Feature) -> tuple[str, str]:
        forms = self.dialect.conditions
        inside, chosen, missing = membership(test, feature)
        if not chosen:
            if missing == inside:
                return (forms.missing if missing else forms.known), ""
            return (forms.always if missing else forms.never), ""
        text = partial(compared, dialect=self.dialect)
        most = self.dialect.limits.members
        value = ", ".join(map(text, chosen))
        if len(chosen) == 1:
            if inside:
                return (forms.equal_or_missing if missing else forms.equal), value
            return (forms.unequal_or_missing if missing else forms.unequal), value
        if self.singly or 0 < most < len(chosen):
            size = 1 if self.singly else most
            parts = [chosen[n : n + size] for n in range(0, len(chosen), size)]
            values = [", ".join(map(text, part)) for part in parts]
            return self.parts_form(test, inside, missing, values)
        if inside:
            return (forms.within_or_missing if missing else forms.within), value
        return (forms.without_or_missing if missing else forms.without), value

    def parts_form(
        self, test: Condition, inside: bool, missing: bool, values: Iterable[str]
    ) -> tuple[str, str]:
        """A set in several parts, all of it as the value of the condition."""
        forms = self.dialect.conditions
        x, column = self.typed[test.feature], self.columns[test.feature]
        one, several = forms.unequal, forms.without
        if inside:
            one, several = forms.equal, forms.within
        each = one if self.singly else several
        parts = [each.format(x=x, column=column, value=value) for value in values]
        joined = (" OR " if inside else " AND ").join(parts)
        form = "({value} OR {column} IS NULL)" if missing else "{value}"
        return form, f"({joined})"
