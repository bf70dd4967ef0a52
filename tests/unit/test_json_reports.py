"""Reports as JSON: each says what the text says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import good, run
from tests.support.samples import ROOT, TENNIS
from treecompile.cli import json_reports, main

REPORTING = (
    *("learn", "rules", "build", "import", "show"),
    *("evaluate", "verify", "check", "diff"),
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with a tree and its rules."""
    monkeypatch.chdir(tmp_path)
    learn = ("learn", "-q", "--algorithm", "cart")
    good(*learn, TENNIS, "--target", "play", "-o", "tree.json")
    good("rules", "tree.json", "-q")


def report(*arguments: str | Path, code: int = 0) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.stderr
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_every_report_can_be_had_as_json() -> None:
    for name in REPORTING:
        flags = {flag for each in main.commands[name].params for flag in each.opts}
        assert "--json" in flags, name


def test_learn_and_rules() -> None:
    learn = ("learn", TENNIS, "--target", "play", "--force", "-o", "m.json")
    found = report(*learn)
    assert found["files"] == ["m.json"]
    assert found["model"] == report("show", "m.json")["model"]
    assert found["training"]["rows"] == 14
    assert found["validation"] is None
    assert found["estimate"] is None  # there are too few rows
    penguins = ROOT / "examples" / "penguins" / "penguins.csv"
    many = ("learn", penguins, "--target", "species", "--na-value", "NA")
    estimate = report(*many)["estimate"]
    assert (estimate["folds"], estimate["quality"]["rows"]) == (10, 344)
    assert report(*many, "--no-estimate", "--force")["estimate"] is None
    assert run(*learn, "--json").stderr == good(*learn).stderr
    pruned = report("rules", "tree.json", "--validation", TENNIS, "--force")
    assert pruned["files"] == ["rules.json"]
    assert pruned["model"]["kind"] == "rules"


def test_a_report_and_a_model_do_not_share_a_stream() -> None:
    for command in (("learn", TENNIS, "--target", "play"), ("rules", "tree.json")):
        for out in ("-", "/dev/stdout"):
            result = run(*command, "-o", out, "--json")
            assert result.exit_code == 2


def test_show() -> None:
    found = report("show", "tree.json")
    assert found["model"]["labels"] == ["no", "yes"]
    for rule in found["rules"]:
        assert rule["cases"] == sum(rule["by_label"])
    assert sum(rule["cases"] for rule in found["rules"]) == 14
    assert report("show", "rules.json")["rules"][-1]["if"] == []


def test_evaluate() -> None:
    found = report("evaluate", "tree.json", TENNIS)
    lines = good("evaluate", "tree.json", TENNIS).stdout.splitlines()
    quality = found["quality"]
    right = sum(row[i] for i, row in enumerate(quality["confusion"]))
    assert lines[0].startswith(f"accuracy: {right} of {quality['rows']} ")
    assert quality["accuracy"] == right / quality["rows"]
    assert sum(rule["decided"] for rule in found["rules"]) == quality["rows"]
    found = report("evaluate", TENNIS, "--target", "play", "--cv", "4")
    scores = [fold["score"] for fold in found["folds"]]
    assert found["mean"] == pytest.approx(sum(scores) / 4)


def test_verify() -> None:
    good("emit", "tree.json", "--to", "sql", "-o", "tree.sql", "-q")
    found = report("verify", "tree.json", "tree.sql")
    assert (found["passed"], found["engine"]) == (True, "sqlite")
    text = Path("tree.sql").read_text()
    Path("wrong.sql").write_text(text.replace("THEN 'yes'", "THEN 'no'", 1))
    found = report("verify", "tree.json", "wrong.sql", code=1)
    assert {each["actual"] for each in found["mismatches"]} == {"no"}
    assert {"outlook", "humidity", "wind"} <= set(found["mismatches"][0]["row"])


def test_check_and_diff() -> None:
    assert set(report("check", "tree.json")["counts"].values()) == {0}
    assert report("diff", "tree.json", "rules.json")["same"]
    short = ("--max-depth", "1", "-q", "-o", "short.json")
    good("learn", TENNIS, "--target", "play", *short)
    found = report("diff", "tree.json", "short.json", "--data", TENNIS, code=1)
    assert found["count"] == len(found["regions"])
    assert found["differing"] == sum(region["rows"] for region in found["regions"])


def test_what_an_engine_gives_is_written_as_text() -> None:
    """Mismatches hold whatever the engine gave: dates, decimals, bytes."""
    made = json_reports.dumped({"actual": b"\xff", "row": {"x": float("inf")}})
    assert json.loads(made) == {"actual": "b'\\xff'", "row": {"x": "inf"}}
