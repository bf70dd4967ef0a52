"""The runs of `verify`: whatever an artefact does, the result is a report, in time."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run
from tests.support.samples import TEXT, balanced, chain, every_type, numeric, stump
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import EngineError
from treecompile.model.file.write import dumps
from treecompile.model.ir import Condition, Op, Program
from treecompile.rules.language.document import loads
from treecompile.verify import processes
from treecompile.verify.processes import RefusedError, supervised
from treecompile.verify.verification import Report, verify

SELECT = "SELECT *, 'low' AS prediction FROM t"


def sql(program: Program, **options: str) -> str:
    return emit(program, "sql", EmitOptions(**options)).text  # type: ignore[arg-type]


def tried(text: str, engine: str, timeout: float = 60) -> Report:
    return verify(numeric(), text, engine, budget=60, timeout=timeout)


# ---------------------------------------------------------------- reports


def test_a_report_counts_what_was_tried() -> None:
    program = every_type()
    report = verify(program, sql(program), budget=200)
    assert report.passed
    assert report.engine == "sqlite"
    assert not report.complete
    assert report.entered == report.cells == 6
    assert report.covered == report.edges > 0
    assert report.rows > 200  # and the runs with other types of columns
    wrong = verify(program, sql(program).replace("'grade'", "'rest'"), budget=200)
    assert not wrong.passed
    assert {(m.expected, m.actual) for m in wrong.mismatches} == {("grade", "rest")}
    assert list(wrong.mismatches[0].row) == [f.name for f in program.body.features]
    module = verify(program, emit(program, "python").text, budget=200)
    assert module.passed
    assert 100 < module.rows <= 400  # with doubles, and with integers
    some = verify(balanced(6), sql(balanced(6)), budget=10)
    assert some.passed
    assert some.cells == 64
    assert 0 < some.entered <= 20


def test_a_missing_cast_is_caught() -> None:
    text = "CASE WHEN x <= {} THEN 'low' ELSE 'high' END"
    right = text.format("0.1").replace("x ", "CAST(x AS DOUBLE) ")
    assert verify(stump(0.1), right, "duckdb").passed
    assert not verify(stump(0.1), text.format("CAST(0.1 AS FLOAT)"), "duckdb").passed
    exact = verify(stump(2.0**53), text.format(2**53), "sqlite")
    assert {mismatch.row["x"] for mismatch in exact.mismatches} == {2**53 + 1}


def test_a_missing_collation_is_caught() -> None:
    program = chain((TEXT,), (Condition(0, Op.IN, ("a",), False),), ("in", "out"))
    report = verify(program, sql(program).replace(" COLLATE BINARY", ""))
    assert {"A", "a "} <= {mismatch.row["text"] for mismatch in report.mismatches}


def test_columns_and_table_have_their_names() -> None:
    x, y = numeric().body.features
    features = (replace(x, name="ROW_NUMBER"), replace(y, name="row_number_"))
    program = replace(numeric(), body=replace(numeric().body, features=features))
    for form in ("expression", "select", "view"):
        assert verify(program, sql(program, form=form, table="t")).passed
    columns = {"x": "the x", "y": "the y"}
    text = emit(numeric(), "sql", EmitOptions(columns=columns)).text
    assert verify(numeric(), text).passed
    options = EmitOptions(columns=columns, comments=False)
    text = emit(numeric(), "sql", options).text
    assert verify(numeric(), text, "sqlite", columns=columns).passed
    assert verify(numeric(), text, "sqlite").refused
    for dialect, table in (("duckdb", "shop.t"), ("sqlite", "main.t")):
        text = sql(numeric(), dialect=dialect, form="select", table=table)
        assert verify(numeric(), text).passed


# ---------------------------------------------------------------- SQL


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("form", ["expression", "select", "view", "dbt"])
@pytest.mark.parametrize("table", ["t", "main.t", 'main."a.b c"', '"my view"'])
def test_the_form_of_sql_without_comments(form: str, table: str, engine: str) -> None:
    table = "shop.rows" if form == "dbt" else table
    options = EmitOptions(engine, form, table, name='"it\'s"', comments=False)
    text = emit(numeric(), "sql", options).text
    assert verify(numeric(), text, engine).passed
    wrong = text.replace("'mid'", "'low'")
    assert verify(numeric(), wrong, engine).mismatches


def test_a_table_is_named_by_the_header() -> None:
    program = chain((TEXT,), (Condition(0, Op.IN, ("a\nFROM x",), False),), ("a", "b"))
    assert verify(program, sql(program, form="select", table='"it\'s"')).passed


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "text",
    [
        *("", "'low", "'low', 1", "1) FROM t --", "SELECT 1", "nonsense"),
        *("'low'; DROP TABLE t", "CREATE TABLE t (a INTEGER)", "'low' FROM t --"),
        *("NULL", "1", "x'00'", "random()", SELECT, "SELECT * FROM t LIMIT 3"),
    ],
)
def test_what_is_no_artefact_is_not_verified(engine: str, text: str) -> None:
    report = tried(text, engine)
    assert not report.passed
    assert report.mismatches or 0 < len(report.refused) < 1200


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT 1 AS prediction FROM t", "expected 4 columns, not the 1"),
        (SELECT.replace("*", "x, x, x"), "does not keep the columns"),
        (SELECT.replace("*", "1 AS n, x, y"), "does not keep the columns"),
        (f"{SELECT} UNION ALL {SELECT}", "more than .* rows came out"),
    ],
)
def test_each_row_must_come_back_once(engine: str, text: str, reason: str) -> None:
    assert re.search(reason, tried(text, engine).refused)


ENDLESS = """(WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
SELECT max(n) FROM c)"""


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_query_without_an_end_is_stopped(engine: str) -> None:
    report = tried(ENDLESS, engine, timeout=0.5)
    assert report.refused == "it did not end within 0.5 seconds (see timeout)"


def test_an_end_of_the_text_does_not_hide_the_table() -> None:
    assert tried(f"{sql(numeric())} -- by hand", "sqlite").passed
    assert tried(f"{sql(numeric())} ;\n", "sqlite").passed
    with pytest.raises(EngineError, match="not Unicode"):
        tried("'\ud800'", "sqlite")


# ---------------------------------------------------------------- modules

ANSWERS = """
FEATURES = ()
def decide(): return "low", "R1"
def predict(row): return "low"
def predict_many(rows): return ["low" for row in rows]
def predict_proba(row): return {"low": 1.0, "mid": 0.0, "high": 0.0}
def explain(row): return "R1: always"
"""
MODULES = {
    "import os\nos._exit(0)": "ended before it gave an answer",
    "raise SystemExit('enough')": "enough",
    "raise SystemExit(3)": "ended without a message",
    "import os\nos.kill(os.getpid(), 11)": "ended: Segm",
    "1 +": "SyntaxError",
    "raise ValueError('é' * 100_000)": "é",
    ANSWERS: "",
    ANSWERS + "predict_many = lambda rows: []": "it gave 0 answers",
    ANSWERS + "explain = lambda row: 1": "AttributeError",
    ANSWERS + "predict_proba = lambda row: []": "AttributeError",
}


@pytest.mark.parametrize("text", MODULES, ids=range(len(MODULES)))
def test_whatever_a_module_does_it_is_not_verified(text: str) -> None:
    report = tried(text, "python")
    assert not report.passed
    assert re.search(MODULES[text], report.refused)
    assert len(report.refused) < 1200


def test_a_module_without_an_end_is_stopped() -> None:
    began = time.monotonic()
    report = tried("while True: pass", "python", timeout=1)
    assert report.refused == "it did not end within 1 seconds (see timeout)"
    assert time.monotonic() - began < 30


def test_rules_without_features_can_be_verified() -> None:
    program = loads("predict y: a, b\notherwise b")
    assert verify(program, emit(program, "python").text).passed


# ---------------------------------------------------------------- a process of its own


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.json").write_text(dumps(numeric()))
    (tmp_path / "predict.sql").write_text(sql(numeric()))
    (tmp_path / "endless.sql").write_text(ENDLESS)
    return tmp_path


def test_supervision_changes_no_report() -> None:
    broken = sql(numeric()).replace("'mid'", "'low'")
    for text in (sql(numeric()), broken):
        one, other = (verify(numeric(), text, in_child=x) for x in (True, False))
        assert repr(one) == repr(other)
        assert repr(one.mismatches) == repr(other.mismatches)


def test_an_engine_that_crashes_is_a_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, artefact = folder / "model.json", folder / "predict.sql"
    assert run("verify", model, artefact).exit_code == 0

    def crash(seconds: float) -> None:
        os.kill(os.getpid(), 9)

    monkeypatch.setattr("treecompile.verify.execution.deadline", crash)
    result = run("verify", model, artefact)
    assert result.exit_code == 1
    assert "NOT verified: as emitted; sqlite would not run" in result.stderr
    assert "the engine ended (Killed)" in result.stderr
    report = verify(numeric(), "'low'", "sqlite", in_child=True)
    assert report == Report("sqlite", refused=report.refused)


def test_what_cannot_be_interrupted_is_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "GRACE", 0.5)
    monkeypatch.setattr("treecompile.engines.sqlite.SQLite.cancel", lambda _: None)
    given = (folder / "model.json", folder / "endless.sql", "--engine", "sqlite")
    result = run("verify", *given, "--timeout", "0.5")
    assert result.exit_code == 1
    assert "did not end within 0.5 seconds" in result.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "9" * 20])
def test_a_time_limit_is_a_number_of_seconds(folder: Path, seconds: str) -> None:
    given = (folder / "model.json", folder / "predict.sql")
    result = run("verify", *given, "--timeout", seconds)
    assert result.exit_code == 2
    assert "timeout=" in result.stderr


def test_results_and_errors_come_back() -> None:
    assert supervised(os.getpid) != os.getpid()
    assert supervised(lambda: supervised(os.getpid)) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        supervised(lambda: 1 // 0)


@pytest.mark.parametrize(
    ("work", "said"),
    [
        (lambda: os._exit(3), "exit code 3"),
        (lambda: os.kill(os.getpid(), 9), "Killed"),
    ],
)
def test_an_end_without_a_result_is_an_error(
    work: Callable[[], Any], said: str
) -> None:
    with pytest.raises(RefusedError, match=said):
        supervised(work)


class InterruptedByTestError(Exception):
    """As Ctrl-C would."""


def test_a_child_is_ended_if_its_parent_is_interrupted(tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise InterruptedByTestError

    def work() -> None:
        (tmp_path / "pid").write_text(str(os.getpid()))
        time.sleep(0.5)  # until the parent waits
        os.kill(os.getppid(), signal.SIGUSR1)
        time.sleep(60)

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(InterruptedByTestError):
            supervised(work)
    finally:
        signal.signal(signal.SIGUSR1, before)
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
