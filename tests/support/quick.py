"""Shortcuts for tests of many artefacts, where layout and process do not matter."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path

import pytest

from treecompile.emit import templates
from treecompile.verify import python_process
from treecompile.verify.processes import RefusedError


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
        patch.setattr(python_process, "execute", run_here)
        yield


def run_here(arguments: Sequence[str], folder: Path, timeout: float) -> None:
    """Replaces `python_process.execute`: runs the code in this process."""
    code, *given = arguments[arguments.index("-c") + 1 :]
    kept = sys.argv
    sys.argv = ["-c", *given]
    try:
        with redirect_stdout(io.StringIO()):
            exec(code, {"__name__": "runner"})
    except (Exception, SystemExit) as error:
        raise RefusedError(repr(error)) from None
    finally:
        sys.argv = kept
        sys.modules.pop("artefact", None)
