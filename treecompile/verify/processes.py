"""Runs a program over an artefact in a process of its own, for a limited time.

Rows and answers are exchanged as files, so nothing that the artefact prints can be
taken for an answer.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treecompile.model.errors import OptionError

TIMEOUT = 600.0  # seconds for one run of an artefact
MOST_SECONDS = 10_000_000  # with more, the timers of some systems fail


class RefusedError(Exception):
    """The artefact cannot be run: it is wrong, not the request."""


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
            f"timeout={timeout:g}: expected a number of seconds above 0, and at most"
            f" {MOST_SECONDS:,}"
        )


def execute(
    command: Sequence[str],
    folder: Path,
    timeout: float,
    given: str | Path = os.devnull,
    answers: str | Path = os.devnull,
) -> None:
    """Run a program to its end, or raise RefusedError with the reason.

    It reads `given` and writes to `answers`.
    """
    errors = folder / "errors.txt"
    with (
        open(errors, "wb") as said,
        open(given, "rb") as rows,
        open(answers, "wb") as out,
    ):
        try:
            status = subprocess.run(
                command,
                stdin=rows,
                stdout=out,
                stderr=said,
                cwd=folder,
                timeout=timeout,
            ).returncode
        except subprocess.TimeoutExpired:
            raise RefusedError(not_in_time(timeout)) from None
    if status < 0:
        with suppress(ValueError):
            raise RefusedError(f"it was ended by {signal.Signals(-status).name}")
    if status:
        lines = errors.read_text("utf-8", errors="replace").strip().splitlines()
        raise RefusedError(lines[-1] if lines else "it ended without a message")


def not_in_time(timeout: float) -> str:
    return f"it did not end within {timeout:g} seconds (see timeout)"


def records(path: Path, rows: int) -> list[ModuleAnswer]:
    """Read a module's answers: label, probabilities and explanation of each row."""
    if not path.exists():
        raise RefusedError("it ended before it gave an answer")
    found = json.loads(path.read_bytes())
    if len(found) != rows:
        raise RefusedError(f"it gave {len(found)} answers for {rows} rows")
    return [_record(record) for record in found]


def _record(record: Any) -> ModuleAnswer:
    label, shares, said = record
    if type(said) is str:
        return ModuleAnswer(label, tuple(shares), (said.partition(":")[0],))
    if type(said) is list:
        return ModuleAnswer(label, tuple(shares), tuple(said))
    raise RefusedError(f"an answer has an unexpected form: {record!r}")
