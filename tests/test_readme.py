"""The transcript in the README is what a reader sees who types its commands."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    scripts = tmp_path / "bin"
    scripts.mkdir()
    for name, command in (("treecompile", "-m treecompile"), ("python3", "")):
        script = scripts / name
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" {command} "$@"\n')
        script.chmod(0o755)
    return tmp_path


def test_the_transcripts_are_true(workplace: Path) -> None:
    """Commands behind `$` in one shell, lines behind `>>>` in one Python."""
    environment = {
        **os.environ,
        "PATH": f"{workplace / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONIOENCODING": "utf-8",
    }
    folder = workplace
    commands = 0
    for block in blocks("console"):
        session: list[str] = []
        for part in re.split(r"^(?=\$ |>>> )", block, flags=re.MULTILINE)[1:]:
            line, _, shown = part.partition("\n")
            if line.startswith(">>> "):
                session.append(line[4:])
                source = "\n".join(session[:-1])
                code = f"{source}\n" + (
                    f"print(repr({session[-1]}))" if shown else session[-1]
                )
                command = [sys.executable, "-c", code]
            elif line.startswith("$ cd "):
                folder = folder / line[5:]
                continue
            elif line == "$ python3":
                continue
            else:
                command = ["sh", "-c", line[2:]]
            done = subprocess.run(
                command,
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
            )
            assert done.stdout == shown, line
            assert done.returncode == 0, line
            commands += 1
    assert commands >= 6


def test_the_snippets_are_from_the_example() -> None:
    out = ROOT / "examples" / "tennis" / "out"
    for language, name in (("python", "predict.py"), ("sql", "predict.sql")):
        (snippet,) = blocks(language)
        assert snippet in (out / name).read_text(encoding="utf-8")


def test_both_commands_are_single_lines() -> None:
    commands = [block for block in blocks("sh") if "venv" in block]
    assert len(commands) == 2
    assert all(command.count("\n") == 1 for command in commands)
