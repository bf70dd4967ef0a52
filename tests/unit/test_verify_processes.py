"""What does not run, or not to an end, is a result of `verify`, in time."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import run
from tests.support.samples import numeric
from treecompile.emit.compiler import emit
from treecompile.model.errors import EngineError
from treecompile.model.file.write import dumps
from treecompile.rules.language.document import loads
from treecompile.verify import supervision
from treecompile.verify.python_process import run_python
from treecompile.verify.supervision import EndedError, supervised
from treecompile.verify.verification import Report, verify

SELECT = "SELECT *, 'low' AS prediction FROM t"


def tried(text: str, engine: str, timeout: float = 60) -> Report:
    return verify(numeric(), text, engine, budget=60, timeout=timeout)


# ---------------------------------------------------------------- SQL


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
        ("SELECT 1 AS prediction FROM t", "1 column came out: expected 4"),
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


def test_a_comment_at_the_end_does_not_hide_the_table() -> None:
    text = emit(numeric(), "sql").text
    assert tried(f"{text} -- by hand", "sqlite").passed
    assert tried(f"{text} ; -- by hand\n;", "sqlite").passed


def test_an_artefact_of_another_model_has_too_many_constants() -> None:
    text = f"CASE {' '.join(f'WHEN `x` = {n} then 1' for n in range(10_001))} END"
    assert "numbers and texts are not the model's" in tried(text, "sqlite").refused


def test_a_lone_surrogate_is_named() -> None:
    with pytest.raises(EngineError, match="not Unicode"):
        tried("'\ud800'", "sqlite")


def test_rules_without_features_can_be_verified() -> None:
    program = loads("predict y: a, b otherwise b")
    report = verify(program, emit(program, "python").text)
    assert report.passed, report


# ---------------------------------------------------------------- Python

ANSWERS = """
def predict(row): return "low"
def predict_many(rows): return ["low" for row in rows]
def predict_proba(row): return {"low": 1.0, "mid": 0.0, "high": 0.0}
def explain(row): return "R1: always"
"""
MODULES = {
    "import os\nos._exit(0)": "ended before it gave an answer",
    "raise SystemExit('enough')": "enough",
    "raise SystemExit(3)": "ended without a message",
    "import os\nos.kill(os.getpid(), 11)": "ended by SIGSEGV",
    "1 +": "SyntaxError",
    "raise ValueError('é' * 100_000)": "é",
    ANSWERS: "",
    ANSWERS + "predict_many = lambda rows: []": "it gave 0 answers",
    ANSWERS + "explain = lambda row: 1": "unexpected form",
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


@pytest.mark.parametrize("last", ["# \ud800", "# é"])
def test_text_that_cannot_be_encoded_is_run_nevertheless(last: str) -> None:
    text = emit(numeric(), "python").text
    (answer,) = run_python(text + last, numeric().body.features, [(0.0, 0.0)])
    assert (answer.label, answer.rule) == ("low", "R1")
    assert answer.probabilities == (0.75, 0.25, 0.0)


# ---------------------------------------------------------------- the command


def test_an_engine_that_crashes_is_a_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, artefact = tmp_path / "model.json", tmp_path / "predict.sql"
    model.write_text(dumps(numeric()))
    artefact.write_text(emit(numeric(), "sql").text)
    assert run("verify", model, artefact).exit_code == 0

    def crash(seconds: float) -> None:
        os.kill(os.getpid(), 9)

    monkeypatch.setattr("treecompile.verify.execution.deadline", crash)
    result = run("verify", model, artefact)
    assert result.exit_code == 1
    assert "NOT verified: sqlite would not run" in result.stderr
    assert "the engine ended with SIGKILL" in result.stderr


def test_what_cannot_be_interrupted_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, artefact = tmp_path / "model.json", tmp_path / "predict.sql"
    model.write_text(dumps(numeric()))
    artefact.write_text(ENDLESS)
    monkeypatch.setattr(supervision, "GRACE", 0.5)
    monkeypatch.setattr("treecompile.engines.sqlite.SQLite.cancel", lambda _: None)
    result = run("verify", model, artefact, "--engine", "sqlite", "--timeout", "0.5")
    assert result.exit_code == 1
    assert "did not end within 0.5 seconds" in result.stderr


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e7", "9" * 20])
def test_a_time_limit_is_a_number_of_seconds(tmp_path: Path, seconds: str) -> None:
    model = tmp_path / "model.json"
    model.write_text(dumps(numeric()))
    artefact = tmp_path / "a.sql"
    artefact.write_text("'rest'")
    result = run("verify", model, artefact, "--engine", "sqlite", "--timeout", seconds)
    assert result.exit_code == (1 if seconds == "1e7" else 2)
    assert ("timeout=" in result.stderr) == (result.exit_code == 2)


# ---------------------------------------------------------------- supervision


def test_results_and_errors_come_back() -> None:
    assert supervised(os.getpid) != os.getpid()
    assert supervised(lambda: supervised(os.getpid)) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        supervised(lambda: 1 // 0)


@pytest.mark.parametrize(
    ("work", "number", "said"),
    [
        (lambda: os._exit(3), 3, "exit code 3"),
        (lambda: os.kill(os.getpid(), 9), signal.SIGKILL, "SIGKILL"),
    ],
)
def test_an_end_without_a_result_is_an_error(
    work: Callable[[], Any], number: int, said: str
) -> None:
    with pytest.raises(EndedError, match=said) as ended:
        supervised(work)
    assert ended.value.signal == number


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
