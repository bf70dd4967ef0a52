"""Text -> statements, by the grammar; where it does not parse, what was expected.

Nothing here knows features or labels: names are tokens with their place in the text,
so that `meaning` can say where a mistake is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lark import Lark, Token, Transformer
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from treecompile.errors import RulesError


@dataclass(frozen=True, slots=True)
class Comparison:
    """`humidity > 75` or `3 < x <= 5`: one operand more than signs."""

    operands: tuple[Token, ...]
    signs: tuple[Token, ...]
    others: bool  # "or any other"
    missing: bool  # "or missing"


@dataclass(frozen=True, slots=True)
class Membership:
    feature: Token
    negated: bool
    values: tuple[Token, ...]
    others: bool
    missing: bool


@dataclass(frozen=True, slots=True)
class Presence:
    feature: Token
    missing: bool


Test = Comparison | Membership | Presence


@dataclass(frozen=True, slots=True)
class Evidence:
    counts: tuple[tuple[Token, Token], ...]
    reached: tuple[Token, Token] | None
    seal: str  # without its @; "" if there is none


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule; without tests, one that always holds or the last one."""

    identity: Token | None
    tests: tuple[Test, ...]
    value: Token
    evidence: Evidence | None


@dataclass(frozen=True, slots=True)
class Declaration:
    """A column, or the target: its values, or none if it is numeric."""

    name: Token
    values: tuple[Token, ...] | None
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
    """The statements of a text, or a RulesError with line and column."""
    try:
        script: Any = _parser().parse(text)
    except UnexpectedInput as error:
        raise _mistake(text, error) from None
    assert isinstance(script, Script)
    return script


def at(token: Token, message: str) -> RulesError:
    """A mistake at a token."""
    return RulesError(f"line {token.line}, column {token.column}: {message}")


@cache
def _parser() -> Lark:
    grammar = (files("treecompile.rule_language") / "grammar.lark").read_text("utf-8")
    # The basic lexer: a word of the language is never taken for a name, so that a
    # mistake is found where it is made.
    statements = _Statements(visit_tokens=False)
    return Lark(grammar, parser="lalr", lexer="basic", transformer=statements)


def _of_type(children: Iterable[Any], *types: str) -> list[Token]:
    return [c for c in children if isinstance(c, Token) and c.type in types]


VALUES = ("NAME", "STRING", "NUMBER", "TRUE", "FALSE")
SIGNS = ("EQUAL", "UNEQUAL", "AT_MOST", "BELOW", "AT_LEAST", "ABOVE")


class _Statements(Transformer[Token, Script]):
    """Builds the statements while parsing: no tree of a long text is ever made."""

    def start(self, children: list[Any]) -> Script:
        declared = [c for c in children if isinstance(c, tuple)]
        *rules, default = [c for c in children if isinstance(c, Statement)]
        return Script(
            tuple(c for kind, c in declared if kind == "target"),
            tuple(c for kind, c in declared if kind == "feature"),
            tuple(t for kind, c in declared if kind == "absent" for t in c),
            tuple(rules),
            default,
        )

    def target(self, children: list[Any]) -> tuple[str, Declaration]:
        return "target", _declaration(children)

    def feature(self, children: list[Any]) -> tuple[str, Declaration]:
        return "feature", _declaration(children)

    def absent(self, children: list[Any]) -> tuple[str, tuple[Token, ...]]:
        return "absent", children[-1].values

    def set(self, children: list[Any]) -> _Set:
        return _Set(tuple(_of_type(children, *VALUES)))

    def flags(self, children: list[Any]) -> _Flags:
        said = {token.type for token in children if token is not None}
        return _Flags("OTHER" in said, "MISSING" in said)

    def flag(self, children: list[Any]) -> Token:
        token: Token = children[0]
        return token

    def comparison(self, children: list[Any]) -> Comparison:
        flags = children[-1] or NO_FLAGS
        return Comparison(
            tuple(_of_type(children, *VALUES)),
            tuple(_of_type(children, *SIGNS)),
            flags.others,
            flags.missing,
        )

    def membership(self, children: list[Any]) -> Membership:
        feature, negated, chosen, flags = children
        flags = flags or NO_FLAGS
        return Membership(
            feature, negated is not None, chosen.values, flags.others, flags.missing
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
        counts, reached, seal = children
        return Evidence(counts, reached, seal[1:] if seal else "")

    def identity(self, children: list[Any]) -> Token:
        token: Token = children[0]
        return token

    def rule(self, children: list[Any]) -> Statement:
        identity, _, *tests, value, evidence = children
        kept = tuple(t for t in tests if not isinstance(t, Token))  # THEN goes
        return Statement(identity, kept, value, evidence)

    otherwise = rule


@dataclass(frozen=True, slots=True)
class _Set:
    values: tuple[Token, ...]


@dataclass(frozen=True, slots=True)
class _Flags:
    others: bool
    missing: bool


NO_FLAGS = _Flags(False, False)


def _declaration(children: list[Any]) -> Declaration:
    values = next((c.values for c in children if isinstance(c, _Set)), None)
    types = _of_type(children, "TEXT", "INTEGER", "BOOLEAN")
    ordered = bool(_of_type(children, "ORDER"))
    return Declaration(children[0], values, types[0] if types else None, ordered)


# ---------------------------------------------------------------- mistakes

# What stands for a group of tokens in a message, the larger group first.
GROUPS = (
    (frozenset(VALUES), "a value"),
    (frozenset({"NAME", "STRING"}), "a name"),
    (frozenset(SIGNS), "a comparison such as = or >"),
    (frozenset({"TEXT", "INTEGER", "BOOLEAN"}), ""),  # hardly anybody wants these
)
STRUCTURE = ("IF", "_AND", "THEN", "OTHERWISE", "ALWAYS", "_FEATURE", "_TARGET")
NAMED = {
    "NUMBER": "a number",
    "NAME": "a name",
    "STRING": "text in quotes",
    "SEAL": "",
    "$END": "the end",
}


def _mistake(text: str, error: UnexpectedInput) -> RulesError:
    if isinstance(error, UnexpectedCharacters):
        found = error.char
        hint = CHARACTERS.get(found, "text with such signs stands in double quotes")
        place = f"line {error.line}, column {error.column}"
        return RulesError(f"{place}: {found!r} is not expected: {hint}")
    assert isinstance(error, UnexpectedToken)
    token, expected = error.token, set(error.accepts or error.expected)
    last = _before(text, token)
    message = f"expected {_listed(expected)}"
    if token.type == "$END":
        line, column = last.end_line if last else 1, last.end_column if last else 1
        place = f"line {line}, column {column}"
        message = f"{place}: {message}, found the end of the rules"
    else:
        message = f"line {token.line}, column {token.column}: {message}, found {token}"
    hint = _hint(token, last, expected)
    return RulesError(f"{message}: {hint}" if hint else message)


CHARACTERS = {
    '"': "a text in quotes ends on the line where it begins",
    "'": "text stands in double quotes",
    "“": "text stands in plain double quotes",
    "”": "text stands in plain double quotes",
    "&": "tests are joined by AND",
    "|": "there is no OR between tests: write two rules",
}


def _before(text: str, token: Token) -> Token | None:
    """The token in front of another."""
    last = None
    for found in _parser().lex(text):
        if token.type != "$END" and (found.start_pos or 0) >= (token.start_pos or 0):
            break
        last = found
    return last


def _listed(expected: set[str]) -> str:
    names = []
    if "THEN" in expected:  # a comparison may go on, but hardly ever should
        expected = expected - {*SIGNS, "LPAR"}
    for group, shown in GROUPS:
        if group <= expected:
            expected = expected - group
            names.append(shown)
    terminals = {t.name: t.pattern.value for t in _parser().terminals}
    for name in sorted(expected):
        if name in NAMED:
            names.append(NAMED[name])
        else:
            word = terminals[name]
            names.append(word.upper() if word.isalpha() else f'"{word}"')
    names = [name for name in names if name]
    *front, final = names
    return f"{', '.join(front)} or {final}" if front else final


def _hint(token: Token, last: Token | None, expected: set[str]) -> str:
    is_test = "THEN" in expected
    words = {last.upper() if last is not None else "", token.upper()}
    if "OTHERWISE" in expected and token.type == "$END":
        return "the last line says what holds for all other cases: OTHERWISE value"
    if "$END" in expected:
        return "OTHERWISE closes the rules: move it behind them"
    if "ELSE" in words:
        return "the last line begins with OTHERWISE"
    if token.type == "_OR" and is_test:
        return "there is no OR between tests: write two rules"
    if token.type == "COMMA" and is_test:
        return "tests are joined by AND, and decimals have a point"
    if last is not None and last.type == "NUMBER" and token.type == "NAME":
        return f'text that begins with a digit stands in quotes: "{last}{token}"'
    if last is not None and last.type == token.type == "NAME":
        hint = f'text of several words stands in quotes: "{last} {token}"'
        return f"THEN stands before the conclusion; {hint}" if is_test else hint
    if "NAME" in expected and token.isalpha() and token.type not in STRUCTURE:
        return f'{token} is a word of the language: as a name it is written "{token}"'
    return ""
