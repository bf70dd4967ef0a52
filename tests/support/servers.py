"""One PostgreSQL and one MariaDB for all processes of a test run.

Their data need not survive a crash, so they do not wait for the disk.

The first process that needs a server starts it, the others find its address in a file.
A process that waits for the end of the test run, even if it is killed, ends them.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

FOLDER = "TREECOMPILE_TEST_SERVERS"  # an environment variable, so that workers have it
LONGEST_START = 300  # seconds
# Until the pipe from the test run is closed, however that happens.
WAIT = """
import os, pathlib, shutil, signal, sys
sys.stdin.read()
for path in pathlib.Path(sys.argv[1]).glob("*/*.pid"):
    # PostgreSQL takes its processes along at SIGQUIT; MariaDB is a single one.
    number = signal.SIGQUIT if path.stem == "postmaster" else signal.SIGKILL
    try:
        os.kill(int(path.read_text().split()[0]), number)
    except (OSError, ValueError, IndexError):
        pass  # it has ended
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""

started: list[subprocess.Popen[bytes]] = []  # kept: Python warns about lost ones


def begin() -> Callable[[], None]:
    """Make a folder for the servers of this run; what is returned ends them."""
    folder = Path(tempfile.mkdtemp(prefix="treecompile-servers-"))
    folder.chmod(0o711)  # PostgreSQL does not run as root, but as another user
    os.environ[FOLDER] = str(folder)
    waiting = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WAIT, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # so that Ctrl-C does not end it before the tests
    )

    def end() -> None:
        waiting.communicate()

    return end


def address_of(name: str, start: Callable[[Path], str]) -> str:
    """The URL of a server, which is started in its folder unless it runs."""
    if FOLDER not in os.environ:
        atexit.register(begin())
    folder = Path(os.environ[FOLDER]) / name
    address = folder.with_suffix(".url")
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not address.exists():
            folder.mkdir()
            try:
                url = start(folder)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            address.write_text(url, encoding="utf-8")
    return address.read_text(encoding="utf-8")


def start_postgres(folder: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pgserver

        server = pgserver.get_server(  # type: ignore[attr-defined]
            folder, cleanup_mode=None
        )
    server.psql("ALTER SYSTEM SET fsync = off")
    server.psql("SELECT pg_reload_conf()")
    return str(server.get_uri())


def start_mariadb(folder: Path) -> str:
    """On a socket, for the user of the tests alone."""
    socket, data = folder / "socket", f"--datadir={folder / 'data'}"
    user = "--user=root" if os.getuid() == 0 else "--skip-name-resolve"
    install = ["--auth-root-authentication-method=normal", "--skip-test-db"]
    pid_file = f"--pid-file={folder / 'mariadb.pid'}"
    settings = ["--innodb-flush-log-at-trx-commit=0", "--innodb-doublewrite=0"]
    subprocess.run(
        [
            *(program("mariadb-install-db"), "--no-defaults", data, user),
            *install,
            *settings,
        ],
        check=True,
        capture_output=True,
    )
    server = subprocess.Popen(
        [
            *(program("mariadbd"), "--no-defaults", data, user),
            *(f"--socket={socket}", pid_file, "--skip-networking"),
            *settings,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    started.append(server)
    end = time.monotonic() + LONGEST_START
    while not socket.exists():
        if time.monotonic() > end or server.poll() is not None:
            server.kill()
            raise OSError("it does not start")
        time.sleep(0.05)
    return f"mysql://root@localhost?unix_socket={socket}"


def program(name: str) -> str:
    """The path of a server program, which may be in a folder for administrators."""
    path = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"))
    found = shutil.which(name, path=path)
    if not found:
        raise FileNotFoundError(
            f"no program {name}: install the package mariadb-server"
        )
    return found
