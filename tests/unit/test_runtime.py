"""The Python that is copied into artefacts, run in place and as a copy."""

from __future__ import annotations

import ast
from itertools import product
from types import ModuleType
from typing import Any

import pytest

from treecompile.emit.runtime import rows
from treecompile.emit.runtime.source import copied, source_of
from treecompile.model import values

SKIES = ("clear", "grey", "red", None)
HEATS = (None, 15.0, 20.0, 25.0, float("nan"))
ROWS = [{"sky": sky, "heat": heat} for sky, heat in product(SKIES, HEATS)]
WARM = {"sky": "clear", "heat": 25}
UNKNOWN = {"sky": None, "heat": 25}


# ---------------------------------------------------------------- one row at a time


def test_the_forms_of_predict_agree() -> None:
    expected = [rows.predict(row) for row in ROWS]
    assert set(expected) == {"no", "yes"}
    assert rows.predict_many(iter(ROWS)) == expected
    assert [rows.predict_values(row["sky"], row["heat"]) for row in ROWS] == expected


@pytest.mark.parametrize("divides", [True, False])
def test_probabilities_are_those_of_the_rule(
    monkeypatch: pytest.MonkeyPatch, divides: bool
) -> None:
    monkeypatch.setattr(rows, "DIVIDES", divides)
    assert rows.predict_proba(WARM) == {"no": 1.0, "yes": 0.0}


@pytest.mark.parametrize("sentences", [True, False])
def test_explanations(monkeypatch: pytest.MonkeyPatch, sentences: bool) -> None:
    """Written out, or put together from steps, they say the same."""
    monkeypatch.setattr(rows, "SENTENCES", sentences)
    expected = "R2: if sky = clear and heat > 20 then play = no (2 of 2 cases)"
    assert rows.explain(WARM) == expected
    assert rows.explain_divided(WARM) == expected


# ---------------------------------------------------------------- divided rows


def test_a_divided_row() -> None:
    assert rows.divided(UNKNOWN.values(), True) == "divided"
    assert rows.divided(UNKNOWN.values(), False) == "no"
    assert rows.predict_proba(UNKNOWN) == pytest.approx({"no": 7 / 12, "yes": 5 / 12})
    assert rows.explain_divided(UNKNOWN).split("\n") == [
        "divided: play = no (58.3 %), shared by these rules; unknown: sky",
        "  50.0 % R2: if sky = clear and heat > 20 then play = no (2 of 2 cases)",
        "  50.0 % R3: if sky = grey (or any other, or missing)"
        " then play = yes (5 of 6 cases)",
    ]


def test_few_rules_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "EXPLAINED", 1)
    *_, last = rows.explain_divided({"sky": None, "heat": None}).split("\n")
    assert last == "  and 2 more with smaller shares"


def test_a_divided_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "CLASSIFIES", False)
    estimates = {"R1": (1.0,), "R2": (4.0,), "R3": (8.0,)}
    monkeypatch.setattr(rows, "PROBABILITIES", estimates)
    row = {"sky": "clear", "heat": None}
    assert rows.divided(row.values(), False) == (4.0 * 1.0 + 2.0 * 4.0) / 6.0
    assert rows.explain_divided(row).startswith("divided: hours = 2.0, shared by")


@pytest.mark.parametrize("given", ["clear", [["clear", 15.0]], [None], {"sky": "a"}])
def test_a_row_that_is_none_is_named(given: Any) -> None:
    with pytest.raises(TypeError, match="row 0 is of type .*: expected a mapping"):
        rows.predict_many(given)
    with pytest.raises(TypeError, match="'heat' is 'hot': expected a number"):
        rows.predict_many([{"sky": "clear", "heat": "hot"}])


# ---------------------------------------------------------------- the copy

FLAGS = {
    rows: ("CLASSIFIES", "SENTENCES", "DIVIDES"),
    values: (),
}


@pytest.mark.parametrize("module", FLAGS, ids=lambda module: str(module.__name__))
def test_every_copy_is_python_3_9_without_flags(module: ModuleType) -> None:
    names = list(source_of(module).definitions)
    known = FLAGS[module]
    for chosen in product((True, False), repeat=len(known)):
        flags = dict(zip(known, chosen, strict=True))
        for text in copied(module, names, flags, {"Answer": "int"}):
            tree = ast.parse(text, feature_version=(3, 9))
            if isinstance(tree.body[0], ast.FunctionDef):
                used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
                assert not used & {*known, "Answer"}


def test_a_flag_chooses_a_branch() -> None:
    (text,) = copied(rows, ["divided"], {"CLASSIFIES": True})
    assert text.endswith(
        "    shares = mixed(found)\n    return CLASSES[shares.index(max(shares))]"
    )
    (text,) = copied(rows, ["divided"], {"CLASSIFIES": False})
    assert text.endswith("    shares = mixed(found)\n    return shares[0]")


def test_only_whole_words_are_replaced() -> None:
    replaced = {"CONCLUSION": "'x'"}
    (text,) = copied(rows, ["explain_divided"], {"CLASSIFIES": False}, replaced)
    assert "said = 'x' + repr(" in text
    (text,) = copied(rows, ["explain_divided"], {"CLASSIFIES": True}, replaced)
    assert "CONCLUSIONS[" in text
