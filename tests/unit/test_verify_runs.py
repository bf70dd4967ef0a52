"""The runs of `verify`: which rows and columns an artefact meets, and the counts."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.support.samples import (
    TEXT,
    balanced,
    chain,
    every_type,
    leaf,
    numeric,
    stump,
)
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.engines.addresses import ENGINES
from treecompile.engines.base import Connection
from treecompile.engines.sqlite import SQLite
from treecompile.model.errors import EngineError
from treecompile.model.ir import Condition, Leaf, Op, Program, Row, Tree
from treecompile.verify.execution import RowTable, _fill, run_sql
from treecompile.verify.statements import RefusedError, SqlForm
from treecompile.verify.verification import Report, verify, verify_supervised


def sql(program: Program, **options: str) -> str:
    return emit(program, "sql", EmitOptions(**options)).text  # type: ignore[arg-type]


def wrong_everywhere(program: Program, budget: int, seed: int = 0) -> Report:
    """Its mismatches are all the rows."""
    report = verify(program, "'nonsense'", "sqlite", budget=budget, seed=seed)
    assert len(report.mismatches) == report.rows
    return report


# ---------------------------------------------------------------- rows


def test_the_seed_chooses_the_rows() -> None:
    first, again, other = (
        repr(wrong_everywhere(every_type(), 100, seed).mismatches) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("budget", [50, 200])
def test_each_run_keeps_within_the_budget(budget: int) -> None:
    # Doubles, integers, and two types of text that compare loosely.
    assert wrong_everywhere(every_type(), budget).rows <= 4 * budget
    module = emit(every_type(), "python").text
    assert verify(every_type(), module, budget=budget).rows <= 2 * budget


def test_edges_between_equal_answers_do_not_count() -> None:
    body = every_type().body
    assert isinstance(body, Tree)
    nodes = tuple(
        leaf(body.labels, 0) if isinstance(node, Leaf) else node for node in body.nodes
    )
    program = replace(every_type(), body=replace(body, nodes=nodes))
    label, rule = (
        verify(program, sql(program, output=output), budget=300)
        for output in ("label", "rule")
    )
    assert label.passed
    assert rule.passed
    assert (label.edges, label.covered) == (0, 0)
    assert rule.edges == rule.covered > 0


def test_cells_without_a_row_are_counted() -> None:
    program = balanced(6)
    report = verify(program, sql(program), budget=10)
    assert report.passed
    assert report.cells == 64
    assert 0 < report.entered <= 20


# ---------------------------------------------------------------- types of columns


def test_a_missing_cast_is_caught() -> None:
    text = "CASE WHEN x <= {} THEN 'low' ELSE 'high' END"
    program = stump(0.1)
    assert verify(
        program, text.format("0.1").replace("x ", "CAST(x AS DOUBLE) "), "duckdb"
    ).passed
    report = verify(program, text.format("CAST(0.1 AS FLOAT)"), "duckdb")
    assert not report.passed
    exact = verify(stump(2.0**53), text.format(2**53), "sqlite")
    assert {mismatch.row["x"] for mismatch in exact.mismatches} == {2**53 + 1}


def test_a_missing_collation_is_caught() -> None:
    program = chain((TEXT,), (Condition(0, Op.IN, ("a",), False),), ("in", "out"))
    text = sql(program)
    assert verify(program, text).passed
    assert " COLLATE BINARY" in text
    report = verify(program, text.replace(" COLLATE BINARY", ""))
    assert {"A", "a "} <= {mismatch.row["text"] for mismatch in report.mismatches}


# ---------------------------------------------------------------- answers


def test_one_wrong_output_of_several_is_a_mismatch() -> None:
    program = numeric()
    text = sql(program, form="select", table="t", output="label,rule")
    assert verify(program, text).passed
    report = verify(program, text.replace("'R1'", "'R9'"))
    assert {m.expected for m in report.mismatches} == {("low", "R1")}
    assert {m.actual for m in report.mismatches} == {("low", "R9")}


def test_columns_and_table_have_their_names() -> None:
    x, y = numeric().body.features
    body = replace(
        numeric().body,
        features=(replace(x, name="ROW_NUMBER"), replace(y, name="row_number_")),
    )
    program = replace(numeric(), body=body)
    for form in ("expression", "select", "view"):
        assert verify(program, sql(program, form=form, table="t")).passed
    columns = {"x": "the x", "y": "the y"}
    text = emit(numeric(), "sql", EmitOptions(columns=columns)).text
    assert verify(numeric(), text, columns=columns).passed
    assert verify(numeric(), text).refused


def test_a_table_in_a_schema() -> None:
    text = sql(numeric(), dialect="duckdb", form="select", table="shop.t")
    assert verify(numeric(), text).passed
    text = sql(numeric(), dialect="duckdb", form="select", table="shopX.t")
    assert verify(numeric(), text).passed
    text = sql(numeric(), dialect="sqlite", form="select", table="main.t")
    assert verify(numeric(), text).passed


def test_a_schema_that_could_not_be_undone_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(SQLite, "schema", None)
    text = sql(numeric(), form="select", table="main.t")
    with pytest.raises(EngineError, match="table without a schema"):
        verify(numeric(), text)


class Told(Connection):
    """Notes the statements, and gives no rows."""

    create = "CREATE TEMPORARY TABLE {} ({})"

    def __init__(self) -> None:
        super().__init__(None)
        self.said: list[str] = []

    def execute(self, query: str, *parameters: Any) -> Any:
        self.said.append(query)

    def insert(self, table: str, types: Sequence[str], rows: Sequence[Row]) -> None:
        self.said.append(f"{len(rows)} rows of {', '.join(types)}")

    @contextmanager
    def locked(self, seconds: float) -> Iterator[None]:
        self.said.append("locked")
        yield

    def fetch(self, query: str, most: int) -> Sequence[Sequence[Any]]:
        self.said.append(query)
        return []


def test_the_statements_of_a_run() -> None:
    table = RowTable("t", ("n", "a"), ("INT", "TEXT COLLATE NOCASE"))
    dialect = ENGINES["duckdb"].dialect
    told = Told()
    _fill(told, dialect, SqlForm("", "t"), table, [("x",), ("y",)])
    assert told.said == [
        "CREATE TEMPORARY TABLE t (n INT, a TEXT COLLATE NOCASE)",
        "2 rows of INT, TEXT",
    ]
    told = Told()
    _fill(told, dialect, SqlForm("", "sX . t", "sX . "), table, [])
    assert told.said[:2] == [
        "CREATE SCHEMA IF NOT EXISTS sX",
        "CREATE TABLE t (n INT, a TEXT COLLATE NOCASE)",
    ]


def test_nothing_of_a_refused_artefact_is_counted() -> None:
    text = " + ".join(f"'a{n}'" for n in range(10_001))
    report = verify(numeric(), text, "sqlite")
    assert report == Report("sqlite", 0, False, 0, 0, refused=report.refused)


def test_no_rows_have_no_answers() -> None:
    features = numeric().body.features
    assert run_sql("nonsense", features, [], ENGINES["sqlite"].at("")) == []
    found = run_sql(
        "x + y", features, [(1.0, 2.0), (3.0, 4.0)], ENGINES["sqlite"].at("")
    )
    assert found == [3.0, 7.0]
    with pytest.raises(RefusedError, match="no such column"):
        run_sql("z", features, [(1.0, 2.0)], ENGINES["sqlite"].at(""))


def test_supervision_changes_no_report() -> None:
    text = sql(numeric())
    assert verify_supervised(numeric(), text) == verify(numeric(), text)
    broken = text.replace("'mid'", "'low'")
    assert repr(verify_supervised(numeric(), broken, "duckdb", budget=50)) == repr(
        verify(numeric(), broken, "duckdb", budget=50)
    )


def test_nothing_of_a_run_that_crashed_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def crash(seconds: float) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr("treecompile.verify.execution.deadline", crash)
    reason = "the engine ended with SIGKILL: the artefact is too much for it"
    crashed = Report("sqlite", 0, False, 0, 0, refused=reason)
    assert verify_supervised(numeric(), sql(numeric())) == crashed
    told = {"output": "probability", "label": "mid"}
    assert verify_supervised(numeric(), "0.5", "sqlite", **told) == crashed
