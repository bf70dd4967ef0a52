"""Commands without their streams, memory, files or time: one line, nothing lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.commands import (
    TOO_LONG,
    check_one_line,
    contents,
    good,
    process,
    run,
)
from tests.support.samples import ROOT, TENNIS

LEARN = "learn tennis.csv --target play -o out.json"
BUILD = "build tennis.csv --target play --out out"


@pytest.fixture(scope="module")
def ready(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a model and its artefacts."""
    folder = tmp_path_factory.mktemp("ready")
    shutil.copy(TENNIS, folder / "tennis.csv")
    options = ("--target", "play", "--no-verify", "-q")
    good("build", TENNIS, *options, "--out", folder)
    return folder


@pytest.fixture
def folder(ready: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "folder"
    shutil.copytree(ready, folder)
    monkeypatch.chdir(folder)
    return folder


def in_shell(line: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a line of the shell; `treecompile` is the command."""
    return subprocess.run(
        [
            "sh",
            "-c",
            f'treecompile() {{ "{sys.executable}" -m treecompile "$@"; }}; {line}',
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
        capture_output=True,
        text=True,
        timeout=TOO_LONG,
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("treecompile show model.json >/dev/full", "standard output: No space left"),
        ("treecompile show model.json >&-", "standard output: Bad file descriptor"),
        ("treecompile predict model.json - <&-", "cannot read standard input"),
        (f"ulimit -f 0; treecompile {LEARN}", "cannot write out.json: File too large"),
        (f"ulimit -n 5; treecompile {BUILD}", "Too many open files"),
        (f"ulimit -v 90000; treecompile {LEARN}", "allow at least 160 MB"),
        ('rm -r "$PWD"; treecompile show model.json', "cannot read 'model.json'"),
    ],
)
def test_a_stream_or_a_limit_is_an_error_of_one_line(
    folder: Path, line: str, said: str
) -> None:
    before = contents(folder)
    done = in_shell(line)
    assert done.returncode == 2
    check_one_line(done.returncode, done.stdout, done.stderr)
    assert said in done.stderr
    assert not folder.exists() or contents(folder) == before


@pytest.mark.parametrize(
    "line",
    [
        f"treecompile {LEARN} <&- >&- 2>&-",
        "treecompile emit model.json --to python | true",
        "ulimit -v 400000; treecompile show model.json",
    ],
)
def test_what_is_not_needed_may_be_closed(folder: Path, line: str) -> None:
    done = in_shell(line)
    assert done.returncode == 0
    for name, content in contents(folder).items():
        assert b"wrote" not in content, name  # a note in the place of a closed stream


def test_a_terminal_without_some_characters(folder: Path) -> None:
    encoding = "ascii"
    Path("ö.csv").write_text("日,ö\n1,é\n2,é\n3,ü\n4,ü\n", encoding="utf-8")
    good("learn", "ö.csv", "--target", "ö", "-o", "ö.json", "-q")
    variables = {"PYTHONIOENCODING": encoding, "PYTHONPATH": str(ROOT)}
    settings = {"encoding": encoding, "env": {**os.environ, **variables}}
    shown = process("show", "ö.json", **settings)
    assert shown.returncode == 0
    assert "|- \\u65e5 <= 2" in shown.stdout
    assert "`- \\u65e5 > 2" in shown.stdout
    refused = process("learn", "ö.csv", "--target", "é", "-o", "é.json", **settings)
    assert "no column" in refused.stderr
    assert "\\u65e5" in refused.stderr
    emitted = process(
        "emit", "ö.json", "--to", "sql", **{**settings, "encoding": "utf-8"}
    )
    assert "日" in emitted.stdout


def test_usage_is_one_line(folder: Path) -> None:
    for arguments in (
        ("lear",),
        ("learn",),
        ("learn", "tennis.csv", "--targ", "play"),
        ("learn", "tennis.csv", "--target"),
        ("emit", "model.json", "--to", "sql", "extra"),
        ("check", "model.json", "--budget", "0"),
        ("--nothing",),
    ):
        assert run(*arguments).exit_code == 2
    assert "Options:" in good().stdout


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (MemoryError(), "Error: out of memory: "),
        (RuntimeError("std::bad_alloc"), "Error: out of memory: "),
        (ImportError("libx.so: failed to map segment"), "Error: out of memory: "),
        (ImportError("libx.so: wrong version"), "Error: cannot load a library: libx"),
        (OSError(24, "Too many open files"), "Error: Too many open files"),
        (FileNotFoundError(2, "No such file", "x y"), "Error: 'x y': No such file"),
    ],
)
def test_want_of_resources_is_not_our_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, said: str
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    monkeypatch.setattr("treecompile.emit.svg.draw", fail)
    result = run("show", "model.json", "--svg", "-")
    assert result.exit_code == 2
    assert result.stderr.startswith(said)


def test_an_error_of_our_own_is_told_apart(folder: Path) -> None:
    script = (
        "import treecompile.emit.svg as draw\n"
        "draw.draw = lambda *_: {}['key']\n"
        "from treecompile.__main__ import run\n"
        "run()\n"
    )
    for settings, lines in (({}, 1), ({"TREECOMPILE_TRACEBACK": "1"}, 9)):
        done = subprocess.run(
            [sys.executable, "-c", script, "show", "model.json", "--svg", "-"],
            env={**os.environ, "PYTHONPATH": str(ROOT), **settings},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (70, "")
        assert (
            "Error: internal error in <lambda>, line 2: KeyError: 'key'" in done.stderr
        )
        assert done.stderr.count("\n") >= lines
        assert ("Traceback" in done.stderr) == (lines > 1)


# ---------------------------------------------------------------- signals

# Writes its process id when all files but the last are there, and waits.
STOPPED = """
import os, sys
from treecompile.model import files
add, calls = files.Waiting.add, []
def slow(self, named, text):
    calls.append(named)
    if len(calls) == {at}:
        print("reached", flush=True)
        while True:
            sys.stdin.read(1)
    add(self, named, text)
files.Waiting.add = slow
from treecompile.__main__ import run
run()
"""


def stopped(folder: Path, at: int, number: signal.Signals) -> tuple[int, str]:
    """Send a signal to `build` while it writes its files."""
    build = subprocess.Popen(
        [sys.executable, "-c", STOPPED.format(at=at), *BUILD.split(), "--no-verify"],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    watchdog = threading.Timer(TOO_LONG, build.kill)
    watchdog.start()
    assert build.stdout is not None
    assert build.stdout.readline() == "reached\n"
    build.send_signal(number)
    _, said = build.communicate()
    watchdog.cancel()
    return build.returncode, said


def test_a_signal_leaves_the_old_files(folder: Path) -> None:
    number = signal.SIGTERM
    before = contents(folder)
    code, said = stopped(folder, 3, number)
    assert (code, said) == (128 + number, "interrupted\n")
    assert contents(folder) == before
    assert not (folder / "out").exists()
