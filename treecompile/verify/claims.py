"""Finds out what an artefact claims to be, and on which engine it runs.

Its header names the target and the options that it was emitted with. If it has none,
the user says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treecompile.emit import header
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.sql.outputs import Asked, asked_outputs, output_problem
from treecompile.emit.targets import nearest, read_target
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import AnyBody, AnyProgram, Forest
from treecompile.verify.execution import read_options

PYTHON, NODE, SQL = "python", "node", "sql"
MODULES = {"python": PYTHON, "javascript": NODE}  # engines that run a module, by target
RUNNERS = (*MODULES.values(), *ENGINES)  # what --engine can name


@dataclass(frozen=True, slots=True)
class Claim:
    """What an artefact is, so that it can be emitted again."""

    target: str  # "sql"
    options: EmitOptions
    engine: str  # that it runs on; "" if none here can run it
    wanted: Sequence[Asked] = ()  # its outputs for a row


def claim(
    program: AnyProgram,
    text: str,
    engine: str = "",
    output: str = "",
    label: str = "",
    columns: Mapping[str, str] | None = None,
) -> Claim:
    """Return what is to be verified, from the text and from the user's options."""
    if engine and engine not in RUNNERS:
        raise EngineError(f"{engine!r} cannot be run here{nearest(engine, RUNNERS)}")
    told = {"output": output, "label": label, "columns": dict(columns or {})}
    told = {name: value for name, value in told.items() if value}
    if said := header.read(text):
        target, options = said.target, EmitOptions(**said.options)
    elif engine:
        target = {on: name for name, on in MODULES.items()}.get(engine, SQL)
        options = EmitOptions()
        if target == SQL:
            options = read_options(text, dialect=engine, **told)
    else:
        raise EngineError(
            "the artefact does not name its engine (SQL without comments does not):"
            f" add engine, one of {', '.join(RUNNERS)}"
        )
    lowering = read_target(target).lowering
    if lowering != SQL:
        if output or label:
            raise OptionError(f"output is for SQL, not {target}: leave it out")
        runs_on = MODULES.get(lowering, "")
        return Claim(target, options, runs_on, _of_module(program.body))
    for name, value in told.items():
        if value != getattr(options, name):
            raise OptionError(
                f"{name}={value!r}: the artefact says {getattr(options, name)!r}: leave"
                " the option out"
            )
    if engine in MODULES.values():
        raise OptionError(f"engine={engine!r}: the artefact is SQL: leave it out")
    try:
        asked = asked_outputs(program.body, options)
    except OptionError as error:
        if said is None:
            raise
        raise EngineError(f"the artefact is of another model: {error}") from None
    engine = engine or read_dialect(options.dialect).engine
    return Claim(target, options, engine, asked)


def _of_module(body: AnyBody) -> Sequence[Asked]:
    """Return all outputs that a module has for a row."""
    reasons = [Asked("rule")]
    if isinstance(body, Forest):
        reasons = [Asked("margin", place) for place in range(len(body.start))]
    shares = len(body.labels) * (not output_problem(body, "probability"))
    probabilities = (Asked("probability", place) for place in range(shares))
    return [Asked("label"), *reasons, *probabilities]
