"""The review page as a file: one text, its policy, its data. Browsers: tests/page/."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import treecompile
from tests.support.samples import ROOT, TENNIS, balanced
from treecompile.cli import main
from treecompile.model.errors import TargetError


@pytest.fixture(scope="module")
def model() -> treecompile.Model:
    return treecompile.learn(TENNIS, target="play")


class PageReader(HTMLParser):
    """The elements of a page: tag, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None], list[str]]] = []
        self.inside = False  # the latest element
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs), []))
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.elements[-1][2].append(data)

    def texts(self, tag: str) -> list[str]:
        return ["".join(text) for found, _, text in self.elements if found == tag]


# ---------------------------------------------------------------- the file


def test_text_becomes_markup_nowhere() -> None:
    """The script parses no text as HTML, evaluates none and loads nothing."""
    barred = (
        *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "setHTML"),
        *("DOMParser", "srcdoc", "eval(", "Function(", "import(", "fetch(", "import "),
        *("XMLHttpRequest", "WebSocket", "sendBeacon"),
    )
    script = (ROOT / "templates" / "html" / "page.js").read_text(encoding="utf-8")
    assert [word for word in barred if word in script] == []


def test_the_policy_allows_the_script_and_the_style_of_the_page(
    model: treecompile.Model,
) -> None:
    page = PageReader(model.emit("html"))
    (policy,) = [
        str(attributes["content"])
        for tag, attributes, _ in page.elements
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert "unsafe" not in policy
    _, script = page.texts("script")
    assert rules["script-src"] == digest(script)
    assert rules["style-src"] == " ".join(map(digest, page.texts("style")))


def digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_nothing_is_loaded_from_elsewhere(model: treecompile.Model) -> None:
    for tag, attributes, _ in PageReader(model.emit("html")).elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base"), tag
        assert not {"src", "style"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert str(attributes.get("href", "#")).startswith("#")


def test_the_page_is_small_and_has_the_picture(model: treecompile.Model) -> None:
    page = model.emit("html")
    assert model.draw() in page
    assert len(page.encode()) < 60_000
    assert model.sha256 in page.splitlines()[1]  # the header


def test_the_page_has_every_rule_with_its_evidence(model: treecompile.Model) -> None:
    text = re.sub(r"<[^>]*>|\s+", " ", model.emit("html"))
    for rule in ("R1 play = yes", "R2 play = no", "R5 play = yes", "4 of 4 cases"):
        assert rule in re.sub(" +", " ", text)


def test_too_many_rules_are_refused_with_what_to_do() -> None:
    with pytest.raises(TargetError, match=r"8,192 rules are too many .* to=markdown"):
        treecompile.Model(balanced(13)).emit("html")


def test_the_title_is_text() -> None:
    frame = pd.DataFrame({"a": [1, 2] * 5, "</title><b>": ["x", "y"] * 5})
    page = PageReader(treecompile.learn(frame, target="</title><b>").emit("html"))
    assert not page.texts("b")
    assert page.texts("title")[0] == 'Rules for predicting "</title><b>"'


def test_infinite_numbers_are_json() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, np.inf, -np.inf] * 5, "y": list("abab") * 5})
    model = treecompile.learn(frame, target="y", algorithm="cart", prune="none")
    data, _ = PageReader(model.emit("html")).texts("script")
    assert json.loads(data, parse_constant=pytest.fail)["nodes"]


# ---------------------------------------------------------------- verify


@pytest.mark.parametrize("name", ["tennis", "penguins"])
def test_a_page_is_verified_by_its_bytes(name: str, tmp_path: Path) -> None:
    out = ROOT / "examples" / name / "out"
    page = (out / "review.html").read_text(encoding="utf-8")
    model = treecompile.load(out / "model.json")
    assert model.verify(page).as_emitted
    assert model.verify(page).passed
    edited = page.replace("R1", "R2", 1)
    assert model.verify(edited).as_emitted is False
    assert not model.verify(edited).passed
    path = tmp_path / "review.html"
    path.write_text(edited, encoding="utf-8")
    result = CliRunner().invoke(main, ["verify", str(out / "model.json"), str(path)])
    assert result.exit_code == 1
    assert "NOT verified" in result.stderr
