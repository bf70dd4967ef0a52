"""The numbers and strings in the text of an artefact.

They are tried as inputs, so that a branch which somebody added to an artefact cannot
hide between the thresholds of the model.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from math import inf, isfinite

from treecompile.verify.cells import Constants

NUMBER = re.compile(r"(?<![\w.])[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
STRING = re.compile(r"'((?:[^']|'')*)'")
COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)


def in_sql(text: str) -> Constants:
    """The literals of a SQL text."""
    strings = {match.replace("''", "'") for match in STRING.findall(text)}
    bare = COMMENT.sub(" ", STRING.sub(" ", text))
    return _constants((float(number) for number in NUMBER.findall(bare)), strings)


def in_python(text: str) -> Constants:
    """The literals of a Python text."""
    numbers: list[float] = []
    strings: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            strings.add(node.value)
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            number = _double(node.value)
            numbers += [number, -number]  # its sign is an operator in front of it
    return _constants(numbers, strings)


def _double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return inf


def _constants(numbers: Iterable[float], strings: Iterable[str]) -> Constants:
    return Constants(frozenset(n for n in numbers if isfinite(n)), frozenset(strings))


def added(artefact: Constants, original: Constants) -> Constants:
    """What an artefact has that the one compiled afresh does not."""
    return Constants(
        artefact.numbers - original.numbers, artefact.strings - original.strings
    )
