"""Runs a program over an artefact that may be hostile, in a process of its own.

The process inherits nothing: it has an empty environment, an empty folder and no
standard input. Its time, memory and files are limited. Rows and answers are exchanged
as files, so nothing that it prints can be taken for an answer. This keeps a faulty
artefact from doing harm, but it is not a jail: the artefact can do what the user can
do.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

from treecompile.model.errors import OptionError
from treecompile.verify.statements import RefusedError

TIMEOUT = 600.0  # seconds for one run of an artefact
MOST_SECONDS = 10_000_000  # with more, the timers of some systems fail
MOST_MEMORY = 8 << 30  # bytes of address space
MOST_OUTPUT = 1 << 30  # bytes of each file that the process writes
MESSAGE = 10_000  # bytes at the end of standard error that may hold the reason

# Python code that limits its own process, as the JSON text `limits` says.
LIMIT = """
import json
try:
    import resource
except ImportError:  # Windows
    pass
else:
    for name, most in json.loads(limits).items():
        which = getattr(resource, name)
        hard = resource.getrlimit(which)[1]
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(which, (most, most))
"""


@dataclass(frozen=True, slots=True)
class ModuleAnswer:
    """What a generated module says about one row."""

    label: Any
    probabilities: tuple[float, ...]
    reasons: tuple[Any, ...]  # the rule that decides, or the margins of a forest

    @property
    def rule(self) -> str:
        return str(self.reasons[0])


def check_timeout(timeout: float) -> None:
    if not 0 < timeout <= MOST_SECONDS:
        raise OptionError(
            f"--timeout {timeout:g}: expected a number of seconds above 0, and at most"
            f" {MOST_SECONDS:,}"
        )


def limits(timeout: float, **others: int) -> str:
    """Return the limits of a process as JSON for LIMIT: the usual and other ones."""
    # The time limit is for a process that outlives this one, which ends it otherwise.
    seconds = ceil(timeout) * (os.cpu_count() or 1) + 1
    return json.dumps({"RLIMIT_FSIZE": MOST_OUTPUT, "RLIMIT_CPU": seconds, **others})


def execute(command: Sequence[str], folder: Path, timeout: float) -> None:
    """Run a program to its end, or raise RefusedError with the reason."""
    errors = folder / "errors.txt"
    with open(errors, "wb") as said:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=said,
            cwd=folder,
            env=_environment(),
            start_new_session=True,
        )
    try:
        status = process.wait(timeout)
    except subprocess.TimeoutExpired:
        raise RefusedError(not_in_time(timeout)) from None
    finally:
        _end(process)
    if status < 0:
        with suppress(ValueError):
            raise RefusedError(f"it was ended by {signal.Signals(-status).name}")
    if status:
        raise RefusedError(_last_line(errors) or "it ended without a message")


def not_in_time(timeout: float) -> str:
    return f"it did not end within {timeout:g} seconds (see --timeout)"


def _environment() -> dict[str, str]:
    """Return an environment with only what Windows needs to start a process."""
    return {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process, and all processes that it has started in its group."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _last_line(path: Path) -> str:
    with open(path, "rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - MESSAGE))
        lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""


def records(path: Path, rows: int) -> list[ModuleAnswer]:
    """Read a module's answers: label, probabilities and explanation of each row."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise RefusedError("it ended before it gave an answer") from None
    except (ValueError, RecursionError):
        raise RefusedError("its answers cannot be read") from None
    if not isinstance(found, list) or len(found) != rows:
        count = len(found) if isinstance(found, list) else "no"
        raise RefusedError(f"it gave {count} answers for {rows} rows")
    return [_record(record) for record in found]


def _record(record: Any) -> ModuleAnswer:
    if type(record) is list and len(record) == 3:  # faster than a match statement
        label, shares, said = record
        if type(shares) is list and type(said) is str:
            return ModuleAnswer(label, tuple(shares), (said.partition(":")[0],))
        if type(shares) is list and type(said) is list:
            return ModuleAnswer(label, tuple(shares), tuple(said))
    raise RefusedError(f"an answer has an unexpected form: {record!r}")
