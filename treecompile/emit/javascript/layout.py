"""Writes JavaScript text as prettier formats it, without running prettier."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import inf

from treecompile.model.errors import TargetError
from treecompile.model.ir import Label, Value
from treecompile.model.unicode import escaped

WIDTH = 80
IDENTIFIER = re.compile(r"[A-Za-z_$][0-9A-Za-z_$]*")
NUMBER = re.compile(r"-?[0-9][0-9.e-]*")  # not a BigInt
LINE_ENDS = re.compile("[\r\n\u2028\u2029]+")
# Two halves of a surrogate pair, which JavaScript reads as one character.
HALVES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# Text that ends the script of a page, or begins a comment in it.
MARKUP = re.compile("<(?=[/!]|script)", re.IGNORECASE)


def javascript_string(text: str) -> str:
    """Write a string on one line, in the quotes of prettier, and safe in a page."""
    if HALVES.search(text):
        raise TargetError(
            f"{text!r} has both halves of a surrogate pair, which JavaScript takes for"
            " one character: correct it"
        )
    quote = "'" if text.count('"') > text.count("'") else '"'
    marked = text.replace("\\", "\\\\").replace(quote, "\\" + quote)
    marked = MARKUP.sub(r"\\x3c", marked)
    if marked.isprintable():
        return f"{quote}{marked}{quote}"
    shown = (c if c.isprintable() else _javascript_escape(c) for c in marked)
    return f"{quote}{''.join(shown)}{quote}"


def _javascript_escape(character: str) -> str:
    code = ord(character)
    return f"\\u{{{code:x}}}" if code > 0xFFFF else escaped(character)


def literal(value: Value | Label, *, exact: bool = False) -> str:
    """Return a label, a category or a number; with `exact`, an integer as a BigInt."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return javascript_string(value)
        case int():
            return f"{value}n" if exact else str(value)
    if value in (inf, -inf):
        return "Infinity" if value > 0 else "-Infinity"
    return repr(value).removesuffix(".0").replace("e+", "e")


def key(name: str) -> str:
    """Return the name of a property in an object literal.

    A plain `__proto__` would set the prototype instead.
    """
    if name == "__proto__":
        return '["__proto__"]'
    return name if IDENTIFIER.fullmatch(name) else javascript_string(name)


def member(name: str) -> str:
    """Return the access to a property: .heat, ["heat in C"]."""
    return f".{name}" if IDENTIFIER.fullmatch(name) else f"[{javascript_string(name)}]"


def comment(text: str) -> str:
    """Escape text so that it ends neither a comment nor the script of a page."""
    return MARKUP.sub(r"\\x3c", LINE_ENDS.sub(" ", text).replace("*/", "*\\/"))


def block(start: str, items: Iterable[str], end: str, indent: int = 0) -> list[str]:
    """Return a bracketed list: on one line, or one item on each line.

    Braces have spaces inside, if they are on one line.
    """
    parts = list(items)
    space = " " if start.endswith("{") and parts else ""
    line = f"{start}{space}{', '.join(parts)}{space}{end}"
    if len(line) <= WIDTH or not parts:
        return [line]
    inner = " " * (indent + 2)
    return [start, *(f"{inner}{part}," for part in parts), " " * indent + end]


def values(start: str, items: Sequence[str], end: str, indent: int = 0) -> list[str]:
    """Return a list of literals: numbers fill lines, others have one line each."""
    if not all(NUMBER.fullmatch(item) for item in items):
        return block(start, items, end, indent)
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        return [line]
    inner = " " * (indent + 2)
    lines = [start, f"{inner}{items[0]},"]
    for item in items[1:]:
        if len(lines[-1]) + len(item) + len(" ,") > WIDTH:
            lines.append(f"{inner}{item},")
        else:
            lines[-1] += f" {item},"
    return [*lines, " " * indent + end]


def condition(tests: Sequence[str], margin: str, joint: str = "&&") -> list[str]:
    """Write the head of an `if`; a test on its own loses its parentheses."""
    if len(tests) == 1:
        tests = [tests[0][1:-1] if tests[0].startswith("(") else tests[0]]
    line = f"{margin}if ({f' {joint} '.join(tests)}) {{"
    if len(line) <= WIDTH:
        return [line]
    *others, last = tests
    inner = margin + "  "
    lines = [f"{inner}{test} {joint}" for test in others]
    return [f"{margin}if (", *lines, f"{inner}{last}", f"{margin}) {{"]


def with_comment(lines: Sequence[str], said: str) -> list[str]:
    """Lines with a comment, above them if both together are too wide."""
    if len(lines) == 1 and len(whole := f"{lines[0]} // {said}") <= WIDTH:
        return [whole]
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    return [f"{margin}// {said}", *lines]
