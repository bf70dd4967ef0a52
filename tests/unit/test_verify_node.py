"""JavaScript is verified on Node.js: whatever a module does, the result is a report."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.support.node import needs_node
from tests.support.samples import numeric
from treecompile.emit.compiler import emit
from treecompile.model.errors import EngineError
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Label,
    Leaf,
    Op,
    Program,
    Split,
    Tree,
    ValueType,
)
from treecompile.model.semantics import negate
from treecompile.verify.verification import verify

# ---------------------------------------------------------------- claims


def test_without_node_it_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EngineError, match="^there is no program 'node', so JavaScript"):
        verify(numeric(), emit(numeric(), "javascript").text)


# ---------------------------------------------------------------- constants


@needs_node
def test_a_branch_between_the_thresholds_is_found() -> None:
    text = emit(numeric(), "javascript").text
    first = re.search(r"\n  if \((?:!\()?(x\.\w+)", text)
    assert first is not None
    arm = f'\n  if ({first[1]} === 77.125) return {{ value: "low", rule: "R1" }};'
    report = verify(numeric(), text.replace(first[0], arm + first[0], 1), budget=2000)
    assert report.mismatches


# ---------------------------------------------------------------- hostile modules


@needs_node
def test_a_module_without_an_end_is_stopped() -> None:
    report = verify(numeric(), "for (;;);", "node", budget=10, timeout=2)
    assert report.refused == "it did not end within 2 seconds (see timeout)"


@needs_node
@pytest.mark.parametrize("label", ["a", 1, True, 2**60, 0.5])
def test_a_single_label_is_enough(label: Label) -> None:
    leaf = Leaf(label, ClassCounts((1.0,)), 1.0)
    features = (Feature("x", Kind.NUMERIC, ValueType.FLOAT),)
    program = Program("y", "by hand", Tree(features, (label,), (leaf,)))
    assert verify(program, emit(program, "javascript").text, budget=10).passed


# ---------------------------------------------------------------- types of answers


def answering(*labels: Label) -> Program:
    feature = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    test = Condition(0, Op.LE, 1.0, missing=False)
    leaves = (
        Leaf(label, ClassCounts(tuple(float(label == x) for x in labels)), 1.0)
        for label in labels
    )
    branches = (Branch(test, 1, 1.0), Branch(negate(test), 2, 1.0))
    root = Split(branches, ClassCounts((1.0, 1.0)), 1.0)
    return Program("y", "by hand", Tree((feature,), labels, (root, *leaves)))


@needs_node
def test_answers_of_another_type_are_mismatches() -> None:
    """1 is not 1n, not true and not "1"; -0 is not 0."""
    cases = [
        (answering(0, 1), "value: 1,", "value: 1n,"),
        (answering(0, 1), "value: 1,", 'value: "1",'),
        (answering(0, 1), "value: 1,", "value: true,"),
        (answering(0, 1), "value: 0,", "value: -0,"),
        (answering(False, True), "value: true,", "value: 1,"),
        (answering(2**60, 1), "value: 1n,", "value: 1,"),
        (answering("1", "2"), 'value: "1",', "value: 1,"),
    ]
    for program, old, new in cases:
        text = emit(program, "javascript").text
        assert old in text
        changed = text.replace(old, new)
        assert verify(program, changed, budget=100).mismatches, new


FAULTS = [
    (" <= ", " < "),
    (" > ", " >= "),
    ("!(x", "(x"),
    ('"R2"', '"R1"'),
    ("asNumber(", "Number("),
    ("[0.", "[0.1 + 0."),
    ("x.y", "x.x"),
    ('value: "low"', 'value: "mid"'),
    ('"R1: if', '"R9: if'),
]


@needs_node
@pytest.mark.parametrize(("old", "new"), FAULTS)
def test_planted_faults_are_found(old: str, new: str) -> None:
    text = emit(numeric(), "javascript").text
    assert verify(numeric(), text, budget=2000).passed
    code = text[: text.index("const RULES")] if old != FAULTS[-1][0] else text
    places = [match.start() for match in re.finditer(re.escape(old), code)]
    assert places
    for place in places[:3]:
        broken = text[:place] + new + text[place + len(old) :]
        assert not verify(numeric(), broken, budget=2000).passed
