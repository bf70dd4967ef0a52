"""`verify` of artefacts that somebody else wrote: a result, in time, and no harm."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.commands import run
from tests.support.samples import numeric
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model.errors import EngineError
from treecompile.model.file.write import dumps
from treecompile.rules.language.document import loads
from treecompile.verify import supervision
from treecompile.verify.constants import in_sql
from treecompile.verify.statements import RefusedError, from_dbt, sql_form
from treecompile.verify.verification import Report, verify

SELECT = "SELECT *, 'low' AS prediction FROM t"


def tried(text: str, engine: str, timeout: float = 60) -> Report:
    return verify(numeric(), text, engine, budget=60, timeout=timeout)


# ---------------------------------------------------------------- SQL

REFUSED = {
    "": "no SQL",
    " ; -- nothing": "no SQL",
    "'low": "a string has no end",
    "/* low": "a comment has no end",
    '"low': "a quoted name has no end",
    "$$low": "a string has no end",
    "/* a /* b */ 'low'": "a comment within a comment",
    "/*! 1 */ 'low'": "run this comment",
    "'low'; DROP TABLE t": "more than one statement",
    "'low', 1": "',' ends the expression",
    "'low' FROM t --": "'FROM' ends the expression",
    "1) FROM t --": r"'\)' ends the expression",
    "SELECT * FROM t LIMIT 3": "must end in FROM",
    "SELECT 1": "a query must end in FROM",
    "SELECT 1 INTO x FROM t": "contains INTO",
    "CREATE TABLE t (a INTEGER)": "syntax error|near",
    "CREATE VIEW v AS SELECT 1": "a query must end in FROM",
    "CREATE FUNCTION f() RETURNS INT LANGUAGE plpython3u AS $$ 1 $$": "language plpy",
    "(SELECT a FROM read_csv('x.csv'))": r"reads read_csv\(",
    "(SELECT a FROM t, glob('*'))": r"reads glob\(",
    "(SELECT a FROM t JOIN main.glob('*') ON 1 = 1)": r"reads glob\(",
    f"{'(' * 1001}1{')' * 1001}": "nested more than 1000",
    "nonsense": "no such column|not found",
    "a" * 2_000_000: "no such column|not found|syntax error|too (long|big)",
}


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:30])
def test_what_is_no_artefact_is_not_run(engine: str, text: str) -> None:
    report = tried(text, engine)
    assert not report.passed
    assert re.search(REFUSED[text], report.refused)
    assert len(report.refused) < 1200


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    "text",
    ["NULL", "1", "1e400", "-1e308 * 10", "x'00'", "'low'", "random()", SELECT],
)
def test_whatever_comes_back_is_compared(engine: str, text: str) -> None:
    report = tried(text, engine)
    assert report.mismatches or report.refused  # DuckDB reads 1e400 as an error
    assert not report.passed


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT 1 AS prediction FROM t", "1 column came out: expected 4"),
        (
            "SELECT t.*, t.*, 'low' AS prediction FROM t",
            "7 columns came out: expected 4",
        ),
        (SELECT.replace("*", "x, x, x"), "does not keep the columns"),
        (SELECT.replace("*", "1 AS n, x, y"), "does not keep the columns"),
        (f"SELECT * FROM t UNION ALL {SELECT}", r"columns"),
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
    assert report.refused == "it did not end within 0.5 seconds (see --timeout)"


@pytest.mark.parametrize(
    "text",
    [
        "'" * 2_000_001,
        "/*" * 1_000_000,
        '"' * 1_000_001,
        "FROM " + "a" * 1_000_000 + "!",
        "SELECT 1 FROM " + "a.b " * 100_000,
        "{{ ref(" * 50_000,
        "{{ source(" + "x" * 1_000_000,
        "$a$" * 300_001,
        "1e" * 300_000,
        "*(1<<" * 200_000 + "1" * 10_000,
        "1*(1<<" + "9" * 10_000 + ")",
        "\\'" * 300_000,
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.parametrize("dialect", ["sqlite", "clickhouse"])
def test_reading_takes_time_in_proportion(dialect: str, text: str) -> None:
    """Each of these took hours, or for ever: a pattern went back and forth."""
    from_dbt(text)
    in_sql(text, backslash=dialect == "clickhouse")
    with suppress(RefusedError):
        sql_form(text, dialect)


def test_a_comment_at_the_end_does_not_hide_the_table() -> None:
    text = emit(numeric(), "sql").text
    assert tried(f"{text} -- by hand", "sqlite").passed
    assert tried(f"{text} ; -- by hand\n;", "sqlite").passed


def test_a_comparison_with_from_is_no_clause() -> None:
    text = "CASE WHEN a IS DISTINCT FROM b THEN 1 END IS DISTINCT FROM c"
    assert not sql_form(text, "sqlite").table


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("spark", "reflect('java.lang.Runtime', 'x')"),
        ("spark", "`java_method`('a', 'b')"),
        ("spark", "SELECT TRANSFORM(a) USING 'sh' AS prediction FROM t"),
        ("spark", "CREATE FUNCTION f AS 'x.Y' USING JAR 'x.jar'"),
        ("mariadb", "load_file('/etc/passwd')"),
        ("mariadb", "SELECT 'low' INTO OUTFILE 'x' FROM t"),
        ("mysql", "CREATE FUNCTION f RETURNS STRING SONAME 'x.so'"),
        ("clickhouse", "(SELECT * FROM file('/etc/passwd'))"),
        ("clickhouse", "SELECT 1 AS prediction FROM t INTO OUTFILE 'x'"),
    ],
)
def test_what_no_lock_prevents_is_not_run(dialect: str, text: str) -> None:
    with pytest.raises(RefusedError, match="only reads|reads only"):
        sql_form(text, dialect)


@pytest.mark.parametrize("dialect", ["mariadb", "mysql"])
@pytest.mark.parametrize(
    "text",
    [
        r"CONCAT('\'', load_file(0x2f)) -- '",
        r'CONCAT("\"", load_file(0x2f)) -- "',
        "1 --1, load_file(0x2f)",
        "1 # '\n + load_file(0x2f) -- '",
    ],
)
def test_what_mysql_reads_otherwise_is_not_run(dialect: str, text: str) -> None:
    with pytest.raises(RefusedError, match="MariaDB and MySQL read"):
        sql_form(text, dialect)
    sql_form("'#' -- \\ \n", dialect)


def test_an_artefact_of_another_model_has_too_many_constants() -> None:
    text = f"CASE {' '.join(f'WHEN `x` = {n} THEN 1' for n in range(10_001))} END"
    assert "numbers and texts are not the model's" in tried(text, "sqlite").refused


def test_a_lone_surrogate_is_named() -> None:
    with pytest.raises(EngineError, match="not Unicode"):
        tried("'\ud800'", "sqlite")


# ---------------------------------------------------------------- Python

ANSWERS = """
def predict(row): return "low"
def predict_many(rows): return ["low" for row in rows]
def predict_proba(row): return {"low": 1.0, "mid": 0.0, "high": 0.0}
def explain(row): return "R1: always"
"""
MODULES = {
    "import os\nos._exit(0)": "ended before it gave an answer",
    "raise SystemExit(0)": "ended before it gave an answer",
    "raise SystemExit('enough')": "enough",
    "import os\nos.kill(os.getpid(), 11)": "ended by SIGSEGV",
    "1 +": "SyntaxError",
    "\0": "null bytes",
    "(" * 10_000: "SyntaxError|MemoryError|RecursionError|ended by",
    "x = '\\d'\nraise ValueError('é' * 100_000)": "é",
    "import sys\nsys.stderr.buffer.write(b'\\xff\\xfe')\nsys.exit(3)": "\ufffd",
    "x = 'a' * 10**12": "MemoryError",
    ANSWERS.replace("return 'low'", "return object()") + "\nprint('[]')": "",
    ANSWERS + "predict_many = lambda rows: []": "it gave 0 answers",
    ANSWERS + "explain = lambda row: 1": "unexpected form",
    ANSWERS + "predict_proba = lambda row: []": "AttributeError",
    ANSWERS + "predict = predict_many = lambda row: {1: 2}": "",
    ANSWERS + "import json\njson.dumps = lambda answers: ''": "cannot be read",
    ANSWERS + "import json\njson.dumps = lambda a: '[[['": "cannot be read",
    ANSWERS + "import json\njson.dumps = lambda a: '7'": "no answers",
}


@pytest.mark.parametrize("text", MODULES, ids=range(len(MODULES)))
def test_whatever_a_module_does_it_is_not_verified(text: str) -> None:
    report = tried(text, "python")
    assert not report.passed
    assert re.search(MODULES[text], report.refused)
    assert "\n" not in report.refused
    assert len(report.refused) < 1200


def test_a_module_without_an_end_is_stopped_with_its_children(tmp_path: Path) -> None:
    """The children hold a pipe open: it ends when the last of them does."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    text = f"""
import subprocess, sys
sleep = "import time; time.sleep(600)"
subprocess.Popen([sys.executable, "-c", sleep], stdout=open({str(pipe)!r}, "w"))
while True: pass
"""
    try:
        report = tried(text, "python", timeout=3)
        assert report.refused == "it did not end within 3 seconds (see --timeout)"
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b""
    finally:
        os.close(reader)


def test_a_module_sees_an_empty_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "treasure")
    report = tried("import os\nraise SystemExit(f'{dict(os.environ)}')", "python")
    assert "treasure" not in report.refused
    assert "SECRET" not in report.refused


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
    assert ("--timeout" in result.stderr) == (result.exit_code == 2)


@pytest.mark.parametrize("form", ["expression", "select", "view"])
def test_all_forms_run_locked(form: str) -> None:
    for dialect in ("sqlite", "duckdb"):
        options = EmitOptions(dialect=dialect, form=form, table="t")
        assert tried(emit(numeric(), "sql", options).text, dialect).passed


def test_rules_without_features_can_be_verified() -> None:
    program = loads("TARGET y IN {a, b} OTHERWISE b")
    report = verify(program, emit(program, "python").text)
    assert report.passed, report
