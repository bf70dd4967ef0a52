"""The review page as a file: one text, its policy, its data. Browsers: tests/page/."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from tests.support.node import needs_node
from tests.support.samples import balanced
from treecompile.emit.html.lower import lower as lower_html
from treecompile.emit.html.lower import page_script
from treecompile.emit.lowering import CompilerInput
from treecompile.emit.options import EmitOptions
from treecompile.emit.targets import read_target
from treecompile.model.errors import TargetError
from treecompile.model.evidence import by_id

ROOT = Path(__file__).resolve().parents[2]
TENNIS = ROOT / "examples" / "tennis" / "tennis.csv"


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


def data_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)<', page)
    return dict(json.loads(text))


# ---------------------------------------------------------------- the file


def test_text_becomes_markup_nowhere() -> None:
    """Nothing on the page parses a text as HTML, evaluates or loads one."""
    barred = (
        *("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "setHTML"),
        *("DOMParser", "srcdoc", "eval(", "Function(", "import(", "fetch(", "import "),
        *("XMLHttpRequest", "WebSocket", "sendBeacon"),
    )
    assert [word for word in barred if word in page_script()] == []


def test_the_policy_allows_the_scripts_and_the_style_of_the_page(
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
    _, *scripts = page.texts("script")
    assert rules["script-src"] == " ".join(map(digest, scripts))
    assert rules["style-src"] == " ".join(map(digest, page.texts("style")))


def digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_nothing_is_loaded_from_elsewhere(model: treecompile.Model) -> None:
    for tag, attributes, _ in PageReader(model.emit("html")).elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base"), tag
        assert not {"src", "style"} & set(attributes), tag
        assert not [name for name in attributes if name.startswith("on")], tag
        assert str(attributes.get("href", "#")).startswith("#")


# ---------------------------------------------------------------- the data


def test_the_data_are_those_of_the_model(model: treecompile.Model) -> None:
    data = data_of(model.emit("html"))
    assert data["sha256"] == model.sha256
    known = by_id(model.program)
    for rule in data["rules"]:
        assert rule["rows"] == known[rule["id"]].rows
        assert rule["right"] == known[rule["id"]].right
    assert [rule["id"] for rule in data["rules"]] == ["R1", "R2", "R3", "R4", "R5"]
    assert sum(rule["rows"] for rule in data["rules"]) == 14


# ---------------------------------------------------------------- limits and options


def test_too_many_rules_are_refused_with_what_to_do() -> None:
    source = CompilerInput(balanced(13), "", "", read_target("html"))
    with pytest.raises(TargetError, match=r"8,192 rules are too many .* to=markdown"):
        lower_html(source, EmitOptions())


def test_the_title_is_text(tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_text("a,</title><b>\n" + "1,x\n2,y\n" * 5)
    page = treecompile.learn(path, target="</title><b>").emit("html")
    assert not PageReader(page).texts("b")
    (title,) = PageReader(page).texts("title")
    assert unescape(title) == 'Rules for predicting "</title><b>"'


# ---------------------------------------------------------------- verify

PENGUINS = ROOT / "examples" / "penguins" / "penguins.csv"


@needs_node
@pytest.mark.parametrize("how", ["tree", "rules", "numbers"])
def test_the_decision_of_a_page_is_verified(how: str) -> None:
    target = "body_mass_g" if how == "numbers" else "species"
    model = treecompile.learn(PENGUINS, target=target, na_value="NA", max_depth=3)
    model = model.rules() if how == "rules" else model
    report = model.verify(model.emit("html"), budget=2000)
    assert report.engine == "node"
    assert report.passed, report


@needs_node
def test_a_page_that_decides_otherwise_is_found_out() -> None:
    model = treecompile.learn(PENGUINS, target="species", na_value="NA", max_depth=2)
    page = model.emit("html")
    head, decision, rest = page.partition("function answer(")
    wrong = re.sub(r"(?<= > )[0-9.]+", "1", rest, count=1)
    changed = head + decision + wrong
    report = model.verify(changed, budget=2000)
    assert report.mismatches


@needs_node
def test_a_page_with_another_script_is_refused(model: treecompile.Model) -> None:
    page = model.emit("html")
    more = page.replace("</body>", "<script>predict = () => 'no';</script></body>")
    assert "not a review page" in model.verify(more).refused
    other = page.replace('"use strict";', '"use strict"; predict = null;')
    assert "its script is not the one" in model.verify(other).refused


def test_infinite_numbers_are_no_range() -> None:
    frame = pd.DataFrame({"x": [1.0, 2.0, np.inf, -np.inf] * 5, "y": list("abab") * 5})
    model = treecompile.learn(frame, target="y", algorithm="cart", prune="none")
    text = model.emit("html")
    assert "Infinity" not in text.split("application/json")[1].split("</script>")[0]
