"""Python text as black lays it out, without running black."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from treecompile.literals import python_string

WIDTH = 88


def collection(
    start: str, items: Iterable[str], end: str, indent: int = 0
) -> list[str]:
    """A bracketed list as black lays it out: on one line, or one item on each."""
    parts = list(items)
    comma = "," if len(parts) == 1 and start.endswith((" = (", ": (")) else ""
    line = f"{start}{', '.join(parts)}{comma}{end}"
    if len(line) <= WIDTH or not parts:
        return [line]
    inner = " " * (indent + 4)
    return [start, *(f"{inner}{part}," for part in parts), " " * indent + end]


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
    """A comment behind the line, or above it where the two together are too wide."""
    whole = f"{line}  # {comment}"
    if len(whole) <= WIDTH:
        return [whole]
    margin = line[: len(line) - len(line.lstrip())]
    return [f"{margin}# {comment}", line]
