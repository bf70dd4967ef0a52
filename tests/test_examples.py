"""The committed output of each example is what its command writes today."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from treecompile.cli import main

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = sorted(path.parent for path in ROOT.glob("examples/*/README.md"))


@pytest.mark.parametrize("folder", EXAMPLES, ids=lambda folder: folder.name)
def test_the_command_writes_the_committed_files(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "README.md").read_text(encoding="utf-8")
    found = re.search(r"^treecompile (.*)$", text, re.MULTILINE)
    assert found
    *arguments, out = shlex.split(found.group(1))
    assert ROOT / out == folder / "out"
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(main, [*arguments, str(tmp_path)])
    assert result.exit_code == 0, result.output
    written = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {path.name: path.read_bytes() for path in (folder / "out").iterdir()}
    assert written == kept


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2
