"""Rules as text on the command line: edited, compiled, refused; pictures, colours."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import treecompile
from tests.support.samples import ROOT, TENNIS, module_of
from treecompile.cli import main

DOCUMENT = ROOT / "examples" / "penguins" / "out" / "RULES.md"
MODEL = ROOT / "examples" / "penguins" / "out" / "model.json"
OUTPUTS = {"model.json", "predict.py", "predict.sql", "RULES.md", "review.html"}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def good(*arguments: str | Path) -> Result:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edited(*changes: tuple[str, str]) -> str:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, fence, rules = text.partition("```rules\n")
    for old, new in changes:
        assert old in rules
        rules = rules.replace(old, new, 1)
    return before + fence + rules


ADDED = ("R1: if", "if flipper_length_mm > 220 then Gentoo\nR1: if")
MOVED = ("<= 43.1 (or missing)", "<= 42.5 (or missing)")
LAST = ("\n```\n", "\notherwise Adelie\n```\n")


def test_the_edit_in_the_docs(folder: Path) -> None:
    Path("REVIEWED.md").write_text(edited(ADDED, MOVED, LAST), encoding="utf-8")
    good("build", "REVIEWED.md", "--out", "reviewed")
    assert {path.name for path in Path("reviewed").iterdir()} == OUTPUTS
    module = module_of(Path("reviewed/predict.py").read_text(encoding="utf-8"))
    row = {
        "bill_length_mm": 42.5,
        "bill_depth_mm": 17.0,
        "flipper_length_mm": 200.0,
        "body_mass_g": 5000.0,
    }
    assert module.explain(row).split(":")[0] == "R1"
    assert module.predict_proba(row)["Adelie"] > 0.97  # the counts in the brackets
    assert module.explain({**row, "bill_length_mm": 43.0}).split(":")[0] == "default"
    assert module.explain({**row, "flipper_length_mm": 220.5}).split(":")[0] == "R7"
    assert "rules" in Path("reviewed/RULES.md").read_text(encoding="utf-8")


def test_the_mistakes_in_the_docs(folder: Path) -> None:
    changes = [
        ("then Gentoo", "then gentoo"),
        ("> 220", "> 220, body_mass_g > 4000"),
        ("\nR2:", "\nR1:"),
        (
            "and bill_length_mm <= 42.5",
            "and bill_length_mm > 50 and bill_length_mm <= 42.5",
        ),
    ]
    docs = (ROOT / "docs" / "rule-language.md").read_text(encoding="utf-8")
    told = re.findall("(?m)^- `(.*)`$", docs.partition("More messages")[2])
    for change, line in zip(changes, told, strict=True):
        Path("REVIEWED.md").write_text(
            edited(ADDED, MOVED, LAST, change), encoding="utf-8"
        )
        result = run("build", "REVIEWED.md", "--out", "reviewed")
        assert result.exit_code == 2
        # What the document says before the rules may change: so may their lines.
        lines = re.compile(r"line \d+")
        assert lines.sub("", result.stderr).endswith(lines.sub("", f": {line}\n"))
        changed = Path("REVIEWED.md").read_text(encoding="utf-8").split("\n")
        found = re.search(r"line (\d+), column", result.stderr)
        assert found
        assert change[1].strip() in changed[int(found[1]) - 1]
        assert not Path("reviewed").exists()


def test_rules_that_were_not_edited_predict_the_same(folder: Path) -> None:
    good("emit", MODEL, "--to", "rules", "-o", "penguins.rules", "-q")
    data = ROOT / "examples" / "penguins" / "penguins.csv"
    expected = good("predict", MODEL, data).stdout
    for source in (Path("penguins.rules"), DOCUMENT):
        assert good("predict", source, data).stdout == expected
    assert good("show", "penguins.rules").stdout.startswith("species, by rules: 6 rul")
    ours, theirs = treecompile.load(MODEL), treecompile.load("penguins.rules")
    assert ours.predict_proba(data).equals(theirs.predict_proba(data))
    assert theirs.emit("rules").split("\n")[3:] == ours.emit("rules").split("\n")[3:]
    good("verify", "penguins.rules", ROOT / "examples/penguins/out/predict.py")


def test_rules_are_not_learned_from(folder: Path) -> None:
    for option in (("--target", "species"), ("--max-depth", "3"), ("--seed", "0")):
        result = run("build", DOCUMENT, *option, "--out", "out")
        assert result.exit_code == 2
        assert f"{option[0][2:].replace('-', '_')} is for learning" in result.stderr
    result = run("build", TENNIS, "--out", "out")
    assert result.exit_code == 2
    assert "missing option target" in result.stderr
    assert not Path("out").exists()


def test_a_document_is_not_written_over(folder: Path) -> None:
    Path("RULES.md").write_text(edited(), encoding="utf-8")
    result = run("build", "RULES.md", "--out", ".")
    assert result.exit_code == 2
    assert "choose another file or folder" in result.stderr
    assert Path("RULES.md").read_text(encoding="utf-8") == edited()


def test_draw(folder: Path) -> None:
    assert good("show", MODEL, "--svg", "tree.svg").stderr == "wrote tree.svg\n"
    text = Path("tree.svg").read_text(encoding="utf-8")
    assert text.startswith("<svg ")
    picture = ("show", MODEL, "--svg", "-")
    assert good(*picture).stdout == text == treecompile.load(MODEL).draw()
    assert "4 leaves below are not drawn" in good(*picture, "--max-depth", "1").stdout
    assert run(*picture, "--max-depth", "-1").exit_code == 2
    assert "add --svg FILE" in run("show", MODEL, "--max-depth", "1").stderr


def test_colours_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from treecompile.cli import inspect

    plain = good("show", MODEL).stdout
    assert "\x1b" not in plain
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert inspect.has_colours()
    monkeypatch.setenv("NO_COLOR", "1")
    assert not inspect.has_colours()
    monkeypatch.setattr(inspect, "has_colours", lambda: True)
    for model in (MODEL, DOCUMENT):
        painted = CliRunner().invoke(main, ["show", str(model)], color=True).stdout
        assert "\x1b[36m" in painted
        unpainted = re.sub(r"\x1b\[\d+m", "", painted)
        assert unpainted == good("show", model).stdout
