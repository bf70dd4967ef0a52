"""Writes names, values and conditions as SQL text of one dialect.

If a database cannot express something, an error says what to do instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from treecompile.emit.literals import DOUBLES, STRINGS, plain_number, sql_integer
from treecompile.emit.lower import ArmTest, lowered_test
from treecompile.emit.phrases import Phrase
from treecompile.emit.sql.dialect import Dialect, DialectConditions
from treecompile.model import ir
from treecompile.model.errors import OptionError, TargetError
from treecompile.model.semantics import (
    conditions,
    required_features,
)
from treecompile.model.unicode import is_unicode

# ---------------------------------------------------------------- names


ORDINARY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@cache
def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


class Quoting:
    """Writes names, whatever they contain: all in quotes, or ordinary ones `bare`."""

    def __init__(self, dialect: Dialect, *, bare: bool = False) -> None:
        self.dialect = dialect
        self.bare = bare
        self.reserved = words_of(dialect.names.reserved)

    def name(self, text: str) -> str:
        """Return the name of a column or a table; in quotes where it needs them."""
        return text if self.is_bare(text) else self.quoted(text)

    def is_bare(self, text: str) -> bool:
        """Whether a name needs no quotes.

        Without quotes, a database may look for the name in another case. Where this is
        upper case, ordinary tables have such names. Where it is lower case, a name with
        capital letters was quoted when the table was created.
        """
        names = self.dialect.names
        if not self.bare or not self.reserved or not ORDINARY.fullmatch(text):
            return False
        if text.lower() in self.reserved or self._problem(text):
            return False
        if text[0] == "_" and not names.underscore:
            return False
        return names.fold != "lower" or text == text.lower()

    def quoted(self, text: str) -> str:
        names = self.dialect.names
        if problem := self._problem(text):
            remedy = f"rename the column with columns: {text and 'NAME'}=NEW_NAME"
            raise TargetError(f"{self.dialect.name} {problem}: {remedy}")
        if names.backslash:
            text = text.replace("\\", "\\\\")
        opening, closing = names.quote[0], names.quote[-1]
        return f"{opening}{text.replace(closing, closing * 2)}{closing}"

    def _problem(self, text: str) -> str:
        """Say why the database cannot have a name; "" if it can."""
        names = self.dialect.names
        if not text and not names.empty:
            return "does not allow empty column names"
        if "\0" in text or not is_unicode(text):
            return f"does not allow the name {text!r}"
        size = len(text.encode() if names.counted_in == "bytes" else text)
        if 0 < names.longest < size:
            most = f"{names.longest} {names.counted_in}"
            return f"allows names of at most {most}, not {text!r}"
        if names.barred and (found := re.search(names.barred, text)):
            return f"does not allow the name {text!r}, because of {found[0]!r}"
        return ""

    def path(self, option: str, text: str) -> str:
        """Return a table, perhaps with its schema: `sales.rows`, `"my.schema".rows`."""
        part = r'"(?:[^"]|"")+"|[^."]+'
        if not re.fullmatch(rf"(?:{part})(?:\.(?:{part}))*", text):
            raise OptionError(
                f"{option}={text!r}: expected NAME or SCHEMA.NAME, names with dots or"
                ' quotes as "NAME"'
            )
        names = re.findall(part, text)
        return ".".join(
            (
                self.quoted(name[1:-1].replace('""', '"'))
                if name[0] == '"'
                else self.name(name)
            )
            for name in names
        )


def column_names(
    body: ir.AnyBody, quoting: Quoting, renamed: Mapping[str, str]
) -> dict[int, str]:
    """Return the column of each required feature, as SQL text."""
    dialect = quoting.dialect
    known = {feature.name for feature in body.features}
    for name in renamed:
        if name not in known:
            raise OptionError(f"columns: the model has no feature {name!r}")
    actual = [renamed.get(feature.name, feature.name) for feature in body.features]
    times = Counter(map(str.casefold, actual))
    columns = {}
    for index in required_features(body):
        name = actual[index]
        is_twin = times[name.casefold()] > 1
        if is_twin and dialect.names.fold_case:
            one, other, *_ = (n for n in actual if n.casefold() == name.casefold())
            raise TargetError(
                f"{dialect.name} makes {one!r} and {other!r} one name: rename one of"
                " them with columns: NAME=NEW_NAME"
            )
        columns[index] = quoting.quoted(name) if is_twin else quoting.name(name)
    return columns


# ---------------------------------------------------------------- values


# Below this threshold, integers are separated exactly as their doubles are.
WHOLE = 2.0**53


def literal(value: ir.Label | None, dialect: Dialect) -> str:
    """Return a label or a category of any type."""
    if isinstance(value, bool):
        return dialect.literals.true if value else dialect.literals.false
    if isinstance(value, int):
        return sql_integer(value)
    if isinstance(value, float):
        return DOUBLES[dialect.literals.double](value + 0.0)  # never -0.0
    assert isinstance(value, str)
    if "\0" in value and not dialect.values.nul:
        raise TargetError(f"{dialect.name} does not allow a NUL character: {value!r}")
    longest = dialect.values.longest_text
    if 0 < longest < (size := len(value.encode(errors="replace"))):
        raise TargetError(
            f"{dialect.name} allows texts of at most {longest:,} bytes, but"
            f" {value[:20]!r}... has {size:,}: shorten it in the data"
        )
    return STRINGS[dialect.literals.string](value)


def threshold_text(value: float, dialect: Dialect) -> str:
    """Write a number as it is compared with a double: 40.5, or an exact form."""
    plain = dialect.literals.plain
    if plain and (text := plain_number(value, any_decimal=plain == "decimal")):
        return text
    return DOUBLES[dialect.literals.double](value + 0.0)  # -0.0 compares like 0.0


def compared(value: ir.Label, dialect: Dialect) -> str:
    """Write a label or a category as it is compared with its column."""
    text = literal(value, dialect)
    if isinstance(value, str) and dialect.literals.stop:
        return STRINGS[dialect.literals.string](value + dialect.literals.stop)
    return text


# ---------------------------------------------------------------- conditions


NEVER_NAN = DialectConditions()


class ConditionWriter:
    """Writes conditions and values as the dialect spells them."""

    def __init__(
        self,
        dialect: Dialect,
        body: ir.AnyBody,
        columns: Mapping[int, str],
        answer: ir.ValueType = ir.ValueType.STR,
    ) -> None:
        self.dialect = dialect
        self.features = body.features
        self.columns = columns  # by the feature's index: "age"
        cast = dialect.columns
        if dialect.number_for_number and answer is not ir.ValueType.STR:
            cast = replace(cast, number=dialect.number_for_number)
        self.typed = {  # CAST("age" AS DOUBLE)
            index: cast.of(body.features[index].type).fill(column)
            for index, column in columns.items()
        }
        self.text = cache(self._text)
        limits = dialect.limits
        values = [condition.value for condition in conditions(body)]
        thresholds = {value for value in values if isinstance(value, float)}
        is_many = 0 < limits.many_doubles < len(thresholds)
        self.number = limits.double_of_many if is_many else Phrase("{}", [""])
        sets = sum(isinstance(value, tuple) and len(value) > 1 for value in values)
        self.singly = 0 < limits.many_sets < sets

    def double(self, value: float) -> str:
        """Return a number as a double."""
        return self.number.fill(DOUBLES[self.dialect.literals.double](value))

    def threshold(self, value: float, typed: Phrase | None = None) -> str:
        """Write a number to compare with a double or, as `typed`, with any number."""
        text = threshold_text(value, self.dialect)
        return self.number.fill(typed.fill(text) if typed else text)

    def condition(self, when: ir.Condition) -> str:
        """Write a condition of a rule."""
        return self.text(lowered_test(when, self.features[when.feature]))

    def _text(self, test: ArmTest) -> str:
        """Write a test; it is simpler if its value is known not to be missing."""
        form, forms = test.form, self.dialect.conditions
        if self.features[test.feature].kind is ir.Kind.NUMERIC:
            return self._number(test)
        values = [compared(category, self.dialect) for category in test.values]
        most = self.dialect.limits.members
        if len(values) > 1 and (self.singly or 0 < most < len(values)):
            text = self._in_parts(test, values)
            column = self.columns[test.feature]
            is_met = form.endswith("_or_missing")
            return f"({text} OR {column} IS NULL)" if is_met else text
        if len(values) == 1:
            form = form.replace("within", "equal").replace("without", "unequal")
        return self._filled(getattr(forms, form), test, ", ".join(values))

    def _number(self, test: ArmTest) -> str:
        """Write the test of a number."""
        form, forms = test.form, self.dialect.conditions
        typed = self.dialect.literals.typed
        if not test.values:  # it compares nothing
            form = f"number_{form}" if form in ("missing", "known") else form
            return self._filled(getattr(forms, form), test, "")
        (cut,) = test.values
        assert isinstance(cut, float)
        phrase = getattr(NEVER_NAN if test.known else forms, form)
        if typed and abs(cut) < WHOLE:
            column = self.columns[test.feature]
            value = self.threshold(cut, typed)
            return str(phrase.fill(x=column, column=column, value=value))
        return self._filled(phrase, test, self.threshold(cut))

    def _filled(self, form: Phrase, test: ArmTest, value: str) -> str:
        column = self.columns[test.feature]
        return form.fill(x=self.typed[test.feature], column=column, value=value)

    def _in_parts(self, test: ArmTest, values: Sequence[str]) -> str:
        """Write a long set as several shorter ones: (x IN ('a', 'b') OR x IN ('c'))."""
        forms, inside = self.dialect.conditions, test.form.startswith("within")
        if self.singly:
            form, parts = (forms.equal if inside else forms.unequal), values
        else:
            size = self.dialect.limits.members
            starts = range(0, len(values), size)
            parts = [", ".join(values[n : n + size]) for n in starts]
            form = forms.within if inside else forms.without
        tests = [self._filled(form, test, part) for part in parts]
        return f"({(' OR ' if inside else ' AND ').join(tests)})"
