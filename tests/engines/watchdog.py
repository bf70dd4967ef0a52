"""A server of the tests ends with the tests, even if those are killed.

A process of its own waits until the pipe from this one is closed, however that comes
about, then stops the server that is still there and removes its folder.
"""

from __future__ import annotations

import atexit
import subprocess
import sys
from pathlib import Path

WAIT = """
import os, shutil, signal, sys, time
folder, pid_file = sys.argv[1:]
sys.stdin.read()
try:
    with open(os.path.join(folder, pid_file)) as file:
        server = int(file.readline())
    os.kill(server, signal.SIGINT if pid_file == "postmaster.pid" else signal.SIGTERM)
    for _ in range(300):
        os.kill(server, 0)
        time.sleep(0.1)
    os.kill(server, signal.SIGKILL)
except (OSError, ValueError):
    pass  # it has ended
shutil.rmtree(folder, ignore_errors=True)
"""


def watch(folder: Path, pid_file: str) -> None:
    """Watch over the server whose process id is in a file of the folder."""
    dog = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WAIT, str(folder), pid_file],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that Ctrl-C does not end it before the tests
    )
    atexit.register(dog.communicate)  # which closes the pipe
