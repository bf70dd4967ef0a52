"""Compare artefacts of random models with the answers of the semantics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from tests.support.random_models import SEVERAL, random_program, random_row
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import Dialect
from treecompile.emit.sql.text import Quoting
from treecompile.engines.base import Engine
from treecompile.model.errors import TargetError
from treecompile.model.ir import (
    Body,
    ClassCounts,
    Label,
    Program,
    Row,
    Rule,
)
from treecompile.model.paths import outcomes
from treecompile.model.semantics import (
    decider,
    probabilities,
)
from treecompile.verify.execution import can_hold, run_sql
from treecompile.verify.languages import run_language
from treecompile.verify.python_process import run_python
from treecompile.verify.verification import same

MODELS, ROWS = 200, 50


@dataclass(frozen=True)
class Answer:
    """What the semantics say about a row."""

    value: Label
    rule: str
    shares: tuple[float, ...]  # none for a regression


def answer(body: Body, decided: Mapping[int, Rule], row: Row) -> Answer:
    rule = decided[decider(body, row)]
    shares = probabilities(rule.stats) if isinstance(rule.stats, ClassCounts) else ()
    return Answer(rule.value, rule.id, shares)


def sample(seed: int, rows: int = ROWS) -> tuple[Program, list[Row], list[Answer]]:
    """A model, rows, and what the semantics say about each."""
    random = Random(seed)
    program = random_program(random, SEVERAL)
    body = program.body
    drawn = [random_row(random, body) for _ in range(rows)]
    decided = outcomes(body)
    return program, drawn, [answer(body, decided, row) for row in drawn]


def renamed(program: Program, dialect: Dialect) -> dict[str, str]:
    """Other names for columns whose names the database does not allow."""
    quoting, others = Quoting(dialect), {}
    for place, feature in enumerate(program.body.features):
        try:
            quoting.name(feature.name)
        except TargetError:
            others[feature.name] = f"column {place}"
    return others


def held(
    dialect: Dialect, program: Program, rows: list[Row], answers: list[Answer]
) -> tuple[list[Row], list[Answer]] | None:
    """The rows that the database can hold; None if it cannot hold the model."""
    body = program.body
    texts = [c for feature in body.features for c in feature.categories]
    if not can_hold(dialect, (*texts, *body.labels)):
        return None
    pairs = zip(rows, answers, strict=True)
    kept = [(row, answer) for row, answer in pairs if can_hold(dialect, row)]
    return [row for row, _ in kept], [answer for _, answer in kept]


def check_python(program: Program, rows: list[Row], answers: list[Answer]) -> int:
    """Labels, rules and probabilities of the Python module."""
    text = emit(program, "python", EmitOptions()).text
    found = run_python(text, program.body.features, rows)
    for row, expected, (label, *said) in zip(rows, answers, found, strict=True):
        assert same(expected.value, label), row
        assert said == [expected.rule, *expected.shares], row
    return len(rows)


def check_language(
    target: str, program: Program, rows: list[Row], answers: list[Answer]
) -> int:
    """Labels, rules and probabilities of a language, where it can hold the model."""
    try:
        artefact = emit(program, target)
    except TargetError as error:
        if re.search("surrogate|character|does not fit 64 bits", str(error)):
            return 0
        raise
    options = EmitOptions()
    held, found = run_language(
        program, artefact.text, artefact.files, target, options, rows, 120
    )
    expected = dict(zip(rows, answers, strict=True))
    for row, (label, *said) in zip(held, found, strict=True):
        wanted = expected[row]
        assert same(wanted.value, label), row
        assert said == [wanted.rule, *wanted.shares], row
    return len(held)


def check_sql(
    database: Engine, program: Program, rows: list[Row], answers: list[Answer]
) -> int:
    """Labels, rules and probabilities on one database."""
    dialect = database.dialect
    kept = held(dialect, program, rows, answers)
    if kept is None:
        return 0
    rows, answers = kept
    columns = renamed(program, dialect)
    compared = 0
    for output in ("label", "rule", "probability") if rows else ():
        if output == "probability" and not program.body.labels:
            continue
        options = EmitOptions(dialect=dialect.key, output=output, columns=columns)
        text = emit(program, "sql", options).text
        found = run_sql(text, program.body.features, rows, database)
        for row, said, actual in zip(rows, answers, found, strict=True):
            expected = {"label": said.value, "rule": said.rule}.get(output)
            if output == "probability":
                expected = said.shares[program.body.labels.index(said.value)]
            assert same(expected, actual), (dialect.key, output, row)
        compared += len(rows)
    return compared
