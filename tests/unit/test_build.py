"""`build` from Python: the files of the command, the model, and the proof."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import treecompile
from tests.support.commands import contents, good, run
from tests.support.samples import ROOT, TENNIS
from treecompile import DataError, ModelFileError, OptionError, TargetError
from treecompile.verify import verification
from treecompile.verify.verification import Mismatch, Report

FILES = ["model.json", "predict.py", "predict.sql", "RULES.md", "review.html"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_python_and_the_command_write_the_same_files() -> None:
    made = treecompile.build(TENNIS, "one", target="play", algorithm="cart")
    good("build", TENNIS, "--target", "play", "--algorithm", "cart", "--out", "other")
    assert contents(Path("one")) == contents(Path("other"))
    assert list(made.paths) == FILES
    assert made.paths["RULES.md"] == Path("one/RULES.md")
    assert made.passed
    assert {name: report.engine for name, report in made.reports.items()} == {
        "predict.py": "python",
        "predict.sql": "sqlite",
    }
    assert treecompile.load("one/model.json").sha256 == made.model.sha256
    assert made.model.notes == (
        "task: classify (target 'play' is text with 2 labels)",
        "alpha: 0.01 (fewer than 50 rows are too few for cross-validation);"
        " prune=none keeps all leaves",
    )


def test_a_frame_is_data() -> None:
    frame = pd.read_csv(TENNIS)
    made = treecompile.build(frame, Path("out"), target="play", verify=False)
    assert made.reports == {}
    assert made.model.predict(frame).tolist() == frame["play"].tolist()
    assert made.paths["predict.py"].is_file()


@pytest.mark.parametrize(
    "options",
    [
        {"rules": "flat"},
        {"rules": "c45rules"},
        {"rules": "validation", "validation": TENNIS},
        {"rules": "validation", "validation_fraction": 0.3},
    ],
)
def test_rules_are_those_of_the_command(options: dict[str, Any]) -> None:
    made = treecompile.build(TENNIS, "one", target="play", **options)
    flags = [
        (f"--{key.replace('_', '-')}", str(value)) for key, value in options.items()
    ]
    arguments = [text for pair in flags for text in pair]
    good("build", TENNIS, "--target", "play", "--out", "other", *arguments)
    assert contents(Path("one")) == contents(Path("other"))
    assert made.model.program.body.__class__.__name__ == "RuleSet"


LEARNING: dict[str, Any] = {
    "target": "play",
    "na_value": "?",
    "rules": "flat",
    "validation": TENNIS,
}


@pytest.mark.parametrize(
    ("source", "kind"), [("RULES.md", "a file of rules"), ("model.json", "a model")]
)
def test_a_model_is_compiled_as_it_is(source: str, kind: str) -> None:
    first = treecompile.build(TENNIS, "out", target="play")
    again = treecompile.build(f"out/{source}", "again")
    assert list(again.paths) == FILES
    assert list(again.reports) == ["predict.py", "predict.sql"]
    if source == "model.json":
        assert contents(Path("again")) == contents(Path("out"))
        assert again.model.sha256 == first.model.sha256
    for keyword, value in LEARNING.items():
        message = f"^{keyword} is for learning, and 'out/{source}' is {kind}, "
        with pytest.raises(OptionError, match=message):
            treecompile.build(f"out/{source}", "never", **{keyword: value})
    with pytest.raises(OptionError, match="is an input of this command"):
        treecompile.build(f"out/{source}", "out")
    assert not Path("never").exists()


def test_a_model_is_known_by_its_content() -> None:
    """JSON of another program is no model, whatever its name."""
    treecompile.build(TENNIS, "out", target="play", verify=False)
    model = Path("out/model.json").read_text()
    sorted_keys = json.dumps(json.loads(model), sort_keys=True)
    Path("sorted.JSON").write_text(sorted_keys)
    treecompile.build("sorted.JSON", "again", dialect="duckdb", verify=False)
    assert Path("again/predict.py").read_bytes() == Path("out/predict.py").read_bytes()
    Path("damaged.json").write_text(model[:-40])
    with pytest.raises(ModelFileError, match="damaged.json"):
        treecompile.build("damaged.json", "never")
    Path("other.json").write_text('{"format": "other"}')
    for name in ("other.json", "absent.json", "nul\0.json"):
        with pytest.raises(OptionError, match="missing option target"):
            treecompile.build(name, "never")
    assert not Path("never").exists()


def test_what_is_wrong_is_said_before_anything_is_written() -> None:
    for given, error, message in (
        ({}, OptionError, "missing option target"),
        ({"target": "none"}, DataError, "no column 'none'"),
        ({"target": "play", "dialect": "db2"}, TargetError, "'db2'"),
        ({"target": "play", "engine": "db2"}, TargetError, "'db2'"),
        ({"target": "play", "rules": "some"}, OptionError, "rules='some'"),
        ({"target": "play", "rules": "validation"}, OptionError, "rules=validation"),
        ({"target": "play", "max_deph": 3}, TypeError, "build.*'max_deph'"),
        (
            {"target": "play", "templates": "none"},
            TargetError,
            "templates='none': no such",
        ),
    ):
        with pytest.raises(error, match=message):
            treecompile.build(TENNIS, "out", **given)
    table = treecompile.Table("duckdb://shop.db", "orders")
    with pytest.raises(OptionError, match="build needs the rows in memory"):
        treecompile.build(table, "out", target="play")
    assert not Path("out").exists()


@pytest.mark.parametrize("name", ["l.pkl", "l.PICKLE", "l.joblib"])
def test_pickles_are_not_read(name: str) -> None:
    Path(name).write_bytes(b"\x80\x04.")
    for arguments in (
        ("build", name, "--target", "play", "--data", TENNIS, "--out", "out"),
        ("build", name, "--out", "out"),
        ("learn", name, "--target", "play"),
        ("import", name, "-o", "model.json"),
    ):
        said = run(*arguments).stderr
        assert f"{name!r}: pickles are not read" in said
        assert "give a model to from_sklearn, from_lightgbm" in said


def test_a_pattern_that_no_file_has() -> None:
    said = run("build", "nofile*.csv", "--target", "y", "--out", "out").stderr
    assert said == "Error: no file matches 'nofile*.csv': check the path\n"
    said = run("evaluate", "nofile*.csv", "--target", "y").stderr
    assert said == "Error: no file matches 'nofile*.csv': check the path\n"
    Path("some1.parquet").touch()
    said = run("build", "some*.parquet", "--target", "y", "--out", "out").stderr
    assert "build needs the rows in memory, from one file: for rows in Parquet" in said


@pytest.fixture
def verified(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, str]]:
    """Engine, address and text of everything that is verified; all of it passes."""
    seen: list[tuple[str, str, str]] = []

    def watching(
        program: Any, text: str, engine: str, url: str = "", **options: Any
    ) -> Report:
        seen.append((engine, url, text))
        return Report(engine, 1, True, 1, 1)

    monkeypatch.setattr(verification, "verify", watching)
    return seen


def test_other_engines_get_the_address(verified: list[tuple[str, str, str]]) -> None:
    server = "postgresql://me@host/shop"
    arguments = ("build", TENNIS, "--target", "play", "--out", "out", "--force")
    good(*arguments, "--engine", "postgres", "--url", server)
    assert [(engine, url) for engine, url, _ in verified] == [
        ("python", ""),
        ("sqlite", ""),
        ("postgres", server),
    ]
    verified.clear()
    # The address of one server is no address of another.
    engines = ("--dialect", "postgres", "--engine", "mariadb", "--engine", "spark")
    good(*arguments, *engines, "--url", server)
    assert [(engine, url) for engine, url, _ in verified] == [
        ("python", ""),
        ("postgres", server),
        ("mariadb", ""),
        ("spark", ""),
    ]
    verified.clear()
    treecompile.build(
        TENNIS, "out", target="play", engine="spark", url="local[1]", force=True
    )
    assert verified[-1][:2] == ("spark", "local[1]")


def test_columns_have_other_names_in_the_sql() -> None:
    """What the error about two names that SQLite makes one recommends must work."""
    lines = [f"{i % 7},{i % 5},{'yn'[i % 7 > 3 and i % 5 > 1]}" for i in range(60)]
    Path("twins.csv").write_text("\n".join(["Age,age,y", *lines]))
    arguments = ("build", "twins.csv", "--target", "y", "--force", "--out", "out")
    advised = "columns: NAME=NEW_NAME"
    assert f"'Age' and 'age' one name: rename one of them with {advised}" in (
        run(*arguments).stderr
    )
    told = good(*arguments, "--column", "age=years", "--engine", "duckdb").stderr
    assert "verified predict.sql on sqlite" in told
    assert "verified the SQL for duckdb on duckdb" in told
    assert "years" in Path("out/predict.sql").read_text()
    assert "years" not in Path("out/predict.py").read_text()
    columns = {"age": "years"}
    treecompile.build("twins.csv", "again", target="y", columns=columns)
    assert contents(Path("out")) == contents(Path("again"))
    unknown = run(*arguments, "--column", "old=years")
    assert "columns: the model has no feature 'old'" in unknown.stderr


def test_other_engines_get_the_templates(verified: list[tuple[str, str, str]]) -> None:
    shutil.copytree(ROOT / "templates" / "sql", "ours/sql")
    for path in Path("ours/sql").glob("*.jinja"):
        path.write_text(f"-- ours\n{path.read_text()}")
    arguments = ("build", TENNIS, "--target", "play", "--out", "out")
    good(*arguments, "--engine", "duckdb", "--templates", "ours")
    texts = {engine: text for engine, _, text in verified}
    assert texts["sqlite"].startswith("-- ours\n")
    assert texts["duckdb"].startswith("-- ours\n")
    assert texts["sqlite"] == Path("out/predict.sql").read_text()


def test_nothing_is_written_that_was_not_verified(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def differing(program: Any, text: str, engine: str, **options: Any) -> Report:
        mismatches = (Mismatch({"wind": "weak"}, "yes", "no"),)
        return Report(engine, 1, True, 1, 1, mismatches=mismatches)

    monkeypatch.setattr(verification, "verify", differing)
    made = treecompile.build(TENNIS, "out", target="play")
    assert not made.passed
    assert made.paths == {}
    result = run("build", TENNIS, "--target", "play", "--out", "out", "--quiet")
    assert result.exit_code == 1
    assert "NOT verified: predict.py differs" in result.stderr
    assert not Path("out").exists()
