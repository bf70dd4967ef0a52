"""The rows that documents and docstrings show as examples."""

from __future__ import annotations

from math import inf, nextafter

import pytest

from treecompile.model.ir import (
    ClassCounts,
    ColumnSummary,
    Condition,
    Feature,
    Kind,
    Op,
    Rule,
    RuleSet,
    Value,
    ValueType,
)
from treecompile.model.semantics import decider, holds
from treecompile.regions.space import Space, example

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
COLOUR = Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "blue"))
SIZE = Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L"))
STATS = ClassCounts((1.0, 1.0))
BIG = 1.7976931348623157e308


def usual(low: float | None, high: float | None) -> ColumnSummary:
    return ColumnSummary(missing=0, low=low, high=high)


@pytest.mark.parametrize(
    ("low", "high", "column", "shown"),
    [
        (-inf, inf, None, 0.0),
        (-inf, inf, usual(10.0, 21.0), 16.0),  # the middle, rounded to even
        (-inf, inf, usual(None, None), 0.0),  # a column without numbers
        (12.0, inf, usual(10.0, 21.0), 16.0),
        (-inf, 12.0, usual(10.0, 21.0), 11.0),
        (0.25, 0.5, usual(0.0, 1.0), 0.4),  # as few digits as it needs
        (0.3, nextafter(0.3, inf), usual(0.0, 1.0), nextafter(0.3, inf)),
        (30.0, 40.0, usual(0.0, 1.0), 40.0),  # outside of what is usual
        (-inf, -5.0, usual(0.0, 1.0), -5.0),
        (-inf, inf, usual(-10.0, 0.0), -5.0),
        (0.3, 0.9, None, 0.9),  # nothing is known about the column
        (100.0, inf, None, 101.0),  # infinity is not usual
        (1e300, inf, None, nextafter(1e300, inf)),
        (BIG, inf, None, inf),
        (0.0, 1.5e308, usual(0.0, 1.5e308), 0.75e308),
    ],
)
def test_a_usual_and_short_number_is_shown(
    low: float, high: float, column: ColumnSummary | None, shown: float
) -> None:
    tests = []
    if low > -inf:
        tests.append(Condition(0, Op.GT, low, missing=False))
    if high < inf:
        tests.append(Condition(0, Op.LE, high, missing=False))
    space = Space((X,))
    box = space.inside(tests)
    assert box is not None
    (number,) = space.row(box, () if column is None else (column,))
    assert number == shown
    assert all(holds(test, X, number) for test in tests)


@pytest.mark.parametrize(
    ("feature", "test", "shown"),
    [
        (COLOUR, Condition(0, Op.IN, ("blue", "red"), missing=True), "red"),
        (COLOUR, Condition(0, Op.NOT_IN, ("red",), missing=True), "blue"),
        (COLOUR, Condition(0, Op.NOT_IN, ("red", "blue"), missing=True), "unseen"),
        (COLOUR, Condition(0, Op.IN, (), missing=True), None),
        (SIZE, Condition(0, Op.LE, "M", missing=True), "S"),
        (SIZE, Condition(0, Op.GT, "S", missing=True), "M"),
        (SIZE, Condition(0, Op.GT, "L", missing=True), "unseen"),
        (X, Condition(0, Op.GT, inf, missing=True), None),
    ],
)
def test_a_known_value_is_shown_if_there_is_one(
    feature: Feature, test: Condition, shown: Value
) -> None:
    space = Space((feature,))
    box = space.inside([test])
    assert box is not None
    assert space.row(box) == (shown,)
    assert holds(test, feature, shown)


def test_the_example_reaches_the_first_rule_that_a_row_can_reach() -> None:
    never = (Condition(0, Op.GT, 5.0, False), Condition(0, Op.LE, 4.0, False))
    first = (Condition(0, Op.GT, 7.0, True), Condition(1, Op.IN, ("blue",), False))
    rules = tuple(
        Rule(f"R{number}", tests, "yes", STATS, 1.0)
        for number, tests in enumerate((never, first, ()), start=1)
    )
    default = Rule("default", (), "no", STATS, 1.0)
    body = RuleSet((X, COLOUR), ("no", "yes"), rules, default)
    columns = (usual(0.0, 10.0), usual(None, None))
    assert example(body, columns) == (8.0, "blue")
    assert decider(body, example(body)) == 1
    empty = RuleSet((X, COLOUR), ("no", "yes"), rules[:1], default)
    assert example(empty) == (0.0, "red")
