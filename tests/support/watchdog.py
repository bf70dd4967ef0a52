"""The servers of a test run end with it, even if it is killed.

A process of its own waits until its pipe from the test run is closed, however that
happens. Then it kills the servers and removes their folder.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PID_FILES = "*/*.pid"  # in the folder: pid files of servers, whose data nobody needs
WAIT = """
import os, pathlib, shutil, signal, sys
folder, pattern = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.stdin.read()
for path in folder.glob(pattern):
    # PostgreSQL takes its processes along at SIGQUIT; MariaDB is a single one.
    number = signal.SIGQUIT if path.stem == "postmaster" else signal.SIGKILL
    try:
        os.kill(int(path.read_text().split()[0]), number)
    except (OSError, ValueError, IndexError):
        pass  # it has ended
shutil.rmtree(folder, ignore_errors=True)
"""


def watch(folder: Path) -> subprocess.Popen[bytes]:
    """Watch over the servers in a folder; `communicate` ends them and waits for it."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WAIT, str(folder), PID_FILES],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that Ctrl-C does not end it before the tests
    )
