"""The limits of a model file, and reports whose work grows with its size only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import treecompile
from treecompile.model import ir
from treecompile.model.errors import DataError, ModelFileError
from treecompile.model.file import dumps, limits, loads
from treecompile.model.ir import (
    Branch,
    ClassCounts,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Leaf,
    Moments,
    Op,
    Program,
    RuleTally,
    Split,
    Training,
    Tree,
    ValueQuality,
    ValueType,
)
from treecompile.model.semantics import negate
from treecompile.tables import lines
from treecompile.tables.read import read_table

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def split(stats: ir.Stats, value: float = 0.5, first: int = 1) -> Split:
    test = Condition(0, Op.LE, value, missing=False)
    branches = Branch(test, first, 1.0), Branch(negate(test), first + 1, 1.0)
    return Split(branches, stats, 0.5)


def classifier() -> Program:
    counts = ClassCounts((1.0, 2.0))
    leaves = Leaf("a", counts, 3.0), Leaf("b", counts, 3.0)
    tree = Tree((X,), ("a", "b"), (split(ClassCounts((2.0, 4.0))), *leaves))
    quality = ir.ClassQuality(((1, 1), (2, 2)))
    tallies = (RuleTally(3, 1.0, 3, 1.0),) * 2
    training = Training("", 6, (ColumnSummary(0),), quality, None, tallies)
    return Program("y", "cart", tree, (("depth", 3),), training=training)


def regression() -> Program:
    moments = Moments(3.0, 1.5, 0.25)
    leaves = Leaf(1.0, moments, 3.0), Leaf(2.0, moments, 3.0)
    quality = ValueQuality(6, 0.5, 0.75, None)
    tallies = (RuleTally(3, 1.0, 3, 1.0),) * 2
    training = Training("", 6, (ColumnSummary(0),), quality, None, tallies)
    tree = Tree((X,), (), (split(moments), *leaves))
    return Program("y", "cart", tree, training=training)


PROGRAMS = {"classifier": classifier(), "regression": regression()}
HUGE = 10**400
CASES: list[tuple[str, list[str | int], Any, str]] = [
    ("classifier", ["training", "rows"], HUGE, "training.rows: expected an integer"),
    ("classifier", ["training", "rows"], 2**53 + 1, "training.rows: .* at most 9,007"),
    ("classifier", ["training", "columns", 0, "missing"], HUGE, "training.columns"),
    (
        "classifier",
        ["training", "quality", "confusion", 0, 0],
        HUGE,
        "training.quality",
    ),
    ("classifier", ["training", "rules", 0, 0], HUGE, r"training.rules\[0\]"),
    ("classifier", ["training", "rules", 1, 1], 4, "no more errors than rows"),
    ("classifier", ["training", "rules", 1, 2], 4, "no more rows that the rule"),
    ("classifier", ["training", "rules", 1, 3], -1, r"training.rules\[1\]"),
    (
        "regression",
        ["training", "rules", 1, 1],
        1e301,
        r"rules\[1\]: .* at most 1e\+300",
    ),
    ("classifier", ["nodes", 1, "stats", 0], 5e-324, r"nodes\[1\].stats: 5e-324 is no"),
    ("classifier", ["nodes", 1, "stats", 0], 1e251, r"nodes\[1\].stats: 1e\+251 is no"),
    (
        "classifier",
        ["nodes", 1, "weight"],
        -1.0,
        r"nodes\[1\].weight: -1.0 is not a weight",
    ),
    (
        "classifier",
        ["nodes", 0, "branches", 0, "weight"],
        1e300,
        r"branches\[0\].weight",
    ),
    ("classifier", ["nodes", 0, "gain"], 1e300, r"nodes\[0\].gain: gain times weight"),
    ("regression", ["nodes", 0, "stats", "sse"], 1e301, r"nodes\[0\].stats.sse"),
    ("regression", ["nodes", 0, "stats", "weight"], 1e-300, r"nodes\[0\]"),
    ("classifier", ["options", "depth"], HUGE**3, "options.depth: .* 1,000 digits"),
    ("classifier", ["options", "depth"], None, "options.depth: expected text"),
    ("classifier", ["options", "depth"], [], "options.depth: expected text"),
]


@pytest.mark.parametrize(("name", "place", "value", "message"), CASES)
def test_numbers_beyond_the_limits_are_refused(
    name: str, place: list[str | int], value: Any, message: str
) -> None:
    document = json.loads(dumps(PROGRAMS[name]))
    part: Any = document
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    if place[-1] == "weight" and name == "regression":
        part["sse"] = 1e200  # divided by the weight
    with pytest.raises(ModelFileError, match=message):
        loads(json.dumps(document))


# ---------------------------------------------------------------- sizes


def chain(depth: int) -> Program:
    counts = ClassCounts((1.0, 2.0))
    nodes: list[ir.Node] = []
    for level in range(depth):
        nodes += [split(counts, float(level), 2 * level + 1), Leaf("a", counts, 3.0)]
    body = Tree((X,), ("a", "b"), (*nodes, Leaf("b", counts, 3.0)))
    return Program("y", "cart", body)


def test_depth_and_size_are_limited_on_reading_and_writing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = chain(20)
    text = dumps(program)
    for name, limit, message in (
        ("MOST_DEPTH", 19, "20 tests deep, and a model file has at most 19"),
        ("MOST_TESTS", 100, "paths to the leaves have more than 100 tests"),
        ("MOST_PARTS", 100, "values: a model file has at most 100"),
        ("MOST_BYTES", 1000, "bytes: a model file has at most 1,000"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(limits, name, limit)
            with pytest.raises(ModelFileError, match=message):
                dumps(program)
            with pytest.raises(ModelFileError, match=message):
                loads(text)
    assert loads(text) == program


# ---------------------------------------------------------------- tables


def test_a_line_that_does_not_end_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "MOST_BYTES", 1 << 20)
    for suffix in (".csv", ".tsv", ".jsonl"):
        link = tmp_path / f"zero{suffix}"
        link.symlink_to("/dev/zero")
        with pytest.raises(
            DataError, match=rf"zero{suffix}, line 1: longer than 1,048"
        ):
            read_table(link)
    long = tmp_path / "long.csv"
    long.write_text("x,y\n1,2\n1," + "9" * 2_000_000 + "\n")
    with pytest.raises(DataError, match="long.csv, line 3: longer than"):
        read_table(long)
    for end in ("\n", "\r", "\r\n"):  # the limit is for a line, not for the file
        long.write_text(end.join(["x,y", *["1,2"] * 700_000]), newline="")
        assert read_table(long).rows == 700_000


def test_answers_whose_squares_overflow_are_refused() -> None:
    table = pd.DataFrame({"x": np.arange(12.0), "y": np.arange(12.0)})
    model = treecompile.learn(table, target="y")
    for huge in (1e200, -1e308, np.inf):
        with pytest.raises(DataError, match=r"add up to more than 1e\+300"):
            model.evaluate(table.assign(y=[huge] * 12))
    weighted = table.assign(y=table.y * 1e120, w=1e90)
    with pytest.raises(DataError, match="'y' reaches"):
        treecompile.learn(weighted, target="y", weights="w", algorithm="cart")
