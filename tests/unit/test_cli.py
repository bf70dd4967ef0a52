"""The commands: what they print and write, and how they report errors."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import random
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from tests.support.commands import contents, good, run
from tests.support.samples import TENNIS
from treecompile.cli import main

NUMBERS = "x,y\n1,n\n2,n\n5,y\n6,y\n"
COMMAND = [sys.executable, "-m", "treecompile"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a model of the tennis data and one of numbers."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers.csv").write_text(NUMBERS)
    by_id3 = ("--algorithm", "id3")
    good("learn", TENNIS, "--target", "play", *by_id3, "-o", "tennis.json", "-q")
    good("learn", "numbers.csv", "--target", "y", "-o", "numbers.json", "-q")
    return tmp_path


# ---------------------------------------------------------------- what they do


def test_learn_says_what_it_chose_and_what_it_wrote(folder: Path) -> None:
    result = good("learn", TENNIS, "--target", "play")
    assert result.stdout == ""
    said = result.stderr.splitlines()
    assert "algorithm: c45" in said
    assert any(line.startswith("task: classify") for line in said)
    assert said[-2].startswith("5 leaves, depth 2, learned in ")
    assert said[-1] == "wrote model.json"
    model = json.loads((folder / "model.json").read_text())
    assert "play" in json.dumps(model)


def test_quiet_commands_leave_standard_error_empty(folder: Path) -> None:
    good("emit", "tennis.json", "--to", "python", "-o", "predict.py", "-q")
    for arguments in (
        ("learn", TENNIS, "--target", "play", "-o", "-"),
        ("rules", "tennis.json"),
        ("emit", "tennis.json", "--to", "sql", "-o", "tennis.sql"),
        ("build", TENNIS, "--target", "play", "--out", "all"),
        ("verify", "tennis.json", "predict.py"),
    ):
        assert good(*arguments, "--quiet").stderr == "", arguments


def test_a_dash_is_standard_input_and_standard_output(folder: Path) -> None:
    data = TENNIS.read_bytes()
    model = good("learn", "-", "--target", "play", "-o", "-", stdin=data).stdout
    (folder / "other.json").write_text(model)
    from_pipe = good("predict", "other.json", "-", "-o", "-", stdin=data)
    assert from_pipe.stdout_bytes == good("predict", "tennis.json", TENNIS).stdout_bytes
    measured = good("evaluate", "other.json", "-", stdin=data).stdout
    assert measured == good("evaluate", "tennis.json", TENNIS).stdout


def test_predict_adds_a_column_that_is_right(folder: Path) -> None:
    lines = good("predict", "tennis.json", TENNIS).stdout.splitlines()
    assert lines[0] == "outlook,temperature,humidity,wind,play,prediction"
    assert len(lines) == 15
    for line in lines[1:]:
        *_, actual, predicted = line.split(",")
        assert actual == predicted  # ID3 learns these rows without a mistake
    good("predict", "tennis.json", TENNIS, "-o", "scored.csv")
    assert (folder / "scored.csv").read_text().splitlines() == lines


def test_predict_and_evaluate_take_texts_that_mean_missing(folder: Path) -> None:
    rows = b"x,y\n?,n\n6,y\n"
    refused = run("predict", "numbers.json", "-", stdin=rows)
    assert (refused.exit_code, refused.stdout) == (2, "")
    scored = good("predict", "numbers.json", "-", "--na-value", "?", stdin=rows)
    assert scored.stdout == "x,y,prediction\n?,n,n\n6,y,y\n"
    measured = good("evaluate", "numbers.json", "-", "--na-value", "?", stdin=rows)
    assert "accuracy: 2 of 2" in measured.stdout


def test_evaluate_counts_by_label_and_by_rule(folder: Path) -> None:
    wrong = TENNIS.read_text().replace("weak,no", "weak,yes")  # two of the rules' three
    lines = good("evaluate", "tennis.json", "-", stdin=wrong).stdout.splitlines()
    assert lines[0] == "accuracy: 12 of 14 = 85.71 %"
    assert [line.split() for line in lines[3:6]] == [
        ["no", "yes"],
        ["no", "3", "0"],
        ["yes", "2", "9"],
    ]
    (rule,) = (line.split() for line in lines if line.startswith("R4"))
    assert rule[:4] == ["R4", "no", "3", "21.4"]  # rows and coverage
    assert rule[-2:] == ["1.56", "2"]  # lift and errors


def test_show_draws_the_tree_and_lists_the_rules(folder: Path) -> None:
    drawn = good("show", "tennis.json").stdout
    assert drawn.startswith("play, by id3: 5 leaves, depth 2\n")
    assert "outlook = cloudy -> yes  (R1: 4 of 4 cases)" in drawn
    good("rules", "tennis.json", "-o", "rules.json")
    listed = good("show", "rules.json").stdout
    assert "R5: if outlook = sunny and humidity = normal then yes [2 of 2]" in listed


def test_rules_decide_as_the_tree_does(folder: Path) -> None:
    said = good("rules", "tennis.json").stderr
    assert said.splitlines()[-1] == "5 rules of at most 2 tests: wrote rules.json"
    by_rules = good("predict", "rules.json", TENNIS)
    assert by_rules.stdout == good("predict", "tennis.json", TENNIS).stdout


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        (["python"], '"""Predict play'),
        (["sql"], "/* treecompile"),
        (["sql", "--dialect", "duckdb", "--as", "view", "--table", "t"], "/* tree"),
        (["markdown"], "# "),
    ],
)
def test_emit_writes_to_a_file_what_it_prints(
    folder: Path, arguments: list[str], start: str
) -> None:
    printed = good("emit", "tennis.json", "--to", *arguments)
    assert printed.stdout.startswith(start)
    said = good("emit", "tennis.json", "--to", *arguments, "-o", "deep/er/artefact")
    assert said.stdout == ""
    assert "wrote deep/er/artefact" in said.stderr
    assert (folder / "deep/er/artefact").read_bytes() == printed.stdout_bytes


def test_build_writes_four_verified_files(folder: Path) -> None:
    said = good(
        *("build", TENNIS, "--target", "play", "--out", "all", "--engine", "duckdb")
    ).stderr
    for name in ("predict.py on python", "predict.sql on sqlite", "duckdb on duckdb"):
        assert name in said
    assert said.count("verified") == 3
    assert set(contents(folder / "all")) == {
        *("model.json", "predict.py", "predict.sql", "RULES.md", "review.html")
    }
    for artefact in ("predict.py", "predict.sql"):
        good("verify", "all/model.json", f"all/{artefact}")


def test_text_from_the_data_passes_through_unchanged(folder: Path) -> None:
    """Terminal colours in a category are data too."""
    data = "x,y\n\x1b[31mred,n\n\x1b[31mred,n\nb,y\nb,y\n"
    (folder / "colours.csv").write_text(data)
    good("learn", "colours.csv", "--target", "y", "-o", "colours.json")
    printed = good("predict", "colours.json", "colours.csv")
    assert printed.stdout.count("\x1b[31mred") == 2
    good("predict", "colours.json", "colours.csv", "-o", "scored.csv")
    assert (folder / "scored.csv").read_bytes() == printed.stdout_bytes


# ---------------------------------------------------------------- verify


@pytest.mark.parametrize(
    ("to", "old", "new"),
    [
        ("python", 'return "yes", "R1"', 'return "no", "R1"'),
        ("sql", "= 'cloudy'", "= 'Cloudy'"),
    ],
)
def test_verify_of_a_broken_artefact_ends_with_1(
    folder: Path, to: str, old: str, new: str
) -> None:
    text = good("emit", "tennis.json", "--to", to).stdout
    assert old in text
    (folder / "sound").write_text(text)
    (folder / "broken").write_text(text.replace(old, new))
    assert "verified sound" in good("verify", "tennis.json", "sound").stderr
    result = run("verify", "tennis.json", "broken", "--quiet")
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.startswith("NOT verified: ")
    assert "broken differs from the model" in result.stderr
    assert "'outlook': 'cloudy'" in result.stderr


def test_verify_of_a_foreign_artefact_ends_with_1(folder: Path) -> None:
    """Made from another model, or made to ask for what this one has not."""
    (folder / "prices.csv").write_text("x,y\n1,1.5\n2,2.5\n3,3.5\n")
    good("learn", "prices.csv", "--target", "y", "-o", "prices.json", "-q")
    shares = ("--to", "sql", "--output", "probability")
    good("emit", "numbers.json", *shares, "--label", "y", "-o", "share.sql")
    text = good("emit", "tennis.json", *shares, "--label", "yes").stdout
    assert "label yes," in text
    (folder / "ninth.sql").write_text(text.replace("label yes,", "label no%20one,"))
    for model, artefact in (
        ("prices.json", "share.sql"),
        ("tennis.json", "ninth.sql"),
    ):
        result = run("verify", model, artefact)
        assert isinstance(result.exception, SystemExit), (model, artefact)
        assert result.exit_code in (1, 2)
        assert result.stderr


# ---------------------------------------------------------------- errors of the user

ERRORS: list[tuple[str, list[str]]] = [
    ("learn absent.csv --target play", ["absent.csv"]),
    ("learn TENNIS --target plya", ["'plya'", "did you mean 'play'"]),
    ("learn TENNIS --target play --ignore widn", ["'wind'"]),
    ("learn TENNIS --target play --algorithm c5", ["'c5'", "id3", "c45", "cart"]),
    ("learn numbers.csv --target y --algorithm id3", ["id3", "'x'"]),
    ("learn TENNIS --target play --max-depth -1", ["max_depth=-1", "0 or more"]),
    ("learn TENNIS --target play --min-leaf 0", ["min_leaf=0", "1 or more"]),
    ("learn TENNIS --target play --min-gain nan", ["min_gain=nan"]),
    ("learn TENNIS --target play --validation-fraction 1", ["validation_fraction"]),
    ("learn TENNIS --target play --ordinal wind", ["--ordinal 'wind'", "NAME=VALUE"]),
    ("learn TENNIS --target play --ordinal wind=weak", ["'strong'", "ordinal"]),
    ("learn TENNIS --target play --labels yes", ["labels", "'no'"]),
    ("learn TENNIS --target play --validation numbers.csv", ["'outlook'"]),
    ("learn numbers.csv --target y --task regress", ["'y'", "task=classify"]),
    ("emit absent.json --to python", ["absent.json"]),
    ("emit damaged.json --to python", ["damaged.json"]),
    ("emit numbers.csv --to python", ["numbers.csv", "not a model file"]),
    ("emit tennis.json --to pyhton", ["did you mean 'python'"]),
    ("emit tennis.json --to sql --dialect sqlit", ["did you mean 'sqlite'"]),
    ("emit tennis.json --to sql --as table", ["form='table'", "view"]),
    ("emit tennis.json --to sql --as select", ["form=select", "table=NAME"]),
    ("emit tennis.json --to sql --output score", ["output='score'", "rule"]),
    ("emit tennis.json --to sql --label yes", ["label needs", "output=probability"]),
    (
        "emit tennis.json --to sql --output probability --label maybe",
        ["'maybe'", "no, yes"],
    ),
    ("emit tennis.json --to sql --column widn=w", ["'widn'"]),
    ("emit tennis.json --to sql --column wind", ["NAME=VALUE"]),
    ("rules damaged.json", ["damaged.json"]),
    ("show damaged.json", ["damaged.json"]),
    ("predict tennis.json numbers.csv", ["'outlook'"]),
    ("predict numbers.json scored.csv", ["'prediction'"]),
    ("predict numbers.json words.csv", ["row 2", "'x'", "'many'", "na_value"]),
    ("evaluate numbers.json scored.csv", ["'y'"]),
    ("verify tennis.json absent.py", ["absent.py"]),
    ("verify tennis.json TENNIS --engine oracel", ["'oracel'", "duckdb"]),
    ("verify tennis.json TENNIS --budget 0", ["--budget 0"]),
    ("build TENNIS --target play --out all --dialect db2", ["'db2'", "duckdb"]),
    ("build TENNIS --target play --out all --engine db2", ["'db2'", "duckdb"]),
    ("learn TENNIS --target play -q -o numbers.csv/model.json", ["numbers.csv"]),
    ("learn TENNIS --target play -q -o .", ["cannot write ."]),
    ("emit tennis.json --to sql -o /dev/null/t.sql", ["/dev/null/t.sql"]),
    ("build TENNIS --target play -q --out numbers.csv", ["numbers.csv"]),
    ("predict tennis.json TENNIS -o /dev/null/scored.csv", ["/dev/null"]),
]
USAGE: list[tuple[str, list[str]]] = [
    ("learn TENNIS --target play --max-depth deep", ["--max-depth", "'deep'"]),
    ("learn TENNIS --target play --task guess", ["--task", "'guess'", "regress"]),
    ("learn TENNIS", ["--target"]),
    ("learn TENNIS --target play --max-dept 3", ["--max-depth"]),
    ("lern TENNIS --target play", ["lern"]),
    ("predict tennis.json", ["DATA"]),
]


@pytest.mark.parametrize(("line", "said"), ERRORS + USAGE)
def test_an_error_is_one_line_and_exit_code_2(
    folder: Path, line: str, said: list[str]
) -> None:
    (folder / "damaged.json").write_bytes((folder / "tennis.json").read_bytes()[:-40])
    (folder / "scored.csv").write_text("x,prediction\n1,n\n")
    (folder / "words.csv").write_text("x,y\n1,n\nmany,y\n")
    before = contents(folder)
    result = run(*(str(TENNIS) if a == "TENNIS" else a for a in line.split()))
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code == 2
    assert result.stdout == ""
    message = result.stderr.rstrip("\n")
    assert message.startswith("Error: ")
    assert "\n" not in message
    for part in said:
        assert part in message
    assert contents(folder) == before


def failing(at: int, real: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the system that fails at its n-th call, as on a full disk."""
    calls = []

    def fail(*arguments: Any, **options: Any) -> Any:
        calls.append(arguments)
        if len(calls) == at:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments, **options)

    return fail


@pytest.mark.parametrize("at", [1, 3])
def test_a_failed_write_leaves_no_half_written_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    options = ("build", TENNIS, "--target", "play", "--force", "-q", "--out", "all")
    good(*options, "--max-depth", "1")
    old = contents(folder / "all")
    good(*options[:-1], "new")
    new = contents(folder / "new")
    monkeypatch.setattr(os, "replace", failing(at, os.replace))
    result = run(*options)
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert "No space left on device" in result.stderr
    found = contents(folder / "all")
    assert found.keys() == old.keys()
    for name, content in found.items():
        assert content in (old[name], new[name])


def test_build_replaces_all_files_or_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new model beside the old SQL would be worse than no new model."""
    options = ("build", TENNIS, "--target", "play", "--force", "-q", "--out", "all")
    good(*options, "--max-depth", "1")
    before = contents(folder / "all")
    files = "treecompile.model.files.open"
    monkeypatch.setattr(files, failing(3, open), raising=False)
    result = run(*options)
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert contents(folder / "all") == before


# ---------------------------------------------------------------- as a process


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    dice = random.Random(1)
    lines = io.StringIO()
    lines.write("a,b,y\n")
    for _ in range(30_000):
        a, b = dice.random(), dice.randrange(50)
        lines.write(f"{a:.4f},{b},{'yes' if a * b > 9 else 'no'}\n")
    path = tmp_path_factory.mktemp("many") / "many.csv"
    path.write_text(lines.getvalue())
    return path


def on_a_terminal(arguments: list[str]) -> tuple[int, str]:
    """The exit code of a process and what it shows on a terminal."""
    control, terminal = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.DEVNULL, stderr=terminal
    ) as process:
        os.close(terminal)
        shown = b""
        try:
            while chunk := os.read(control, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
    os.close(control)
    return process.returncode, shown.decode()


def test_long_work_shows_its_progress_on_a_terminal_only(many_rows: Path) -> None:
    learn = ["learn", str(many_rows), "--target", "y", "--max-depth", "5", "-o", "-"]
    code, shown = on_a_terminal(learn)
    assert code == 0
    assert "learning" in shown
    assert "100%" in shown
    assert on_a_terminal([*learn, "--quiet"]) == (0, "")
    piped = subprocess.run([*COMMAND, *learn], capture_output=True, text=True)
    assert piped.returncode == 0
    assert "learning" not in piped.stdout + piped.stderr
    assert "\r" not in piped.stderr
    assert json.loads(piped.stdout)


def test_a_reader_that_stops_early_is_no_error(many_rows: Path, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    options = ("--target", "y", "--max-depth", "3", "-q", "-o", model)
    good("learn", many_rows, *options)
    with subprocess.Popen(
        [*COMMAND, "predict", str(model), str(many_rows)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a,b,y,prediction\n"
        process.stdout.close()
        assert process.stderr.read() == b""


def test_the_process_ends_with_the_exit_code_and_no_traceback(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "learn", "absent.csv", "--target", "y"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Error: cannot read 'absent.csv'")
    assert done.stderr.count("\n") == 1


def test_help_answers_at_once() -> None:
    def seconds() -> float:
        """Of the processor: others that wait for it are not our fault."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True)
        assert "Options:" in done.stdout
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(5)) < 0.3


def test_every_command_and_option_has_help() -> None:
    assert set(main.commands) >= {
        *("learn", "rules", "emit", "build", "predict", "evaluate", "show", "verify")
    }
    for name, command in main.commands.items():
        assert command.help, name
        for parameter in command.params:
            if isinstance(parameter, click.Option):
                assert parameter.help, f"{name} {parameter.opts}"
