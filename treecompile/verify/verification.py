"""Proves an artefact equal to its model, on the engine where it will run.

The first run has the rows that cover the model, with numbers as doubles. Further runs
show a missing cast or collation: they have columns of every other number type of the
engine, with the values of that type beside each threshold, and columns of text that
compare loosely.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import zip_longest
from math import isnan
from typing import Any

from treecompile import __version__
from treecompile.emit import header
from treecompile.emit.compiler import emit
from treecompile.engines.addresses import ENGINES
from treecompile.model.display import Display, DisplayTable, Shown, example
from treecompile.model.errors import EngineError, TreecompileError, shortened
from treecompile.model.file.write import sha256
from treecompile.model.ir import AnyProgram, Label, Row, ValueType
from treecompile.model.semantics import required_features
from treecompile.model.unicode import is_unicode
from treecompile.verify.axes import added, integers_beside, of_dialect
from treecompile.verify.claims import PYTHON, Claim, claim
from treecompile.verify.execution import holdable, run_sql
from treecompile.verify.languages import run_language
from treecompile.verify.processes import (
    TIMEOUT,
    RefusedError,
    check_timeout,
    supervised,
)
from treecompile.verify.python_process import run_python
from treecompile.verify.reference import Nearly, Reference
from treecompile.verify.rows import BUDGET, ProbeRows, probe_rows

TYPED_BUDGET = 10_000  # rows for each other number type: the edges, not all cells
Run = tuple[Sequence[Row], Sequence[tuple[Any, ...]]]  # rows, and the engine's answers


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A row for which the artefact does not give the model's answer."""

    row: dict[str, Any]
    expected: object
    actual: object


@dataclass(frozen=True, slots=True, repr=False)
class Report(Shown):
    """What was tried, and the result."""

    engine: str  # "" if the artefact was judged by its text alone
    rows: int = 0  # the number of rows tried
    complete: bool = False  # every combination of edge values was tried
    cells: int = 0  # leaves or rules that a row can reach
    entered: int = 0  # cells that a tried row reached
    edges: int = 0  # values at which a test decides an answer; not counted if complete
    covered: int = 0  # edges at which an error would have been found
    mismatches: tuple[Mismatch, ...] = ()  # rows with a different answer
    refused: str = ""  # the engine's error message, if it gave no answers
    # Whether the text is what the model gives; None if nobody knows its options.
    as_emitted: bool | None = None
    of_another_model: bool = False  # it names the SHA-256 of another one

    @property
    def passed(self) -> bool:
        return not self.mismatches and not self.refused

    @property
    def state(self) -> str:
        """Whether somebody has changed the text, in two words; "" if unknown."""
        if self.of_another_model:
            return "of another model"
        return {True: "as emitted", False: "edited since", None: ""}[self.as_emitted]

    def line(self, name: str = "the artefact") -> str:
        """The result in a line: "verified predict.py on python: as emitted; ..."."""
        if self.passed and not self.engine:
            return f"verified {name}: {self.state}"
        state = f"{self.state}; " if self.state else ""
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        if self.refused:
            by = f"{self.engine} would not run " if self.engine else ""
            return f"NOT verified: {state}{by}{name}: {self.refused}"
        if self.mismatches:
            return (
                f"NOT verified: {state}{name} differs from the model on {self.engine}"
                f" for {len(self.mismatches):,} of {rows}"
            )
        extent = (
            f"{self.entered:,} of {self.cells:,} cells"
            f" and {self.covered:,} of {self.edges:,} edges"
        )
        if self.complete:
            extent = "every combination of edge values"
        return f"verified {name} on {self.engine}: {state}{rows}, {extent}"

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
    beside: Mapping[str, str] | None = None,
    in_child: bool = False,
) -> Report:
    """Compare the text of an artefact with what the model gives, and run it.

    The header of the artefact names the target, the engine and the options. For SQL
    without comments, `engine`, `columns`, `output` and `label` do. It runs over the
    cells of the model, at most `timeout` seconds each time; `url` is that of a database
    server, and `beside` has the other files of a language of several files. With
    `in_child`, it runs in a process of its own, so that a crash of the engine is a
    result, too.
    """
    beside = beside or {}
    check_timeout(timeout)
    if not is_unicode(text):
        raise EngineError("the artefact is not Unicode text: it has a lone surrogate")
    claimed = claim(program, text, engine, output, label, columns)
    fresh, report = _compared(program, text, claimed, beside)
    if not claimed.engine:
        return report
    reference = Reference(program.body, claimed.wanted)
    answer = reference.known.__getitem__
    constants = added(text, fresh)
    search = partial(probe_rows, program.body, constants, seed=seed, answer=answer)

    def trial() -> Report:
        tries = search(budget=budget)
        typed = partial(search, budget=min(budget, TYPED_BUDGET))
        names = [feature.name for feature in program.body.features]
        number, found = 0, []
        for rows, answers in _runs(
            program, text, beside, claimed, tries.rows, typed, url, timeout
        ):
            number += len(rows)
            said = reference.judge(rows)
            for row, expected, actual in zip(rows, said, answers, strict=True):
                if len(expected) != len(actual) or not all(map(same, expected, actual)):
                    shown = dict(zip(names, row, strict=True))
                    found.append(Mismatch(shown, _plain(expected), _plain(actual)))
        return replace(
            report,
            rows=number,
            complete=tries.complete,
            cells=max(tries.cells, len(reference.entered)),
            entered=len(reference.entered),
            edges=tries.edges,
            covered=tries.covered,
            mismatches=tuple(found),
        )

    try:
        return supervised(trial, timeout) if in_child else trial()
    except RefusedError as error:
        return replace(report, refused=shortened(str(error)))


def _compared(
    program: AnyProgram, text: str, claimed: Claim, beside: Mapping[str, str]
) -> tuple[str, Report]:
    """Return what the model gives with the options of the artefact, and the verdict.

    What cannot be run here must be the same text.
    """
    said, own, fresh, is_same = header.read(text), sha256(program), "", False
    try:
        artefact = emit(program, claimed.target, claimed.options, own)
        fresh = artefact.text
        is_same = fresh == text and beside.items() <= artefact.files.items()
    except TreecompileError:
        if not claimed.engine:
            raise
    is_of_now = said is not None and said.version == __version__
    refused = ""
    if said and not claimed.engine and text != fresh:
        pairs = zip_longest(text.split("\n"), fresh.split("\n"))
        number = next(n for n, (a, b) in enumerate(pairs, start=1) if a != b)
        refused = f"line {number} is not what the model gives"
        if not is_of_now:
            refused = f"it was written by treecompile {said.version}: emit it again"
    return fresh, Report(
        claimed.engine,
        refused=refused,
        as_emitted=True if is_same else False if is_of_now and fresh else None,
        of_another_model=said is not None and said.sha256 != own,
    )


def edge_rows(
    program: AnyProgram, budget: int = BUDGET, seed: int = 0
) -> list[tuple[dict[str, Any], Label]]:
    """Return rows for every cell and both sides of every edge, with answers."""
    names = [feature.name for feature in program.body.features]
    rows = probe_rows(program.body, budget=budget, seed=seed).rows
    found = []
    for row, (said,) in zip(rows, Reference(program.body).judge(rows), strict=True):
        answer = said.number if isinstance(said, Nearly) else said
        found.append((dict(zip(names, row, strict=True)), answer))
    return found


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


def _runs(
    program: AnyProgram,
    text: str,
    beside: Mapping[str, str],
    claimed: Claim,
    rows: Sequence[Row],
    typed: Callable[..., ProbeRows],  # takes the numbers `beside` a threshold
    url: str,
    timeout: float,
) -> Iterator[Run]:
    """Yield the runs; tables have tested columns only: other names may be unusable."""
    required, features = required_features(program.body), program.body.features
    types = {features[index].type for index in required}
    if claimed.engine not in ENGINES:
        if ValueType.FLOAT in types:
            rows = [*rows, *typed(beside=integers_beside).rows]
        if claimed.engine == PYTHON:
            yield rows, run_python(text, features, rows, timeout)
            return
        asked = (claimed.target, claimed.options, rows, timeout)
        yield run_language(program, text, beside, *asked)
        return
    engine = ENGINES[claimed.engine].at(url)
    tested = [features[index] for index in required]

    def run(rows: Sequence[Row], **column_type: Any) -> Run:
        held = holdable(engine.dialect, rows)
        values = [tuple([row[index] for index in required]) for row in held]
        found = run_sql(
            text,
            tested,
            values,
            engine,
            claimed.options,
            timeout=timeout,
            **column_type,
        )
        return held, found if len(claimed.wanted) > 1 else [(one,) for one in found]

    yield run(rows)
    if ValueType.FLOAT in types:
        for name, near in of_dialect(engine.dialect.number_types).items():
            yield run(typed(beside=near).rows, number_type=name)
    if ValueType.STR in types:
        for name in engine.dialect.text_types.loose:
            yield run(rows, text_type=name)
