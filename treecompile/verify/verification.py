"""Prove an artefact equal to its model, on the engine where it will run.

The first run has the rows that cover the model, with numbers as doubles. The next runs
have columns of every other number type of the engine, with the values of that type
beside each threshold, and columns of text that compare loosely: they show a missing
cast or collation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from treecompile.emit.compiler import emit
from treecompile.emit.literals import BACKSLASHED
from treecompile.emit.options import EmitOptions
from treecompile.emit.sql.dialect import read_dialect
from treecompile.engines.addresses import ENGINES
from treecompile.model import words
from treecompile.model.ir import Program, Row, ValueType
from treecompile.model.paths import divisible
from treecompile.model.semantics import required_features
from treecompile.verify import constants
from treecompile.verify.axes import (
    DOUBLES,
    PYTHON_INTEGERS,
    Constants,
    NumberProbes,
    of_dialect,
)
from treecompile.verify.cells import BUDGET, ProbeRows, probe_rows
from treecompile.verify.claims import PYTHON, Claim, Wanted, claim
from treecompile.verify.execution import (
    NEEDS_NUMPY,
    PythonAnswer,
    RefusedError,
    can_hold,
    run_python,
    run_sql,
    same,
)
from treecompile.verify.reference import Expected, Reference

TYPED_BUDGET = 10_000  # rows for each other number type: the edges, not all cells
Run = tuple[Sequence[Row], list[Any]]  # rows, and the engine's answer to each


@dataclass(frozen=True, slots=True)
class Mismatch:
    row: dict[str, Any]
    expected: object
    actual: object


@dataclass(frozen=True, slots=True)
class Report:
    """What was tried, and the result."""

    engine: str
    rows: int
    complete: bool  # every combination of edge values was tried
    cells: int  # leaves or rules that a row can reach
    entered: int  # cells that some row reached
    edges: int = 0  # values at which a test decides an answer; not counted if complete
    told: int = 0  # edges at which an error would have shown
    divided: int = 0  # rows whose unknown values were divided among branches
    assumed: bool = False  # nobody named the output: it was taken for the label
    mismatches: tuple[Mismatch, ...] = ()
    refused: str = ""  # the engine's error message, if it gave no answers

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
    """Run the text of an artefact over the cells of the model, and compare.

    `engine` is taken from the text if not given: a SQL artefact names its dialect in
    its first line. `url` is that of a database server. `columns` renames features and
    `alias` the table, as for `emit`. `output` and `label` say what a SQL artefact
    without comments gives; they are those it was emitted with.
    """
    claimed = claim(program, text, engine, output, label)
    wanted = claimed.wanted
    options = EmitOptions(
        dialect=claimed.engine,
        form="select" if len(wanted) > 1 else "expression",
        table="rows",
        columns=columns or {},
        output=",".join(output for output, _ in wanted),
        label=_label_text(program, next(filter(None, (p for _, p in wanted)), None)),
        alias=alias,
    )
    reference = Reference(program)
    found = added(program, text, claimed.engine, options)
    artefact = TestedArtefact(
        program, text, claimed, url, options, budget, seed, reference, found
    )
    tries = artefact.probe_rows()
    names = [feature.name for feature in program.body.features]
    refused, rows, divided, mismatches = "", 0, 0, []
    entered: set[int] = set()
    try:
        for some, answers in artefact.runs(tries):
            rows += len(some)
            for row, said in zip(some, answers, strict=True):
                cell = reference.cell(row)
                entered.add(cell)
                divided += reference.is_divided(cell)
                known = reference.expected(row, cell)
                expected, actual = _compared(known, program, said, wanted)
                if not all(map(same, expected, actual)):
                    shown = dict(zip(names, row, strict=True))
                    mismatches.append(Mismatch(shown, _plain(expected), _plain(actual)))
    except RefusedError as error:
        refused = str(error)
    return Report(
        engine=claimed.engine,
        rows=rows,
        complete=tries.complete,
        cells=max(tries.cells, len(entered)),
        entered=len(entered),
        edges=tries.edges,
        told=tries.told,
        divided=divided,
        assumed=claimed.assumed,
        mismatches=tuple(mismatches),
        refused=refused,
    )


def _label_text(program: Program, place: str | None) -> str:
    """The label at a position, as `--label` takes it."""
    if place is None:
        return ""
    value = program.body.labels[int(place)]
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


# ---------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True)
class TestedArtefact:
    """An artefact, the answers of its model, and how it is run."""

    program: Program
    text: str
    claimed: Claim
    url: str
    options: EmitOptions
    budget: int
    seed: int
    reference: Reference
    added: Constants  # see `added`

    def answer(self, cell: int) -> object:
        """What is compared in a cell."""
        if self.claimed.engine == PYTHON or self.reference.is_divided(cell):
            return cell  # Python names the rule, too; shares are compared row by row
        known = self.reference.known[cell]
        return _parts(known, self.program, self.claimed.wanted)

    def probe_rows(
        self, numbers: NumberProbes = DOUBLES, most: int | None = None
    ) -> ProbeRows:
        return probe_rows(
            self.reference.body,
            self.added,
            self.budget if most is None else min(self.budget, most),
            self.seed,
            answer=self.answer,
            numbers=numbers,
            scattered=divisible(self.program.body),
        )

    def runs(self, tries: ProbeRows) -> Iterator[Run]:
        features = self.program.body.features
        required = required_features(self.program.body)
        types = {features[index].type for index in required}
        if self.claimed.engine == PYTHON:
            rows = tries.rows
            if ValueType.FLOAT in types:
                rows += self.probe_rows(PYTHON_INTEGERS, TYPED_BUDGET).rows
            yield rows, run_python(self.text, features, rows)
            return
        dialect = read_dialect(self.claimed.engine)
        yield self._sql(tries.rows, required)
        if ValueType.FLOAT in types:
            for name, numbers in of_dialect(dialect.number_types):
                rows = self.probe_rows(numbers, TYPED_BUDGET).rows
                yield self._sql(rows, required, number_type=name)
        if ValueType.STR in types:
            for name in dialect.text_types.loose:
                yield self._sql(tries.rows, required, text_type=name)

    def _sql(
        self,
        rows: Sequence[Row],
        required: Sequence[int],
        number_type: str = "",
        text_type: str = "",
    ) -> Run:
        """Only with the columns that are tested: others may have unusable names."""
        engine = ENGINES[self.claimed.engine].at(self.url)
        rows = [row for row in rows if can_hold(engine.dialect, row)]
        return rows, run_sql(
            self.text,
            [self.program.body.features[index] for index in required],
            [tuple(row[index] for index in required) for row in rows],
            engine,
            self.options.columns,
            number_type,
            text_type,
            outputs=self.options.output.count(",") + 1,
            alias=self.options.alias,
        )


def added(program: Program, text: str, engine: str, options: EmitOptions) -> Constants:
    """The constants of an artefact's text that the compiler did not write."""
    if engine != PYTHON:
        escapes = read_dialect(engine).literals.string in BACKSLASHED
        original = constants.in_sql(emit(program, "sql", options).text, escapes)
        return constants.added(constants.in_sql(text, escapes), original)
    try:
        found = constants.in_python(text)
    except SyntaxError:  # running it will report the error and its line
        return Constants()
    style = "numpy" if NEEDS_NUMPY in text else "standard"
    fresh = emit(program, "python", EmitOptions(style=style)).text
    return constants.added(found, constants.in_python(fresh))
