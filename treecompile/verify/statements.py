"""Reads the SQL of an artefact: one statement, whose form it returns.

The text may be anybody's. Reading takes time in proportion to its length, and accepts
exactly one expression, query or view. Text that databases read differently is
refused, and so are statements that reach beyond the rows. The engines see to it that a
statement does no harm: they run it locked (see `engines.base.Connection.lock`).
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
  (?P<comment> /\*(?:[^*]|\*(?!/))*+(?:\*/|(?P<endless_comment>\Z)) | --[^\n]*+ )
| (?P<escaped> [eE]'(?:[^'\\]|''|\\.)*+(?:'|(?P<endless_escaped>\Z)) )
| (?P<string> '(?:{inside})*+(?:'|(?P<endless_string>\Z)) )
| (?P<dollars> (?P<tag>\$(?:[^\W\d]\w*+)?\$) .*? (?:(?P=tag)|(?P<endless_dollars>\Z)) )
| (?P<name> "(?:[^"]|"")*+(?:"|(?P<endless_name>\Z))
          | `(?:[^`]|``)*+(?:`|(?P<endless_quote>\Z)) )
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


ENDLESS = {  # groups of TOKEN, each with what lacks its end
    "endless_comment": "comment",
    "endless_escaped": "string",
    "endless_string": "string",
    "endless_dollars": "string",
    "endless_name": "quoted name",
    "endless_quote": "quoted name",
}


def _tokens(text: str, dialect: str) -> Iterator[Token]:
    """Yield all tokens except comments; refuse text that is read in several ways."""
    match = None
    for match in scan(text, backslash=has_backslashes(dialect)):
        kind, found = str(match.lastgroup), match[0]
        if dialect in MYSQL and (problem := MYSQL_ONLY.match(found)):
            raise RefusedError(
                f"MariaDB and MySQL read {problem[0][:40]!r} differently"
            )
        if kind == "comment":
            _check_comment(found)
            continue
        plain = found.upper() if kind in ("word", "sign") else ""
        yield Token(kind, found, match.start(), match.end(), plain)
    for group, what in ENDLESS.items():  # only the last token can be without an end
        if match and match[group] is not None:
            raise RefusedError(f"a {what} has no end: {match[0][:40]!r}")


MYSQL = ("mariadb", "mysql")
# Where these two differ from other databases: a backslash in quotes, `--` that begins
# no comment, and `#`, which does. Artefacts write a backslash in hexadecimal.
MYSQL_ONLY = re.compile(r"""['"][^\\]*\\|--(?!\s|\Z)|\#""")


def _check_comment(text: str) -> None:
    if text.startswith(("/*!", "/*M!")):
        raise RefusedError(f"MariaDB and MySQL run this comment: {text[:40]!r}")
    if text.startswith("/*") and "/*" in text[1:]:
        raise RefusedError(f"a comment within a comment: {text[:40]!r}")


# ---------------------------------------------------------------- forms


@dataclass(frozen=True, slots=True)
class SqlForm:
    text: str  # the text to run, without the semicolon at its end
    table: str = ""  # the table it reads, quoted; "" for an expression
    schema: str = ""  # the schema of that table, with a point: "shop."
    view: str = ""  # the view that it creates


@lru_cache(maxsize=1)  # an artefact runs several times, and may be large
def sql_form(text: str, dialect: str) -> SqlForm:
    """Return the form of a text: an expression, a query or a view."""
    text = from_dbt(text)
    reader = _Reader(dialect)
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
    if reader.end_of_expression:
        raise RefusedError(
            f"{reader.end_of_expression!r} ends the expression: expected one"
            " expression, SELECT or CREATE VIEW"
        )
    return SqlForm(text)


INTO = "INTO"  # writes a table or a file
# Functions and words that reach beyond the rows, on engines that cannot be locked
# against them. The words run libraries and scripts, or write.
BARRED_CALLS = {
    "spark": ("REFLECT", "TRY_REFLECT", "JAVA_METHOD"),
    "clickhouse": ("FILE", "EXECUTABLE"),
    "mariadb": ("LOAD_FILE",),
    "mysql": ("LOAD_FILE",),
}
BARRED_WORDS = {
    "spark": (INTO, "USING"),
    "mariadb": (INTO, "SONAME"),
    "mysql": (INTO, "SONAME"),
}
AFTER_EXPRESSION = (  # at the top of an expression, these end it
    *("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "FETCH", "FOR"),
    *("UNION", "INTERSECT", "EXCEPT", "WINDOW", "QUALIFY", "SETTINGS", "FORMAT"),
    *(",", ")"),
)
BEFORE_TABLE = ("FROM", "JOIN", "LATERAL", ",", ".")
AFTER_TABLES = ("WHERE", "ON", "GROUP", "ORDER", "UNION", "SELECT")
CLAUSES = frozenset((*AFTER_EXPRESSION, *AFTER_TABLES, "("))
ONE_TABLE = "a query must end in FROM and the name of one table"
LATERAL = ["CROSS", "JOIN", "LATERAL", "("]
LONGEST_PATH = 16  # tokens
DEEPEST = 1000  # parentheses


class _Reader:
    """Reads the tokens of one statement, and refuses what it must not contain."""

    def __init__(self, dialect: str) -> None:
        self.barred_calls = BARRED_CALLS.get(dialect, ())
        self.barred_words = BARRED_WORDS.get(dialect, (INTO,))
        self.first: list[Token] = []  # the first tokens
        self.earlier = self.last = NONE  # the last two tokens
        self.sources: list[list[Token]] = []  # the tokens after each FROM
        self.steps: set[str] = set()  # names of WITH queries
        self.is_ended = False
        self.end_of_expression = ""  # the first token that would end an expression
        # By depth of parentheses: whether tables are being listed, after FROM.
        self.lists_tables = [False]

    def read(self, token: Token) -> None:
        plain, last = token.plain, self.last
        if self.is_ended and plain != ";":
            raise RefusedError("it has more than one statement")
        if plain in self.barred_words:
            raise RefusedError(f"it contains {plain}: an artefact only reads")
        if plain in CLAUSES and not (plain == "FROM" and last.plain == "DISTINCT"):
            self._read_clause(token)
        if plain == ";":
            self.is_ended = True
            return
        if plain == "FROM" and last.plain != "DISTINCT":
            self.sources.append([])
        elif self.sources and len(self.sources[-1]) < LONGEST_PATH:
            self.sources[-1].append(token)
        if len(self.first) < LONGEST_PATH:
            self.first.append(token)
        self.earlier, self.last = last, token

    def _read_clause(self, token: Token) -> None:
        depths, plain = self.lists_tables, token.plain
        if len(depths) == 1 and plain in AFTER_EXPRESSION:
            self.end_of_expression = self.end_of_expression or token.text
        if plain == "(":
            self._check_call(self.last)
            if self.last.plain == "AS":
                self.steps.add(self.earlier.called)
            depths.append(False)
            if len(depths) > DEEPEST:  # some parsers take gigabytes for this
                raise RefusedError(
                    f"its parentheses are nested more than {DEEPEST} levels deep"
                )
        elif plain == ")":
            del depths[max(1, len(depths) - 1) :]
        elif plain == "FROM":
            depths[-1] = True
        elif plain in AFTER_TABLES:
            depths[-1] = False

    def _check_call(self, function: Token) -> None:
        if function.called in self.barred_calls:
            raise RefusedError(f"it calls {function.called}: an artefact only reads")
        is_table = self.lists_tables[-1] and self.earlier.plain in BEFORE_TABLE
        if is_table and function.is_name and function.plain not in BEFORE_TABLE:
            raise RefusedError(
                f"it reads {function.text[:40]}(...): an artefact reads only the rows"
            )

    def source(self, text: str) -> Path:
        """Return the table that the query, or one of its WITH queries, reads."""
        if not self.sources:
            raise RefusedError(ONE_TABLE)
        path = _path(text, self.sources[-1])
        if path.called not in self.steps:
            return self._one_table(path, self.sources[-1])
        for tokens in self.sources:
            found = _path(text, tokens) if tokens and tokens[0].is_name else path
            if found.called not in self.steps:
                return found
        raise RefusedError("no step of the query reads a table")

    def _one_table(self, path: Path, tokens: Sequence[Token]) -> Path:
        """Return the table, which only an alias or a lateral subquery may follow."""
        alias = tokens[path.length :]
        plain = [token.plain for token in alias]
        if LATERAL in (plain[:4], plain[1:5]):
            return path
        if not alias or (len(alias) == 1 and alias[0].is_name):
            return path
        raise RefusedError(ONE_TABLE)


@dataclass(frozen=True, slots=True)
class Path:
    text: str  # shop."orders"
    schema: str  # what precedes the last name: shop.
    length: int  # in tokens
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
    return Path(text[start : last.end], text[start : last.start], length, last.called)


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
