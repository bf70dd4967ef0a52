"""Where every engine must run, a test that is skipped fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.samples import ROOT

SKIPPED = """
import pytest

@pytest.mark.skip(reason="the server is away")
@pytest.mark.parametrize("number", [1])
def test_skipped(number: int) -> None: ...

def test_passed() -> None: ...
"""


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_skip_fails_the_run(everywhere: bool, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text(SKIPPED)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("TREECOMPILE_ALL_ENGINES", None)
    if everywhere:
        environment["TREECOMPILE_ALL_ENGINES"] = "1"
    workers = "1" if everywhere else "0"
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-n", workers, "."],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert result.returncode == (1 if everywhere else 0), result.stdout
    told = "test_one.py::test_skipped[1]: Skipped: the server is away"
    assert (told in result.stdout.splitlines()) == everywhere
