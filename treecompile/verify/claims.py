"""Finds out what an artefact claims to be: for which engine, with which outputs.

A SQL artefact says so in its first line. If it was written without comments, the user
has to say it, or the column names of the query tell the outputs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.emit.header import read
from treecompile.emit.options import EmitOptions, check_choice
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.sql.outputs import OUTPUTS, output_problem, position_of
from treecompile.emit.targets import nearest
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import AnyProgram, Forest
from treecompile.verify.statements import RefusedError, sql_form

PYTHON, NODE = MODULE_ENGINES = ("python", "node")  # engines that run a module
RUNNERS = (*MODULE_ENGINES, *ENGINES)  # what --engine can name
LANGUAGES = {PYTHON: "Python", NODE: "JavaScript"}
MODULES = {  # what only a module for that engine contains
    PYTHON: re.compile(r"^def predict\(", re.MULTILINE),
    NODE: re.compile(r"^function predict\(", re.MULTILINE),
}
# A column's name at the end of its expression: ... AS "prediction",
COLUMN = re.compile(
    rf"\bAS ([\"`]?)({'|'.join(OUTPUTS.values())})\1,?$", re.MULTILINE | re.IGNORECASE
)
# Outputs; a probability comes with the position of its label:
# [("label", None), ("probability", 2)]
Wanted = Sequence[tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class Claim:
    engine: str
    wanted: Wanted
    assumed: bool = False  # nobody named the output: it is taken for the label


def claim(
    program: AnyProgram,
    text: str,
    engine: str = "",
    output: str = "",
    label: str = "",
) -> Claim:
    """Return what is to be verified, from the text and from the user's options."""
    header = read(text)
    is_sql = header is not None and header.target == "sql"
    written = EmitOptions(**header.options) if header and is_sql else None
    engine = engine or (written.dialect if written else _module_engine(text))
    check_engine(engine)
    if engine in MODULE_ENGINES:
        if output or label:
            language = LANGUAGES[engine]
            raise OptionError(
                f"output is for SQL, and this is {language}: leave it out"
            )
        return Claim(engine, _of_module(program))
    wanted = named = _named_by_user(program, output, label)
    if written:
        for part in written.output.split(","):
            _check_output(program, part.strip(), None)
        wanted = _named_by_user(program, written.output, written.label)
        if named and named != wanted:
            raise OptionError(
                f"output={output!r}: the artefact says that it gives"
                f" {written.output}: leave the option out"
            )
    wanted = wanted or _named_by_columns(text, engine)
    for part, place in wanted:
        _check_output(program, part, place)
    return Claim(engine, wanted or [("label", None)], not wanted)


def _of_module(program: AnyProgram) -> Wanted:
    """Return all outputs that a module has for a row."""
    body = program.body
    reasons: list[tuple[str, int | None]] = [("rule", None)]
    if isinstance(body, Forest):
        reasons = [("margin", place) for place in range(len(body.start))]
    shares = range(len(body.labels))
    if output_problem(body, "probability"):
        shares = range(0)
    return [("label", None), *reasons, *(("probability", place) for place in shares)]


def _module_engine(text: str) -> str:
    for engine, pattern in MODULES.items():
        if pattern.search(text):
            return engine
    raise EngineError(
        "the artefact does not name its engine (SQL without comments does not):"
        f" add engine, one of {', '.join(RUNNERS)}"
    )


def check_engine(engine: str) -> None:
    if engine in RUNNERS:
        return
    if engine in dialect_names():
        raise EngineError(
            f"{read_dialect(engine).name} cannot be run here, so its SQL cannot be"
            f" verified: the engines are {', '.join(RUNNERS)}"
        )
    raise EngineError(f"unknown engine {engine!r}{nearest(engine, RUNNERS)}")


def _named_by_user(program: AnyProgram, output: str, label: str) -> Wanted:
    parts = [part.strip() for part in output.split(",")] if output else []
    for part in parts:
        check_choice("output", part, OUTPUTS)
    if label and not {"probability", "margin"} & {*parts}:
        raise OptionError("label needs output=probability: add it")
    place = position_of(program.body.labels, label) if label else None
    of_label = ("probability", "margin")
    return [(part, place if part in of_label else None) for part in parts]


def _named_by_columns(text: str, engine: str) -> Wanted:
    """Return the outputs by the column names of a query; [] for an expression."""
    try:
        form = sql_form(text, engine)
    except RefusedError:  # reported when it is to run
        return []
    if not form.table:
        return []
    outputs = {column: output for output, column in OUTPUTS.items()}
    return [(outputs[name.lower()], None) for _, name in COLUMN.findall(form.text)]


def _check_output(program: AnyProgram, output: str, label: int | None) -> None:
    """Refuse an output or a label that the model does not have."""
    labels = program.body.labels
    if output_problem(program.body, output):
        raise EngineError(
            f"the artefact gives a {output}, and the model has none: it was compiled"
            " from another model"
        )
    if label is not None and label >= len(labels):
        raise EngineError(
            f"the artefact gives the {output} of label {label}, and the model has"
            f" {len(labels)} labels: it was compiled from another model"
        )
