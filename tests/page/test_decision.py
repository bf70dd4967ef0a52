"""The page answers as the model answers: at every edge, and through its form."""

from __future__ import annotations

from math import copysign, inf
from pathlib import Path
from random import Random
from typing import Any

import pytest

import treecompile
from tests.support.browser import Browser
from tests.support.random_models import random_program
from treecompile.model.ir import Kind, Row, Tree
from treecompile.model.paths import rule_ids
from treecompile.model.semantics import decider, predict, required_features
from treecompile.verify.reference import Reference
from treecompile.verify.rows import probe_rows

ROOT = Path(__file__).resolve().parents[2]
PENGUINS = ROOT / "examples" / "penguins" / "penguins.csv"


def models() -> dict[str, treecompile.Model]:
    tree = treecompile.learn(PENGUINS, target="species", na_value="NA")
    return {
        "tree": tree,
        "rules": tree.prune(training=PENGUINS, na_value="NA"),
        "numbers": treecompile.learn(
            PENGUINS, target="body_mass_g", na_value="NA", max_leaves=12
        ),
        "random tree": treecompile.Model(random_program(Random(4))),
        "random list": treecompile.Model(random_program(Random(11))),
    }


@pytest.fixture(scope="module")
def made() -> dict[str, treecompile.Model]:
    return models()


@pytest.mark.parametrize("name", models())
def test_every_edge_is_answered_as_the_model_answers(
    browser: Browser, tmp_path: Path, made: dict[str, treecompile.Model], name: str
) -> None:
    model = made[name]
    browser.show(model, tmp_path)
    program = model.program
    reference = Reference(program.body, [("label", None), ("rule", None)])
    rows = probe_rows(reference.body, budget=4000).rows
    names = [feature.name for feature in program.body.features]
    tried = [dict(zip(names, row, strict=True)) for row in rows]
    expected = list(reference.judge(rows))
    assert browser.answers(tried) == [answer for answer, _ in expected]
    assert browser.answers(tried, "decide") == [rule for _, rule in expected]
    assert browser.complaints() == []


def put(browser: Browser, model: treecompile.Model, row: Row) -> None:
    """Enter a row in the form."""
    for index in required_features(model.program.body):
        feature, value = model.program.body.features[index], row[index]
        field = f"#value-{index}"
        if feature.kind is Kind.NUMERIC:
            browser.fill(field, "" if value is None else repr(value))
        elif value is None:
            browser.choose(field, "missing")
        elif value in feature.categories:
            browser.choose(field, str(value))
        else:
            browser.choose(field, "something else (unseen)")


def test_the_form_answers_as_the_model_answers(
    browser: Browser, tmp_path: Path, made: dict[str, treecompile.Model]
) -> None:
    model = made["tree"]
    browser.show(model, tmp_path)
    body = model.program.body
    assert isinstance(body, Tree)
    rows = probe_rows(body, budget=4000).rows
    for edge in Random(0).sample(rows, 8):
        row = tuple(map(enterable, edge))
        put(browser, model, row)
        assert browser.text("#answer") == f"species = {predict(body, row)}"
        said = browser.text("#result [data-rule]")
        assert said == rule_ids(body)[decider(body, row)]


def enterable(value: Any) -> Any:
    """A number that a field of the form takes: not an infinite one."""
    return copysign(1e9, value) if value in (inf, -inf) else value


def test_a_text_that_is_no_number_is_refused(
    browser: Browser, tmp_path: Path, made: dict[str, treecompile.Model]
) -> None:
    model = made["tree"]
    browser.show(model, tmp_path)
    index, *_ = [
        i
        for i in required_features(model.program.body)
        if model.program.body.features[i].kind is Kind.NUMERIC
    ]
    browser.fill(f"#value-{index}", "--")
    assert "not a number" in browser.text("#result")
    field = browser.find(f"#value-{index}")
    assert field.get_attribute("aria-invalid") == "true"
    browser.fill(f"#value-{index}", "")
    assert browser.text("#answer").startswith("species = ")
