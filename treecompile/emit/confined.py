"""Runs untrusted templates in a process of their own, with limits.

Jinja's sandbox gives a template access to its strings only. But it does not limit time
and memory: loops nest, and a number can have a billion digits. So the operating system
limits them here.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from treecompile.model.errors import TargetError, TreecompileError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

START = """\
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from treecompile.emit.confined import main
main()
"""
REFUSED = 3  # the exit code; the message is on the standard error
SECONDS = 20  # seconds of processor time
MEMORY = 1 << 30  # bytes
OUTPUT = 1 << 26  # characters


@dataclass(frozen=True, slots=True)
class Job:
    template: str
    folders: Sequence[str]  # folders of templates, in order of search
    built_in: str  # the built-in target whose templates come last; "" for none
    formatter: str
    seconds: int
    memory: int
    output: int


def confined(
    template: str,
    folders: Sequence[Path],
    built_in: str,
    formatter: str,
    strings: DataclassInstance,
) -> str:
    """Return the text that the template makes of the strings."""
    variables = json.dumps(strings, default=_fields)
    size = len(variables)
    job = Job(
        template,
        [str(folder) for folder in folders],
        built_in,
        formatter,
        SECONDS + size // 10**6,
        MEMORY + 40 * size,
        OUTPUT + 4 * size,
    )
    command = [sys.executable, "-I", "-c", START, json.dumps(sys.path)]
    try:
        done = subprocess.run(
            command,
            input=f"{json.dumps(_fields(job))}\n{variables}".encode(),
            capture_output=True,
            timeout=5 * job.seconds,  # the machine may have more to do
        )
    except subprocess.TimeoutExpired:
        raise TargetError(_exceeded(job)) from None
    if done.returncode == REFUSED:
        raise TargetError(done.stderr.decode(errors="replace"))
    if done.returncode:
        raise TargetError(_exceeded(job))
    return done.stdout.decode()


def _fields(part: DataclassInstance) -> dict[str, Any]:
    return {entry.name: getattr(part, entry.name) for entry in fields(part)}


def _exceeded(job: Job) -> str:
    limits = f"{job.seconds} seconds or {job.memory >> 20:,} MB"
    return f"{job.template}: the template needs more than {limits}: make it simpler"


# ---------------------------------------------------------------- the other process


class Part(SimpleNamespace):
    """A dataclass of the lowering, as the template sees it."""


def main() -> None:
    # All of stdin is read before the limits, so that a limit never cuts it.
    first, _, rest = sys.stdin.buffer.read().partition(b"\n")
    job = Job(**json.loads(first))
    variables = json.loads(rest, object_hook=lambda found: Part(**found))
    try:
        text = _run(job, vars(variables)).encode()
    except UnicodeEncodeError:
        sys.stderr.write(f"{job.template}: it makes half a surrogate pair")
        raise SystemExit(REFUSED) from None
    except TreecompileError as error:
        sys.stderr.buffer.write(str(error).encode(errors="replace"))
        raise SystemExit(REFUSED) from None
    sys.stdout.buffer.write(text)


def _run(job: Job, variables: dict[str, Any]) -> str:
    from treecompile.emit import targets, templates

    folders: list[Any] = [Path(folder) for folder in job.folders]
    if job.built_in:
        folders.append(targets.templates_folder() / job.built_in)
    if job.formatter == "black":
        import black  # noqa: F401 - large, so before the limits
    _limit(job)
    found = templates.environment(folders)
    return templates.rendered(job.template, found, variables, job.formatter, job.output)


def _limit(job: Job) -> None:
    try:
        import resource
    except ImportError:  # Windows: only the clock of the other process limits this one
        return
    for kind, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, job.seconds),
        (resource.RLIMIT_AS, job.memory),
    ):
        with suppress(OSError, ValueError):  # not every system has every limit
            resource.setrlimit(kind, (most, most))
