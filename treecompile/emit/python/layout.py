"""Writes Python text as black formats it, without running black."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from treecompile.emit.literals import python_string

WIDTH = 88


def in_docstring(text: str) -> str:
    """Escape text so that it neither ends a docstring nor contains escapes."""
    return text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def collection(
    start: str, items: Iterable[str], end: str, indent: int = 0
) -> list[str]:
    """Return a bracketed list: on one line, or one item on each line."""
    parts = list(items)
    comma = "," if len(parts) == 1 and start.endswith((" = (", ": (")) else ""
    line = f"{start}{', '.join(parts)}{comma}{end}"
    if len(line) <= WIDTH or not parts:
        return [line]
    inner = " " * (indent + 4)
    return [start, *(f"{inner}{part}," for part in parts), " " * indent + end]


def call(start: str, items: Sequence[str], end: str, indent: int = 0) -> list[str]:
    """Return a call or a definition with its arguments."""
    line = f"{start}{', '.join(items)}{end}"
    if len(line) <= WIDTH:
        return [line]
    inner = " " * (indent + 4) + ", ".join(items)
    if len(inner) <= WIDTH:
        return [start, inner, " " * indent + end]
    return collection(start, items, end, indent)


def signature(
    start: str, names: Iterable[str], end: str, options: Sequence[str] = ()
) -> list[str]:
    """Write the head of a function that takes values by position only."""
    values = [f"{name}: Any" for name in names]
    items = [*values, *["/"] * bool(values), *["*"] * bool(options), *options]
    return call(start, items, end)


def call_by_row(
    start: str, keys: Iterable[str], end: str, options: Sequence[str] = ()
) -> list[str]:
    """Write a call with values of a row: f(row["sky"], row["heat"])."""
    items = [f"row[{key}]" for key in keys]
    whole = call(start, [*items, *options], end, 4)
    if max(map(len, whole)) <= WIDTH:
        return whole
    inner = [line for item in items for line in _subscript(item, 8)]
    return [start, *inner, *(f"        {option}," for option in options), f"    {end}"]


def _subscript(item: str, indent: int) -> list[str]:
    """Return an argument row["heat"]; a long key has a line of its own."""
    margin = " " * indent
    line = f"{margin}{item},"
    if len(line) <= WIDTH:
        return [line]
    name, _, key = item.removesuffix("]").partition("[")
    return [f"{margin}{name}[", f"{margin}    {key}", f"{margin}],"]


def condition(tests: Sequence[str], margin: str, joint: str = "and") -> list[str]:
    """Return the head of an `if` with its tests."""
    line = f"{margin}if {f' {joint} '.join(tests)}:"
    if len(line) <= WIDTH:
        return [line]
    first, *others = tests
    inner = margin + "    "
    more = [f"{inner}{joint} {test}" for test in others]
    return [f"{margin}if (", f"{inner}{first}", *more, f"{margin}):"]


def mapping(name: str, items: Mapping[str, str]) -> list[str]:
    parts = [f"{python_string(key)}: {value}" for key, value in items.items()]
    return collection(f"{name} = {{", parts, "}")


def frozen_set(name: str, items: Sequence[str]) -> list[str]:
    line = f"{name} = frozenset({{{', '.join(items)}}})"
    if len(line) <= WIDTH:
        return [line]
    inner = f"    {{{', '.join(items)}}}"
    if len(inner) <= WIDTH:
        return [f"{name} = frozenset(", inner, ")"]
    lines = [f"        {item}," for item in items]
    return [f"{name} = frozenset(", "    {", *lines, "    }", ")"]


def with_comment(line: str, comment: str) -> list[str]:
    """Add a comment to a line, or above it if both together are too wide."""
    whole = f"{line}  # {comment}"
    if len(whole) <= WIDTH:
        return [whole]
    margin = line[: len(line) - len(line.lstrip())]
    return [f"{margin}# {comment}", line]
