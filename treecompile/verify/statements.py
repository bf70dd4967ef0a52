"""Reads the SQL of an artefact: one expression, query or view, and the table it reads.

Everything else about a text is for the engine to accept or to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import NamedTuple

from treecompile.emit.literals import BACKSLASHED
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import read_dialect


class RefusedError(Exception):
    """The artefact cannot be run: it is wrong, not the request."""


# ---------------------------------------------------------------- tokens

# Each alternative takes all it can and gives nothing back. What has no end goes on to
# the end of the text. So no character is read more than twice.
TOKEN = r"""
  (?P<comment> /\*(?:[^*]|\*(?!/))*+(?:\*/|\Z) | --[^\n]*+ )
| (?P<escaped> [eE]'(?:[^'\\]|''|\\.)*+(?:'|\Z) )
| (?P<string> '(?:{inside})*+(?:'|\Z) )
| (?P<dollars> (?P<tag>\$(?:[^\W\d]\w*+)?\$) .*? (?:(?P=tag)|\Z) )
| (?P<name> "(?:[^"]|"")*+(?:"|\Z) | `(?:[^`]|``)*+(?:`|\Z) )
| (?P<word> [^\W\d][\w$]*+ )
| (?P<number> (?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+
              (?P<powers>(?:[*/]\(1<<\d{1,5}\))*+) )
| (?P<sign> \S )
"""
PLAIN = r"[^']|''"
BACKSLASH = r"[^'\\]|''|\\."  # a backslash escapes the next character


class Token(NamedTuple):
    kind: str  # the outermost group of TOKEN: "word"
    text: str
    start: int
    end: int
    plain: str = ""  # a word or a sign in upper case

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "name")

    @property
    def called(self) -> str:
        """The name of a function in upper case, without quotes; "" for no name."""
        return self.text.strip('`"').upper() if self.is_name else ""


NONE = Token("", "", 0, 0)


@cache
def _pattern(inside: str) -> re.Pattern[str]:
    return re.compile(TOKEN.replace("{inside}", inside), re.DOTALL | re.VERBOSE)


def scan(text: str, *, backslash: bool) -> Iterator[re.Match[str]]:
    """Return the tokens of a text; `lastgroup` is the kind of each."""
    return _pattern(BACKSLASH if backslash else PLAIN).finditer(text)


def has_backslashes(dialect: str) -> bool:
    """Whether a backslash in a string escapes the next character."""
    return read_dialect(dialect).literals.string in BACKSLASHED


def _tokens(text: str, dialect: str) -> Iterator[Token]:
    """Yield all tokens except comments."""
    for match in scan(text, backslash=has_backslashes(dialect)):
        kind, found = str(match.lastgroup), match[0]
        if kind != "comment":
            plain = found.upper() if kind in ("word", "sign") else ""
            yield Token(kind, found, match.start(), match.end(), plain)


# ---------------------------------------------------------------- forms


@dataclass(frozen=True, slots=True)
class SqlForm:
    text: str  # the text to run, without the semicolon at its end
    table: str = ""  # the table it reads, quoted; "" for an expression
    schema: str = ""  # the schema of that table, with a point: "shop."
    view: str = ""  # the view that it creates


LONGEST_PATH = 16  # tokens


@lru_cache(maxsize=1)  # an artefact runs several times, and may be large
def sql_form(text: str, dialect: str) -> SqlForm:
    """Return the form of a text: an expression, a query or a view."""
    text = from_dbt(text)
    reader = _Reader()
    for token in _tokens(text, dialect):
        reader.read(token)
    if not reader.first:
        raise RefusedError("it contains no SQL")
    text = text[: reader.last.end]
    match [token.plain for token in reader.first[:2]]:
        case ["SELECT" | "WITH", *_]:
            table = reader.source(text)
            return SqlForm(text, table.text, table.schema)
        case ["CREATE", "VIEW"]:
            view, table = _path(text, reader.first[2:]), reader.source(text)
            return SqlForm(text, table.text, table.schema, view=view.text)
    return SqlForm(text)


class _Reader:
    """Reads the tokens of one statement: how it begins, and what follows each FROM."""

    def __init__(self) -> None:
        self.first: list[Token] = []  # the first tokens
        self.earlier = self.last = NONE  # the last two tokens
        self.sources: list[list[Token]] = []  # the tokens after each FROM
        self.steps: set[str] = set()  # names of WITH queries
        self.is_ended = False

    def read(self, token: Token) -> None:
        plain, last = token.plain, self.last
        if plain == ";":
            self.is_ended = True
            return
        if self.is_ended:
            raise RefusedError("it has more than one statement")
        if plain == "(" and last.plain == "AS":
            self.steps.add(self.earlier.called)
        if plain == "FROM" and last.plain != "DISTINCT":
            self.sources.append([])
        elif self.sources and len(self.sources[-1]) < LONGEST_PATH:
            self.sources[-1].append(token)
        if len(self.first) < LONGEST_PATH:
            self.first.append(token)
        self.earlier, self.last = last, token

    def source(self, text: str) -> Path:
        """Return the table that the query, or one of its WITH queries, reads."""
        if not self.sources:
            raise RefusedError("a query must read one table: it has no FROM")
        path = _path(text, self.sources[-1])
        if path.called not in self.steps:
            return path
        for tokens in self.sources:
            found = _path(text, tokens) if tokens and tokens[0].is_name else path
            if found.called not in self.steps:
                return found
        raise RefusedError("no step of the query reads a table")


@dataclass(frozen=True, slots=True)
class Path:
    text: str  # shop."orders"
    schema: str  # what precedes the last name: shop.
    called: str  # its last name, in upper case and without quotes


def _path(text: str, tokens: Sequence[Token]) -> Path:
    """Return the name at the beginning, perhaps with the name of its schema."""
    length = 0
    for place in range(0, len(tokens), 2):
        if not tokens[place].is_name:
            break
        length = place + 1
        if length == len(tokens) or tokens[length].plain != ".":
            break
    if not length:
        raise RefusedError("expected the name of a table or a view")
    start, last = tokens[0].start, tokens[length - 1]
    return Path(text[start : last.end], text[start : last.start], last.called)


# ---------------------------------------------------------------- dbt

# dbt replaces these, and escapes: {{ ref("model") }}, {{ source("shop", "table") }}.
REFERENCE = re.compile(r"\{\{ (?:ref|source)\(([^\n]*)\) \}\}(?= *[^\s{}]*$)", re.M)


def from_dbt(text: str) -> str:
    """Return the SQL that dbt makes of a model that reads one table."""
    start = max(text.rfind("{{ ref("), text.rfind("{{ source("))
    reference = REFERENCE.match(text, start) if start >= 0 else None
    if not reference:
        return text
    names = re.sub(r"\"(\w+)\"(?:, )?", r"\1.", reference[1]).rstrip(".")
    return dbt.rendered(f"{text[:start]}{names}{text[reference.end() :]}")
