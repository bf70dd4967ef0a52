"""What an artefact claims to be: its engine, its outputs, its form.

A SQL artefact says so in its first line. One that was written without comments does
not: then the user says it, or the columns of the query do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from treecompile.emit.options import check_choice
from treecompile.emit.sql import dbt
from treecompile.emit.sql.dialect import dialect_names, read_dialect
from treecompile.emit.sql.forms import OUTPUTS, position_of
from treecompile.emit.targets import nearest
from treecompile.engines.addresses import ENGINES
from treecompile.model.errors import EngineError, OptionError
from treecompile.model.ir import Program

PYTHON = "python"
RUNNERS = (PYTHON, *ENGINES)  # what --engine can name
OUTPUT = re.compile(r"(label|rule|probability)(?: (\d+))?")
HEADER = re.compile(
    rf"/\* treecompile \S+; dialect (\w+);"
    rf" output ({OUTPUT.pattern}(?:, {OUTPUT.pattern})*);"
)
MODULE = re.compile(r"^def predict\(", re.MULTILINE)
# A column's name at the end of its expression: ... AS "prediction",
COLUMN = re.compile(rf"\bAS [\"`]({'|'.join(OUTPUTS.values())})[\"`],?$", re.MULTILINE)
# Outputs, each with the position of a label if it is that label's probability:
# [("label", None), ("probability", 2)]
Wanted = Sequence[tuple[str, int | None]]


@dataclass(frozen=True, slots=True)
class Claim:
    engine: str
    wanted: Wanted
    assumed: bool = False  # neither text nor user named the output: taken for the label


def claim(
    program: Program, text: str, engine: str = "", output: str = "", label: str = ""
) -> Claim:
    """What is to be verified, from the text and from what the user says."""
    header = HEADER.match(text)
    if not engine and not header and not MODULE.search(text):
        raise EngineError(
            "the artefact does not say what it is for (SQL without comments does not):"
            f" name its engine with --engine, one of {', '.join(RUNNERS)}"
        )
    engine = engine or (header.group(1) if header else PYTHON)
    check_engine(engine)
    if engine == PYTHON:
        if output or label:
            raise OptionError("--output is for SQL: a Python module has all outputs")
        shares = [("probability", place) for place in range(len(program.body.labels))]
        return Claim(engine, [("label", None), ("rule", None), *shares])
    wanted = named = _named_by_user(program, output, label)
    if header:
        found = OUTPUT.findall(header[2])
        wanted = [(part, int(place) if place else None) for part, place in found]
        if named and named != wanted:
            raise OptionError(
                f"--output {output!r}: the artefact says that it gives {header[2]}"
            )
    wanted = wanted or _named_by_columns(text)
    for part, place in wanted:
        _check_output(program, part, place)
    return Claim(engine, wanted or [("label", None)], assumed=not wanted)


def check_engine(engine: str) -> None:
    if engine in RUNNERS:
        return
    if engine in dialect_names():
        raise EngineError(
            f"{read_dialect(engine).name} cannot be run from here, so its SQL is not"
            f" verified: the engines are {', '.join(RUNNERS)}"
        )
    raise EngineError(f"unknown engine {engine!r}{nearest(engine, RUNNERS)}")


def _named_by_user(program: Program, output: str, label: str) -> Wanted:
    parts = [part.strip() for part in output.split(",")] if output else []
    for part in parts:
        check_choice("--output", part, OUTPUTS)
    if label and "probability" not in parts:
        raise OptionError("--label needs --output probability")
    place = position_of(program.body.labels, label) if label else None
    return [(part, place if part == "probability" else None) for part in parts]


def _named_by_columns(text: str) -> Wanted:
    """The outputs by the column names of a query; none for an expression."""
    form = sql_form(text)
    if not form.table:
        return []
    outputs = {column: output for output, column in OUTPUTS.items()}
    return [(outputs[name], None) for name in COLUMN.findall(form.text)]


def _check_output(program: Program, output: str, label: int | None) -> None:
    """A probability can be compared only if the model has that label."""
    labels = program.body.labels
    if output == "probability" and not labels:
        raise EngineError("the artefact gives a probability, the model a number")
    if label is not None and label >= len(labels):
        raise EngineError(
            f"the artefact gives the probability of label {label}, and the model has"
            f" {len(labels)} labels: it was compiled from another model"
        )


# ---------------------------------------------------------------- the form of SQL


@dataclass(frozen=True, slots=True)
class SqlForm:
    text: str  # to be run, without the semicolon at its end
    table: str = ""  # that it reads, quoted; "" for a bare expression or a function
    view: str = ""  # that it creates
    function: str = ""  # that it creates
    alias: str = ""  # that a bare expression has for its table


COMMENT = re.compile(r"\s*(?:/\*.*?\*/|--[^\n]*\n)", re.DOTALL)
QUOTED = r"""(?:`[^`]*`|"[^"]*"|\w+)+"""
PATH = rf"{QUOTED}(?:\.{QUOTED})*"
CREATED = re.compile(rf"\s*CREATE\s+(VIEW|FUNCTION|MACRO)\s+({PATH})", re.IGNORECASE)
SOURCE = re.compile(rf"\bFROM\s+({PATH})(?:\s+{QUOTED})?\s*\Z", re.IGNORECASE)
# What dbt replaces, besides escapes: {{ ref("model") }}, {{ source("shop", "table") }}.
REFERENCE = re.compile(r"\{\{ (?:ref|source)\((.*)\) \}\}\s*(\S*)\s*\Z")


def sql_form(text: str, alias: str = "") -> SqlForm:
    """Whether a text is an expression, a query, a view or a function."""
    text = from_dbt(text).strip().rstrip(";")
    rest = text
    while match := COMMENT.match(rest):
        rest = rest[match.end() :]
    created = CREATED.match(rest)
    if created and created[1].upper() != "VIEW":
        return SqlForm(text, function=created[2])
    if not created and not re.match(r"\s*SELECT\b", rest, re.IGNORECASE):
        return SqlForm(text, alias=alias)
    source = SOURCE.search(rest)
    if not source:
        raise EngineError("a query must end in FROM and the name of one table")
    return SqlForm(text, source[1], created[2] if created else "")


def from_dbt(text: str) -> str:
    """The SQL that dbt makes of a model that reads one table."""
    reference = REFERENCE.search(text)
    if not reference:
        return text
    names = re.sub(r"\"(\w+)\"(?:, )?", r"\1.", reference[1]).rstrip(".")
    query = f"{text[: reference.start()]}{names} {reference[2]}"
    return dbt.rendered(query)


def schema_of(table: str) -> str:
    """What precedes the last name of a path: `a.b` for `a.b.c`, "" for `c`."""
    return table.removesuffix(re.findall(rf"\.?{QUOTED}", table)[-1])
