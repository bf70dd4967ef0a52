"""The meaning of single conditions, splits and answers, written out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import inf, nan, nextafter

import pytest

from treecompile.model.ir import (
    Branch,
    Category,
    ClassCounts,
    Condition,
    Feature,
    Kind,
    Leaf,
    Moments,
    Op,
    Rule,
    RuleSet,
    Split,
    Tree,
    Value,
    ValueType,
)
from treecompile.model.semantics import (
    answer,
    asks_presence,
    decider,
    holds,
    in_order,
    is_missing,
    is_partition,
    leaf_positions,
    membership,
    negate,
    predict,
    probabilities,
    required_features,
    type_of_labels,
)
from treecompile.regions.region import intersect

X = Feature("x", Kind.NUMERIC, ValueType.FLOAT)
COLOUR = Feature("colour", Kind.CATEGORICAL, ValueType.STR, ("red", "Red", ""))
SIZE = Feature("size", Kind.ORDINAL, ValueType.STR, ("S", "M", "L"))
DOSE = Feature("dose", Kind.ORDINAL, ValueType.INT, (10, 2, 1))


def number(op: Op, value: float, missing: bool = False) -> Condition:
    return Condition(0, op, value, missing)


def some(op: Op, *values: Category, missing: bool = False) -> Condition:
    return Condition(0, op, values, missing)


def rank(op: Op, value: Category, missing: bool = False) -> Condition:
    return Condition(0, op, value, missing)


@pytest.mark.parametrize(
    ("value", "at_most"),
    [
        (0.5, True),
        (nextafter(0.5, inf), False),
        (nextafter(0.5, -inf), True),
        (-inf, True),
        (inf, False),
        (0, True),
        (1, False),
        (True, False),
    ],
)
def test_a_number_goes_left_up_to_the_threshold(value: Value, at_most: bool) -> None:
    for missing in (False, True):
        assert holds(number(Op.LE, 0.5, missing), X, value) is at_most
        assert holds(number(Op.GT, 0.5, missing), X, value) is not at_most


def test_minus_zero_is_zero() -> None:
    assert holds(number(Op.LE, -0.0), X, 0.0)
    assert holds(number(Op.LE, 0.0), X, -0.0)
    assert not holds(number(Op.GT, -0.0), X, 0.0)
    assert not holds(number(Op.LE, 0.0), X, 5e-324)


def test_a_number_is_compared_as_a_double() -> None:
    assert holds(number(Op.LE, 2.0**53), X, 2**53 + 1)
    assert holds(number(Op.GT, 2.0**53), X, 2**53 + 3)


@pytest.mark.parametrize("value", [None, nan, -nan])
@pytest.mark.parametrize("flag", [False, True])
def test_the_flag_decides_a_missing_value(value: Value, flag: bool) -> None:
    for op in Op:
        if op in (Op.LE, Op.GT):
            assert holds(number(op, 0.0, flag), X, value) is flag
            assert holds(number(op, inf, flag), X, value) is flag
            assert holds(rank(op, "M", flag), SIZE, value) is flag
        else:
            assert holds(some(op, "red", missing=flag), COLOUR, value) is flag
            assert holds(some(op, missing=flag), COLOUR, value) is flag


@pytest.mark.parametrize(
    ("value", "inside"),
    [
        ("red", True),
        ("", True),
        ("Red", False),
        ("red ", False),
        ("RED", False),
        ("blue", False),
        ("None", False),
        ("nan", False),
    ],
)
def test_categories_compare_exactly(value: str, inside: bool) -> None:
    for flag in (False, True):
        test = some(Op.IN, "red", "", missing=flag)
        assert holds(test, COLOUR, value) is inside
        assert holds(negate(test), COLOUR, value) is not inside


def test_an_empty_set_holds_nothing() -> None:
    for value in ("red", "unseen"):
        assert not holds(some(Op.IN, missing=True), COLOUR, value)
        assert holds(some(Op.NOT_IN), COLOUR, value)


@pytest.mark.parametrize("flag", [False, True])
def test_ordinals_follow_their_own_order(flag: bool) -> None:
    for feature, first, second, third in (
        (SIZE, "S", "M", "L"),
        (DOSE, 10, 2, 1),
    ):
        test = rank(Op.LE, second, flag)
        truths = [holds(test, feature, value) for value in (first, second, third)]
        assert truths == [True, True, False]
        truths = [holds(negate(test), feature, v) for v in (first, second, third)]
        assert truths == [False, False, True]


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("op", [Op.LE, Op.GT])
def test_an_unseen_ordinal_is_treated_as_missing(op: Op, flag: bool) -> None:
    for value in ("XL", "m", ""):
        assert holds(rank(op, "M", flag), SIZE, value) is flag
    assert holds(rank(op, 2, flag), DOSE, 3) is flag


def test_presence() -> None:
    for feature, known in ((X, inf), (X, -inf), (COLOUR, "red"), (COLOUR, "new")):
        missing = is_missing(0, feature)
        assert asks_presence(missing)
        assert asks_presence(negate(missing))
        assert holds(missing, feature, None)
        assert not holds(missing, feature, known)
        assert holds(negate(missing), feature, known)
        assert not holds(negate(missing), feature, nan)
    for other in (
        number(Op.LE, inf, missing=True),
        number(Op.GT, inf),
        number(Op.GT, -inf, missing=True),
        some(Op.IN),
        some(Op.NOT_IN, missing=True),
        some(Op.IN, "red", missing=True),
        rank(Op.GT, "L", missing=True),
    ):
        assert not asks_presence(other), other


def test_merging_nothing_is_nothing() -> None:
    for feature in (X, COLOUR, SIZE):
        assert intersect([], feature) == ()


def test_merging_keeps_the_order_of_the_feature() -> None:
    tests = [some(Op.NOT_IN, ""), some(Op.IN, "", "Red", "red", missing=True)]
    assert intersect(tests, COLOUR) == (some(Op.IN, "red", "Red"),)


def test_a_single_test_keeps_its_spelling() -> None:
    flag = Feature("flag", Kind.CATEGORICAL, ValueType.BOOL, (False, True))
    for op in (Op.IN, Op.NOT_IN):
        for value in (False, True):
            assert intersect([some(op, value)], flag) == (some(op, value),)
    # Two that say the same are merged, into the fewest categories.
    twice = [some(Op.NOT_IN, True), some(Op.IN, False)]
    assert intersect(twice, flag) == (some(Op.IN, False),)
    # In the order of the feature, whatever the order of the test.
    mixed = some(Op.IN, "", "red")
    assert intersect([mixed], COLOUR) == (some(Op.IN, "red", ""),)


def test_an_interval_may_hold_one_double() -> None:
    above = number(Op.GT, 1.0, missing=True)
    next_up = number(Op.LE, nextafter(1.0, inf))
    assert intersect([next_up, above], X) == (number(Op.GT, 1.0), next_up)
    assert intersect([number(Op.LE, 1.0), above], X) is None
    both = [number(Op.LE, 1.0, missing=True), above]
    assert intersect(both, X) == (is_missing(0, X),)


def split(*tests: Condition) -> Split:
    branches = (Branch(test, place + 1, 1.0) for place, test in enumerate(tests))
    return Split(tuple(branches), ClassCounts((1.0,)), 0.0)


@pytest.mark.parametrize(
    ("feature", "tests", "expected"),
    [
        (X, [number(Op.LE, 1.0), number(Op.GT, 1.0, True)], True),
        (X, [number(Op.GT, 1.0, True), number(Op.LE, 1.0)], True),
        (X, [number(Op.LE, inf), number(Op.GT, inf, True)], True),
        (X, [number(Op.LE, 1.0), number(Op.GT, 1.0)], False),
        (X, [number(Op.LE, 1.0, True), number(Op.GT, 1.0, True)], False),
        (X, [number(Op.LE, 1.0), number(Op.GT, nextafter(1, inf), True)], False),
        (X, [number(Op.LE, 1.0), number(Op.LE, 1.0, True)], False),
        (X, [number(Op.LE, 1.0)], False),
        (X, [], False),
        (SIZE, [rank(Op.LE, "S"), rank(Op.GT, "S", True)], True),
        (SIZE, [rank(Op.LE, "S"), rank(Op.GT, "M", True)], False),
        (COLOUR, [some(Op.IN, "red"), some(Op.NOT_IN, "red", missing=True)], True),
        (
            COLOUR,
            [
                some(Op.NOT_IN, "", "red", "Red"),
                some(Op.IN, "Red", "", missing=True),
                some(Op.IN, "red"),
            ],
            True,
        ),
        (COLOUR, [some(Op.IN, missing=True), some(Op.NOT_IN)], True),
        (COLOUR, [some(Op.IN, "red"), some(Op.IN, "Red", "", missing=True)], False),
        (COLOUR, [some(Op.IN, "red"), some(Op.NOT_IN, missing=True)], False),
        (COLOUR, [some(Op.NOT_IN, "red"), some(Op.NOT_IN, "Red", "")], False),
        (COLOUR, [some(Op.IN, "red"), some(Op.NOT_IN, "red", "", missing=True)], False),
    ],
)
def test_partitions(feature: Feature, tests: list[Condition], expected: bool) -> None:
    assert is_partition(split(*tests), (feature,)) is expected


def test_a_split_tests_one_feature() -> None:
    other = Condition(1, Op.NOT_IN, ("red",), missing=True)
    assert not is_partition(split(some(Op.IN, "red"), other), (COLOUR, COLOUR))


def every_condition(feature: Feature) -> Iterator[Condition]:
    for flag in (False, True):
        if feature.kind is Kind.ORDINAL:
            for op, category in product((Op.LE, Op.GT), feature.categories):
                yield rank(op, category, flag)
        else:
            for size, op in product(range(4), (Op.IN, Op.NOT_IN)):
                yield some(op, *feature.categories[:size], missing=flag)


@pytest.mark.parametrize("feature", [COLOUR, SIZE, DOSE], ids=lambda f: str(f.name))
def test_tests_of_categories_as_sets(feature: Feature) -> None:
    """Targets write ordinal tests as sets too: the same truth for every value."""
    unseen: Value = "new" if feature.type is ValueType.STR else 7
    for test in every_condition(feature):
        truth = [holds(test, feature, v) for v in (*feature.categories, unseen, None)]
        inside, named, missing = membership(test, feature)
        values = (*feature.categories, unseen)
        assert [(v in named) == inside for v in values] == truth[:-1]
        assert missing == truth[-1]
        assert list(named) == [c for c in feature.categories if c in named]


def test_categories_in_the_order_of_the_feature() -> None:
    assert in_order(COLOUR, ("", "red", "unknown")) == ("red", "")
    assert in_order(DOSE, {1, 2}) == (2, 1)
    assert in_order(DOSE, ()) == ()


def test_one_label_is_enough_to_know_the_type() -> None:
    assert type_of_labels(("yes",)) is ValueType.STR
    assert type_of_labels((True,)) is ValueType.BOOL
    assert type_of_labels((1, 2)) is ValueType.INT


def test_labels_tie_to_the_first() -> None:
    assert answer(ClassCounts((1.0, 3.0, 3.0)), ("c", "b", "a")) == "b"
    assert answer(ClassCounts((0.0, 0.0)), ("c", "b")) == "c"
    assert answer(Moments(2.0, -0.5, 1.0), ()) == -0.5


def test_probabilities_are_shares_in_double() -> None:
    assert probabilities(ClassCounts((1.0, 2.0, 0.0))) == (1 / 3, 2 / 3, 0.0)
    total = 0.1 + 0.2
    assert probabilities(ClassCounts((0.1, 0.2))) == (0.1 / total, 0.2 / total)


def small_tree() -> Tree:
    counts = ClassCounts((1.0, 1.0))
    below, above = number(Op.LE, 5.0, missing=True), number(Op.GT, 5.0)
    red = Condition(2, Op.IN, ("red",), missing=False)
    return Tree(
        (X, SIZE, COLOUR),
        ("no", "yes"),
        (
            Split((Branch(above, 1, 1.0), Branch(below, 2, 1.0)), counts, 0.1),
            Split((Branch(negate(red), 4, 1.0), Branch(red, 3, 1.0)), counts, 0.1),
            Leaf("no", counts, 2.0),
            Leaf("yes", counts, 1.0),
            Leaf("no", counts, 1.0),
        ),
    )


@pytest.mark.parametrize(
    ("x", "colour", "leaf"),
    [
        (5.0, "red", 2),
        (nan, "red", 2),
        (None, None, 2),
        (5.1, "red", 3),
        (inf, "Red", 4),
        (6.0, None, 4),
        (6.0, "new", 4),
    ],
)
def test_a_tree_is_walked_to_a_leaf(x: Value, colour: Value, leaf: int) -> None:
    tree = small_tree()
    row = (x, None, colour)
    assert decider(tree, row) == leaf
    assert predict(tree, row) == {2: "no", 3: "yes", 4: "no"}[leaf]


def test_reading_order_and_required_features() -> None:
    tree = small_tree()
    assert list(leaf_positions(tree)) == [4, 3, 2]
    assert required_features(tree) == (0, 2)


def test_the_first_matching_rule_wins_and_the_default_closes() -> None:
    counts = ClassCounts((1.0, 1.0))
    rules = RuleSet(
        (X,),
        ("no", "yes"),
        (
            Rule("R1", (number(Op.LE, 5.0),), "yes", counts, 1.0),
            Rule("R2", (number(Op.GT, 1.0), number(Op.LE, 9.0)), "no", counts, 1.0),
        ),
        Rule("default", (), "yes", counts, 0.0),
    )
    assert [decider(rules, (x,)) for x in (5.0, 6.0, 9.5, None)] == [0, 1, 2, 2]
    assert [predict(rules, (x,)) for x in (5.0, 6.0, None)] == ["yes", "no", "yes"]
