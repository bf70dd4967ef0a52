"""Prove an artefact equal to its model, on the engine where it will run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treecompile.compiler import require_branches
from treecompile.errors import EngineError
from treecompile.extract import outcomes
from treecompile.ir import ClassCounts, Program, Rule
from treecompile.lower import EmitOptions
from treecompile.semantics import decider, probabilities
from treecompile.targets import dialect_names, nearest, read_dialect
from treecompile.verify.cells import BUDGET
from treecompile.verify.drivers import DRIVERS
from treecompile.verify.engines import PythonAnswer, RefusedError, same
from treecompile.verify.runs import PYTHON, Task, added

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
    cells: int  # leaves or rules that a row can reach
    entered: int  # those of them that some row reached
    edges: int = 0  # values at which a test decides an answer; not counted if complete
    told: int = 0  # those of them at which an error would have shown
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
    _check_engine(engine)
    wanted = (header.group(2), header.group(3)) if header else ("label", None)
    _check_output(program, *wanted)
    options = EmitOptions(dialect=engine, columns=columns or {})
    decided = outcomes(program.body)

    def answer(position: int) -> object:
        if engine == PYTHON:
            return position  # a module names the rule as well
        return _compared(decided[position], program, None, wanted)[0]

    found = added(program, text, engine, options)
    task = Task(program, text, engine, url, options, budget, seed, answer, found)
    tries = task.trial()
    names = [feature.name for feature in program.body.features]
    refused, rows, mismatches = "", 0, []
    seen: set[int] = set()
    try:
        for some, answers in task.runs(tries):
            rows += len(some)
            for row, said in zip(some, answers, strict=True):
                position = decider(program.body, row)
                seen.add(position)
                expected, actual = _compared(decided[position], program, said, wanted)
                if not all(map(same, expected, actual)):
                    shown = dict(zip(names, row, strict=True))
                    mismatches.append(Mismatch(shown, _plain(expected), _plain(actual)))
    except RefusedError as error:
        refused = str(error)
    return Report(
        engine=engine,
        rows=rows,
        complete=tries.complete,
        cells=max(tries.cells, len(seen)),
        entered=len(seen),
        edges=tries.edges,
        told=tries.told,
        mismatches=tuple(mismatches),
        refused=refused,
    )


def _check_engine(engine: str) -> None:
    if engine in ENGINES:
        return
    if engine in dialect_names():
        raise EngineError(
            f"{read_dialect(engine).name} cannot be run from here, so its SQL is not"
            f" verified: the engines are {', '.join(ENGINES)}"
        )
    raise EngineError(f"unknown engine {engine!r}{nearest(engine, ENGINES)}")


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
