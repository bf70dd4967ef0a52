"""Defaults of options from pyproject.toml: what they set, and how it is told."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.commands import good, run
from tests.support.samples import ROOT, TENNIS

MODEL = ROOT / "examples" / "tennis" / "out" / "model.json"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(text: str) -> None:
    Path("pyproject.toml").write_text(text, encoding="utf-8")


def learned(*arguments: str) -> dict[str, object]:
    """The options in the model file that `learn` writes."""
    good("learn", TENNIS, "--target", "play", *arguments)
    options = json.loads(Path("model.json").read_text())["options"]
    assert isinstance(options, dict)
    return options


def test_a_default_takes_effect_and_a_note_says_so() -> None:
    write(
        "[tool.treecompile.learn]\n"
        'max-depth = 1\nsubset = true\nna-value = ["?", "none"]\nalpha = 0.5\n'
        'prune = "cost-complexity"\nignore = "wind"\n'
    )
    result = good("learn", TENNIS, "--target", "play", "-o", "-")
    model = json.loads(result.stdout)
    assert model["options"] == {
        **{"max_depth": 1, "subset": True, "alpha": 0.5, "prune": "cost-complexity"}
    }
    assert model["na_values"] == ["?", "none"]
    assert "wind" not in result.stdout
    note = "note: pyproject.toml sets"
    (line,) = (each for each in result.stderr.splitlines() if each.startswith(note))
    for said in ("--max-depth 1", "--subset", "--na-value ?, none", "--alpha 0.5"):
        assert said in line
    assert good("learn", TENNIS, "--target", "play", "--quiet").stderr == ""


def test_the_command_line_comes_first() -> None:
    write('[tool.treecompile.learn]\nmax-depth = 1\nna-value = ["?"]\n')
    assert learned()["max_depth"] == 1
    assert learned("--max-depth", "2")["max_depth"] == 2
    result = good("learn", TENNIS, "--target", "play", "--max-depth", "2")
    assert "--max-depth" not in result.stderr
    assert "sets --na-value ?\n" in result.stderr


def test_a_required_option_may_be_set() -> None:
    write('[tool.treecompile.build]\ntarget = "play"\nout = "made"\nno-verify = true\n')
    said = good("build", TENNIS).stderr
    assert "verified" not in said
    assert "--no-verify" in said
    assert Path("made/predict.sql").is_file()


def test_defaults_are_for_one_command() -> None:
    write('[tool.treecompile.build]\ndialect = "snowflake"\n')
    assert "note" not in good("emit", MODEL, "--to", "sql").stderr
    assert "snowflake" in good("build", MODEL, "--out", "out").stderr
    assert "dialect snowflake," in Path("out/predict.sql").read_text()


def test_what_a_command_cannot_use_is_passed_over() -> None:
    write(
        '[tool.treecompile.emit]\ndialect = "duckdb"\nlayout = "list"\n'
        '[tool.treecompile.build]\ntarget = "play"\nmax-depth = 2\n'
        "[tool.treecompile.evaluate]\ncv = 3\n"
    )
    result = good("emit", MODEL, "--to", "markdown")
    assert result.stderr == ""
    result = good("emit", MODEL, "--to", "python")
    assert result.stderr.endswith("note: pyproject.toml sets --layout list\n")
    assert "pyproject" not in good("build", MODEL, "--out", "out").stderr
    assert "pyproject" not in good("evaluate", MODEL, TENNIS).stderr
    assert "3-fold" in good("evaluate", TENNIS, "--target", "play").stdout
    # On the command line it is an error, as ever.
    assert run("emit", MODEL, "--to", "python", "--dialect", "duckdb").exit_code == 2


def test_help_shows_where_a_default_is_set() -> None:
    write('[tool.treecompile.emit]\ndialect = "duckdb"\nno-comments = true\n')
    shown = " ".join(good("emit", "--help").stdout.split())
    assert "[default: sqlite] [pyproject.toml: duckdb]" in shown
    assert "numbers of cases. [pyproject.toml: yes]" in shown
    assert shown.count("pyproject.toml") == 2


IN_BUILD = "pyproject.toml, [tool.treecompile.build]"
WRONG = [
    ('[tool.treecompile.build]\ndialect = "snowflak"', "snowflake", IN_BUILD),
    ("[tool.treecompile.build]\nmax-depth = -1", "--max-depth -1", IN_BUILD),
    ('[tool.treecompile.build]\nmax-depth = "deep"', "'deep'", IN_BUILD),
    ('[tool.treecompile.build]\ntask = "guess"', "'guess'", IN_BUILD),
    ("[tool.treecompile.build]\nmax_depth = 3", "'max-depth'", IN_BUILD),
    ("[tool.treecompile.build]\nforce = true", "no option 'force'", IN_BUILD),
    ("[tool.treecompile.build]\nhelp = true", "no option 'help'", IN_BUILD),
    ("[tool.treecompile.build]\nsubset = 1", "subset = 1: expected true", IN_BUILD),
    ("[tool.treecompile.build]\nsubset = false", "= false: expected", IN_BUILD),
    ("[tool.treecompile.build]\ncf = true", "cf = true: expected a text", IN_BUILD),
    ("[tool.treecompile.build]\ncf = [0.1]", "cf = [0.1]: expected", IN_BUILD),
    ("[tool.treecompile.build]\nignore = [1, []]", "or a list", IN_BUILD),
    ("[tool.treecompile.build]\nordinal = {a = 1}", "or a list", IN_BUILD),
    ("[tool.treecompile.build]\ncf = 1979-05-27", "expected a text", IN_BUILD),
    ('[tool.treecompile]\ndialect = "duckdb"', "'dialect'", "[tool.treecompile.build]"),
    ("[tool.treecompile]\nbuild = 3", "expected a table", "[tool.treecompile.build]"),
    ("[tool.treecompile.bild]\nx = 1", "'bild'", "[tool.treecompile.build]"),
    ("[tool]\ntreecompile = 3", "expected a table", "pyproject.toml"),
    ("tool = 3 # treecompile", "expected a table", "pyproject.toml"),
    ("[tool.treecompile.build\n", "not a TOML file", "pyproject.toml"),
    ("treecompile = " + "[" * 5000, "not a TOML file", "pyproject.toml"),
    ("treecompile = 1" + "0" * 5000, "not a TOML file", "pyproject.toml"),
]


@pytest.mark.parametrize(("text", "said", "where"), WRONG)
def test_an_error_says_where_the_value_is_from(
    text: str, said: str, where: str
) -> None:
    write(text)
    result = run("build", TENNIS, "--target", "play", "--out", "out")
    assert result.exit_code == 2
    assert said in result.stderr
    assert where in result.stderr
    assert not Path("out").exists()
    assert good("build", "--help").stdout  # help works, whatever the file says


def test_a_value_of_the_command_line_is_not_blamed_on_the_file() -> None:
    write('[tool.treecompile.build]\ndialect = "duckdb"\n')
    line = ("build", TENNIS, "--target", "play", "--out", "out")
    result = run(*line, "--dialect", "db2")
    assert "'db2'" in result.stderr
    assert "pyproject" not in result.stderr
    result = run(*line, "--max-depth", "-1")
    assert "pyproject" not in result.stderr


@pytest.mark.parametrize(
    "text", ["", "this is [not TOML", "[tool.other]\nx = 1", "[project]\nname = 'x'"]
)
def test_a_file_about_something_else_is_left_alone(text: str) -> None:
    write(text)
    assert "pyproject" not in good("show", MODEL).stderr


def test_a_file_that_is_none(tmp_path: Path) -> None:
    Path("pyproject.toml").mkdir()
    assert good("show", MODEL).stderr == ""
    Path("pyproject.toml").rmdir()
    Path("pyproject.toml").write_bytes(b"# treecompile \xff\n")
    assert re.search("'pyproject.toml', line 1: not UTF-8", run("show", MODEL).stderr)
