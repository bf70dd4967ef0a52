"""Finds out what an artefact claims to be, and on which engine it runs.

Its header names the target and the options that it was emitted with. If it has none,
the user says what it is, or the column names of a query tell the outputs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treecompile.emit import header
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.sql.outputs import OUTPUTS, asked_outputs, output_problem
from treecompile.emit.targets import Target, nearest, read_target, target_names
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import AnyProgram, Forest
from treecompile.verify.execution import sql_form

PYTHON, SQL = "python", "sql"
FUNCTION = re.compile(r"^def predict\(", re.MULTILINE)  # of a Python module
# A column's name at the end of its expression: ... AS "prediction",
COLUMN = re.compile(
    rf"\bAS ([\"`]?)({'|'.join(OUTPUTS.values())})\1,?$", re.MULTILINE | re.IGNORECASE
)
# Outputs; a probability comes with the position of its label:
# [("label", None), ("probability", 2)]
Wanted = Sequence[tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class Claim:
    """What an artefact is, so that it can be emitted again."""

    target: str  # "sql"
    options: EmitOptions
    engine: str  # that it runs on; "" if none here can run it
    wanted: Wanted = ()
    header: header.Header | None = None
    assumed: bool = False  # nobody named the output: it is taken for the label


def claim(
    program: AnyProgram,
    text: str,
    engine: str = "",
    output: str = "",
    label: str = "",
    columns: Mapping[str, str] | None = None,
) -> Claim:
    """Return what is to be verified, from the text and from the user's options."""
    if engine:
        check_engine(engine)
    said = header.read(text)
    assumed = False
    if said is not None:
        target, options = said.target, EmitOptions(**said.options)
        if {output, label} - {"", options.output, options.label}:
            raise OptionError(
                f"output={output!r}: the artefact says that it gives {options.output}:"
                " leave the option out"
            )
        if target == SQL and columns and dict(columns) != options.columns:
            raise OptionError(
                "columns: the artefact names other columns in its first line: leave the"
                " option out"
            )
    elif target := _module(text, engine):
        options = EmitOptions()
    else:
        target, named = SQL, output or _named_by_columns(text)
        assumed = not named
        form = sql_form(text)
        options = EmitOptions(
            dialect=engine,
            form="view" if form.view else "select" if form.table else "expression",
            table=form.table,
            name=form.view,
            output=named or "label",
            label=label,
            columns=columns or {},
            comments=False,
        )
    described = read_target(target)
    if on := _engine(described):
        if output or label:
            raise OptionError(
                f"output is for SQL, and this is {target.title()}: leave it out"
            )
        return Claim(target, options, on, _of_module(program), said)
    if described.lowering != SQL:
        return Claim(target, options, "", (), said)
    try:
        asked = asked_outputs(program.body, options)
    except OptionError as error:
        if said is None:
            raise
        raise EngineError(f"the artefact is of another model: {error}") from None
    if engine in modules():
        raise OptionError(f"engine={engine!r}: the artefact is SQL: leave it out")
    wanted = [(each.output, each.label) for each in asked]
    engine = engine or read_dialect(options.dialect).engine
    return Claim(target, options, engine, wanted, said, assumed)


def modules() -> dict[str, str]:
    """Return the engines that run modules, each with its target."""
    targets = map(read_target, target_names())
    return {engine: each.name for each in targets if (engine := _engine(each))}


def runners() -> list[str]:
    """Return what `engine` can name."""
    return [*sorted(modules(), key=lambda name: name != PYTHON), *ENGINES]


def _engine(target: Target) -> str:
    """Return what runs the modules of a target; "" if they are not run, or no modules.

    That of a language is named after its folder, if target.toml says no other name.
    """
    if target.lowering == PYTHON:
        return PYTHON
    return (target.engine or Path(target.name).name) if target.driver else ""


def _module(text: str, engine: str) -> str:
    """Return the target of a module without a header; "" for SQL."""
    engine = engine or (PYTHON if FUNCTION.search(text) else "")
    if not engine:
        raise EngineError(
            "the artefact does not name its engine (SQL without comments does not):"
            f" add engine, one of {', '.join(runners())}"
        )
    return modules().get(engine, "")


def _of_module(program: AnyProgram) -> Wanted:
    """Return all outputs that a module has for a row."""
    body = program.body
    reasons: list[tuple[str, int | None]] = [("rule", None)]
    if isinstance(body, Forest):
        reasons = [("margin", place) for place in range(len(body.start))]
    shares = len(body.labels) * (not output_problem(body, "probability"))
    return [
        ("label", None),
        *reasons,
        *(("probability", place) for place in range(shares)),
    ]


def check_engine(engine: str) -> None:
    known = runners()
    if engine in known:
        return
    if engine in dialect_names():
        raise EngineError(
            f"{read_dialect(engine).name} cannot be run here, so its SQL cannot be"
            f" verified: the engines are {', '.join(known)}"
        )
    raise EngineError(f"unknown engine {engine!r}{nearest(engine, known)}")


def _named_by_columns(text: str) -> str:
    """Return the outputs by the column names of a query; "" for an expression."""
    if not sql_form(text).table:
        return ""
    outputs = {column: output for output, column in OUTPUTS.items()}
    return ",".join(outputs[name.lower()] for _, name in COLUMN.findall(text))
