"""`--about FILE`: what a document says about its model, and who signs it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.samples import ROOT
from treecompile.api.building import build
from treecompile.api.verbs import load
from treecompile.emit.about import About, Reviewer, read_about
from treecompile.model.errors import OptionError

MODEL = ROOT / "examples" / "penguins" / "out" / "model.json"
WHOLE = """
title = "Which *penguin* is it?"
purpose = '''Sorts new birds
before a biologist looks.'''
owner = "Field team"
version = "3, of <2026>"
intended_use = "Birds of the Palmer archipelago."
limits = "No chicks."
reviewers = ["Ada | Example", {name = "Grace Example", role = "risk officer"}]
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "about.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_all_keys(tmp_path: Path) -> None:
    assert read_about(written(tmp_path, WHOLE)) == About(
        "Which *penguin* is it?",
        "Sorts new birds\nbefore a biologist looks.",
        "Field team",
        "3, of <2026>",
        "Birds of the Palmer archipelago.",
        "No chicks.",
        (Reviewer("Ada | Example"), Reviewer("Grace Example", "risk officer")),
    )
    assert read_about(written(tmp_path, "")) == About()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "is not TOML"),
        ('titel = "x"', "there is no key 'titel': did you mean title?"),
        ('colour = "x"', "there is no key 'colour': use title, purpose,"),
        ("title = 3", "title: expected a text in quotes"),
        ('owner = " "', "owner: expected a text in quotes"),
        ('limits = ["x"]', "limits: expected a text in quotes"),
        (f'purpose = "{"x" * 4001}"', "purpose: expected at most 4,000 characters"),
        ('reviewers = "Ada"', "reviewers: expected a list of at most 100 names"),
        ("reviewers = [3]", r"reviewers\[0\]: expected a name, or"),
        ('reviewers = [{role = "x"}]', r"reviewers\[0\]: expected a name, or"),
        ('reviewers = ["Ada", {name = ""}]', r"reviewers\[1\].name: expected a text"),
        ('reviewers = [{name = "A", rôle = "x"}]', "is not TOML"),
        ('reviewers = [{name = "A", rol = "x"}]', "'rol': did you mean role?"),
        ('reviewers = ["A", {name = "A"}]', "reviewers: 'A' is there twice"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(
    tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(OptionError, match=message) as caught:
        read_about(written(tmp_path, text))
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"--about: {tmp_path}")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.toml", tmp_path, Path("/dev/zero")):
        with pytest.raises(OptionError, match="--about: "):
            read_about(path)


def test_the_document_begins_and_ends_with_it(tmp_path: Path) -> None:
    path = written(tmp_path, WHOLE)
    text = load(MODEL).emit("markdown", about=path)
    assert text.startswith(
        r"# Which \*penguin\* is it?"
        "\n\n**Purpose:** Sorts new birds before a biologist looks."
    )
    assert r"**Version:** 3, of \<2026\>" in text
    signatures = text.partition("\n## Signatures\n")[2]
    assert r"| Ada \| Example |  |" in signatures
    assert "| Grace Example | risk officer |" in signatures


def test_two_empty_rows_without_reviewers() -> None:
    text = load(MODEL).emit("markdown")
    assert text.startswith("# Rules for predicting species\n")
    table = text.partition("\n## Signatures\n")[2].split("\n\n")[1]
    _, _, first, second = table.splitlines()
    assert first == second == f"| {'…' * 14} |  |  | {'…' * 14} |"


def test_build_takes_it_and_refuses_a_wrong_one_first(tmp_path: Path) -> None:
    path = written(tmp_path, 'title = "Birds"')
    built = build(MODEL, tmp_path / "out", about=path, verify=False)
    assert built.paths["RULES.md"].read_text().startswith("# Birds\n")
    with pytest.raises(OptionError, match="title: expected"):
        build(MODEL, tmp_path / "no", about=written(tmp_path, "title = 1"))
    assert not (tmp_path / "no").exists()
