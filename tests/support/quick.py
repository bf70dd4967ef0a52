"""Shortcuts for tests of many artefacts, where layout and process do not matter."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any

import pytest

from treecompile.emit import templates


@contextmanager
def without_black() -> Iterator[None]:
    """Emit Python as the template gives it: formatting takes most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(templates, "BLACK_UP_TO", 0)
        yield


@contextmanager
def in_this_process() -> Iterator[None]:
    """Run generated modules without starting an interpreter for each."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "run", run_here)
        yield


def run_here(
    command: Sequence[str], *, input: str, **_: Any
) -> subprocess.CompletedProcess[str]:
    """Replaces `subprocess.run`: runs the code in this process."""
    code, path = command[-2:]
    out, kept = io.StringIO(), (sys.argv, sys.stdin)
    sys.argv, sys.stdin = ["-c", path], io.StringIO(input)
    try:
        with redirect_stdout(out):
            exec(code, {"__name__": "runner"})
    except (Exception, SystemExit) as error:
        return subprocess.CompletedProcess(command, 1, "", repr(error))
    finally:
        sys.argv, sys.stdin = kept
        sys.modules.pop("artefact", None)
    return subprocess.CompletedProcess(command, 0, out.getvalue(), "")
