"""What an artefact says that it is: its engine, and what it gives.

A SQL artefact says so in its first line, unless it was written without comments; then
the user does, or the columns of the query do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.errors import EngineError, OptionError
from treecompile.ir import Program
from treecompile.lower.sql_forms import OUTPUTS, check_choice, position_of
from treecompile.targets import dialect_names, nearest, read_dialect
from treecompile.verify.drivers import DRIVERS
from treecompile.verify.runs import PYTHON
from treecompile.verify.sql_form import sql_form

ENGINES = (PYTHON, *DRIVERS)
OUTPUT = re.compile(r"(label|rule|probability)(?: (\d+))?")
HEADER = re.compile(
    rf"/\* treecompile \S+; dialect (\w+);"
    rf" output ({OUTPUT.pattern}(?:, {OUTPUT.pattern})*);"
)
MODULE = re.compile(r"^def predict\(", re.MULTILINE)
# A column as a query names it, at the end of its expression.
COLUMN = re.compile(rf"\bAS [\"`]({'|'.join(OUTPUTS.values())})[\"`],?$", re.MULTILINE)
Wanted = Sequence[tuple[str, str | None]]  # outputs, a probability with its label


@dataclass(frozen=True, slots=True)
class Claim:
    engine: str
    wanted: Wanted
    assumed: bool = False  # nobody said what it gives: it is taken for the label


def claim(
    program: Program, text: str, engine: str = "", output: str = "", label: str = ""
) -> Claim:
    """What is to be proved, from the text and from what the user says."""
    header = HEADER.match(text)
    if not engine and not header and not MODULE.search(text):
        raise EngineError(
            "the artefact does not say what it is for (SQL without comments does not):"
            f" name its engine with --engine, one of {', '.join(ENGINES)}"
        )
    engine = engine or (header.group(1) if header else PYTHON)
    check_engine(engine)
    if engine == PYTHON and (output or label):
        raise OptionError("--output is for SQL: a module gives everything")
    told = _told(program, output, label)
    wanted = told
    if header:
        wanted = _wanted(header.group(2))
        if told and told != wanted:
            raise OptionError(
                f"--output {output!r}: the artefact says that it gives {header[2]}"
            )
    if not wanted and engine != PYTHON:
        wanted = _columns(text)
    for name, position in wanted:
        _check_output(program, name, position)
    return Claim(engine, wanted or [("label", None)], assumed=not wanted)


def check_engine(engine: str) -> None:
    if engine in ENGINES:
        return
    if engine in dialect_names():
        raise EngineError(
            f"{read_dialect(engine).name} cannot be run from here, so its SQL is not"
            f" verified: the engines are {', '.join(ENGINES)}"
        )
    raise EngineError(f"unknown engine {engine!r}{nearest(engine, ENGINES)}")


def _wanted(text: str) -> Wanted:
    """What the first line of an artefact says that it gives."""
    return [(output, label or None) for output, label in OUTPUT.findall(text)]


def _told(program: Program, output: str, label: str) -> Wanted:
    """What the user says that it gives."""
    if not output:
        if label:
            raise OptionError("--label goes with --output probability")
        return []
    asked = [part.strip() for part in output.split(",")]
    for part in asked:
        check_choice("--output", part, OUTPUTS)
    if label and "probability" not in asked:
        raise OptionError("--label goes with --output probability")
    place = str(position_of(program.body.labels, label)) if label else None
    return [(part, place if part == "probability" else None) for part in asked]


def _columns(text: str) -> Wanted:
    """What the columns of a query say that it gives; nothing for an expression."""
    form = sql_form(text)
    if not form.table:
        return []
    outputs = {column: output for output, column in OUTPUTS.items()}
    return [(outputs[name], None) for name in COLUMN.findall(form.text)]


def _check_output(program: Program, output: str, label: str | None) -> None:
    """A probability can only be compared if the model has that label."""
    labels = program.body.labels
    if output == "probability" and not labels:
        raise EngineError("the artefact gives a probability, the model a number")
    if label is not None and int(label) >= len(labels):
        raise EngineError(
            f"the artefact gives the probability of label {label}, and the model has"
            f" {len(labels)} labels: it was compiled from another model"
        )
