"""The command line, called in this process or in another, and what holds for each call.

`conftest` has every test check it.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from treecompile.cli import main

COMMAND = [sys.executable, "-m", "treecompile"]
ANSWERS = (0, 1, 3)  # of 3, only `check` and `diff` make use
TOO_LONG = 300  # seconds, for a command that hangs


def run(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)


def good(*arguments: str | Path, stdin: str | bytes | None = None) -> Result:
    result = run(*arguments, stdin=stdin)
    assert result.exit_code == 0, (result.stderr, result.exception)
    return result


Done = subprocess.CompletedProcess[str]


def process(*arguments: str | Path, **settings: Any) -> Done:
    """Run the command in a process of its own."""
    done = subprocess.run(
        [*COMMAND, *map(str, arguments)],
        **{"capture_output": True, "text": True, "timeout": TOO_LONG, **settings},
    )
    if done.stderr is not None:
        check_one_line(done.returncode, done.stdout or "", done.stderr)
    return done


def check_one_line(code: int, stdout: str, stderr: str) -> None:
    """After an error there is one line on standard error, and nothing else."""
    if code in ANSWERS:
        assert "Traceback" not in stderr, stderr
        return
    assert code == 2 or code > 128, (code, stderr)
    assert stdout == "", stdout
    (line,) = stderr.splitlines()
    assert line.startswith("Error: " if code == 2 else "interrupted"), line


def checked(invoke: Callable[..., Result]) -> Callable[..., Result]:
    """`CliRunner.invoke`, with a check of what every call of the command prints."""

    def invoked(self: CliRunner, command: Any, *rest: Any, **more: Any) -> Result:
        result = invoke(self, command, *rest, **more)
        if command is main:
            check_one_line(result.exit_code, result.stdout, result.stderr)
        return result

    return invoked


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}
