"""Text -> Script, by the grammar; an error says where it is and what was expected.

Names are not looked up here. They stay tokens, which carry their line and column, so
that `compile` can say where a mistake is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from treecompile.model.errors import RulesError


@dataclass(frozen=True, slots=True)
class Comparison:
    """`humidity > 75`, or `3 < x <= 5` with three operands and two signs."""

    operands: tuple[Token, ...]
    signs: tuple[Token, ...]
    others: bool  # "or any other"
    missing: bool  # "or missing"


@dataclass(frozen=True, slots=True)
class Membership:
    """`outlook NOT IN {sunny, rainy} (or missing)`."""

    feature: Token
    negated: bool
    values: tuple[Token, ...]
    others: bool
    missing: bool


@dataclass(frozen=True, slots=True)
class Presence:
    """`humidity IS MISSING`, or `IS KNOWN`."""

    feature: Token
    missing: bool


Test = Comparison | Membership | Presence


@dataclass(frozen=True, slots=True)
class Evidence:
    """`[no: 3, yes: 2; reached: 0 @1c20d6]`."""

    counts: tuple[tuple[Token, Token], ...]
    reached: tuple[Token, Token] | None
    checksum: str  # without its @; "" if there is none


@dataclass(frozen=True, slots=True)
class Statement:
    """`R3: IF x > 5 THEN no`; without tests: `ALWAYS yes`, or `OTHERWISE yes`."""

    identity: Token | None
    tests: tuple[Test, ...]
    value: Token
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """`FEATURE size IN ORDER {S, M, L}`, or `TARGET price NUMERIC`."""

    is_target: bool
    name: Token
    values: tuple[Token, ...] | None  # None if it is numeric
    type: Token | None
    ordered: bool


@dataclass(frozen=True, slots=True)
class Script:
    targets: tuple[Declaration, ...]
    features: tuple[Declaration, ...]
    absent: tuple[Token, ...]  # texts that mean missing
    rules: tuple[Statement, ...]
    default: Statement


def parse(text: str) -> Script:
    """Parse a text; a syntax error is a RulesError with line and column."""
    try:
        script: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    assert isinstance(script, Script)
    return script


def at(token: Token, message: str) -> RulesError:
    """An error at a token."""
    return RulesError(f"line {token.line}, column {token.column}: {message}")


@cache
def _parser() -> Lark:
    grammar = (files("treecompile.rules.language") / "grammar.lark").read_text("utf-8")
    # With the basic lexer a keyword is never taken for a name, so that errors are
    # reported where they are made.
    statements = _Statements(visit_tokens=False)
    return Lark(grammar, parser="lalr", lexer="basic", transformer=statements)


def _of_type(children: Iterable[Any], *types: str) -> list[Token]:
    return [c for c in children if isinstance(c, Token) and c.type in types]


VALUES = ("NAME", "STRING", "NUMBER", "TRUE", "FALSE")
SIGNS = ("EQUAL", "UNEQUAL", "AT_MOST", "BELOW", "AT_LEAST", "ABOVE")


class _Statements(Transformer[Token, Script]):
    """Builds the statements while parsing, so that no syntax tree is needed."""

    def start(self, children: list[Any]) -> Script:
        declared = [c for c in children if isinstance(c, Declaration)]
        absent = [c for c in children if isinstance(c, tuple)]
        *rules, default = [c for c in children if isinstance(c, Statement)]
        return Script(
            tuple(d for d in declared if d.is_target),
            tuple(d for d in declared if not d.is_target),
            tuple(token for tokens in absent for token in tokens),
            tuple(rules),
            default,
        )

    def target(self, children: list[Any]) -> Declaration:
        return _declaration(children, is_target=True)

    def feature(self, children: list[Any]) -> Declaration:
        return _declaration(children, is_target=False)

    def absent(self, children: list[Any]) -> tuple[Token, ...]:
        tokens: tuple[Token, ...] = children[-1]
        return tokens

    def set(self, children: list[Any]) -> tuple[Token, ...]:
        return tuple(_of_type(children, *VALUES))

    def flags(self, children: list[Any]) -> frozenset[str]:
        return frozenset(token.type for token in children if token is not None)

    def comparison(self, children: list[Any]) -> Comparison:
        operands, signs = _of_type(children, *VALUES), _of_type(children, *SIGNS)
        flags = children[-1] or ()
        return Comparison(
            tuple(operands), tuple(signs), "OTHER" in flags, "MISSING" in flags
        )

    def membership(self, children: list[Any]) -> Membership:
        feature, negated, values, flags = children
        flags = flags or ()
        return Membership(
            feature, negated is not None, values, "OTHER" in flags, "MISSING" in flags
        )

    def presence(self, children: list[Any]) -> Presence:
        feature, negated, asked = children
        return Presence(feature, (asked.type == "MISSING") != (negated is not None))

    def count(self, children: list[Any]) -> tuple[Token, Token]:
        label, number = children
        return label, number

    def counts(self, children: list[Any]) -> tuple[tuple[Token, Token], ...]:
        return tuple(children)

    def evidence(self, children: list[Any]) -> Evidence:
        counts, reached, checksum = children
        return Evidence(counts, reached, checksum[1:] if checksum else "")

    def rule(self, children: list[Any]) -> Statement:
        identity, _, *tests, value, evidence = children
        kept = tuple(t for t in tests if not isinstance(t, Token))  # without THEN
        return Statement(identity, kept, value, evidence)

    otherwise = rule


def _declaration(children: list[Any], is_target: bool) -> Declaration:
    values = next((c for c in children if isinstance(c, tuple)), None)
    types = _of_type(children, "TEXT", "INTEGER", "BOOLEAN")
    ordered = bool(_of_type(children, "ORDER"))
    declared_type = types[0] if types else None
    return Declaration(is_target, children[0], values, declared_type, ordered)


# ---------------------------------------------------------------- errors

# What messages call a group of tokens; larger groups first.
GROUPS = (
    (frozenset(VALUES), "a value"),
    (frozenset({"NAME", "STRING"}), "a name"),
    (frozenset(SIGNS), "a comparison such as = or >"),
    (frozenset({"TEXT", "INTEGER", "BOOLEAN"}), ""),  # rarely meant: not listed
)
STRUCTURE = ("IF", "_AND", "THEN", "OTHERWISE", "ALWAYS", "_FEATURE", "_TARGET")
NAMED = {
    "NUMBER": "a number",
    "NAME": "a name",
    "STRING": "text in quotes",
    "CHECKSUM": "",
    "$END": "the end",
}


CHARACTERS = {
    '"': "a quoted text must end on the line where it begins",
    "'": "put text in double quotes",
    "“": "put text in plain double quotes",
    "”": "put text in plain double quotes",
    "&": "join tests with AND",
    "|": "there is no OR between tests: write two rules",
}


def _syntax_error(text: str, error: UnexpectedInput) -> RulesError:
    if isinstance(error, UnexpectedCharacters):
        found = error.char
        hint = CHARACTERS.get(found, "put text with such characters in double quotes")
        place = f"line {error.line}, column {error.column}"
        return RulesError(f"{place}: unexpected {found!r}: {hint}")
    assert isinstance(error, UnexpectedToken)
    token, expected = error.token, set(error.accepts or error.expected)
    last = _before(text, token)
    line, column, found = token.line, token.column, str(token)
    if token.type == "$END":
        line, column = (last.end_line, last.end_column) if last else (1, 1)
        found = "the end of the rules"
    message = f"line {line}, column {column}: expected {_listed(expected)}"
    hint = _hint(token, last, expected)
    return RulesError(f"{message}, found {found}" + (f": {hint}" if hint else ""))


def _before(text: str, token: Token) -> Token | None:
    """The token before another."""
    last = None
    for found in _parser().lex(text):
        if token.type != "$END" and (found.start_pos or 0) >= (token.start_pos or 0):
            break
        last = found
    return last


def _listed(expected: set[str]) -> str:
    names = []
    if "THEN" in expected:  # a comparison may go on, but that is rarely meant
        expected = expected - {*SIGNS, "LPAR"}
    for group, shown in GROUPS:
        if group <= expected:
            expected = expected - group
            names.append(shown)
    terminals = {t.name: t.pattern.value for t in _parser().terminals}
    for name in sorted(expected):
        word = terminals.get(name, "")
        written = word.upper() if word.isalpha() else f'"{word}"'
        names.append(NAMED.get(name, written))
    *front, final = filter(None, names)
    return f"{', '.join(front)} or {final}" if front else final


def _hint(token: Token, last: Token | None, expected: set[str]) -> str:
    is_test = "THEN" in expected
    words = {last.upper() if last is not None else "", token.upper()}
    if "OTHERWISE" in expected and token.type == "$END":
        return "the last line says what holds for all other cases: OTHERWISE value"
    if "$END" in expected:
        return "OTHERWISE must come last: move it to the end"
    if "ELSE" in words:
        return "the last line begins with OTHERWISE"
    if token.type == "_OR" and is_test:
        return "there is no OR between tests: write two rules"
    if token.type == "COMMA" and is_test:
        return "join tests with AND, and write decimals with a point"
    if last is not None and last.type == "NUMBER" and token.type == "NAME":
        return f'put text that begins with a digit in quotes: "{last}{token}"'
    if last is not None and last.type == token.type == "NAME":
        hint = f'put text of several words in quotes: "{last} {token}"'
        return f"write THEN before the conclusion, or {hint}" if is_test else hint
    if "NAME" in expected and token.isalpha() and token.type not in STRUCTURE:
        return f'{token} is a keyword: as a name, write it in quotes: "{token}"'
    return ""
