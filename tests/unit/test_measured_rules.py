"""Rules of a document, measured and counted on data."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import treecompile
from treecompile.cli import main
from treecompile.model.file.read import read_program
from treecompile.model.ir import ClassCounts, ClassQuality, RuleSet
from treecompile.model.semantics import decider, holds, predict

ROOT = Path(__file__).parents[2]
TENNIS = ROOT / "examples" / "tennis" / "tennis.csv"
MODEL = ROOT / "examples" / "tennis" / "out" / "model.json"
RULES = (ROOT / "examples" / "tennis" / "out" / "RULES.md").read_text("utf-8")
EDITS = [
    (
        "R1: if outlook = cloudy\n    then yes",
        "R1: if outlook = cloudy\n    then no",
    ),
    ("humidity = normal\n    then yes  [2 of 2]", "humidity = normal then yes"),
    ("R2: if outlook", "if humidity = normal and wind = weak then yes\nR2: if outlook"),
]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, [*map(str, arguments)])


def built(out: Path, *arguments: object) -> tuple[str, Any]:
    """The document and the program that a build has written."""
    result = run("build", *arguments, "--out", out, "-q")
    assert (result.exit_code, result.stderr) == (0, "")
    return (out / "RULES.md").read_text("utf-8"), read_program(out / "model.json")


def refused(*arguments: object) -> str:
    result = run("build", *arguments, "--out", "never")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert not Path("never").exists()
    return result.stderr


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A document in which one rule is changed, one lost its counts, one is new."""
    text = RULES
    for old, new in EDITS:
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "EDITED.md"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture
def unedited(tmp_path: Path) -> Path:
    path = tmp_path / "RULES.md"
    path.write_text(RULES, "utf-8")
    return path


def rows() -> list[tuple[tuple[str, ...], str]]:
    with TENNIS.open(newline="") as file:
        names = ("outlook", "humidity", "wind")
        return [
            (tuple(row[name] for name in names), row["play"])
            for row in csv.DictReader(file)
        ]


# ---------------------------------------------------------------- measured on data


def test_edited_rules_are_measured_as_if_learned_here(
    edited: Path, tmp_path: Path
) -> None:
    _, program = built(tmp_path / "out", edited, "--data", TENNIS)
    body, training = program.body, program.training
    assert isinstance(body, RuleSet)
    expected: Counter[Any] = Counter(
        (answer, predict(body, row)) for row, answer in rows()
    )
    assert isinstance(training.quality, ClassQuality)
    for i, actual in enumerate(body.labels):
        for j, said in enumerate(body.labels):
            assert training.quality.confusion[i][j] == expected[actual, said]
    assert (training.source, training.rows) == ("tennis.csv", 14)
    decided = Counter(decider(body, row) for row, _ in rows())
    assert [tally.decided for tally in training.rules] == [
        decided[place] for place in range(len(body.rules) + 1)
    ]
    for rule in body.rules:
        met: list[Any] = [
            answer
            for row, answer in rows()
            if all(
                holds(test, body.features[test.feature], row[test.feature])
                for test in rule.conditions
            )
        ]
        assert isinstance(rule.stats, ClassCounts)
        assert rule.stats.weights == tuple(map(float, map(met.count, body.labels)))


def test_a_rule_that_no_row_meets_keeps_its_counts(
    unedited: Path, tmp_path: Path
) -> None:
    old, new = EDITS[2]
    edited = tmp_path / "EDITED.md"
    edited.write_text(RULES.replace(old, new), "utf-8")
    few = tmp_path / "few.csv"
    lines = TENNIS.read_text().splitlines(keepends=True)
    few.write_text("".join(line for line in lines if "cloudy" not in line))
    _, program = built(tmp_path / "out", edited, "--data", few)
    first = program.body.rules[0]
    assert (first.id, first.weight, first.stats) == ("R1", 0.0, ClassCounts((0.0, 4.0)))


def test_validation_rows_and_options_for_reading_go_with_data(
    edited: Path, tmp_path: Path
) -> None:
    data = tmp_path / "semicolons.csv"
    data.write_text(TENNIS.read_text().replace(",", ";"))
    more = ("--data", data, "--validation", data, "--delimiter", ";")
    text, program = built(tmp_path / "out", edited, *more)
    assert program.training.validation == program.training.quality
    assert "| validation data | 14 | " in text


def test_models_and_files_of_rules_are_measured_too(tmp_path: Path) -> None:
    _, program = built(tmp_path / "one", MODEL, "--data", TENNIS)
    assert program.body == read_program(MODEL).body
    made = treecompile.load(MODEL).emit("rules")
    (tmp_path / "play.rules").write_text(made)
    _, program = built(tmp_path / "two", tmp_path / "play.rules", "--data", TENNIS)
    assert program.training.rows == 14


def test_what_does_not_go_with_a_model_is_refused(
    edited: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "validation is for learning" in refused(edited, "--validation", TENNIS)
    said = refused(edited, "--na-value", "?")
    assert "leave it out, or add data" in said
    assert "seed is for learning" in refused(edited, "--data", TENNIS, "--seed", 1)
    told = refused(TENNIS, "--target", "play", "--data", TENNIS)
    assert "data is for a model or rules" in told
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("outlook,play\nsunny,yes\n")
    assert "'humidity'" in refused(edited, "--data", wrong)
    wrong.write_text(TENNIS.read_text().splitlines()[0] + "\n")
    assert "wrong.csv has no rows" in refused(edited, "--data", wrong)
