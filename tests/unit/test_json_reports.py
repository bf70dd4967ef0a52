"""Reports as JSON: each fits its schema, and says what the text says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.support.commands import good, run
from tests.support.random_models import random_program
from tests.support.samples import ROOT, TENNIS
from treecompile.cli import json_reports, main
from treecompile.model.file import dumps
from treecompile.model.ir import (
    Tree,
)
from treecompile.verify import verification
from treecompile.verify.verification import Report

SCHEMA = json.loads((ROOT / "docs" / "reports.schema.json").read_text())
NUMBERS = "x,colour,y\n" + "".join(
    f"{n},{'rg'[n % 2]},{n * n / 4 + n % 2}\n" for n in range(40)
)
REPORTING = (
    *("learn", "rules", "build", "import", "show"),
    *("evaluate", "verify", "check", "diff"),
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder, with a tree and rules of labels, and a tree of numbers."""
    monkeypatch.chdir(tmp_path)
    Path("numbers.csv").write_text(NUMBERS)
    learn = ("learn", "-q", "--algorithm", "cart")
    good(*learn, TENNIS, "--target", "play", "-o", "tree.json")
    good(
        *learn, "numbers.csv", "--target", "y", "--max-depth", "3", "-o", "numbers.json"
    )
    good("rules", "tree.json", "-q")


def report(kind: str, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """What a command prints as JSON, compared with the schema."""
    result = run(*arguments, "--json")
    assert result.exit_code == code, result.stderr
    found = json.loads(result.stdout)
    schema = {**SCHEMA, "anyOf": [{"$ref": f"#/$defs/{kind}"}]}
    Draft202012Validator(schema).validate(found)
    assert isinstance(found, dict)
    return found


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_report_can_be_had_as_json() -> None:
    for name in REPORTING:
        flags = {flag for each in main.commands[name].params for flag in each.opts}
        assert "--json" in flags, name


# ---------------------------------------------------------------- learn, rules, build


def test_learn_and_rules() -> None:
    learn = ("learn", TENNIS, "--target", "play", "-o", "m.json")
    found = report("made", *learn)
    assert found["files"] == ["m.json"]
    assert found["model"] == report("show", "show", "m.json")["model"]
    assert found["training"]["rows"] == 14
    assert found["validation"] is None
    assert found["estimate"] is None  # there are too few rows
    penguins = ROOT / "examples" / "penguins" / "penguins.csv"
    many = ("learn", penguins, "--target", "species", "--na-value", "NA")
    estimate = report("made", *many)["estimate"]
    assert (estimate["folds"], estimate["quality"]["rows"]) == (10, 344)
    assert report("made", *many, "--no-estimate")["estimate"] is None
    assert any(note.startswith("task: classify") for note in found["notes"])
    assert run(*learn, "--json").stderr == good(*learn).stderr
    held_out = report("made", *learn, "--validation-fraction", "0.5")
    assert held_out["training"]["rows"] + held_out["validation"]["rows"] == 14

    pruned = report("made", "rules", "tree.json", "--validation", TENNIS)
    assert pruned["files"] == ["rules.json"]
    assert pruned["model"]["kind"] == "rules"
    numbers = ("learn", "numbers.csv", "--target", "y", "-o", "n.json")
    assert report("made", *numbers)["training"]["r_squared"] > 0.5


def test_import() -> None:
    folder = ROOT / "examples" / "lightgbm"
    names = ("--target", "sex", "--labels", "female,male")
    found = report("made", "import", folder / "booster.txt", *names, "-o", "m.json")
    assert found["files"] == ["m.json"]
    assert found["model"]["kind"] == "forest"
    assert found["model"] == report("show_forest", "show", "m.json")["model"]
    assert found["verified"] == []
    data = ROOT / "examples" / "penguins" / "penguins.csv"
    build = ("build", "m.json", "--data", data, "--na-value", "NA", "--out", "out")
    assert report("made", *build)["training"]["rows"] == 333


def test_build(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ("build", TENNIS, "--target", "play", "--out", "out")
    found = report("made", *line)
    assert all(Path(name).is_file() for name in found["files"])
    assert [each["artefact"] for each in found["verified"]] == [
        *("predict.py", "predict.sql")
    ]
    from_rules = report("made", "build", "out/RULES.md", "--out", "again")
    assert from_rules["model"] == found["model"]

    def verify(program: Any, text: str, engine: str, **more: Any) -> Report:
        return Report(engine, 1, True, 5, 5, refused="it does not run")

    monkeypatch.setattr(verification, "verify", verify)
    failed = report("made", *line[:-1], "never", code=1)
    assert failed["files"] == []
    assert not failed["verified"][0]["passed"]
    assert not Path("never").exists()


def test_a_report_and_a_model_do_not_share_a_stream() -> None:
    for command in (("learn", TENNIS, "--target", "play"), ("rules", "tree.json")):
        for out in ("-", "/dev/stdout"):
            result = run(*command, "-o", out, "--json")
            assert result.exit_code == 2
            assert f"--json and -o {out} both write" in result.stderr


# ---------------------------------------------------------------- show


@pytest.mark.parametrize("name", ["tree.json", "numbers.json", "rules.json"])
def test_show(name: str) -> None:
    found = report("show", "show", name)
    text = good("show", name).stdout
    assert set(found) == {"model", "rules"}
    model = json.loads(Path(name).read_text())
    assert found["model"]["kind"] == ("rules" if name == "rules.json" else "tree")
    assert found["model"]["target"] == model["target"]
    for rule in found["rules"]:
        (line,) = (line for line in text.splitlines() if f"{rule['id']}: " in line)
        cases = f"{rule['cases']:g} case" if rule["cases"] else "no case"
        assert cases in line
        if name == "rules.json":
            assert " and ".join(rule["if"]) in line
    if name == "tree.json":
        assert found["model"]["labels"] == ["no", "yes"]
        for rule in found["rules"]:
            assert rule["cases"] == sum(rule["by_label"])
        assert sum(rule["cases"] for rule in found["rules"]) == 14
    if name == "rules.json":
        assert found["rules"][-1]["if"] == []


def test_show_adds_what_is_asked_for() -> None:
    flags = ("--stats", "--importance", "--alphas")
    for name in ("tree.json", "numbers.json"):
        found = report("show", "show", name, *flags)
        model = json.loads(Path(name).read_text())
        nodes = found["nodes"]
        root = nodes[0]
        assert (root["parent"], root["test"]) == (None, None)
        assert [("gain" in node) != ("rule" in node) for node in nodes].count(
            False
        ) == 0
        for place, node in enumerate(nodes[1:], start=1):
            assert 0 <= node["parent"] < place
        leaves = [node["rule"] for node in nodes if "rule" in node]
        assert sorted(leaves) == sorted(rule["id"] for rule in found["rules"])
        assert sum(found["importance"].values()) == pytest.approx(1)
        assert found["alphas"][0]["leaves"] == found["model"]["size"]
        assert found["alphas"][-1]["leaves"] == 1
        assert model["target"] == found["model"]["target"]
    for flag in flags:
        result = run("show", "rules.json", flag, "--json")
        assert result.exit_code == 2


def test_a_leaf_that_no_case_reached_has_no_cases() -> None:
    Path("gap.csv").write_text("a,b,y\nx,p,0\nx,q,0\nz,p,1\nz,p,1\nz,r,0\n")
    learn = (
        "learn",
        "gap.csv",
        "--target",
        "y",
        "--algorithm",
        "id3",
        "-o",
        "gap.json",
    )
    good(*learn, "-q")
    assert "no case" in good("show", "gap.json").stdout
    rules = report("show", "show", "gap.json")["rules"]
    assert any(rule["cases"] == 0 for rule in rules)


def test_random_models_fit_the_schema(tmp_path: Path) -> None:
    """Hostile names, labels of every type, numbers at the edges of doubles."""
    import random

    for seed in range(30):
        program = random_program(random.Random(seed))
        Path("any.json").write_text(dumps(program))
        found = report("show", "show", "any.json")
        is_tree = isinstance(program.body, Tree)
        assert found["model"]["kind"] == ("tree" if is_tree else "rules")
        expected = list(program.body.labels) or None
        assert found["model"]["labels"] == expected
        assert list(map(type, expected or ())) == list(
            map(type, found["model"]["labels"] or ())
        )


# ---------------------------------------------------------------- evaluate


def test_evaluate() -> None:
    found = report("evaluate", "evaluate", "tree.json", TENNIS)
    lines = good("evaluate", "tree.json", TENNIS).stdout.splitlines()
    quality = found["quality"]
    right = sum(row[i] for i, row in enumerate(quality["confusion"]))
    assert lines[0].startswith(f"accuracy: {right} of {quality['rows']} ")
    assert quality["accuracy"] == right / quality["rows"]
    assert [line.split()[0] for line in lines[7:]] == [
        *("rule", *(rule["id"] for rule in found["rules"]))
    ]
    assert sum(rule["decided"] for rule in found["rules"]) == quality["rows"]
    assert sum(rule["errors"] for rule in found["rules"]) == quality["rows"] - right


def test_evaluate_counts_what_it_leaves_out() -> None:
    data = TENNIS.read_text().replace("weak,no", "weak,perhaps")
    Path("other.csv").write_text(data)
    found = report("evaluate", "evaluate", "rules.json", "other.csv")
    assert found["left_out"] == data.count("perhaps")
    assert found["quality"]["rows"] == 14 - found["left_out"]
    Path("one.csv").write_text("".join(TENNIS.read_text().splitlines(True)[:2]))
    one = report("evaluate", "evaluate", "rules.json", "one.csv")
    empty, *_ = (rule for rule in one["rules"] if not rule["rows"])
    assert (empty["confidence"], empty["lift"]) == (None, None)
    assert empty["interval"] == [None, None]


def test_evaluate_numbers() -> None:
    found = report("evaluate", "evaluate", "numbers.json", "numbers.csv")
    text = good("evaluate", "numbers.json", "numbers.csv").stdout
    error = found["quality"]["root_mean_squared_error"]
    assert f"root mean squared error: {error:.6g}\n" in text
    assert {"rmse", "rmse_decided"} <= set(found["rules"][0])
    assert "lift" not in found["rules"][0]


@pytest.mark.parametrize(
    ("data", "target", "measure"),
    [
        (TENNIS, "play", "accuracy"),
        ("numbers.csv", "y", "root_mean_squared_error"),
    ],
)
def test_cross_validation(data: str | Path, target: str, measure: str) -> None:
    line = ("evaluate", data, "--target", target, "--cv", "4")
    found = report("cross_validation", *line)
    assert found["measure"] == measure
    scores = [fold["score"] for fold in found["folds"]]
    assert len(scores) == 4
    assert found["mean"] == pytest.approx(sum(scores) / 4)


# ---------------------------------------------------------------- verify, check, diff


def test_verify() -> None:
    good("emit", "tree.json", "--to", "sql", "-o", "tree.sql", "-q")
    found = report("verify", "verify", "tree.json", "tree.sql")
    assert (found["passed"], found["engine"]) == (True, "sqlite")
    assert (found["complete"], found["edges"]) == (True, None)
    assert found["cells"]["total"] == found["cells"]["entered"]
    assert run("verify", "tree.json", "tree.sql", "--json").stderr == ""

    text = Path("tree.sql").read_text()
    Path("wrong.sql").write_text(text.replace("THEN 'yes'", "THEN 'no'", 1))
    found = report("verify", "verify", "tree.json", "wrong.sql", code=1)
    assert not found["passed"]
    assert {each["actual"] for each in found["mismatches"]} == {"no"}
    assert {"outlook", "humidity", "wind"} <= set(found["mismatches"][0]["row"])

    Path("broken.sql").write_text(text.replace("CASE", "CASEE"))
    found = report("verify", "verify", "tree.json", "broken.sql", code=1)
    assert found["refused"]
    found = report("verify", "verify", "tree.json", "tree.sql", "--budget", "20")
    assert not found["complete"]
    assert found["edges"]["total"] > 0


def test_check_and_diff() -> None:
    found = report("check", "check", "tree.json")
    assert set(found["counts"].values()) == {0}
    good("rules", "tree.json", "--validation", TENNIS, "-o", "pruned.json", "-q")
    found = report("check", "check", "pruned.json", "--strict", code=1)
    assert sum(found["counts"].values()) == len(found["findings"]) > 0
    assert report("diff", "diff", "tree.json", "rules.json")["same"]
    good(
        "learn",
        TENNIS,
        "--target",
        "play",
        "--max-depth",
        "1",
        "-q",
        "-o",
        "short.json",
    )
    found = report("diff", "diff", "tree.json", "short.json", "--data", TENNIS, code=1)
    assert found["count"] == len(found["regions"])
    assert found["differing"] == sum(region["rows"] for region in found["regions"])


def test_what_an_engine_gives_is_written_as_text() -> None:
    """Mismatches hold whatever the engine gave: dates, decimals, bytes."""
    made = json_reports.dumped({"actual": b"\xff", "row": {"x": float("inf")}})
    assert json.loads(made) == {"actual": "b'\\xff'", "row": {"x": "inf"}}
