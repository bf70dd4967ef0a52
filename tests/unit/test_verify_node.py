"""JavaScript is verified on Node.js: whatever a module does, the result is a report."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import pytest

from tests.support.node import in_one_process, needs_node
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
from treecompile.verify.node_process import run_node
from treecompile.verify.verification import verify

# ---------------------------------------------------------------- claims


def test_without_node_it_is_said_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(EngineError, match=r"^Node.js is not installed .*: install it"):
        verify(numeric(), emit(numeric(), "javascript").text)


# ---------------------------------------------------------------- constants


@needs_node
def test_a_branch_between_the_thresholds_is_found() -> None:
    text = emit(numeric(), "javascript").text
    first = re.search(r"\n  if \((?:!\()?(\w+)", text)
    assert first is not None
    arm = f'\n  if ({first[1]} === 77.125) return rule ? "R1" : "low";'
    report = verify(numeric(), text.replace(first[0], arm + first[0], 1), budget=2000)
    assert report.mismatches


# ---------------------------------------------------------------- hostile modules


@needs_node
def test_a_module_without_an_end_is_stopped() -> None:
    report = verify(numeric(), "for (;;);", "node", budget=10, timeout=2)
    assert report.refused == "it did not end within 2 seconds (see timeout)"


# ---------------------------------------------------------------- types of values

TYPES = """
const CLASSES = ["number", "bigint"];
const predict = ({ x }) => typeof x;
const decide = () => "R1", explain = () => "R1: always";
const predictMany = (rows) => rows.map(predict);
const predictProba = () => new Map([["number", 1], ["bigint", 0]]);
export { CLASSES, decide, explain, predict, predictMany, predictProba };
"""


@needs_node
def test_integers_are_numbers_where_these_are_exact() -> None:
    """In a column of numbers an int is a BigInt, so that both are tried."""
    codes = Feature("x", Kind.CATEGORICAL, ValueType.INT, (7, 2**53))
    numbers = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
    tree = answering("number", "bigint").body
    assert isinstance(tree, Tree)
    rows = [(7,), (2**53 - 1,), (1 - 2**53,), (2**53,), (-(2**53),)]
    found = run_node(TYPES, replace(tree, features=(codes,)), rows)
    assert [answer.label for answer in found] == [*["number"] * 3, *["bigint"] * 2]
    found = run_node(TYPES, replace(tree, features=(numbers,)), [(7,), (7.0,)])
    assert [answer.label for answer in found] == ["bigint", "number"]


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
        (answering(0, 1), ": 1;", ": 1n;"),
        (answering(0, 1), ": 1;", ': "1";'),
        (answering(0, 1), ": 1;", ": true;"),
        (answering(0, 1), ": 0;", ": -0;"),
        (answering(False, True), ": true;", ": 1;"),
        (answering(2**60, 1), ": 1n;", ": 1;"),
        (answering("1", "2"), ': "1";', ": 1;"),
    ]
    with in_one_process():
        for program, old, new in cases:
            text = emit(program, "javascript").text
            assert verify(program, text, budget=100).passed
            assert old in text
            changed = text.replace(old, new)
            assert verify(program, changed, budget=100).mismatches, new
