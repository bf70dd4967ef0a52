"""The help: complete, readable at 80 columns, and with examples that run."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import duckdb
import pytest

from tests.support.commands import good, run
from tests.support.forests import tennis_forest
from tests.support.samples import ROOT, TENNIS
from treecompile.cli import COMMANDS, main
from treecompile.cli.command import Command
from treecompile.model.file import dumps
from treecompile.model.options import OUTPUT

NAMES = sorted(main.commands)


def commands() -> dict[str, Command]:
    return {each.name or "": each for some in COMMANDS.values() for each in some}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def test_without_a_command_the_help_is_shown() -> None:
    alone = good()
    assert alone.stderr == ""
    assert alone.stdout == good("--help").stdout == good("-h").stdout
    for name in NAMES:
        assert len(re.findall(rf"(?m)^  {name} +\w", alone.stdout)) == 1, name
    assert "..." not in alone.stdout.partition("Make a model:")[2]  # nothing is cut off


def test_help_offers_nothing_that_is_always_refused() -> None:
    assert "--validation FILE" in good("learn", "--help").stdout
    assert "--validation FILE" not in good("evaluate", "--help").stdout
    refused = run("evaluate", TENNIS, "--target", "play", "--validation", TENNIS)
    assert "--validation cannot be used in cross-validation" in refused.stderr


@pytest.mark.parametrize("name", ["", *NAMES])
def test_help_fits_into_80_columns(name: str) -> None:
    shown = good(*filter(None, [name]), "--help").stdout
    for line in shown.splitlines():
        # An example is one line, to be copied.
        assert len(line) <= 80 or line.startswith("  treecompile "), line
        assert len(line) <= 88, line
    assert "`" not in shown
    described = re.split(r"(?m)^(?:Examples|Make a model):", shown)[0]
    assert not re.search(r"\S  +\S", described)


@pytest.mark.parametrize("name", NAMES)
def test_help_has_examples_and_says_what_is_written(name: str) -> None:
    command = commands()[name]
    assert command.examples
    assert all(each.startswith(f"treecompile {name} ") for each in command.examples)
    shown = good(name, "--help").stdout
    assert [
        part for part in ("Examples:", "Writes:", f"{OUTPUT}:") if part in shown
    ] == [*("Examples:", "Writes:", f"{OUTPUT}:")]
    for example in command.examples:
        assert f"\n  {example}\n" in shown


# ---------------------------------------------------------------- the examples


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    """A folder with every file that an example reads."""
    shutil.copy(TENNIS, "data.csv")
    for name in ("held_out.csv", "new.csv"):
        shutil.copy(TENNIS, name)
    for name in ("model.json", "RULES.md", "predict.py", "predict.sql"):
        shutil.copy(ROOT / "examples" / "tennis" / "out" / name, name)
    shutil.copy("model.json", "old.json")
    good("learn", "data.csv", "--target", "play", "--max-depth", "1", "-o", "new.json")
    Path("events").mkdir()
    rows = "SELECT *, play AS late FROM read_csv('data.csv')"
    with duckdb.connect("shop.db") as shop:
        shop.execute(f"CREATE TABLE orders AS {rows}")
        shop.execute(f"COPY ({rows}) TO 'events/1.parquet'")
    good("rules", "model.json", "-q")
    good("emit", "model.json", "--to", "javascript", "-o", "predict.mjs")
    Path("forest.json").write_text(dumps(tennis_forest()), encoding="utf-8")
    models = ROOT / "tests" / "oracles" / "data"
    shutil.copy(models / "lightgbm.txt", "booster.txt")
    shutil.copy(models / "xgboost-binary.json", "booster.json")
    return tmp_path


EXAMPLES = [example for command in commands().values() for example in command.examples]


@pytest.mark.usefixtures("prepared")
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_run(example: str) -> None:
    for name in ("out", "new"):
        assert not Path(name).exists()
    _, command, *arguments = shlex.split(example)
    flags = {flag for each in commands()[command].params for flag in each.opts}
    result = run(command, *arguments, *{"--force"} & flags)
    may_find = example.startswith(("treecompile check", "treecompile diff"))
    assert result.exit_code in ((0, 1) if may_find else (0,)), result.stderr


# ---------------------------------------------------------------- what click refuses

USAGE = [
    ("learn data.csv", "missing option --target COL: the column to predict"),
    (
        "emit m.json",
        "missing option --to TARGET: python, javascript, c, go, rust, sql, ",
    ),
    ("predict m.json", "missing argument DATA: name a file"),
    ("learn --target y", "missing argument DATA: name a file, or use --from"),
    ("learn x --target", "--target needs a value"),
    ("learn x --target y --max-depth 2.5", "--max-depth '2.5': expected an integer"),
    ("learn x --target y --cf low", "--cf 'low': expected a number"),
    ("learn x --target y --task no", "--task 'no': expected one of 'classify', 'reg"),
    ("check m.json --budget 0", "--budget 0: expected 1 or more"),
    ("check m.json --budget x", "--budget 'x': expected an integer"),
    ("show m.json n.json o.json", "unexpected arguments: n.json o.json: leave them"),
    ("shwo m.json", "No such command 'shwo'. Did you mean"),
    ("show m.json --stat", "No such option '--stat'. Did you mean"),
]


@pytest.mark.parametrize(("line", "said"), USAGE)
def test_a_wrong_command_line_is_explained(line: str, said: str) -> None:
    result = run(*line.split())
    assert result.exit_code == 2
    assert result.stderr.startswith(f"Error: {said}")


# ---------------------------------------------------------------- show in a terminal


@pytest.mark.usefixtures("prepared")
def test_rules_are_called_rules() -> None:
    shown = good("show", "rules.json").stdout
    assert shown.startswith("play, by id3: 5 rules of at most 2 tests\n")
    assert "lea" not in shown
    assert (
        "R2: if outlook = rainy (or any other, or missing) and wind = strong" in shown
    )
    assert "5 rules" in good("build", "rules.json", "--out", "compiled").stderr
