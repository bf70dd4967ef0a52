"""The numbers and strings that somebody has added to the text of an artefact.

They are tried as inputs, so that an added branch cannot hide between the thresholds of
the model. Occurrences are counted, because a branch may reuse a constant of ours.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from math import isfinite

from treecompile.verify.cells import Constants

Found = Counter[float | str]

# One token of SQL: a comment, a quoted name, a string, or a number.
TOKEN = re.compile(
    r"/\*.*?\*/|--[^\n]*"
    r'|`(?:[^`]|``)*`|"(?:[^"]|"")*"'
    r"|'(?P<string>(?:[^']|'')*)'"
    r"|(?<![\w.])(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)",
    re.DOTALL,
)


def in_sql(text: str) -> Found:
    """The literals of a SQL text."""
    found: Found = Counter()
    for token in TOKEN.finditer(text):
        if token["string"] is not None:
            found[token["string"].replace("''", "'")] += 1
        elif token["number"] is not None:
            found[float(token["number"])] += 1
    return found


def in_python(text: str) -> Found:
    """The literals of a Python text."""
    found: Found = Counter()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                found[node.value] += 1
            elif isinstance(node.value, (int, float)) and abs(node.value) < 2**1024:
                found[float(node.value)] += 1
    return found


def added(artefact: Found, original: Found) -> Constants:
    """What an artefact has more of than the one compiled afresh."""
    more = artefact - original
    numbers = {n for n in more if isinstance(n, float) and isfinite(n)}
    return Constants(
        # The sign of a number is an operator in front of it.
        numbers=frozenset(numbers | {-n for n in numbers}),
        strings=frozenset(s for s in more if isinstance(s, str)),
    )
