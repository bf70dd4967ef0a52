"""Parses text into a Script; an error says where it is and what was expected.

Names are not looked up here. They stay tokens, which carry their line and column, so
that `compile` can say where a mistake is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from treecompile.model.errors import RulesError

Tokens = tuple[Token, ...]


# OTHER and MISSING, from `(or any other, or missing)`: what else a test holds for.
Flags = frozenset[str]


@dataclass(frozen=True, slots=True)
class Comparison:
    """`humidity > 75`, or `3 < x <= 5` with three operands and two signs."""

    operands: Tokens
    signs: Tokens
    flags: Flags


@dataclass(frozen=True, slots=True)
class Membership:
    """`outlook NOT IN {sunny, rainy} (or missing)`."""

    feature: Token
    negated: Token | None
    values: Tokens
    flags: Flags


@dataclass(frozen=True, slots=True)
class Presence:
    """`humidity IS MISSING`, or `IS KNOWN`."""

    feature: Token
    missing: bool


Test = Comparison | Membership | Presence


@dataclass(frozen=True, slots=True)
class StatedCounts:
    """`[no: 3, yes: 2; reached: 0]`."""

    counts: tuple[tuple[Token, Token], ...]
    reached: tuple[Token, Token] | None


@dataclass(frozen=True, slots=True)
class Statement:
    """`R3: IF x > 5 THEN no`; without tests: `ALWAYS yes`, or `OTHERWISE yes`."""

    identity: Token | None
    tests: tuple[Test, ...]
    value: Token
    evidence: StatedCounts | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """`FEATURE size IN ORDER {S, M, L}`, or `TARGET price NUMERIC`."""

    is_target: bool
    name: Token
    type: Token | None
    ordered: bool
    values: Tokens | None = None  # None if it is numeric


@dataclass(frozen=True, slots=True)
class Script:
    targets: tuple[Declaration, ...]
    features: tuple[Declaration, ...]
    absent: Tokens  # texts that mean missing
    rules: tuple[Statement, ...]
    default: Statement


MOST = 32 * 1024 * 1024  # characters; parsing takes about 50 bytes of memory for each


def parse(text: str) -> Script:
    """Parse a text; a syntax error is a RulesError with line and column."""
    if len(text) > MOST:
        raise RulesError(
            f"line 1, column 1: the rules have {len(text):,} characters, and the limit"
            f" is {MOST:,}: divide them into several models"
        )
    try:
        script: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    assert isinstance(script, Script)
    return script


def at(token: Token, message: str) -> RulesError:
    """Return an error with the place of a token."""
    return RulesError(f"line {token.line}, column {token.column}: {message}")


@cache
def _parser() -> Lark:
    grammar = (files("treecompile.rules.language") / "grammar.lark").read_text("utf-8")
    # With the basic lexer a keyword is never taken for a name, so that errors are
    # reported where they are made.
    statements = _Statements(visit_tokens=False)
    return Lark(
        grammar,
        parser="lalr",
        lexer="basic",
        transformer=statements,
        g_regex_flags=re.ASCII,  # see the grammar
    )


VALUES = ("NAME", "STRING", "NUMBER", "TRUE", "FALSE")
SIGNS = ("EQUAL", "UNEQUAL", "AT_MOST", "BELOW", "AT_LEAST", "ABOVE")


@v_args(inline=True)
class _Statements(Transformer[Token, Script]):
    """Builds the statements while parsing, so that no syntax tree is needed."""

    membership = Membership
    evidence = StatedCounts

    def start(self, *children: Any) -> Script:
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

    def target(self, name: Token, kind: Token | None, *values: Tokens) -> Declaration:
        return Declaration(True, name, kind, False, *values)

    def feature(self, name: Token, kind: Token | None, *more: Any) -> Declaration:
        order, values = more or (None, None)
        return Declaration(False, name, kind, order is not None, values)

    def absent(self, _: Token, values: Tokens) -> Tokens:
        return values

    def set(self, *children: Any) -> tuple[Any, ...]:
        return children

    count = counts = set

    def flags(self, *tokens: Token) -> Flags:
        return frozenset(token.type for token in tokens)

    def comparison(self, *children: Any) -> Comparison:
        *terms, flags = children
        return Comparison(tuple(terms[::2]), tuple(terms[1::2]), flags)

    def presence(self, feature: Token, negated: Token | None, asked: Token) -> Presence:
        return Presence(feature, (asked.type == "MISSING") != (negated is not None))

    def rule(self, identity: Token | None, _: Token, *children: Any) -> Statement:
        *tests, value, evidence = children
        kept = tuple(t for t in tests if not isinstance(t, Token))  # without THEN
        return Statement(identity, kept, value, evidence)

    otherwise = rule


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
        if not found.isprintable():
            hint = "an invisible character: delete it"
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
    """Return the token before another."""
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
    is_rest = token.type == "NAME" or (token.type == "NUMBER" and token[0] == "-")
    if last is not None and last.type == "NUMBER" and is_rest:  # 3x, 30-39
        return f'put text that begins with a digit in quotes: "{last}{token}"'
    if last is not None and last.type == token.type == "NAME":
        hint = f'put text of several words in quotes: "{last} {token}"'
        return f"write THEN before the conclusion, or {hint}" if is_test else hint
    if "NAME" in expected and token.isalpha() and token.type not in STRUCTURE:
        return f'{token} is a keyword: as a name, write it in quotes: "{token}"'
    return ""
