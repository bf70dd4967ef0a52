"""The meaning of a forest, and its model file."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from math import inf, nan, nextafter
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.support.forests import random_forest, random_row
from treecompile.model import batch, forests, ir
from treecompile.model.arrays import Array
from treecompile.model.errors import ModelFileError, OptionError
from treecompile.model.file import dumps, loads, loads_any, sha256
from treecompile.model.forests import LeafNode, SplitNode, member

X = ir.Feature("x", ir.Kind.NUMERIC, ir.ValueType.FLOAT)
C = ir.Feature("c", ir.Kind.CATEGORICAL, ir.ValueType.STR, ("a", "b"))


def stump(threshold: float, low: float, high: float) -> ir.Member:
    test = ir.Condition(0, ir.Op.LE, threshold, missing=False)
    nodes: list[SplitNode | LeafNode]
    nodes = [SplitNode(test, 1, 2), LeafNode((low,)), LeafNode((high,))]
    return member((X,), (0,), nodes)


def stumps(*values: tuple[float, float], **how: Any) -> ir.Forest:
    members = tuple(stump(0.0, *each) for each in values)
    return replace(ir.Forest((X,), (), members, (0.0,)), **how)


def single(number: float) -> float:
    """A double rounded to 32 bits, by the C library."""
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


def test_a_double_is_rounded_to_32_bits_ties_to_even() -> None:
    dice = Random(0)
    for _ in range(20_000):
        number = dice.uniform(-1, 1) * 2.0 ** dice.randrange(-60, 60)
        assert forests.to_single(number) == single(number)
        tie = (dice.randrange(2**23, 2**24) + 0.5) * 2.0 ** dice.randrange(-60, 60)
        for near in (tie, nextafter(tie, inf), nextafter(tie, -inf), -tie):
            assert forests.to_single(near) == single(near)


def test_trees_are_added_in_their_order_from_the_start() -> None:
    forest = stumps((1e16, 0.0), (1.0, 0.0), (-1e16, 0.0))
    assert forests.margins(forest, (-1.0,)) == (0.0,)
    swapped = replace(forest, members=tuple(reversed(forest.members)))
    assert forests.margins(swapped, (-1.0,)) == (0.0,)
    assert forests.margins(replace(forest, start=(-1e16,)), (-1.0,)) == (-1e16 + 1,)


def test_single_arithmetic_rounds_every_addition() -> None:
    values = [(single(0.1 * n), 0.0) for n in range(1, 50)]
    forest = stumps(*values, arithmetic=ir.Arithmetic.SINGLE)
    expected = np.float32(0)
    for value, _ in values:
        expected += np.float32(value)
    assert forests.margins(forest, (-1.0,)) == (float(expected),)
    double = replace(forest, arithmetic=ir.Arithmetic.DOUBLE)
    assert forests.margins(double, (-1.0,)) != (float(expected),)


def test_a_sum_is_divided_then_scaled_then_moved() -> None:
    forest = stumps((1.0, 2.0), divisor=3.0, scale=7.0, offset=(0.1,))
    assert forests.margins(forest, (0.0,)) == (1.0 / 3.0 * 7.0 + 0.1,)


def test_of_two_labels_the_second_is_above_the_cut() -> None:
    forest = stumps((0.25, 0.5), labels=("no", "yes"), cut=0.25)
    assert forests.answer(forest, (0.25,)) == "no"
    assert forests.answer(forest, (nextafter(0.25, 1),)) == "yes"


def test_of_several_labels_the_first_greatest_margin_decides() -> None:
    forest = ir.Forest((X,), ("a", "b", "c"), (), (0.0, 0.0, 0.0))
    assert forests.answer(forest, (1.0, 2.0, 2.0)) == "b"


def test_zeros_are_missing_where_the_forest_says_so() -> None:
    forest = stumps((1.0, 2.0))
    zeros = replace(forest, zero_is_missing=(0,))
    assert forests.margins(forest, (0.0,)) == (1.0,)
    for zero in (0.0, -0.0, 1e-36, forests.ZERO, -forests.ZERO, None, nan):
        assert forests.margins(zeros, (zero,)) == (2.0,)
    assert forests.margins(zeros, (-nextafter(forests.ZERO, 1),)) == (1.0,)


@pytest.mark.parametrize("seed", range(60))
def test_whole_columns_give_what_rows_give(seed: int) -> None:
    dice = Random(seed)
    forest = random_forest(dice)
    rows = [random_row(dice, forest) for _ in range(40)]
    columns = [_column(forest, rows, place) for place in range(len(forest.features))]
    margins = [forests.margins(forest, row) for row in rows]
    assert batch.margins(forest, columns, len(rows)).tolist() == list(
        map(list, margins)
    )
    answers: list[Any] = [forests.answer(forest, each) for each in margins]
    found = batch.predictions(forest, columns, len(rows)).tolist()
    if forest.labels:
        assert found == answers
        shares = [forests.probabilities(forest, each) for each in margins]
        np.testing.assert_allclose(
            batch.shares(forest, columns, len(rows)), shares, rtol=1e-6, atol=1e-44
        )
    else:
        np.testing.assert_allclose(found, answers, rtol=1e-6, atol=1e-44)


def _column(forest: ir.Forest, rows: list[ir.Row], place: int) -> Array:
    feature, values = forest.features[place], [row[place] for row in rows]
    if feature.kind is ir.Kind.NUMERIC:
        return np.array([nan if v is None else float(v) for v in values])
    codes: dict[Any, int] = {
        category: code for code, category in enumerate(feature.categories)
    }
    return np.array(
        [-1 if v is None else codes.get(v, len(codes)) for v in values], np.intp
    )


# ---------------------------------------------------------------- the model file


@pytest.mark.parametrize("seed", range(40))
def test_a_forest_is_read_back_from_its_file(seed: int) -> None:
    program = ir.ForestProgram("y", "LightGBM", random_forest(Random(seed)))
    text = dumps(program)
    assert loads_any(text) == program
    assert sha256(loads_any(text)) == sha256(program)


def test_what_needs_one_tree_refuses_a_forest_by_name() -> None:
    text = dumps(ir.ForestProgram("y", "LightGBM", stumps((1.0, 2.0))))
    with pytest.raises(OptionError, match="forest of 1 trees: learn one tree"):
        loads(text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": []}, "forest.start: expected a number"),
        ({"start": [0.0, 0.0]}, "several outputs need a label"),
        ({"cut": 0.5}, "one output needs two labels and a cut"),
        ({"offset": [1.0, 2.0]}, "an offset for each output"),
        ({"divisor": 0.0}, "forest.divisor: expected a number above 0"),
        ({"link": "probit"}, "forest.link: unknown link"),
        ({"arithmetic": "half"}, "forest.arithmetic: unknown"),
        ({"zero_is_missing": [1]}, "there is no feature 1"),
        ({"start": [1e300]}, "the sums may reach"),
        ({"arithmetic": "single", "start": [0.1]}, "does not fit into 32 bits"),
        ({"arithmetic": "single", "start": [2.0**-150]}, "does not fit into 32 bits"),
        ({"arithmetic": "single", "divisor": 0.1}, "does not fit into 32 bits"),
        ({"arithmetic": "single", "scale": 0.1}, "does not fit into 32 bits"),
    ],
)
def test_a_damaged_forest_is_refused_with_its_place(
    change: dict[str, object], message: str
) -> None:
    record = json.loads(dumps(ir.ForestProgram("y", "x", stumps((1.0, 2.0)))))
    record["forest"] |= change
    with pytest.raises(ModelFileError, match=message):
        loads_any(json.dumps(record))


@pytest.mark.parametrize(
    ("node", "message"),
    [
        ({"values": [1.0, 2.0], "weight": 1.0}, "values: expected one for each output"),
        ({"values": [], "weight": 1.0}, "values: expected one for each output"),
        ({"values": ["1"], "weight": 1.0}, "values\\[0\\]: expected a finite number"),
        ({"weight": 1.0}, '"feature" is missing'),
    ],
)
def test_a_damaged_leaf_is_refused(node: dict[str, object], message: str) -> None:
    record = json.loads(dumps(ir.ForestProgram("y", "x", stumps((1.0, 2.0)))))
    record["trees"][0]["nodes"][1] = node
    with pytest.raises(ModelFileError, match=message):
        loads_any(json.dumps(record))


def test_a_cycle_is_refused() -> None:
    record = json.loads(dumps(ir.ForestProgram("y", "x", stumps((1.0, 2.0)))))
    record["trees"][0]["nodes"][0]["then"] = 0
    with pytest.raises(ModelFileError, match="a child comes after its parent"):
        loads_any(json.dumps(record))
