"""Prove an artefact equal to its model, on the engine where it will run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treecompile import words
from treecompile.ir import Program
from treecompile.lower import EmitOptions
from treecompile.verify.cells import BUDGET
from treecompile.verify.claims import Wanted, claim
from treecompile.verify.engines import PythonAnswer, RefusedError, same
from treecompile.verify.reference import Expected, Reference
from treecompile.verify.runs import PYTHON, Task, added


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
    divided: int = 0  # rows whose unknown values were divided among branches
    assumed: bool = False  # nobody said what it gives: it was taken for the label
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
    alias: str = "",
    output: str = "",
    label: str = "",
    budget: int = BUDGET,
    seed: int = 0,
) -> Report:
    """Run the text of an artefact over the cells of the model and compare.

    `engine` is found in the text where it is not given: a SQL artefact names its
    dialect in its first line. `url` says where a database server is. `columns` renames
    features and `alias` the table, as for emitting. `output` and `label` say what a SQL
    artefact without comments gives, in the words that it was emitted with.
    """
    claimed = claim(program, text, engine, output, label)
    engine, wanted = claimed.engine, claimed.wanted
    options = EmitOptions(
        dialect=engine,
        form="select" if len(wanted) > 1 else "expression",
        table="rows",
        columns=columns or {},
        output=",".join(output for output, _ in wanted),
        label=_label_text(program, next(filter(None, (p for _, p in wanted)), None)),
        alias=alias,
    )
    reference = Reference(program)

    def answer(cell: int) -> object:
        if engine == PYTHON or reference.is_divided(cell):
            return cell  # a module names the rule as well; shares are told by the rows
        return _parts(reference.known[cell], program, wanted)

    found = added(program, text, engine, options)
    task = Task(
        program, reference.body, text, engine, url, options, budget, seed, answer, found
    )
    tries = task.trial()
    names = [feature.name for feature in program.body.features]
    refused, rows, divided, mismatches = "", 0, 0, []
    seen: set[int] = set()
    try:
        for some, answers in task.runs(tries):
            rows += len(some)
            for row, said in zip(some, answers, strict=True):
                cell = reference.cell(row)
                seen.add(cell)
                divided += reference.is_divided(cell)
                known = reference.expected(row, cell)
                expected, actual = _compared(known, program, said, wanted)
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
        divided=divided,
        assumed=claimed.assumed,
        mismatches=tuple(mismatches),
        refused=refused,
    )


def _label_text(program: Program, label: str | None) -> str:
    """A label as `--label` takes it, by its position."""
    if label is None:
        return ""
    value = program.body.labels[int(label)]
    return value if isinstance(value, str) else words.value(value)


def _compared(
    known: Expected, program: Program, answer: Any, wanted: Wanted
) -> tuple[Sequence[object], Sequence[object]]:
    """The expected and the actual answer, part by part."""
    if isinstance(answer, PythonAnswer):
        shares = known.shares
        padded = (*answer.probabilities, *[None] * len(shares))[: max(len(shares), 1)]
        return (
            (known.value, known.rule, *shares),
            (answer.label, answer.rule, *(padded if shares else ())),
        )
    actual = answer if len(wanted) > 1 else (answer,)
    return _parts(known, program, wanted), actual


def _parts(known: Expected, program: Program, wanted: Wanted) -> tuple[object, ...]:
    labels = program.body.labels
    return tuple(known.part(output, labels, label) for output, label in wanted)


def _plain(parts: Sequence[object]) -> object:
    return parts[0] if len(parts) == 1 else tuple(parts)
