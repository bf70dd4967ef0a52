"""Compares a document with what the model gives: every byte of it is generated."""

from __future__ import annotations

from itertools import count, zip_longest

from treecompile.emit.compiler import emit
from treecompile.model.errors import shortened
from treecompile.model.ir import AnyProgram
from treecompile.model.words import quoted

END = "the end of the document"


def edited(program: AnyProgram, text: str) -> str:
    """Return the first line that is not as emitted, and what belongs there; or ""."""
    own = emit(program, "markdown").text
    if text == own:
        return ""
    pairs = zip_longest(own.split("\n"), text.split("\n"))
    for line, (expected, found) in zip(count(1), pairs):
        if expected != found:
            wanted, given = (
                END if each is None else shortened(quoted(each))
                for each in (expected, found)
            )
            return f"line {line}: expected {wanted}, found {given}"
    raise AssertionError("texts that differ have a line that differs")
