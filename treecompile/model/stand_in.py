"""What a distilled model stands in for: a forest, whose answers it was learned from.

Its algorithm says so in words, and an option has the SHA-256 of the forest.
"""

from __future__ import annotations

from typing import NamedTuple

from treecompile.model import ir
from treecompile.model.evidence import MEASURED

DISTILLED = ", distilled from "  # in the algorithm of a model
FOREST = "forest_sha256"  # an option of a model


class Original(NamedTuple):
    """The forest behind a distilled model."""

    algorithm: str
    sha256: str


def original(program: ir.AnyProgram) -> Original | None:
    """The forest that a program stands in for; None if it does not."""
    found = dict(program.options).get(FOREST)
    _, is_distilled, forest = program.algorithm.partition(DISTILLED)
    return Original(forest, str(found)) if is_distilled and found else None


def learner(program: ir.Program) -> str:
    """The algorithm that learned a program, whatever it learned from."""
    return program.algorithm.partition(DISTILLED)[0]


def compares_with_forest(program: ir.AnyProgram) -> bool:
    """Whether the figures of a program compare its answers with those of a forest.

    They do until it is measured on rows with known answers.
    """
    return original(program) is not None and MEASURED not in dict(program.options)


def titled(program: ir.AnyProgram, rows: str) -> str:
    """The title of figures on some rows, which says what the answers are compared with.

    The rows that are called validation data elsewhere are those that were held out.
    """
    if not compares_with_forest(program):
        return rows
    rows = rows.replace("Validation data", "Held-out data")
    return f"{rows}, compared with the answers of the forest"
