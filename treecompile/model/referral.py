"""The label by which a model declines to answer: "refer to a human".

It is a label like any other, the last one, and no row has it as its known answer. The
options of the model name it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treecompile.model import ir

WHEN, LABEL = "refer", "refer_label"  # options of a model


def refer_label(program: ir.AnyProgram) -> ir.Label | None:
    """The label of rows that are referred; None if the model answers every row."""
    found = dict(program.options).get(LABEL)
    return found if found is not None and found in program.body.labels else None


def referring_as(program: ir.Program, other: ir.Program) -> ir.Program:
    """The program, which refers by the label of the other one if it has that label."""
    label = dict(other.options).get(LABEL)
    if label is None or label not in program.body.labels:
        return program
    options = {**dict(program.options), LABEL: label}
    return replace(program, options=tuple(options.items()))


def referred_rows(
    quality: ir.Quality, labels: Sequence[ir.Label], label: ir.Label | None
) -> int:
    """The number of rows that were referred."""
    if label is None or not isinstance(quality, ir.ClassQuality):
        return 0
    place = labels.index(label)
    return sum(row[place] for row in quality.confusion)
