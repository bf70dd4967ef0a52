"""A killed run of the tests leaves no server behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.samples import ROOT

# A server that would run for minutes, and the tests that have started it.
TESTS = """
import subprocess, sys, time
from pathlib import Path
from tests.support.watchdog import watch
folder = Path(sys.argv[1])
server = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
(folder / "one").mkdir()
(folder / "one" / "server.pid").write_text(f"{server.pid}\\n")
dog = watch(folder)
print(server.pid, flush=True)
time.sleep(300)
"""


def alive(pid: int) -> bool:
    """Whether a process runs: it exists, and is no zombie."""
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_server_ends_with_the_tests_that_are_killed(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    tests = subprocess.Popen(
        [sys.executable, "-c", TESTS, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with tests:
        assert tests.stdout is not None
        server = int(tests.stdout.readline())
        assert alive(server)
        tests.send_signal(signal.SIGKILL)
    end = time.monotonic() + 300
    while (alive(server) or folder.exists()) and time.monotonic() < end:
        time.sleep(0.05)
    assert not alive(server)
    assert not folder.exists()
