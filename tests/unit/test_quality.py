"""How good a model is: counted by hand, and by numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treecompile
from treecompile.measure.quality import accuracy, evaluate
from treecompile.model.ir import (
    Body,
    Branch,
    ClassCounts,
    ClassQuality,
    Condition,
    Feature,
    Kind,
    Leaf,
    Moments,
    Node,
    Op,
    Split,
    Tree,
    ValueQuality,
    ValueType,
)
from treecompile.rules.extract import extract

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)


def both_sides(threshold: float) -> tuple[Condition, Condition]:
    return (
        Condition(0, Op.LE, threshold, missing=False),
        Condition(0, Op.GT, threshold, missing=True),
    )


def three_leaves(values: tuple[Any, Any, Any], stats: Any, labels: Any) -> Tree:
    """x <= 1, 1 < x <= 2, and x > 2 or missing."""
    low, rest = both_sides(1.0)
    middle, high = both_sides(2.0)
    leaves = [Leaf(value, stats, 1.0) for value in values]
    nodes: tuple[Node, ...] = (
        Split((Branch(low, 1, 1.0), Branch(rest, 2, 2.0)), stats, 0.0),
        leaves[0],
        Split((Branch(middle, 3, 1.0), Branch(high, 4, 1.0)), stats, 0.0),
        *leaves[1:],
    )
    return Tree((X,), labels, nodes)


CLASSES = three_leaves(("a", "c", "a"), ClassCounts((1.0, 1.0, 1.0)), ("a", "b", "c"))
NUMBERS = three_leaves((-1.0, 0.5, 4.0), Moments(3.0, 1.0, 1.0), ())
BODIES = pytest.mark.parametrize("as_rules", [False, True])


def body_of(tree: Tree, as_rules: bool) -> Body:
    return extract(tree) if as_rules else tree


@BODIES
def test_confusion_and_rules(as_rules: bool) -> None:
    x = np.array([0.0, 1.0, 1.5, 2.0, 3.0, np.nan, 9.0])
    y = np.array([0, 1, 2, 0, 0, 2, 1], dtype=np.int32)
    made = evaluate(body_of(CLASSES, as_rules), (x,), y)
    assert made.quality == ClassQuality(((2, 0, 1), (2, 0, 0), (1, 0, 1)))
    assert accuracy(made.quality) == 3 / 7
    assert made.unknown == 0
    counted = [(each.rule.id, each.rows, each.right) for each in made.rules]
    assert counted[:3] == [("R1", 2, 1), ("R2", 2, 1), ("R3", 3, 1)]
    # The default of a rule set stands in the list as well; here it never decides.
    assert counted[3:] == ([("default", 0, 0)] if as_rules else [])


@BODIES
def test_rows_without_a_known_label_are_left_out(as_rules: bool) -> None:
    x = np.array([0.0, 0.0, 0.0, 1.5])
    y = np.array([0, -1, 3, 2], dtype=np.int32)  # missing, and never learned
    made = evaluate(body_of(CLASSES, as_rules), (x,), y)
    assert made.quality == ClassQuality(((1, 0, 0), (0, 0, 0), (0, 0, 1)))
    assert made.unknown == 2
    assert [each.rows for each in made.rules][:3] == [1, 1, 0]


def test_new_labels_and_gaps_in_a_frame_are_left_out() -> None:
    frame = pd.DataFrame({"x": ["u", "u", "v"], "y": ["n", "n", "p"]})
    model = treecompile.learn(frame, target="y", algorithm="id3")
    new = pd.DataFrame({"x": ["u", "v", "u", "v"], "y": ["n", None, "maybe", "n"]})
    made = model.evaluate(new)
    assert made.quality == ClassQuality(((1, 1), (0, 0)))
    assert made.unknown == 2


def test_without_a_known_answer_there_is_no_accuracy() -> None:
    made = evaluate(CLASSES, (np.array([1.0]),), np.array([-1], dtype=np.int32))
    assert isinstance(made.quality, ClassQuality)
    assert accuracy(made.quality) is None
    assert made.unknown == 1


rows = st.lists(
    st.tuples(
        st.sampled_from([-3.0, 1.0, 1.5, 2.5, np.nan]),
        st.integers(-50, 50).map(lambda tenths: tenths / 10) | st.just(np.nan),
    ),
    min_size=1,
    max_size=12,
)


@BODIES
@given(table=rows)
def test_errors_of_numbers(as_rules: bool, table: list[tuple[float, float]]) -> None:
    x, y = map(np.array, zip(*table, strict=True))
    made = evaluate(body_of(NUMBERS, as_rules), (x,), y)
    known = ~np.isnan(y)
    predicted = np.select([x <= 1, x <= 2], [-1.0, 0.5], 4.0)[known]
    actual, errors = y[known], predicted - y[known]
    assert made.unknown == int((~known).sum())
    quality = made.quality
    assert isinstance(quality, ValueQuality)
    assert quality.rows == len(actual)
    for answer, each in zip((-1.0, 0.5, 4.0), made.rules, strict=False):
        here = errors[predicted == answer]
        assert (each.rows, each.right) == (len(here), 0)
        mean = float(np.mean(here**2)) if len(here) else 0.0
        assert each.squared_error == pytest.approx(mean)
    if not len(actual):
        assert quality == ValueQuality(0, 0.0, 0.0, None)
        return
    assert quality.mean_absolute_error == pytest.approx(np.mean(np.abs(errors)))
    root = np.sqrt(np.mean(errors**2))
    assert quality.root_mean_squared_error == pytest.approx(root)
    if len(set(actual.tolist())) == 1:
        assert quality.r_squared is None
    else:
        explained = 1 - np.mean(errors**2) / np.var(actual)
        assert quality.r_squared == pytest.approx(explained)


def test_a_constant_target_has_no_r_squared() -> None:
    # The mean of three times 0.1 in doubles is not 0.1.
    made = evaluate(NUMBERS, (np.zeros(3),), np.array([0.1, 0.1, 0.1]))
    assert isinstance(made.quality, ValueQuality)
    assert made.quality.r_squared is None


def test_a_fitted_tree_makes_no_error() -> None:
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "y": [0.5, 0.25, 8, 9]})
    quality = treecompile.learn(frame, target="y", prune="none").evaluate(frame).quality
    assert quality == ValueQuality(4, 0.0, 0.0, 1.0)
