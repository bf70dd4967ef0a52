"""How a language writes tests, values and names: the tables of its target.toml.

For each type of value a table says how to write: missing, known, equal to one literal,
and for numbers at most and above. In a language with two truth values all other forms
of a test follow from these. A form that the language can say better is written out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import isinf
from sys import byteorder

from treecompile.emit.literals import identifiers
from treecompile.emit.lower import ArmTest
from treecompile.emit.phrases import Phrase
from treecompile.emit.targets import Target
from treecompile.emit.toml import build, checked, phrase
from treecompile.model import ir
from treecompile.model.errors import TargetError
from treecompile.model.unicode import NOT_UNICODE, is_unicode

TYPES = {
    ir.ValueType.FLOAT: "number",
    ir.ValueType.STR: "text",
    ir.ValueType.INT: "integer",
    ir.ValueType.BOOL: "truth",
}
X, VALUE = "{x}", "{x} {value}"
VALUES = "{x} {value} {values} {any}"  # {any}: `one` for each of them, joined by `or`
UNITS = ("byte", "utf-16", "code point")


def escape_problem(text: str) -> str:
    try:
        return "" if not text or text % 1 else "expected an escape such as '\\x%02x'"
    except (TypeError, ValueError):
        return "expected one number, as in '\\x%02x'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSpelling:
    """How the values of one type are written, and the tests of them.

    A form that is not given is composed of `missing`, `known` and `one`.
    """

    type: str = ""  # of a column: const char *
    missing: Phrase = phrase(X)  # {x} == NULL
    known: Phrase = phrase(X, "")  # else: not missing
    one: Phrase = phrase(VALUE, "")  # {x} is known, and equal to {value}
    equal: Phrase = phrase(VALUES, "")
    equal_or_missing: Phrase = phrase(VALUES, "")
    unequal: Phrase = phrase(VALUES, "")
    unequal_or_missing: Phrase = phrase(VALUES, "")
    within: Phrase = phrase(VALUES, "")
    within_or_missing: Phrase = phrase(VALUES, "")
    without: Phrase = phrase(VALUES, "")
    without_or_missing: Phrase = phrase(VALUES, "")
    literal: Phrase = phrase("{value}", "{value}")  # {value}LL
    own: Mapping[str, str] = field(default_factory=dict)  # whatever the templates need


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSpelling(ValueSpelling):
    """A comparison with a missing number must be false, or the form written out."""

    at_most: Phrase = phrase(VALUE, "{x} <= {value}")
    at_most_or_missing: Phrase = phrase(VALUE, "")  # else: not above
    above: Phrase = phrase(VALUE, "{x} > {value}")
    above_or_missing: Phrase = phrase(VALUE, "")  # else: not at most
    infinity: str = ""
    minus_infinity: str = ""
    single: Phrase = phrase("{value}", "{value}")  # of 32 bits: {value}f


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSpelling(ValueSpelling):
    quote: str = '"'
    unit: str = checked("code point", choices=UNITS)  # what is escaped
    escape: str = checked("", problem=escape_problem)  # all but printable ASCII; "": no
    ascii: str = checked("", problem=escape_problem)  # the same for ASCII; "": as above
    special: str = '"\\'  # printable characters that are escaped as well
    doubled: str = ""  # characters that are written twice instead
    refused: str = ""  # characters that no text can hold


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegerSpelling(ValueSpelling):
    bits: int = checked(0, least=2, most=64)  # 0: integers of any size


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """What holds for all types of values."""

    name: str  # C++
    column: Phrase = phrase("{name} {position}", "{name}")  # row->{name}
    and_: str
    or_: str
    not_: Phrase = phrase("{test}")  # !({test})
    true: str
    false: str
    reserved: Sequence[str] = ()  # words that are no names of columns
    capital: bool = False  # whether names begin with a capital letter
    nesting: int = checked(1000, least=1, most=1000)  # depth of blocks
    lines: int = checked(0, least=10)  # of one function; 0: any number
    bare: bool = False  # whether a test on its own is written without brackets
    width: int = checked(0, least=20)  # of a list of values; 0: any


@dataclass(frozen=True, slots=True)
class Tables:
    """The sections of a target.toml."""

    language: Language
    number: NumberSpelling
    text: TextSpelling
    integer: IntegerSpelling
    truth: ValueSpelling


class Spelling:
    """Writes tests, values and names as the tables say."""

    def __init__(self, target: Target) -> None:
        tables = build(Tables, target.spelling, f"{target.name}: target.toml")
        self.language, self.texts = tables.language, tables.text
        self.numbers, self.integers = tables.number, tables.integer
        self.by_type: Mapping[ir.ValueType, ValueSpelling] = {
            kind: getattr(tables, name) for kind, name in TYPES.items()
        }
        self.character = cache(self._character)

    # ------------------------------------------------------------ values

    def literal(self, value: ir.Label) -> str:
        if isinstance(value, bool):
            return self.language.true if value else self.language.false
        if isinstance(value, str):
            return self._text(value)
        if isinstance(value, int):
            return self._integer(value)
        return self.number(value, self.numbers.literal)

    def number(self, value: float, written: Phrase) -> str:
        if not isinf(value):
            return written.fill(value=repr(value + 0.0))  # never -0.0
        numbers = self.numbers
        text = numbers.infinity if value > 0 else numbers.minus_infinity
        if not text:
            raise TargetError(f"{self.language.name} has no infinite numbers")
        return text

    def single(self, value: float) -> str:
        return self.number(value, self.numbers.single)

    def _integer(self, value: int) -> str:
        integers = self.integers
        least = -(1 << integers.bits - 1) if integers.bits else value
        if integers.bits and not least <= value < -least:
            raise TargetError(
                f"{value} does not fit {integers.bits} bits, the integers of"
                f" {self.language.name}: store it as text"
            )
        if integers.bits and value == least:  # its digits alone are too many
            return f"({integers.literal.fill(value=value + 1)} - 1)"
        return integers.literal.fill(value=value)

    def _text(self, text: str) -> str:
        rule, name = self.texts, self.language.name
        for character in rule.refused:
            if character in text:
                raise TargetError(
                    f"{text!r} has the character {character!r}, which no text of {name}"
                    " can hold: remove it"
                )
        if not is_unicode(text):
            raise TargetError(
                f"{text!r} {NOT_UNICODE}, and no text of {name} can hold it: correct it"
            )
        quoted = f"{rule.quote}{''.join(map(self.character, text))}{rule.quote}"
        return rule.literal.fill(value=quoted)

    def _character(self, character: str) -> str:
        rule, code = self.texts, ord(character)
        if character in rule.doubled:
            return character * 2
        if 32 <= code < 127 and character not in rule.special:
            return character
        escape = (code < 128 and rule.ascii) or rule.escape
        if not escape:
            return character
        units: Sequence[int] = [code]
        if rule.unit == "byte":
            units = character.encode()
        elif rule.unit == "utf-16":
            units = memoryview(character.encode(f"utf-16-{byteorder[:1]}e")).cast("H")
        return "".join(escape % unit for unit in units)

    # ------------------------------------------------------------ tests

    def test(
        self, test: ArmTest, feature: ir.Feature, x: str, *, alone: bool = False
    ) -> str:
        """Write a test of `x`, the value of a column; `alone`, if no other follows."""
        form, language = test.form, self.language
        if form in ("always", "never"):
            return language.true if form == "always" else language.false
        table = self.by_type[feature.type]
        if form == "missing" or (form == "known" and table.known):
            return str(getattr(table, form).fill(x=x))
        if form == "known":
            return self._not(table.missing.fill(x=x))
        literals = list(map(self.literal, test.values))
        if feature.kind is not ir.Kind.NUMERIC:
            bare = alone and language.bare
            return self._member(test, table, literals, x, bare)
        if written := getattr(table, form):
            return str(written.fill(x=x, value=literals[0]))
        opposite = "above" if form == "at_most_or_missing" else "at_most"
        return self._not(getattr(table, opposite).fill(x=x, value=literals[0]))

    def _member(
        self,
        test: ArmTest,
        table: ValueSpelling,
        literals: Sequence[str],
        x: str,
        bare: bool,
    ) -> str:
        """Write a test of a category: one of several, or none of them."""
        form = test.form
        if len(literals) == 1:
            form = form.replace("within", "equal").replace("without", "unequal")
        inside = form.startswith(("within", "equal"))
        if test.known and not inside and getattr(table, f"{form}_or_missing"):
            form += "_or_missing"  # as there is no missing value, the shorter one
        one = [table.one.fill(x=x, value=each) for each in literals if table.one]
        alternatives = self._listed(one, self.language.or_)
        if written := getattr(table, form):
            return str(
                written.fill(
                    x=x,
                    value=literals[0],
                    values=self._listed(literals, ", "),
                    any=alternatives,
                )
            )
        if not one:
            raise TargetError(f"{self.language.name}: no phrase for {form!r}, or `one`")
        found = alternatives if len(one) == 1 else f"({alternatives})"
        if not inside:
            found = self._not(alternatives)
        elif test.known and bare:
            found = alternatives
        if test.known:
            return found
        if form.endswith("_or_missing"):
            either = f"{table.missing.fill(x=x)}{self.language.or_}{found}"
            return either if bare else f"({either})"
        known = table.known.fill(x=x) or self._not(table.missing.fill(x=x))
        return f"{known}{self.language.and_}{found}"

    def _not(self, test: str) -> str:
        return self.language.not_.fill(test=test)

    def _listed(self, texts: Sequence[str], joint: str) -> str:
        """Join texts; what is wider than a line is broken after a joint."""
        whole = joint.join(texts)
        if not 0 < self.language.width < len(whole):
            return whole
        lines, line = [], ""
        for text in texts:
            if line and len(line) + len(text) > self.language.width:
                lines.append(line.rstrip())
                line = ""
            line += text + joint
        return "\n".join([*lines, line.removesuffix(joint)])

    # ------------------------------------------------------------ names

    def names(self, body: ir.AnyBody, taken: Collection[str] = ()) -> dict[int, str]:
        """Return an identifier for each column that is read: distinct, not reserved."""
        reserved = {*taken, *self.language.reserved}
        names = identifiers(body, reserved)
        if not self.language.capital:
            return names
        return {place: name[0].upper() + name[1:] for place, name in names.items()}
