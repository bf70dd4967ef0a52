"""The tokens of the rule language, and errors that say where and what was expected."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple

from treecompile.model import ir
from treecompile.model.errors import RulesError
from treecompile.model.suggestions import similar
from treecompile.model.unicode import NOT_UNICODE, is_unicode
from treecompile.model.words import BARE, KEYWORDS, enumerated, literal

MOST = 32 * 1024 * 1024  # characters
TOKEN = re.compile(
    rf"""(?:\s|\#[^\n]*)*(?:
        (?P<name>{BARE.pattern})
      | (?P<string>"(?:[^"\\\r\n]|\\.)*")
      | (?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
        (?![\w.%/-])
      | (?P<sign>==|!=|<>|<=|>=|[<>=≠≤≥])
      | (?P<mark>[][:,;(){{}}])
      | (?P<end>\Z)
      | (?P<stray>[+-]?\.?[0-9][\w.%/+-]*|.))""",
    re.VERBOSE | re.DOTALL,
)
SIGNS = {"==": "=", "<>": "!=", "≠": "!=", "≤": "<=", "≥": ">="}
TRUTH = ("true", "false")
TYPES = {  # as declarations name them
    "number": ir.ValueType.FLOAT,
    "text": ir.ValueType.STR,
    "integer": ir.ValueType.INT,
    "boolean": ir.ValueType.BOOL,
}
SAID = {  # as messages do
    ir.ValueType.FLOAT: "a number",
    ir.ValueType.STR: "text",
    ir.ValueType.INT: "a whole number",
    ir.ValueType.BOOL: "true or false",
}
INTEGER = re.compile(r"[+-]?[0-9]{1,1000}")
HINTS = {
    '"': "a quoted text must end on the line where it begins",
    "'": "put text in double quotes",
    "“": "put text in plain double quotes",
    "”": "put text in plain double quotes",
    "&": "join tests with and",
    "|": "there is no or between tests: write two rules",
}


class Lexeme(NamedTuple):
    kind: str  # name, keyword, string, number, sign, mark or end
    text: str
    start: int  # its place in the whole text


class Tokens:
    """The tokens of a text, one after the other."""

    def __init__(self, text: str) -> None:
        if len(text) > MOST:
            raise RulesError(
                f"line 1, column 1: the rules have {len(text):,} characters, and the"
                f" limit is {MOST:,}: divide them into several models"
            )
        self.text = text
        self.found = self._scan()
        self.token = self.before = next(self.found)

    def _scan(self) -> Iterator[Lexeme]:
        for match in TOKEN.finditer(self.text):
            kind = match.lastgroup or "end"
            text, start = match[kind], match.start(kind)
            if kind == "name" and text in KEYWORDS:
                kind = "keyword"
            elif kind == "sign":
                text = SIGNS.get(text, text)
            token = Lexeme(kind, text, start)
            if kind == "stray":
                raise self.stray(token)
            yield token
            if kind == "end":
                return

    def next(self) -> Lexeme:
        """Return the current token, and go on to the next."""
        taken = self.before = self.token
        if taken.kind != "end":
            self.token = next(self.found)
        return taken

    def has(self, *texts: str) -> bool:
        """Whether one of these keywords or signs comes next."""
        return self.token.kind in ("keyword", "mark", "sign") and (
            self.token.text in texts
        )

    def skip(self, *texts: str) -> bool:
        """Go past one of these keywords or signs, if it comes next."""
        return self.has(*texts) and bool(self.next())

    def need(self, text: str, expected: str = "") -> Lexeme:
        if not self.has(text):
            raise self.expected(expected or text)
        return self.next()

    def need_word(self, *texts: str) -> str:
        """Return one of these words, which are names anywhere else."""
        if self.token.text not in texts:
            raise self.expected(" or ".join(texts))
        return self.next().text

    # ------------------------------------------------------------ values

    def name(self) -> str:
        """Read a bare name or a quoted string."""
        if self.token.kind not in ("name", "string"):
            raise self.expected("a name")
        return self.text_of(self.next())

    def text_of(self, token: Lexeme) -> str:
        if token.kind == "name":
            return token.text
        try:
            text = json.loads(token.text, strict=False)
        except ValueError as error:
            reason = getattr(error, "msg", error)
            message = f"{token.text} is not a valid JSON string: {reason}"
            raise self.at(token, f"{message}: write a backslash as \\\\") from None
        assert isinstance(text, str)
        if not is_unicode(text):
            raise self.at(
                token,
                f"{token.text} {NOT_UNICODE}: write both halves, or the character"
                " itself",
            )
        return text

    def value(self) -> tuple[Lexeme, ir.Label]:
        """Read a category or a label; its type follows from how it is written."""
        token = self.token
        if token.kind not in ("name", "string", "number") and not self.has(*TRUTH):
            raise self.expected("a value")
        return self.next(), self._value(token)

    def values(self, sign: str = ",") -> list[tuple[Lexeme, ir.Label]]:
        """Read values with a sign between them."""
        found = [self.value()]
        while self.skip(sign):
            found.append(self.value())
        return found

    def _value(self, token: Lexeme) -> ir.Label:
        if token.kind == "keyword":
            return token.text == "true"
        if token.kind == "number":
            if INTEGER.fullmatch(token.text):
                return int(token.text)
            return self._double(token)
        return self.text_of(token)

    def typed(self, token: Lexeme, kind: ir.ValueType) -> ir.Label:
        """Return a value of a type; only a whole number is converted, to a float."""
        if kind is ir.ValueType.FLOAT and token.kind == "number":
            return self._double(token)
        found = self._value(token)
        if type_of(found) is not kind:
            hint = f': write "{token.text}"' if kind is ir.ValueType.STR else ""
            raise self.at(token, f"expected {SAID[kind]}, found {token.text}{hint}")
        return found

    def number(self) -> tuple[Lexeme, float]:
        """Read a number, which must be a finite double."""
        if self.token.kind != "number":
            raise self.expected("a number")
        token = self.next()
        return token, self._double(token)

    def _double(self, token: Lexeme) -> float:
        found = float(token.text)
        if not isfinite(found):
            raise self.at(token, f"{token.text} is too large for a double")
        return found

    # ------------------------------------------------------------ errors

    def at(self, token: Lexeme, message: str) -> RulesError:
        """Return an error with the place of a token."""
        line = self.text.count("\n", 0, token.start) + 1
        column = token.start - self.text.rfind("\n", 0, token.start)
        return RulesError(f"line {line}, column {column}: {message}")

    def stray(self, token: Lexeme) -> RulesError:
        found = token.text
        if len(found) > 1 or found.isdigit():
            return self.at(
                token,
                f"{found} is no number: put text that begins with a digit in quotes:"
                f' "{found}"',
            )
        hint = HINTS.get(found, "put text with such characters in double quotes")
        if not found.isprintable():
            hint = "an invisible character: delete it"
        return self.at(token, f"unexpected {found!r}: {hint}")

    def expected(self, expected: str) -> RulesError:
        """Return an error at the current token."""
        token, before = self.token, self.before
        found = "the end of the rules" if token.kind == "end" else token.text
        hint = ""
        if found.lower() in KEYWORDS and found not in KEYWORDS:
            hint = f"keywords are in lower case: {found.lower()}"
        elif expected.startswith("then") and found == "or":
            hint = "there is no or between tests: write two rules"
        elif expected.startswith("then") and found == ",":
            hint = "join tests with and, and write decimals with a point"
        elif before is not token and before.kind == token.kind == "name":
            hint = f'put text of several words in quotes: "{before.text} {found}"'
        elif token.kind == "keyword" and expected in ("a name", "a value"):
            hint = f'{found} is a keyword: as a name, write it in quotes: "{found}"'
        said = f"expected {expected}, found {found}"
        return self.at(token, f"{said}: {hint}" if hint else said)

    def unknown(
        self, token: Lexeme, what: str, known: Sequence[ir.Label]
    ) -> RulesError:
        """Return an error for a name that is not declared, with the closest one."""
        texts = [literal(item) for item in known]
        by_case = [text for text in texts if text.lower() == token.text.lower()]
        near = by_case or similar(token.text, texts, count=1)
        hint = f"there are {enumerated(texts) or 'none'}"
        between = self.text[token.start : self.token.start]
        if self.token.kind == "name" and "\n" not in between:
            both = f"{token.text} {self.token.text}"
            hint = f'put text of several words in quotes: "{both}"'
        elif near:
            hint = f"did you mean {near[0]}?"
        return self.at(token, f"{what} {token.text}: {hint}")


def type_of(value: ir.Label) -> ir.ValueType:
    return ir.ValueType(type(value).__name__)
