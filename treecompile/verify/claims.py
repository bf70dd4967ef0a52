"""Finds out what an artefact claims to be, and on which engine it runs.

Its header names the target and the options that it was emitted with. If it has none,
the user says what it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from treecompile.emit import header
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.emit.sql.outputs import Asked, asked_outputs, output_problem
from treecompile.emit.targets import Target, nearest, read_target, target_names
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import AnyBody, AnyProgram, Forest
from treecompile.verify.execution import read_options

PYTHON, SQL = "python", "sql"


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
    known = runners()
    if engine and engine not in known:
        raise EngineError(f"{engine!r} cannot be run here{nearest(engine, known)}")
    told = {"output": output, "label": label, "columns": dict(columns or {})}
    told = {name: value for name, value in told.items() if value}
    if said := header.read(text):
        target, options = said.target, EmitOptions(**said.options)
    elif engine:
        target = modules().get(engine, SQL)
        options = EmitOptions()
        if target == SQL:
            options = read_options(text, dialect=engine, **told)
    else:
        raise EngineError(
            "the artefact does not name its engine (SQL without comments does not):"
            f" add engine, one of {', '.join(known)}"
        )
    described = read_target(target)
    if described.lowering != SQL:
        if output or label:
            raise OptionError(f"output is for SQL, not {target}: leave it out")
        return Claim(target, options, _engine(described), _of_module(program.body))
    for name, value in told.items():
        if value != getattr(options, name):
            raise OptionError(
                f"{name}={value!r}: the artefact says {getattr(options, name)!r}: leave"
                " the option out"
            )
    if engine in modules():
        raise OptionError(f"engine={engine!r}: the artefact is SQL: leave it out")
    try:
        asked = asked_outputs(program.body, options)
    except OptionError as error:
        if said is None:
            raise
        raise EngineError(f"the artefact is of another model: {error}") from None
    engine = engine or read_dialect(options.dialect).engine
    return Claim(target, options, engine, asked)


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


def _of_module(body: AnyBody) -> Sequence[Asked]:
    """Return all outputs that a module has for a row."""
    reasons = [Asked("rule")]
    if isinstance(body, Forest):
        reasons = [Asked("margin", place) for place in range(len(body.start))]
    shares = len(body.labels) * (not output_problem(body, "probability"))
    probabilities = (Asked("probability", place) for place in range(shares))
    return [Asked("label"), *reasons, *probabilities]
