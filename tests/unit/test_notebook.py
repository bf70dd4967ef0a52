"""Results that show themselves: HTML in a notebook, a few lines in a terminal."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from random import Random
from typing import Any

import pandas as pd
import pytest

import treecompile
from tests.support.random_models import random_program, random_row
from tests.support.rule_lists import flatten
from tests.support.samples import ROOT, every_type
from treecompile import Model
from treecompile.model.paths import outcomes
from treecompile.model.semantics import decider, predict, probabilities

HOSTILE = "<script>alert('&')</script>\"'</td></table>"
VOID = {"br", "hr", "img"}


class Reader(HTMLParser):
    """Collects the elements and the text; fails if they are not well nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.styles: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in VOID
        self.tags.add(tag)
        self.open.append(tag)
        self.styles += [value or "" for name, value in attrs if name == "style"]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


PLAIN = {"div", "p", "pre", "table", "caption", "thead", "tbody", "tr", "th", "td"}
PICTURE = {"svg", "g", "title", "rect", "path", "text"}


def hostile_frame() -> pd.DataFrame:
    labels = [HOSTILE, "plain"] * 12
    return pd.DataFrame(
        {
            f"sky {HOSTILE}": [HOSTILE if n % 2 else "grey" for n in range(24)],
            "heat": [n % 7 for n in range(24)],
            "answer": labels,
        }
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A result of every kind, full of names that are markup."""
    frame = hostile_frame()
    model = treecompile.learn(frame, target="answer", prune="none")
    other = treecompile.learn(
        frame.head(11), target="answer", prune="none", max_depth=0
    )
    module = model.emit("python")
    wrong = module.replace('"plain"', '"plane"')
    rules = Model(flatten(every_type()))
    numbers = treecompile.learn(frame, target="heat", algorithm="cart")
    out = tmp_path_factory.mktemp("out")
    row = {f"sky {HOSTILE}": HOSTILE, "heat": 3}
    return {
        "tree": model,
        "rules": model.rules(),
        "numbers": numbers,
        "evaluation": model.evaluate(frame),
        "evaluation of numbers": numbers.evaluate(frame),
        "cross-validation": treecompile.cross_validate(frame, target="answer", k=3),
        "folds of numbers": treecompile.cross_validate(
            frame, target="heat", k=3, algorithm="cart"
        ),
        "check": model.rules().check(),
        "check of other rules": rules.check(),
        "check of a tree": model.check(),
        "diff": treecompile.diff(model, other, frame),
        "no diff": treecompile.diff(model, model),
        "report": model.verify(module),
        "report of a fault": model.verify(wrong),
        "built": treecompile.build(frame, out, target="answer", force=True),
        "explanation": model.explain(row),
        "explanation by rules": model.rules().explain(row),
    }


KINDS = [
    *("tree", "rules", "numbers", "evaluation", "evaluation of numbers"),
    *("cross-validation", "folds of numbers", "check", "check of other rules"),
    *("check of a tree", "diff", "no diff", "report", "report of a fault", "built"),
    *("explanation", "explanation by rules"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_notebook_shows_a_result(results: dict[str, Any], kind: str) -> None:
    assert set(results) == set(KINDS)
    page = Reader(results[kind]._repr_html_())
    assert page.tags <= PLAIN | PICTURE
    assert page.text.strip()
    # No colour of its own: the theme of the notebook decides.
    colours = [s for s in page.styles if re.search(r"(?<!-)color: (?!inherit)", s)]
    assert not colours
    assert not [style for style in page.styles if "background" in style]


# ---------------------------------------------------------------- explanations


@pytest.mark.parametrize("seed", range(40))
def test_an_explanation_is_what_the_model_decides(seed: int) -> None:
    random = Random(seed)
    program = random_program(random)
    body = program.body
    names = [feature.name for feature in body.features]
    for _ in range(10):
        row = random_row(random, body)
        found = Model(program).explain(dict(zip(names, row, strict=True)))
        assert found.answer == predict(body, row)
        rule = outcomes(body)[decider(body, row)]
        assert found.rule == rule.id
        assert repr(found).startswith(f"{rule.id}: ")
        expected = probabilities(rule.stats) if body.labels else ()
        assert tuple(found.probabilities.values()) == expected


def test_an_explanation_in_words() -> None:
    model = treecompile.load(ROOT / "examples" / "tennis" / "out" / "model.json")
    row = {"outlook": "sunny", "humidity": "high", "wind": None}
    found = model.explain(row)
    assert (found.answer, found.rule) == ("no", "R4")
    assert repr(found) == (
        "R4: if outlook = sunny and humidity = high (or any other, or missing)"
        " then no [3 of 3]"
    )
    assert found.probabilities == {"no": 1.0, "yes": 0.0}
    assert "<svg" in found._repr_html_()
