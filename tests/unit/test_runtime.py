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


# ---------------------------------------------------------------- one row at a time


def test_the_forms_of_predict_agree() -> None:
    expected = [rows.predict(row) for row in ROWS]
    assert set(expected) == {"no", "yes"}
    assert rows.predict_many(iter(ROWS)) == expected
    assert [rows.predict_values(row["sky"], row["heat"]) for row in ROWS] == expected


def test_probabilities_are_those_of_the_rule() -> None:
    assert rows.predict_proba(WARM) == {"no": 1.0, "yes": 0.0}


@pytest.mark.parametrize("sentences", [True, False])
def test_explanations(monkeypatch: pytest.MonkeyPatch, sentences: bool) -> None:
    """Written out, or put together from steps, they say the same."""
    monkeypatch.setattr(rows, "SENTENCES", sentences)
    expected = "R2: if sky = clear and heat > 20 then play = no (2 of 2 cases)"
    assert rows.explain(WARM) == expected


@pytest.mark.parametrize("given", ["clear", [["clear", 15.0]], [None], {"sky": "a"}])
def test_a_row_that_is_none_is_named(given: Any) -> None:
    with pytest.raises(TypeError, match="row 0 is of type .*: expected a mapping"):
        rows.predict_many(given)
    with pytest.raises(TypeError, match="'heat' is 'hot': expected a number"):
        rows.predict_many([{"sky": "clear", "heat": "hot"}])


# ---------------------------------------------------------------- the copy

FLAGS = {
    rows: ("SENTENCES",),
    values: (),
}


@pytest.mark.parametrize("module", FLAGS, ids=lambda module: str(module.__name__))
def test_every_copy_is_python_3_9_without_flags(module: ModuleType) -> None:
    names = list(source_of(module).functions)
    known = FLAGS[module]
    for chosen in product((True, False), repeat=len(known)):
        flags = dict(zip(known, chosen, strict=True))
        for text in copied(module, names, flags, {"Answer": "int"}):
            tree = ast.parse(text, feature_version=(3, 9))
            if isinstance(tree.body[0], ast.FunctionDef):
                used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
                assert not used & {*known, "Answer"}
