"""Writes names, values and conditions as SQL text of one dialect.

If a database cannot express something, an error says what to do instead.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
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
    return literal(value, dialect)


def compared(value: ir.Label, dialect: Dialect) -> str:
    """Write a label or a category as it is compared with its column."""
    text = literal(value, dialect)
    if isinstance(value, str) and dialect.literals.stop:
        return STRINGS[dialect.literals.string](value + dialect.literals.stop)
    return text


# ---------------------------------------------------------------- conditions


NEVER_NAN = DialectConditions()
CONSTANT = {"always": "1 = 1", "never": "1 = 0"}


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

    def condition(self, when: ir.Condition) -> str:
        """Write a condition of a rule."""
        return self.text(lowered_test(when, self.features[when.feature]))

    def _text(self, test: ArmTest) -> str:
        """Write a test; it is simpler if its value is known not to be missing."""
        column, x = self.columns[test.feature], self.typed[test.feature]
        if test.form in CONSTANT:
            return CONSTANT[test.form]
        if self.features[test.feature].kind is ir.Kind.NUMERIC:
            return self._number(test, column, x)
        if not test.values:
            return f"{column} IS {'NULL' if test.form == 'missing' else 'NOT NULL'}"
        text = self._membership(test, x)
        is_met = test.form.endswith("_or_missing")
        return f"({text} OR {column} IS NULL)" if is_met else text

    def _number(self, test: ArmTest, column: str, x: str) -> str:
        """Write the test of a number."""
        literals = self.dialect.literals
        forms = NEVER_NAN if test.known and test.values else self.dialect.conditions
        if not test.values:  # it compares nothing
            form: Phrase = getattr(forms, f"number_{test.form}")
            return form.fill(x=x, column=column, value="")
        (cut,) = test.values
        assert isinstance(cut, float)
        form, text = getattr(forms, test.form), threshold_text(cut, self.dialect)
        if literals.typed and abs(cut) < WHOLE:
            x, text = column, literals.typed.fill(text)
        return form.fill(x=x, column=column, value=self.number.fill(text))

    def _membership(self, test: ArmTest, x: str) -> str:
        """Write a set; a long one as several: (x IN ('a', 'b') OR x IN ('c'))."""
        inside = test.form.startswith("within")
        values = [compared(category, self.dialect) for category in test.values]
        if len(values) == 1 or self.singly:
            parts = [f"{x} {'=' if inside else '<>'} {value}" for value in values]
        else:
            most = self.dialect.limits.members or len(values)
            starts = range(0, len(values), most)
            sets = [", ".join(values[start : start + most]) for start in starts]
            parts = [f"{x} {'IN' if inside else 'NOT IN'} ({each})" for each in sets]
        text = (" OR " if inside else " AND ").join(parts)
        return f"({text})" if parts[1:] else text
