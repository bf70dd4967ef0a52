"""Completion: what the shell is told, and that shells complete with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import CompletionItem, ShellComplete

from tests.support.commands import TOO_LONG, good
from tests.support.samples import TENNIS
from treecompile.cli import main
from treecompile.cli.completion import FORMS, OUTPUTS, TARGETS
from treecompile.emit.sql import forms, outputs
from treecompile.emit.sql.dialect import dialect_names
from treecompile.engines.addresses import ENGINES


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(TENNIS, "data.csv")


def items(*words: str) -> list[CompletionItem]:
    """What the last word can become."""
    shell = ShellComplete(main, {}, "treecompile", "_TREECOMPILE_COMPLETE")
    return shell.get_completions(list(words[:-1]), words[-1])


def values(*words: str) -> list[str]:
    return [item.value for item in items(*words) if item.type == "plain"]


def test_commands_and_options_are_completed() -> None:
    assert values("sh") == ["show"]
    assert set(values("")) == set(main.commands)
    assert values("learn", "--max") == ["--max-depth", "--max-leaves"]
    assert set(values("completion", "")) == {"bash", "zsh", "fish"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["emit", "m.json", "--dialect", ""], dialect_names()),
        (["emit", "m.json", "--dialect", "s"], ["snowflake", "spark", "sqlite"]),
        (["emit", "m.json", "--to", ""], TARGETS),
        (["emit", "m.json", "--as", ""], forms.FORMS),
        (["emit", "m.json", "--output", ""], outputs.OUTPUTS),
        (["verify", "m.json", "x.sql", "--engine", ""], ["python", "node", *ENGINES]),
        (["build", "data.csv", "--engine", "du"], ["duckdb"]),
        (["learn", "data.csv", "--algorithm", "c"], ["c45", "cart"]),
        (["learn", "data.csv", "--prune", "p"], ["pessimistic"]),
        (["learn", "data.csv", "--alpha", ""], ["cv", "1se"]),
        (["learn", "data.csv", "--task", ""], ["classify", "regress"]),
        (["learn", "data.csv", "--criterion", "gain"], ["gain-ratio", "gain"]),
        (["learn", "data.csv", "--target", "p"], ["play"]),
        (["learn", "data.csv", "--ignore", "w"], ["wind"]),
        (
            ["evaluate", "data.csv", "--target", ""],
            TENNIS.read_text().split()[0].split(","),
        ),
        (["check", "m.json", "--allow", "o"], ["overlap"]),
        (["learn", "absent.csv", "--target", ""], []),
        (["learn", "--target", ""], []),
    ],
)
def test_values_are_completed(words: list[str], expected: list[str]) -> None:
    assert sorted(values(*words)) == sorted(expected)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (["show", ""], "file"),
        (["learn", "da"], "file"),
        (["predict", "m.json", ""], "file"),
        (["verify", "m.json", ""], "file"),
        (["learn", "data.csv", "-o", "m"], "file"),
        (["learn", "data.csv", "--validation", ""], "file"),
        (["build", "data.csv", "--out", ""], "dir"),
        (["emit", "m.json", "--to", "./ta"], "dir"),
        (["emit", "m.json", "--dialect", "./our"], "file"),
    ],
)
def test_files_and_folders_are_left_to_the_shell(words: list[str], kind: str) -> None:
    assert [item.type for item in items(*words)] == [kind]


def test_names_that_a_shell_would_take_apart_are_left_out() -> None:
    Path("odd.csv").write_text('a b,$(touch x),"q""",ok,é\n', encoding="utf-8")
    assert values("learn", "odd.csv", "--target", "") == ["ok", "é"]
    Path("odd.csv").write_bytes(b"\xff\xfe,x\n")
    assert values("learn", "odd.csv", "--target", "") == []


def test_the_fixed_words_are_those_of_the_compiler() -> None:
    """They are repeated, since the compiler takes long to load."""
    assert forms.FORMS == FORMS
    assert tuple(outputs.OUTPUTS) == OUTPUTS


def test_completion_works_whatever_pyproject_says() -> None:
    Path("pyproject.toml").write_text("[tool.treecompile.nothing]\nx = 1\n")
    assert values("learn", "data.csv", "--target", "p") == ["play"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_for_the_shell(shell: str) -> None:
    result = good("completion", shell)
    assert result.stderr == ""
    assert f"_TREECOMPILE_COMPLETE={shell}_complete" in result.stdout


# A command that answers the shell, and writes down how it is called otherwise.
STUB = """#!/bin/sh
[ "$_TREECOMPILE_COMPLETE" ] && exec {python} -m treecompile "$@"
echo "$@" > {folder}/called
"""
IN_TERMINAL = "import pty, sys; pty.spawn(sys.argv[1:])"
# Where the help of `completion` says that the script goes, below the home of a user.
PLACES = {
    "bash": ".bashrc",
    "zsh": ".zshrc",
    "fish": ".config/fish/completions/treecompile.fish",
}


@pytest.mark.parametrize(
    ("typed", "called"),
    [
        ("learn data.csv --target pl", "learn data.csv --target play"),
        ("learn da", "learn data.csv"),
        ("build data.csv --out fol", "build data.csv --out folder"),
        ("emit m.json --dialect sn", "emit m.json --dialect snowflake"),
    ],
)
@pytest.mark.parametrize("shell", PLACES)
def test_a_user_presses_the_tab_key(
    tmp_path: Path, shell: str, typed: str, called: str
) -> None:
    """The shell runs in a terminal of its own, and runs the line that it completed."""
    if not shutil.which(shell):
        pytest.skip(f"needs {shell}")
    home = tmp_path / "home"
    script = home / PLACES[shell]
    script.parent.mkdir(parents=True)
    script.write_text(good("completion", shell).stdout, encoding="utf-8")
    stub = home / "treecompile"
    stub.write_text(STUB.format(python=sys.executable, folder=tmp_path))
    stub.chmod(0o755)
    Path("folder").mkdir()
    path = f"{home}:{os.environ['PATH']}"
    env = {**os.environ, "HOME": str(home), "PATH": path, "TERM": "xterm"}
    keys = f"treecompile {typed}\t\nexit\n".encode()
    done = subprocess.run(
        [sys.executable, "-c", IN_TERMINAL, shell, "-i"],
        input=keys,
        env=env,
        stdout=subprocess.PIPE,
        timeout=TOO_LONG,
    )
    assert (tmp_path / "called").exists(), done.stdout
    assert (tmp_path / "called").read_text().strip().rstrip("/") == called
