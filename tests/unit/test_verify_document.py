"""`verify` of a document: as emitted, or the first line that somebody edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.support.samples import ROOT
from treecompile.cli import main

OUT = ROOT / "examples" / "penguins" / "out"
FOREST = ROOT / "examples" / "lightgbm" / "out"


def verified(document: Path, *options: str, model: Path = OUT / "model.json") -> Result:
    return CliRunner().invoke(main, ["verify", str(model), str(document), *options])


@pytest.mark.parametrize(
    ("model", "document"),
    [
        (OUT / "model.json", OUT / "RULES.md"),
        (FOREST / "model.json", FOREST / "MODEL.md"),
    ],
)
def test_a_document_is_as_emitted(model: Path, document: Path) -> None:
    result = verified(document, model=model)
    assert (result.exit_code, result.stderr) == (
        0,
        f"verified {document}: as emitted\n",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("| 241 | 234 (97.1 %) |", "| 241 | 235 (97.5 %) |"),  # a figure
        ("bill_length_mm <= 43.1", "bill_length_mm <= 42.5"),  # a rule
        ("2 Chinstrap, 0.39", "3 Chinstrap, 0.39"),  # what a rule rests on
        ("missing: NA\n", ""),
        ("| 172 to 231 |", "| 172 to 232 |"),
        ("Owner: ____", "Owner: Ann"),
        (", markdown, model ", ", model "),  # the header itself
    ],
)
def test_the_line_that_was_edited_is_named(tmp_path: Path, old: str, new: str) -> None:
    text = (OUT / "RULES.md").read_text("utf-8")
    assert old in text
    edited = tmp_path / "RULES.md"
    edited.write_text(text.replace(old, new, 1), "utf-8")
    line = text[: text.index(old)].count("\n") + 1
    result = verified(edited)
    assert result.exit_code == 1
    assert f"{edited}: line {line} is not what the model gives" in result.stderr
    assert result.stderr.count("\n") == 1
    found = json.loads(verified(edited, "--json").stdout)
    assert not found["passed"]


def test_more_text_and_less_text_are_edits(tmp_path: Path) -> None:
    text = (OUT / "RULES.md").read_text("utf-8")
    path = tmp_path / "RULES.md"
    for changed in (f"{text}Read by me.\n", text.rstrip("\n")):
        path.write_text(changed, "utf-8")
        assert "NOT verified: edited since" in verified(path).stderr
