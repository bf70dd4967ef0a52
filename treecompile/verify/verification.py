"""Proves an artefact equal to its model, on the engine where it will run.

The first run has the rows that cover the model, with numbers as doubles. Further runs
show a missing cast or collation: they have columns of every other number type of the
engine, with the values of that type beside each threshold, and columns of text that
compare loosely.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from typing import Any

from treecompile.emit.compiler import emit
from treecompile.engines.addresses import ENGINES
from treecompile.engines.base import Engine
from treecompile.model.display import Display, DisplayTable, Shown, example
from treecompile.model.errors import EngineError, shortened
from treecompile.model.forests import single
from treecompile.model.ir import AnyProgram, Row, ValueType
from treecompile.model.semantics import required_features
from treecompile.model.unicode import is_unicode
from treecompile.verify.axes import PYTHON_INTEGERS, of_dialect
from treecompile.verify.cells import BUDGET, ProbeRows
from treecompile.verify.claims import MODULE_ENGINES, PYTHON, claim
from treecompile.verify.constants import added
from treecompile.verify.edges import reference_of, rows_to_try
from treecompile.verify.execution import holdable, run_sql
from treecompile.verify.forests import Nearly
from treecompile.verify.node_process import run_node
from treecompile.verify.processes import TIMEOUT, check_timeout, not_in_time
from treecompile.verify.python_process import run_python
from treecompile.verify.reference import Reference
from treecompile.verify.statements import RefusedError
from treecompile.verify.supervision import EndedError, supervised

PAGE, PAGE_START = "browser", "<!DOCTYPE html>"
TYPED_BUDGET = 10_000  # rows for each other number type: the edges, not all cells
Run = tuple[Sequence[Row], list[Any]]  # rows, and the engine's answers to them
Search = Callable[..., ProbeRows]  # takes the `numbers` to try


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A row for which the artefact does not give the model's answer."""

    row: dict[str, Any]
    expected: object
    actual: object


@dataclass(frozen=True, slots=True, repr=False)
class Report(Shown):
    """What was tried, and the result."""

    engine: str
    rows: int  # the number of rows tried
    complete: bool  # every combination of edge values was tried
    cells: int  # leaves or rules that a row can reach
    entered: int  # cells that a tried row reached
    edges: int = 0  # values at which a test decides an answer; not counted if complete
    covered: int = 0  # edges at which an error would have been found
    assumed: bool = False  # the output was not declared, and taken for the label
    mismatches: tuple[Mismatch, ...] = ()  # rows with a different answer
    refused: str = ""  # the engine's error message, if it gave no answers

    @property
    def passed(self) -> bool:
        return not self.mismatches and not self.refused

    def line(self, name: str = "the artefact") -> str:
        """The result in a line: "verified predict.py on python: 2,797 rows, ..."."""
        if self.engine == PAGE:
            if self.passed:
                return f"verified {name}: byte for byte as emitted from the model"
            return f"NOT verified: {name}: {self.refused}"
        if self.refused:
            return f"NOT verified: {self.engine} would not run {name}: {self.refused}"
        if self.mismatches:
            return (
                f"NOT verified: {name} differs from the model on {self.engine} for"
                f" {len(self.mismatches):,} of {self.rows:,} rows"
            )
        extent = (
            f"{self.entered:,} of {self.cells:,} cells"
            f" and {self.covered:,} of {self.edges:,} edges"
        )
        if self.complete:
            extent = "every combination of edge values"
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        return f"verified {name} on {self.engine}: {rows}, {extent}"

    def _display(self) -> Display:
        rows = [
            [repr(each.expected), repr(each.actual), example(each.row)]
            for each in self.mismatches
        ]
        head = ["model", "artefact", "row"]
        return Display([self.line()], [DisplayTable("other answers", head, rows, 3)])


def verify(
    program: AnyProgram,
    text: str,
    engine: str = "",
    *,
    url: str = "",
    columns: Mapping[str, str] | None = None,
    output: str = "",
    label: str = "",
    budget: int = BUDGET,
    seed: int = 0,
    timeout: float = TIMEOUT,
) -> Report:
    """Run the text of an artefact over the cells of the model, and compare.

    `engine` is taken from the text if not given: a SQL artefact names its dialect in
    its first line. `url` is that of a database server. `columns` renames features, as
    for `emit`. `output` and `label` describe a SQL artefact without comments; they are
    those it was emitted with. `timeout` is in seconds, for each run of the artefact.
    """
    check_timeout(timeout)
    if not is_unicode(text):
        raise EngineError("the artefact is not Unicode text: it has a lone surrogate")
    if text.startswith(PAGE_START):
        return _written_again(program, text)
    claimed = claim(program, text, engine, output, label)
    renamed = columns or {}
    reference = reference_of(program, claimed.wanted)
    try:
        constants = added(program, text, claimed, renamed)
    except RefusedError as error:
        return Report(claimed.engine, 0, False, 0, 0, refused=str(error))
    search = partial(rows_to_try, reference, constants=constants, seed=seed)
    if isinstance(reference, Reference):
        search = partial(search, answer=reference.answer)
    tries = search(budget=budget)
    typed = partial(search, budget=min(budget, TYPED_BUDGET))
    if claimed.engine in MODULE_ENGINES:
        runs = _module_runs(program, text, tries.rows, typed, claimed.engine, timeout)
    else:
        database = ENGINES[claimed.engine].at(url)
        options = {
            "columns": renamed,
            "outputs": len(claimed.wanted),
            "timeout": timeout,
        }
        runs = _sql_runs(program, text, tries.rows, typed, database, options)
    names = [feature.name for feature in program.body.features]
    refused, rows, mismatches = "", 0, []
    try:
        for some, answers in runs:
            rows += len(some)
            for row, expected, actual in zip(
                some, reference.judge(some), answers, strict=True
            ):
                if len(expected) != len(actual) or not all(map(same, expected, actual)):
                    shown = dict(zip(names, row, strict=True))
                    mismatches.append(Mismatch(shown, _plain(expected), _plain(actual)))
    except RefusedError as error:
        refused = shortened(str(error))
    return Report(
        engine=claimed.engine,
        rows=rows,
        complete=tries.complete,
        cells=max(tries.cells, len(reference.entered)),
        entered=len(reference.entered),
        edges=tries.edges,
        covered=tries.covered,
        assumed=claimed.assumed,
        mismatches=tuple(mismatches),
        refused=refused,
    )


def _written_again(program: AnyProgram, text: str) -> Report:
    """A page runs in a browser: it is right if its bytes are those of the model."""
    is_same = text == emit(program, "html").text
    refused = "" if is_same else "it is not the page of this model: emit it again"
    return Report(PAGE, 0, is_same, 0, 0, refused=refused)


def verify_supervised(
    program: AnyProgram, text: str, engine: str = "", **options: Any
) -> Report:
    """Do what `verify` does in a process of its own; its crash is a result, too."""
    try:
        return supervised(partial(verify, program, text, engine, **options))
    except EndedError as end:
        reason = f"the engine ended with {end}: the artefact is too much for it"
        if end.signal == signal.SIGALRM:
            reason = not_in_time(options.get("timeout", TIMEOUT))
    claimed = claim(
        program, text, engine, options.get("output", ""), options.get("label", "")
    )
    return Report(claimed.engine, 0, False, 0, 0, refused=reason)


def same(expected: object, actual: object) -> bool:
    """Whether an engine's answer is the expected one, exactly and of its type."""
    if type(actual) is type(expected) and actual == expected:
        return True
    if isinstance(expected, Nearly):
        return expected.is_met_by(actual)
    if isinstance(expected, bool) and isinstance(actual, int):
        return expected == actual  # some databases have no booleans
    is_missing = isinstance(expected, float) and isnan(expected)
    return is_missing and isinstance(actual, float) and isnan(actual)


def _plain(parts: Sequence[object]) -> object:
    return parts[0] if len(parts) == 1 else tuple(parts)


# ---------------------------------------------------------------- runs


def _module_runs(
    program: AnyProgram,
    text: str,
    rows: tuple[Row, ...],
    typed: Search,
    engine: str,
    timeout: float,
) -> Iterator[Run]:
    features = program.body.features
    tested = {features[index].type for index in required_features(program.body)}
    if ValueType.FLOAT in tested:
        rows += typed(numbers=PYTHON_INTEGERS).rows
    if engine == PYTHON:
        answers = run_python(text, features, rows, timeout)
    else:
        body = single(program, "JavaScript").body
        answers = run_node(text, body, rows, timeout)
    yield rows, [(said.label, *said.reasons, *said.probabilities) for said in answers]


def _sql_runs(
    program: AnyProgram,
    text: str,
    rows: tuple[Row, ...],
    typed: Search,
    engine: Engine,
    options: Mapping[str, Any],
) -> Iterator[Run]:
    """Yield the runs; tables have tested columns only: other names may be unusable."""
    required = required_features(program.body)
    features = [program.body.features[index] for index in required]
    types = {feature.type for feature in features}
    dialect = engine.dialect

    def run(rows: Sequence[Row], **column_type: Any) -> Run:
        held = holdable(dialect, rows)
        values = held
        if len(required) < len(program.body.features):
            values = [tuple([row[index] for index in required]) for row in held]
        found = run_sql(text, features, values, engine, **options, **column_type)
        return held, found if options["outputs"] > 1 else [(one,) for one in found]

    yield run(rows)
    if ValueType.FLOAT in types:
        for name, probe in of_dialect(dialect.number_types):
            yield run(typed(numbers=probe).rows, number_type=name)
    if ValueType.STR in types:
        for name in dialect.text_types.loose:
            yield run(rows, text_type=name)
