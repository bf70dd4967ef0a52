"""Processes in which artefacts run: their limits, their messages, their answers."""

from __future__ import annotations

import atexit
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from math import inf, nan
from pathlib import Path
from typing import Any

import pytest

from tests.support.samples import numeric
from treecompile.emit.compiler import emit
from treecompile.model.errors import OptionError
from treecompile.verify import python_process, supervision
from treecompile.verify.processes import (
    ModuleAnswer,
    check_timeout,
    execute,
    limits,
    records,
)
from treecompile.verify.python_process import run_python
from treecompile.verify.statements import RefusedError
from treecompile.verify.supervision import EndedError, deadline, supervised

# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("seconds", [1e-9, 1.0, 10_000_000])
def test_times_that_timers_take(seconds: float) -> None:
    check_timeout(seconds)


@pytest.mark.parametrize("seconds", [0, -1.0, 10_000_000.1, inf, nan])
def test_times_that_they_do_not_take(seconds: float) -> None:
    with pytest.raises(OptionError, match=r"^--timeout .* and at most 10,000,000$"):
        check_timeout(seconds)


@pytest.mark.parametrize(("cores", "seconds"), [(4, 13), (None, 4)])
def test_a_process_may_compute_on_all_cores(
    cores: int | None, seconds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    found = json.loads(limits(2.5, RLIMIT_AS=7))
    expected = {"RLIMIT_FSIZE": 2**30, "RLIMIT_CPU": seconds, "RLIMIT_AS": 7}
    assert found == expected


def test_a_module_of_python_has_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_process, "MOST_MEMORY", 5 << 30)
    text = """
import os, resource, sys
names = ("RLIMIT_AS", "RLIMIT_FSIZE")
most = [resource.getrlimit(getattr(resource, name))[0] for name in names]
files = sorted(set(os.listdir(".")) - {"__pycache__"})
folder, answers = (os.path.basename(path) for path in (os.getcwd(), sys.argv[3]))
sys.exit(f"{most} {files} {answers} {folder[:12]} {sys.flags.no_site}")
"""
    body = numeric().body
    with pytest.raises(RefusedError) as refused:
        run_python(text, body.features, [(0.0, 0.0)])
    files = ["artefact.py", "errors.txt", "rows.marshal"]
    said = f"[{5 << 30}, {1 << 30}] {files} answers.json treecompile- 1"
    assert str(refused.value) == said
    assert run_python("1 / 0", body.features, []) == []


@pytest.mark.parametrize("last", ["# \ud800", "# é"])
def test_text_that_cannot_be_encoded_is_run_nevertheless(last: str) -> None:
    text = emit(numeric(), "python").text
    (answer,) = run_python(text + last, numeric().body.features, [(0.0, 0.0)])
    assert (answer.label, answer.rule) == ("low", "R1")
    assert answer.probabilities == (0.75, 0.25, 0.0)


# ---------------------------------------------------------------- a run


def run(folder: Path, code: str, timeout: float = 60.0) -> None:
    execute([sys.executable, "-I", "-S", "-c", code], folder, timeout)


def refusal(folder: Path, code: str, timeout: float = 60.0) -> str:
    with pytest.raises(RefusedError) as refused:
        run(folder, code, timeout)
    return str(refused.value)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("raise SystemExit('first\\nlast')", "last"),
        ("raise SystemExit(3)", "it ended without a message"),
        ("import sys; print(' \\n\\n', file=sys.stderr); sys.exit(1)", "it ended with"),
        ("import sys; sys.stderr.write('x' * 99999 + '\\nlast'); sys.exit(1)", "last"),
        ("raise SystemExit('x' * 99999)", "x" * 9999),
        (r"import sys; sys.stderr.buffer.write(b'\xff'); sys.exit(1)", "\ufffd"),
        ("import os; os.kill(os.getpid(), 9)", "it was ended by SIGKILL"),
        ("import os; os.kill(os.getpid(), 40)", "it ended without a message"),
    ],
    ids=range(8),
)
def test_why_a_program_failed_is_its_last_line(
    code: str, said: str, tmp_path: Path
) -> None:
    found = refusal(tmp_path, code)
    assert found.startswith(said)
    assert len(found) <= 10_000


def test_a_program_cannot_read_what_is_typed(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.write(write, b"treasure")
    os.close(write)
    kept = os.dup(0)
    os.dup2(read, 0)
    try:
        assert refusal(tmp_path, "import sys; sys.exit(repr(sys.stdin.read()))") == "''"
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)


def test_a_program_has_its_time_and_no_more(tmp_path: Path) -> None:
    began = time.monotonic()
    said = refusal(tmp_path, "import time; time.sleep(60)", 0.5)
    assert said == "it did not end within 0.5 seconds (see --timeout)"
    assert time.monotonic() - began < 30


def test_a_program_sees_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SYSTEMROOT", "kept")  # Windows needs it
    monkeypatch.setenv("SECRET", "treasure")
    code = """
import json, os
print("heard by nobody")
names = {k: v for k, v in os.environ.items() if k != "LC_CTYPE"}
with open("seen.json", "w") as file:
    json.dump([os.path.realpath("."), names, os.getpid() == os.getsid(0)], file)
"""
    run(tmp_path, code)
    seen = json.loads((tmp_path / "seen.json").read_text())
    assert seen == [str(tmp_path.resolve()), {"SYSTEMROOT": "kept"}, True]
    assert capfd.readouterr() == ("", "")


def test_without_groups_the_process_itself_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "killpg")
    assert "did not end" in refusal(tmp_path, "import time; time.sleep(60)", 0.2)
    run(tmp_path, "")


# ---------------------------------------------------------------- answers


def test_answers_are_read_by_their_form(tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_text(
        '[["a", [0.5, 0.5], "R1: if x: y"], [null, [], "R2"], [1, [], [2.5]]]'
    )
    assert records(path, 3) == [
        ModuleAnswer("a", (0.5, 0.5), ("R1",)),
        ModuleAnswer(None, (), ("R2",)),
        ModuleAnswer(1, (), (2.5,)),  # with the margin of a forest
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[[", "its answers cannot be read"),
        ("[" * 100_000, "its answers cannot be read"),
        ("\xff", "its answers cannot be read"),
        ("{}", "it gave no answers for 1 rows"),
        ("[]", "it gave 0 answers for 1 rows"),
        ("[1, 2]", "it gave 2 answers for 1 rows"),
        ('[["a", [], 7]]', "an answer has an unexpected form: ['a', [], 7]"),
        ('[["a", 7, "R1"]]', "an answer has an unexpected form"),
        ('["abc"]', "an answer has an unexpected form: 'abc'"),
    ],
    ids=range(9),
)
def test_other_answers_are_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "answers.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(RefusedError) as refused:
        records(path, 1)
    assert str(refused.value).startswith(said)


def test_no_answers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="^it ended before it gave an answer$"):
        records(tmp_path / "answers.json", 1)


# ---------------------------------------------------------------- supervision


def test_results_and_errors_come_back() -> None:
    assert supervised(lambda: (os.getpid() != os.getppid(), [1, 2])) == (True, [1, 2])
    assert supervised(os.getpid) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        supervised(lambda: 1 // 0)


@pytest.mark.parametrize(
    ("work", "number", "said"),
    [
        (lambda: os._exit(0), 0, "exit code 0"),
        (lambda: os._exit(3), 3, "exit code 3"),
        (lambda: os.kill(os.getpid(), 9), signal.SIGKILL, "SIGKILL"),
        (lambda: os.kill(os.getpid(), 15), signal.SIGTERM, "SIGTERM"),
    ],
    ids=range(4),
)
def test_an_end_without_a_result_is_an_error(
    work: Callable[[], Any], number: int, said: str
) -> None:
    with pytest.raises(EndedError) as ended:
        supervised(work)
    assert ended.value.signal == number
    assert type(ended.value.signal) is type(number)
    assert str(ended.value) == said


def test_a_child_may_have_children() -> None:
    assert supervised(lambda: supervised(os.getpid)) != os.getpid()


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


def test_without_fork_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Windows."""
    monkeypatch.delattr(os, "fork")
    assert supervised(os.getpid) == os.getpid()


def test_a_child_ends_what_it_began_and_nothing_else(tmp_path: Path) -> None:
    """It has a session to end, for which it is waited."""

    def slowly() -> None:
        time.sleep(0.2)
        (tmp_path / "of the child").touch()

    def work() -> None:
        atexit.register(slowly)

    ours = atexit.register((tmp_path / "of the parent").touch)
    try:
        supervised(work)
    finally:
        atexit.unregister(ours)
    assert [path.name for path in tmp_path.iterdir()] == ["of the child"]


@pytest.mark.parametrize(
    ("pages", "hard", "expected"),
    [
        (2**20, resource.RLIM_INFINITY, 4 * 2**30),
        (2**24, resource.RLIM_INFINITY, 48 * 2**30),
        (2**24, 48 * 2**30 + 1, 48 * 2**30),
        (2**24, 48 * 2**30, None),
        (2**24, 2**30, None),
    ],
)
def test_a_child_takes_most_of_the_memory_at_most(
    pages: int, hard: int, expected: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {"SC_PHYS_PAGES": pages, "SC_PAGE_SIZE": 4096}
    set_: list[tuple[int, tuple[int, int]]] = []
    monkeypatch.setattr(os, "sysconf", known.__getitem__)
    monkeypatch.setattr(resource, "getrlimit", lambda which: (hard, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda *limit: set_.append(limit))
    found = supervised(lambda: set_)
    wanted = [] if expected is None else [(resource.RLIMIT_AS, (expected, hard))]
    assert repr(found) == repr(wanted)  # no floats, which the system refuses


def test_a_deadline_is_kept_in_a_process_of_its_own() -> None:
    def timers() -> list[float]:
        assert supervision.in_own_process
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        with deadline(50.0):
            within = signal.getitimer(signal.ITIMER_REAL)[0]
            handler = signal.getsignal(signal.SIGALRM)
        assert handler is signal.SIG_DFL
        return [within, signal.getitimer(signal.ITIMER_REAL)[0]]

    within, after = supervised(timers)
    assert 55.0 < within <= 60.0
    assert after == 0.0
    before = signal.getitimer(signal.ITIMER_REAL)[0]
    with deadline(50.0):
        assert not supervision.in_own_process
        assert signal.getitimer(signal.ITIMER_REAL)[0] <= before
