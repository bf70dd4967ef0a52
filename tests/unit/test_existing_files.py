"""What is overwritten: with --force any file, and an input never."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import treecompile
from tests.support.commands import contents, good, run
from tests.support.samples import TENNIS
from treecompile.model.errors import OptionError

LEARN = ("learn", "tennis.csv", "--target", "play")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    shutil.copy(TENNIS, "tennis.csv")
    good(*LEARN, "-q")
    return tmp_path


def refused(*arguments: str, why: str) -> None:
    before = contents(Path())
    result = run(*arguments)
    assert result.exit_code == 2, result.stderr
    assert why in result.stderr
    assert contents(Path()) == before


AN_INPUT = "is an input of this command and would be overwritten"


@pytest.mark.parametrize(
    "arguments",
    [
        (*LEARN, "-o", "tennis.csv"),
        (*LEARN, "-o", "sub/../tennis.csv"),
        (*LEARN, "-o", "link.csv"),
        (*LEARN, "--validation", "rows.csv", "-o", "rows.csv"),
        (*LEARN, "--costs", "costs.csv", "-o", "costs.csv"),
        ("learn", "link.csv", "--target", "play", "-o", "tennis.csv"),
        (
            "learn",
            "--from",
            "sqlite://t.db",
            "--table",
            "t",
            "--target",
            "y",
            "-o",
            "t.db",
        ),
        ("learn", "many", "--target", "y", "-o", "many/1.parquet"),
        ("learn", "many/*.parquet", "--target", "y", "-o", "many/1.parquet"),
        ("predict", "model.json", "tennis.csv", "-o", "tennis.csv"),
        ("predict", "model.json", "tennis.csv", "-o", "model.json"),
        ("emit", "model.json", "--to", "sql", "-o", "model.json"),
        ("emit", "model.json", "--to", "./own", "-o", "own/target.toml"),
        (
            "emit",
            "model.json",
            "--to",
            "python",
            "--templates",
            "own",
            "-o",
            "own/target.toml",
        ),
        ("show", "model.json", "--svg", "model.json"),
        ("rules", "model.json", "-o", "model.json"),
        ("rules", "model.json", "--training", "tennis.csv", "-o", "tennis.csv"),
        ("build", "RULES.md", "--out", "."),
        (
            "build",
            "tennis.csv",
            "--target",
            "play",
            "--costs",
            "predict.py",
            "--out",
            ".",
        ),
    ],
    ids=" ".join,
)
def test_an_input_is_never_overwritten(arguments: tuple[str, ...]) -> None:
    good("build", "tennis.csv", "--target", "play", "--out", "made", "-q")
    for name in ("sub", "many", "own"):
        Path(name).mkdir()
    Path("link.csv").symlink_to("tennis.csv")
    shutil.copy("made/RULES.md", ".")
    for name in ("rows.csv", "costs.csv", "predict.py", "t.db", "many/1.parquet"):
        Path(name).write_text("mine")
    Path("own/target.toml").write_text("mine")
    refused(*arguments, why=AN_INPUT)
    refused(*arguments, "--force", why=AN_INPUT)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((*LEARN, "-o", "mine"), "mine"),
        (("rules", "model.json", "-o", "mine"), "mine"),
        (("predict", "model.json", "tennis.csv", "-o", "mine"), "mine"),
        (("show", "model.json", "--svg", "mine"), "mine"),
        (("emit", "model.json", "--to", "sql", "-o", "mine"), "mine"),
        (
            (
                "emit",
                "model.json",
                "--to",
                "sql",
                "--as",
                "dbt",
                "--table",
                "t",
                "-o",
                "m.sql",
            ),
            "m.yml",
        ),
        (("build", "tennis.csv", "--target", "play", "--out", "o"), "o/predict.sql"),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_files_are_overwritten_only_by_force(
    arguments: tuple[str, ...], name: str
) -> None:
    Path("o").mkdir()
    Path(name).write_text("mine")
    refused(*arguments, why=f"{name!r} exists: choose another name")
    good(*arguments, "--force")
    assert b"mine" not in Path(name).read_bytes()


def test_an_empty_file_is_nobodys_loss() -> None:
    Path("mine").touch()
    good("emit", "model.json", "--to", "sql", "-o", "mine")
    assert Path("mine").read_text()


def test_dbt_needs_two_names() -> None:
    emit = ("emit", "model.json", "--to", "sql", "--as", "dbt", "--table", "t")
    refused(*emit, "-o", "m.yml", why="-o m.yml: the properties of a dbt model")


def test_pipes_and_devices_are_written_to_directly(folder: Path) -> None:
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    good("show", "model.json", "--svg", "pipe")
    good("show", "model.json", "--svg", f"/dev/fd/{reader}")
    assert os.read(reader, 100).startswith(b"<svg")
    os.close(reader)
    good("show", "model.json", "--svg", "/dev/null")
    result = good("show", "model.json", "--svg", "/dev/stdout")
    assert result.stdout.startswith("<svg")


def test_build_in_python_refuses_likewise() -> None:
    Path("o").mkdir()
    Path("o/predict.py").write_text("mine")
    with pytest.raises(OptionError, match="predict.py' exists"):
        treecompile.build("tennis.csv", "o", target="play")
    assert Path("o/predict.py").read_text() == "mine"
    treecompile.build("tennis.csv", "o", target="play", force=True)
    shutil.copy("tennis.csv", "RULES.md")
    with pytest.raises(OptionError, match="is an input"):
        treecompile.build(
            "tennis.csv", ".", target="play", force=True, validation="RULES.md"
        )
    treecompile.load("model.json").save("tennis.csv")  # as `open` would
