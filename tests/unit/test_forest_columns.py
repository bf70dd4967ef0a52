"""Forests as modules for whole columns: the same bits as the definition."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, nextafter
from pathlib import Path
from random import Random
from types import FunctionType, ModuleType
from typing import Any, get_type_hints

import black
import numpy as np
import pytest

from tests.support.forests import many_trees, random_forest, random_row, stump
from tests.support.samples import module_of
from treecompile.emit.compiler import emit
from treecompile.emit.options import EmitOptions
from treecompile.model import batch, forests, ir
from treecompile.model.errors import OptionError
from treecompile.model.forests import LeafNode, SplitNode, member, to_single
from treecompile.model.semantics import required_features
from treecompile.verify.reference import encoded
from treecompile.verify.verification import verify

NAMES = ("a'b", 'a"b', '"""', "a\\", "a\nb", "{{ x }}", "# x", "np", "TREES", "\u202e")
NUMPY = EmitOptions(style="numpy")
X = ir.Feature("x", ir.Kind.NUMERIC, ir.ValueType.FLOAT)


def text_of(forest: ir.Forest, target: str = "y") -> str:
    return emit(ir.ForestProgram(target, "test", forest), "python", NUMPY).text


def columns_of(forest: ir.Forest, rows: Sequence[ir.Row]) -> dict[str, list[Any]]:
    """Rows as the columns that a module takes; one says how many there are."""
    named = {
        feature.name: [row[place] for row in rows]
        for place, feature in enumerate(forest.features)
    }
    return {**named, "": [None] * len(rows)}


def bits(numbers: Sequence[Sequence[float]]) -> list[bytes]:
    return [struct.pack(f"{len(each)}d", *each) for each in numbers]


def check(forest: ir.Forest, module: ModuleType, rows: list[ir.Row]) -> None:
    """The module says what the definition says, to the last bit and type."""
    given, expected = columns_of(forest, rows), [
        forests.margins(forest, r) for r in rows
    ]
    margins = module.margins(given)
    assert margins.shape == (len(rows), len(forest.start))
    assert bits(margins.tolist()) == bits(expected)
    own = module.margin(given)
    assert (
        own.tolist() == (margins[:, 0] if len(forest.start) == 1 else margins).tolist()
    )
    columns = encoded(forest, rows)
    found = module.predict(given).tolist()
    answers = batch.predictions(forest, columns, len(rows)).tolist()
    assert [(type(each), each) for each in found] == [(type(a), a) for a in answers]
    if forests.has_probabilities(forest):
        shares = batch.shares(forest, columns, len(rows))
        assert module.predict_proba(given).tolist() == shares.tolist()


@pytest.mark.parametrize("seed", range(80))
def test_random_forests_of_all_kinds(seed: int) -> None:
    dice = Random(seed)
    forest = random_forest(dice)
    text = text_of(forest)
    module = module_of(text)
    check(forest, module, [random_row(dice, forest) for _ in range(60)])
    check(forest, module, [])
    names = tuple(feature.name for feature in forest.features)
    used = [names[place] for place in required_features(forest)]
    assert (names, tuple(used)) == (module.COLUMNS, module.FEATURES)
    assert getattr(module, "CLASSES", ()) == forest.labels
    assert hasattr(module, "predict_proba") == forests.has_probabilities(forest)
    for function in vars(module).values():
        if isinstance(function, FunctionType):
            get_type_hints(function)


@pytest.mark.parametrize("seed", range(8))
def test_the_text_is_as_black_formats_it(seed: int) -> None:
    text = text_of(random_forest(Random(seed), 2))
    assert black.format_str(text, mode=black.Mode()) == text


def grown(dice: Random, leaves: int, arithmetic: ir.Arithmetic) -> ir.Forest:
    """One tree with so many leaves, of numbers and categories."""
    c = ir.Feature("c", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("a", "b", "d"))
    features = (X, c)
    nodes: list[SplitNode | LeafNode] = []
    waiting: list[int] = []
    rounded = to_single if arithmetic is ir.Arithmetic.SINGLE else float

    def leaf() -> int:
        nodes.append(LeafNode((rounded(dice.gauss(0, 1)),)))
        waiting.append(len(nodes) - 1)
        return len(nodes) - 1

    leaf()
    for _ in range(leaves - 1):
        place = waiting.pop(dice.randrange(len(waiting)))
        missing = dice.random() < 0.5
        test = ir.Condition(0, ir.Op.LE, dice.gauss(0, 1), missing)
        if dice.random() < 0.2:
            test = ir.Condition(1, ir.Op.IN, (dice.choice("abd"),), missing)
        nodes[place] = SplitNode(test, leaf(), leaf())
    return ir.Forest(features, (), (member(features, (0,), nodes),) * 2, (0.0,))


@pytest.mark.parametrize("leaves", [1, 2, 255, 256, 257, 900])
@pytest.mark.parametrize("arithmetic", ir.Arithmetic)
def test_small_trees_and_large_ones(leaves: int, arithmetic: ir.Arithmetic) -> None:
    dice = Random(leaves)
    forest = replace(grown(dice, leaves, arithmetic), arithmetic=arithmetic)
    rows = [random_row(dice, forest) for _ in range(700)]
    check(forest, module_of(text_of(forest)), rows)


def test_rows_are_taken_in_blocks() -> None:
    forest = many_trees(Random(1), 3, ir.Arithmetic.SINGLE)
    module = module_of(text_of(forest))
    rows = np.random.default_rng(0).normal(size=(2 * module.BLOCK + 17, 3))
    whole = module.margins(rows)
    vars(module)["BLOCK"] = 1000
    assert (module.margins(rows) == whole).all()
    columns: list[Any] = [rows[:, place] for place in range(3)]
    assert (whole == batch.margins(forest, columns, len(rows))).all()


def test_infinite_limits_and_ties() -> None:
    for limit in (0.0, inf, 5e-324):
        for missing in (False, True):
            test = ir.Condition(0, ir.Op.LE, limit, missing)
            forest = stump(X, test, (-0.0, 0.5), ("no", "yes"))
            near = (limit, nextafter(limit, inf), nextafter(limit, -inf))
            rows: list[ir.Row] = [(v,) for v in (*near, inf, -inf, 0.0, -0.0, None)]
            check(forest, module_of(text_of(forest)), rows)


def test_of_equal_margins_the_first_label_is_the_answer() -> None:
    test = ir.Condition(0, ir.Op.LE, 0.0, False)
    nodes: list[SplitNode | LeafNode] = [SplitNode(test, 1, 2)]
    nodes += [LeafNode((1.0, 2.0, 2.0)), LeafNode((3.0, 3.0, 1.0))]
    members = (member((X,), (0, 1, 2), nodes),)
    forest = ir.Forest((X,), ("a", "b", "c"), members, (0.0,) * 3)
    module = module_of(text_of(forest))
    assert module.predict({"x": [0.0, 1.0, None]}).tolist() == ["b", "a", "a"]


def test_columns_of_the_wrong_shape_or_type_are_named() -> None:
    module = module_of(text_of(many_trees(Random(1), 30, ir.Arithmetic.DOUBLE)))
    with pytest.raises(ValueError, match="expected 3 columns, got 2"):
        module.predict(np.zeros((4, 2)))
    with pytest.raises(KeyError, match="z"):
        module.predict({"x": [1.0], "y": [1.0]})
    with pytest.raises(ValueError, match="different lengths"):
        module.predict({"x": [1.0], "y": [1.0], "z": [1.0, 2.0]})
    with pytest.raises(TypeError, match="'y'"):
        module.predict({"x": [1.0], "y": ["high"], "z": [1.0]})


def test_a_layout_is_refused() -> None:
    options = replace(NUMPY, layout="tree")
    program = ir.ForestProgram(
        "y", "test", many_trees(Random(1), 3, ir.Arithmetic.DOUBLE)
    )
    with pytest.raises(OptionError, match="--layout"):
        emit(program, "python", options)


# ---------------------------------------------------------------- verify


@pytest.mark.parametrize("seed", range(12))
def test_verify_passes(seed: int) -> None:
    program = ir.ForestProgram("y", "test", random_forest(Random(seed)))
    assert verify(program, emit(program, "python", NUMPY).text, budget=400).passed


def reordered(text: str) -> str:
    """The last tree is added first."""
    return text.replace("in TREES]", "in TREES[-1:] + TREES[:-1]]")


def in_double(text: str) -> str:
    return text.replace("NUMBER = np.float32", "NUMBER = np.float64")


def other_side(text: str) -> str:
    """A missing value takes the other child of one test."""
    swap = r'"<=", ([^,]+), (\S+), (\S+)\)'
    return re.sub(swap, r'">", \1, \3, \2)', text, count=1)


@pytest.mark.parametrize("change", [reordered, in_double, other_side])
def test_verify_finds_errors(change: Callable[[str], str]) -> None:
    forest = many_trees(Random(3), 6, ir.Arithmetic.SINGLE)
    program = ir.ForestProgram("y", "test", forest)
    text = emit(program, "python", NUMPY).text
    assert verify(program, text).passed
    assert change(text) != text
    assert not verify(program, change(text)).passed


# ---------------------------------------------------------------- names, scripts


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names(name: str) -> None:
    feature = ir.Feature(name, ir.Kind.CATEGORICAL, ir.ValueType.STR, (name, "b"))
    test = ir.Condition(0, ir.Op.IN, (name,), False)
    forest = stump(feature, test, (1.0, -1.0), ("no" + name, "yes" + name))
    module = module_of(text_of(forest, target=name))
    found = module.predict({name: [name, "b", None]}).tolist()
    assert found == ["yes" + name, "no" + name, "no" + name]


def test_a_script_predicts_a_file(tmp_path: Path) -> None:
    c = ir.Feature("c", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("a", "b"))
    test = ir.Condition(0, ir.Op.IN, ("a",), False)
    script, rows = tmp_path / "predict.py", tmp_path / "rows.csv"
    script.write_text(text_of(stump(c, test, (1.0, -1.0), (False, True))), "utf-8")
    rows.write_text("n,c\n1,a\n2,b\n3,\n", "utf-8")
    run = subprocess.run(
        [sys.executable, script, rows], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["n,c,prediction", "1,a,true", "2,b,false", "3,,false"]
