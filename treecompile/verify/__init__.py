"""Prove an artefact equal to its model, on the engine where it will run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treecompile.compiler import emit, require_branches
from treecompile.errors import EngineError
from treecompile.extract import outcomes
from treecompile.ir import ClassCounts, Program, Row, Rule
from treecompile.lower import EmitOptions
from treecompile.semantics import decider, probabilities, required_features
from treecompile.verify import constants
from treecompile.verify.cells import BUDGET, Constants, Trial, trial
from treecompile.verify.engines import (
    DRIVERS,
    NEEDS_NUMPY,
    Database,
    PythonAnswer,
    RefusedError,
    run_python,
    run_sql,
    same,
)
from treecompile.verify.number_types import typed_rows

PYTHON = "python"
ENGINES = (PYTHON, *DRIVERS)
HEADER = re.compile(
    r"/\* treecompile \S+; dialect (\w+); output (label|rule|probability)(?: (\d+))?;"
)


@dataclass(frozen=True, slots=True)
class Mismatch:
    row: dict[str, Any]
    expected: object
    actual: object


@dataclass(frozen=True, slots=True)
class Report:
    """What was tried and what came out."""

    engine: str
    rows: int
    complete: bool  # every combination of edge values was tried
    cells: int
    entered: int
    mismatches: tuple[Mismatch, ...] = ()
    refused: str = ""  # what the engine said instead of answering

    @property
    def passed(self) -> bool:
        return not self.mismatches and not self.refused


def verify(
    program: Program,
    text: str,
    engine: str = "",
    *,
    url: str = "",
    columns: Mapping[str, str] | None = None,
    budget: int = BUDGET,
    seed: int = 0,
) -> Report:
    """Run the text of an artefact over the cells of the model and compare.

    `engine` is found in the text where it is not given: a SQL artefact names its
    dialect in its first line. `url` says where a database server is. `columns` renames
    features, as for emitting.
    """
    require_branches(program)
    header = HEADER.match(text)
    engine = engine or (header.group(1) if header else PYTHON)
    if engine not in ENGINES:
        raise EngineError(f"unknown engine {engine!r}: there are {', '.join(ENGINES)}")
    wanted = (header.group(2), header.group(3)) if header else ("label", None)
    _check_output(program, *wanted)
    options = EmitOptions(dialect=engine, columns=columns or {})
    tries = trial(program.body, _added(program, text, engine, options), budget, seed)
    features = program.body.features
    decided = outcomes(program.body)
    names = [feature.name for feature in features]
    refused, rows, mismatches = "", 0, []
    try:
        for some, answers in _runs(program, text, engine, url, options, tries, seed):
            rows += len(some)
            for row, answer in zip(some, answers, strict=True):
                rule = decided[decider(program.body, row)]
                expected, found = _compared(rule, program, answer, wanted)
                if not all(map(same, expected, found)):
                    shown = dict(zip(names, row, strict=True))
                    mismatches.append(Mismatch(shown, _plain(expected), _plain(found)))
    except RefusedError as error:
        refused = str(error)
    return Report(
        engine=engine,
        rows=rows,
        complete=tries.complete,
        cells=tries.cells,
        entered=tries.entered,
        mismatches=tuple(mismatches),
        refused=refused,
    )


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


def _runs(
    program: Program,
    text: str,
    engine: str,
    url: str,
    options: EmitOptions,
    tries: Trial,
    seed: int,
) -> Iterator[tuple[Sequence[Row], list[Any]]]:
    """Rows and what the engine answers: as doubles, then as each type of number."""
    features = program.body.features
    if engine == PYTHON:
        yield tries.rows, run_python(text, features, tries.rows)
        return
    database = Database.named(engine, url)
    # A column that no test reads need not have a name that the database can hold.
    required = required_features(program.body)
    needed = [features[position] for position in required]

    def run(rows: Sequence[Row], number_type: str = "") -> list[Any]:
        cut = [tuple(row[position] for position in required) for row in rows]
        return run_sql(text, needed, cut, database, options.columns, number_type)

    yield tries.rows, run(tries.rows)
    types = database.dialect.number_types
    for kind, rows in typed_rows(tries.rows, features, types, seed):
        yield rows, run(rows, kind)


def _added(program: Program, text: str, engine: str, options: EmitOptions) -> Constants:
    """The constants that somebody put into an artefact beside ours."""
    if engine != PYTHON:
        original = constants.in_sql(emit(program, "sql", options).text)
        return constants.added(constants.in_sql(text), original)
    try:
        found = constants.in_python(text)
    except SyntaxError:  # the engine will say so, with the place
        return Constants()
    style = "numpy" if NEEDS_NUMPY in text else "standard"
    fresh = emit(program, "python", EmitOptions(style=style)).text
    return constants.added(found, constants.in_python(fresh))


def _compared(
    rule: Rule, program: Program, answer: Any, wanted: tuple[str, str | None]
) -> tuple[Sequence[object], Sequence[object]]:
    """The expected and the actual answer, part by part."""
    if isinstance(answer, PythonAnswer):
        shares: tuple[float, ...] = ()
        if isinstance(rule.stats, ClassCounts):
            shares = probabilities(rule.stats)
        padded = (*answer.probabilities, *[None] * len(shares))[: max(len(shares), 1)]
        return (
            (rule.value, rule.id, *shares),
            (answer.label, answer.rule, *(padded if shares else ())),
        )
    output, label = wanted
    if output == "rule":
        return (rule.id,), (answer,)
    if output == "label":
        return (rule.value,), (answer,)
    assert isinstance(rule.stats, ClassCounts)
    labels = program.body.labels
    position = labels.index(rule.value) if label is None else int(label)
    return (probabilities(rule.stats)[position],), (answer,)


def _plain(parts: Sequence[object]) -> object:
    return parts[0] if len(parts) == 1 else tuple(parts)
