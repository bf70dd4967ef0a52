"""`learn` in a database: what it shows, and that a signal ends its query."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner, Result

from tests.support.endless import REACHED
from tests.support.samples import ROOT
from treecompile.cli import main
from treecompile.cli.terminal import Terminal as Feedback
from treecompile.database.grow.source import LevelProgress

TABLE = ("--from", "duckdb://d.db", "--table", "t", "--target", "y")
TOO_LONG = 300  # seconds, for a command that hangs
LEARN = ("learn", *TABLE, "--algorithm", "cart")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("d.db") as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT a, b, (a * b > c)::INTEGER AS y FROM"
            " (SELECT sin(i) AS a, cos(i * i) AS b, sin(i * 7) AS c"
            " FROM range(400) AS r(i))"
        )
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def started(*arguments: str, **settings: str) -> subprocess.Popen[str]:
    path = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, **settings},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_a_query(folder: Path, number: signal.Signals) -> None:
    (folder / "temporary").mkdir()
    endless = ("-m", "tests.support.endless", *LEARN)
    learn = started(*endless, TMPDIR=str(folder / "temporary"))
    watchdog = threading.Timer(TOO_LONG, learn.kill)
    watchdog.start()
    assert learn.stdout is not None
    assert learn.stdout.readline().strip() == REACHED
    learn.send_signal(number)
    out, said = learn.communicate()
    watchdog.cancel()
    assert (learn.returncode, out) == (128 + number, "")
    (line,) = said.strip().splitlines()
    assert line == "interrupted"
    assert names(folder) == {"d.db", "temporary"}
    assert not names(folder / "temporary")


def test_an_interrupt_of_code_from_text_is_an_exit_code_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python remembers it, and would end by the signal whatever was done about it."""
    monkeypatch.chdir(tmp_path)
    Path("stopped.py").write_text(
        "from treecompile.cli import main\n"
        "@main.command()\n"
        "def stop():\n"
        "    exec('raise KeyboardInterrupt')\n"
        "main(['stop'])\n"
    )
    stopped = started("-m", "stopped")
    _, said = stopped.communicate(timeout=TOO_LONG)
    assert stopped.returncode == 130
    assert said.strip() == "interrupted"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("quiet", "rows", "most"),
    [(False, 10**6, 3), (False, 10**6, None), (True, 10**6, 3), (False, 100, 3)],
)
def test_levels_are_shown_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, quiet: bool, rows: int, most: int | None
) -> None:
    clock = iter([10.0, 12.0, 12.5, 13.0])
    monkeypatch.setattr("treecompile.cli.terminal.monotonic", lambda: next(clock))
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Feedback(quiet).levels(most) as (start, on_level):
        start(rows)
        on_level(LevelProgress(1, 1, rows))
        on_level(LevelProgress(2, 2, rows))
        on_level(LevelProgress(3, 1, rows // 4))
    assert isinstance(sys.stderr, Terminal)
    shown = sys.stderr.getvalue()
    if quiet or rows < 1000:
        assert shown == ""
        return
    of = f" of at most {most}" if most else ""
    assert f"level 1{of}: 1 node  [" in shown
    assert f"level 2{of}: 2 nodes, 500,000 rows/s  [" in shown
    assert f"level 3{of}: 1 node, 2,000,000 rows/s  [" in shown
    # A quarter of the rows has a level to go: of three levels, or of all that is left.
    assert (" 91%" if most else " 75%") in shown
    assert "100%" in shown


def test_where_there_is_no_terminal_nothing_is_shown(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with Feedback(False).levels(None) as (start, on_level):
        start(10**6)
        on_level(LevelProgress(1, 1, 10**6))
    assert isinstance(sys.stderr, io.StringIO)
    assert sys.stderr.getvalue() == ""
